/*
 * Rooms, for operators: src/admin/PROTOCOL.md. The table of all routes of the rooms, and those of rooms themselves.
 *
 * The loop copies a page as it is, a helping at a time where a filter may pass over many; JSON is made of it afterwards.
 */
#include "rooms/rooms_admin.h"

#include "base/auto.h"
#include "base/hex.h"
#include "os/clock.h"
#include "rooms/rooms_inside.h"
#include "rooms/rooms_serve.h"

#include <string.h>

#define CSV_BYTES_MAX (4 * 1024 * 1024)
#define HELPING       2048 /* rooms looked at in one turn of the loop */
#define MEMBERS_MAX   255

/* --- Titles and names --- */

enum err rooms_title_filter_read(struct rooms_title_filter *f, struct api_call *c)
{
	char     text[API_QUERY_BYTES];
	enum err e      = api_query_text(text, c, "title");
	size_t   len    = strlen(text);
	bool     is_hex = text[0] == '~';
	size_t   bytes  = is_hex ? (len - 1) / 2 : len;

	*f = (struct rooms_title_filter){ .has = len > 0 };
	if (e != ERR_OK)
		return e;
	if (bytes > sizeof(f->title) || (is_hex && hex_decode(f->title, bytes, text + 1, len - 1) != ERR_OK))
		return api_problem(c, ERR_INVALID, "title is a title of at most 12 bytes, or ~ and its bytes in hex");
	if (!is_hex)
		memcpy(f->title, text, bytes);
	return ERR_OK;
}

bool rooms_title_filter_takes(const struct rooms_title_filter *f, const uint8_t title[ROOMS_TITLE_BYTES])
{
	return !f->has || memcmp(f->title, title, sizeof(f->title)) == 0;
}

void rooms_put_title(struct json *j, const uint8_t title[ROOMS_TITLE_BYTES])
{
	size_t len = rooms_text_len(title, ROOMS_TITLE_BYTES);

	api_put_text(j, "title", title, len, ROOMS_TITLE_BYTES);
	api_put_key(j, "title_key", title, len);
}

void rooms_put_name(struct json *j, const char *member, const uint8_t name[ROOMS_NAME_BYTES])
{
	api_put_text(j, member, name, rooms_text_len(name, ROOMS_NAME_BYTES), ROOMS_NAME_BYTES);
}

/* --- Copies --- */

struct shown_room {
	uint64_t id;
	uint8_t  title[ROOMS_TITLE_BYTES];
	uint8_t  owner[ROOMS_NAME_BYTES];
	uint8_t  max;
	size_t   members;
	bool     is_open;
	int64_t  made_ms; /* wall */
};

static void copy_room(struct shown_room *to, const struct rooms *r, const struct rooms_room *room)
{
	const struct rooms_member *owner = CONST_CONTAINER(room->members.next, struct rooms_member, in_room);

	*to = (struct shown_room){ .id      = room->id,
		                   .max     = room->max,
		                   .members = room->member_count,
		                   .is_open = room->is_open,
		                   .made_ms = clock_wall_ms() - (loop_now_ms(r->loop) - room->made_ms) };
	memcpy(to->title, room->title, sizeof(to->title));
	memcpy(to->owner, owner->player->name, sizeof(to->owner));
}

static struct json *room_json(const struct shown_room *room)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "id", (int64_t)room->id);
	rooms_put_title(j, room->title);
	json_put_int(j, "members", (int64_t)room->members);
	json_put_int(j, "max", room->max);
	rooms_put_name(j, "owner", room->owner);
	json_put_bool(j, "open", room->is_open);
	api_put_time(j, "made_at", room->made_ms);
	return j;
}

/* --- The list --- */

struct list_ask {
	struct rooms             *rooms;
	struct rooms_title_filter filter;
	uint64_t                  after; /* the last one that was looked at */
	struct shown_room        *out;
	size_t                    count, most;
	bool                      is_over;
};

/* Behind the last one, whatever became of it. */
static struct list *next_of(const struct rooms_state *s, uint64_t after)
{
	struct rooms_room *last = after > 0 ? rooms_find_room(s, after) : NULL;
	struct list       *at   = last ? last->in_rooms.next : s->rooms.next;

	while (at != &s->rooms && CONTAINER(at, struct rooms_room, in_rooms)->id <= after)
		at = at->next;
	return at;
}

