/*
 * Players of the rooms, for operators: those who have said HELLO.
 */
#include "base/auto.h"
#include "os/clock.h"
#include "rooms/rooms_admin.h"
#include "rooms/rooms_inside.h"

#include <string.h>

#define HELPING 2048 /* connections looked at in one turn of the loop */

struct shown_player {
	uint32_t    user;
	uint8_t     title[ROOMS_TITLE_BYTES], name[ROOMS_NAME_BYTES];
	struct addr addr;
	size_t      rooms;
	int64_t     since_ms; /* wall */
};

static void copy_player(struct shown_player *to, const struct rooms *r, const struct rooms_player *p)
{
	const struct rooms_peer *peer = CONST_CONTAINER(p, struct rooms_peer, player);

	*to = (struct shown_player){ .user     = p->user_id,
		                     .addr     = peer->addr,
		                     .rooms    = p->room_count,
		                     .since_ms = clock_wall_ms() - (loop_now_ms(r->loop) - peer->since_ms) };
	memcpy(to->title, p->title, sizeof(to->title));
	memcpy(to->name, p->name, sizeof(to->name));
}

static struct json *player_json(const struct shown_player *p)
{
	struct json *j = json_object_new();
	char         address[ADDR_TEXT_BYTES];

	if (!j)
		return NULL;
	addr_text(address, &p->addr);
	json_put_int(j, "user", p->user);
	rooms_put_title(j, p->title);
	rooms_put_name(j, "name", p->name);
	json_put_text(j, "address", address);
	json_put_int(j, "rooms", (int64_t)p->rooms);
	api_put_time(j, "since_at", p->since_ms);
	return j;
}

/* --- The list, in the order in which they came --- */

struct list_ask {
	struct rooms             *rooms;
	struct rooms_title_filter filter;
	uint8_t                   part[ROOMS_NAME_BYTES]; /* of the name, folded */
	size_t                    part_len;
	uint32_t                  after;
	struct shown_player      *out;
	size_t                    count, most;
	bool                      is_over;
};

static bool has_part(const struct list_ask *a, const struct rooms_player *p)
{
	size_t len = rooms_text_len(p->folded, sizeof(p->folded));

	return a->part_len == 0 || (len > 0 && memmem(p->folded, len, a->part, a->part_len) != NULL);
}

static bool is_wanted(const struct list_ask *a, const struct rooms_player *p)
{
	return p->has_hello && rooms_title_filter_takes(&a->filter, p->title) && has_part(a, p);
}

static struct list *next_of(const struct rooms_state *s, uint32_t after)
{
	struct rooms_player *last = after > 0 ? rooms_find_user(s, after) : NULL;
	struct list         *at   = last ? last->in_players.next : s->players.next;

	while (!last && at != &s->players && CONTAINER(at, struct rooms_player, in_players)->user_id <= after)
		at = at->next;
	return at;
}

static void list_players(void *arg)
{
	struct list_ask    *a    = arg;
	struct rooms_state *s    = &a->rooms->state;
	struct list        *at   = next_of(s, a->after);
	size_t              seen = 0;

	for (; at != &s->players && a->count < a->most && seen < HELPING; at = at->next, seen++) {
		struct rooms_player *p = CONTAINER(at, struct rooms_player, in_players);

		a->after = p->user_id;
		if (is_wanted(a, p))
			copy_player(&a->out[a->count++], a->rooms, p);
	}
	a->is_over = at == &s->players || a->count == a->most;
}

static enum err read_filters(struct list_ask *a, struct api_call *c)
{
	char     q[API_QUERY_BYTES];
	uint8_t  name[ROOMS_NAME_BYTES] = { 0 };
	enum err e                      = rooms_title_filter_read(&a->filter, c);

	if (e == ERR_OK)
		e = api_query_text(q, c, "q");
	if (e != ERR_OK)
		return e;
	a->part_len = strlen(q);
	if (a->part_len > sizeof(name))
		return api_problem(c, ERR_INVALID, "q is a part of a name, of at most 16 bytes");
	memcpy(name, q, a->part_len);
	rooms_fold(a->part, name);
	return ERR_OK;
}

enum err rooms_admin_players(struct api_call *c, void *part)
{
	AUTO(auto_free) struct shown_player *out = NULL;
	struct list_ask                      a   = { .rooms = part };
	struct api_page                      p;
	enum err                             e = read_filters(&a, c);

	if (e == ERR_OK)
		e = api_page_begin(&p, c);
	if (e != ERR_OK)
		return e;
	a.after = (uint32_t)api_page_after_int(&p, 0);
	a.most  = (size_t)p.limit + 1;
	out     = calloc(a.most, sizeof(*out));
	a.out   = out;
	if (!out)
		return api_page_end(&p, ERR_NOMEM);
	while (e == ERR_OK && !a.is_over)
		e = api_on_loop(c, list_players, &a);
	for (size_t i = 0; i < a.count && api_page_room_int(&p, out[i].user); i++)
		api_page_add(&p, player_json(&out[i]));
	return api_page_end(&p, e);
}

/* --- Disconnected --- */

struct end_ask {
	struct rooms       *rooms;
	uint32_t            user;
	bool                is_dry_run;
	enum err            result;
	struct shown_player player;
};

/* As if he had hung up: the others are told that he left, and he may come again. */
static void disconnect(void *arg)
{
	struct end_ask      *a = arg;
	struct rooms        *r = a->rooms;
	struct rooms_player *p = rooms_find_user(&r->state, a->user);

	a->result = p && p->has_hello ? ERR_OK : ERR_NOT_FOUND;
	if (a->result != ERR_OK)
		return;
	copy_player(&a->player, r, p);
	if (a->is_dry_run)
		return;
	rooms_give_up(CONTAINER(p, struct rooms_peer, player), ROOMS_END_OPERATOR);
	rooms_settle(r, loop_now_ms(r->loop));
}

enum err rooms_admin_disconnect(struct api_call *c, void *part)
{
	struct end_ask a = { .rooms = part, .is_dry_run = c->dry_run };
	struct json   *j;
	int64_t        user;
	enum err       e = api_path_int(&user, c, 0, 1, UINT32_MAX);

	if (e != ERR_OK)
		return e;
	a.user = (uint32_t)user;
	e      = api_on_loop(c, disconnect, &a);
	if (e != ERR_OK || a.result != ERR_OK)
		return e != ERR_OK ? e : a.result;
	j = api_done();
	if (j) {
		rooms_put_name(j, "name", a.player.name);
		json_put_int(j, "rooms", (int64_t)a.player.rooms);
	}
	return api_answer(c, 200, j);
}