static void list_rooms(void *arg)
{
	struct list_ask    *a    = arg;
	struct rooms_state *s    = &a->rooms->state;
	struct list        *at   = next_of(s, a->after);
	size_t              seen = 0;

	for (; at != &s->rooms && a->count < a->most && seen < HELPING; at = at->next, seen++) {
		struct rooms_room *room = CONTAINER(at, struct rooms_room, in_rooms);

		a->after = room->id;
		if (rooms_title_filter_takes(&a->filter, room->title))
			copy_room(&a->out[a->count++], a->rooms, room);
	}
	a->is_over = at == &s->rooms || a->count == a->most;
}

static enum err on_list(struct api_call *c, void *part)
{
	AUTO(auto_free) struct shown_room *out = NULL;
	struct list_ask                    a   = { .rooms = part };
	struct api_page                    p;
	enum err                           e = rooms_title_filter_read(&a.filter, c);

	if (e == ERR_OK)
		e = api_page_begin(&p, c);
	if (e != ERR_OK)
		return e;
	a.after = (uint64_t)api_page_after_int(&p, 0);
	a.most  = (size_t)p.limit + 1;
	out     = calloc(a.most, sizeof(*out));
	a.out   = out;
	if (!out)
		return api_page_end(&p, ERR_NOMEM);
	while (e == ERR_OK && !a.is_over)
		e = api_on_loop(c, list_rooms, &a);
	for (size_t i = 0; i < a.count && api_page_room_int(&p, (int64_t)out[i].id); i++)
		api_page_add(&p, room_json(&out[i]));
	return api_page_end(&p, e);
}

/* --- One --- */

struct shown_member {
	uint16_t    id;
	uint32_t    user;
	uint8_t     name[ROOMS_NAME_BYTES];
	struct addr addr;
};

struct room_ask {
	struct rooms       *rooms;
	uint64_t            id;
	uint16_t            member; /* of a kick */
	bool                is_dry_run;
	enum err            result;
	size_t              members; /* of one that was closed */
	struct shown_room   room;
	struct shown_member list[MEMBERS_MAX];
};

static enum err read_room(uint64_t *id, const struct api_call *c)
{
	int64_t  value;
	enum err e = api_path_int(&value, c, 0, 1, INT64_MAX);

	if (e == ERR_OK)
		*id = (uint64_t)value;
	return e;
}

static void copy_members(struct room_ask *a, const struct rooms_room *room)
{
	size_t count = 0;

	for (struct list *at = room->members.next; at != &room->members; at = at->next) {
		const struct rooms_member *m    = CONTAINER(at, struct rooms_member, in_room);
		const struct rooms_peer   *peer = CONST_CONTAINER(m->player, struct rooms_peer, player);
		struct shown_member       *to   = &a->list[count++];

		*to = (struct shown_member){ .id = m->id, .user = m->player->user_id, .addr = peer->addr };
		memcpy(to->name, m->player->name, sizeof(to->name));
	}
}

static void show_room(void *arg)
{
	struct room_ask   *a    = arg;
	struct rooms_room *room = rooms_find_room(&a->rooms->state, a->id);

	a->result = room ? ERR_OK : ERR_NOT_FOUND;
	if (!room)
		return;
	copy_room(&a->room, a->rooms, room);
	copy_members(a, room);
}

static struct json *member_json(const struct shown_member *m)
{
	struct json *j = json_object_new();
	char         address[ADDR_TEXT_BYTES];

	if (!j)
		return NULL;
	addr_text(address, &m->addr);
	json_put_int(j, "member", m->id);
	json_put_int(j, "user", m->user);
	rooms_put_name(j, "name", m->name);
	json_put_text(j, "address", address);
	return j;
}

static enum err on_room(struct api_call *c, void *part)
{
	AUTO(auto_free) struct room_ask *a = calloc(1, sizeof(*a));
	struct json                     *j, *members;
	enum err                         e;

	if (!a)
		return ERR_NOMEM;
	a->rooms = part;
	e        = read_room(&a->id, c);
	if (e == ERR_OK)
		e = api_on_loop(c, show_room, a);
	if (e != ERR_OK || a->result != ERR_OK)
		return e != ERR_OK ? e : a->result;
	j       = room_json(&a->room);
	members = json_array_new();
	for (size_t i = 0; members && i < a->room.members; i++)
		json_add_json(members, member_json(&a->list[i]));
	if (j)
		json_put_json(j, "member_list", members);
	else
		json_free(members);
	return api_answer(c, 200, j);
}

/* --- Closed, and kicked out of --- */

static void close_room(void *arg)
{
	struct room_ask   *a    = arg;
	struct rooms      *r    = a->rooms;
	struct rooms_room *room = rooms_find_room(&r->state, a->id);

	a->result = room ? ERR_OK : ERR_NOT_FOUND;
	if (!room)
		return;
	a->members = room->member_count;
	if (a->is_dry_run)
		return;
	rooms_end(&r->state, room);
	rooms_publish(r);
	rooms_settle(r, loop_now_ms(r->loop));
}

static void kick(void *arg)
{
	struct room_ask     *a    = arg;
	struct rooms        *r    = a->rooms;
	struct rooms_room   *room = rooms_find_room(&r->state, a->id);
	struct rooms_member *m    = room ? rooms_find_member(room, a->member) : NULL;

	a->result = m ? ERR_OK : ERR_NOT_FOUND;
	if (!m)
		return;
	*a->list = (struct shown_member){ .id = m->id, .user = m->player->user_id };
	memcpy(a->list->name, m->player->name, sizeof(a->list->name));
	if (a->is_dry_run)
		return;
	rooms_kick(&r->state, m);
	rooms_publish(r);
	rooms_settle(r, loop_now_ms(r->loop));
}

static enum err act(struct api_call *c, struct room_ask *a, struct rooms *r, void (*what)(void *arg))
{
	enum err e;

	a->rooms      = r;
	a->is_dry_run = c->dry_run;
	e             = read_room(&a->id, c);
	if (e == ERR_OK)
		e = api_on_loop(c, what, a);
	return e != ERR_OK ? e : a->result;
}

static enum err on_close(struct api_call *c, void *part)
{
	AUTO(auto_free) struct room_ask *a = calloc(1, sizeof(*a));
	struct json                     *j;
	enum err                         e = a ? act(c, a, part, close_room) : ERR_NOMEM;

	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j)
		json_put_int(j, "members", (int64_t)a->members);
	return api_answer(c, 200, j);
}

static enum err on_kick(struct api_call *c, void *part)
{
	AUTO(auto_free) struct room_ask *a = calloc(1, sizeof(*a));
	struct json                     *j;
	int64_t                          member;
	enum err                         e = a ? api_path_int(&member, c, 1, 1, UINT16_MAX) : ERR_NOMEM;

	if (e != ERR_OK)
		return e;
	a->member = (uint16_t)member;
	e         = act(c, a, part, kick);
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j) {
		json_put_int(j, "user", a->list->user);
		rooms_put_name(j, "name", a->list->name);
	}
	return api_answer(c, 200, j);
}

/* --- All routes --- */

#define BOARD "/admin/v1/boards/{title}/{board}"

const struct api_route rooms_admin_routes[] = {
	{ .method = "GET",
	  .path   = "/admin/v1/rooms",
	  .role   = API_VIEWER,
	  .query  = "limit cursor title",
	  .handle = on_list },
	{ .method = "GET", .path = "/admin/v1/rooms/{id}", .role = API_VIEWER, .handle = on_room },
	{ .method = "DELETE",
	  .path   = "/admin/v1/rooms/{id}",
	  .role   = API_OPERATOR,
	  .action = "room.close",
	  .handle = on_close },
	{ .method = "DELETE",
	  .path   = "/admin/v1/rooms/{id}/members/{member}",
	  .role   = API_OPERATOR,
	  .action = "room.kick",
	  .handle = on_kick },
	{ .method = "GET",
	  .path   = "/admin/v1/rooms/players",
	  .role   = API_VIEWER,
	  .query  = "limit cursor title q",
	  .handle = rooms_admin_players },
	{ .method = "DELETE",
	  .path   = "/admin/v1/rooms/players/{user}",
	  .role   = API_OPERATOR,
	  .action = "room.disconnect",
	  .handle = rooms_admin_disconnect },
	{ .method = "GET",
	  .path   = "/admin/v1/boards",
	  .role   = API_VIEWER,
	  .query  = "limit cursor title",
	  .handle = rooms_admin_boards },
	{ .method = "GET", .path = BOARD, .role = API_VIEWER, .query = "limit cursor", .handle = rooms_admin_board },
	{ .method = "DELETE",
	  .path   = BOARD,
	  .role   = API_OPERATOR,
	  .action = "board.reset",
	  .handle = rooms_admin_reset },
	{ .method = "DELETE",
	  .path   = BOARD "/scores/{name}",
	  .role   = API_OPERATOR,
	  .action = "score.remove",
	  .handle = rooms_admin_remove_score },
	{ .method = "GET", .path = BOARD "/csv", .role = API_VIEWER, .handle = rooms_admin_export },
	{ .method   = "POST",
	  .path     = BOARD "/csv",
	  .role     = API_OPERATOR,
	  .action   = "board.import",
	  .handle   = rooms_admin_import,
	  .body     = API_TEXT,
	  .body_max = CSV_BYTES_MAX },
	{ 0 },
};
