/*
 * Games, for operators. On the loop flat copies are made, up to a page of them; JSON is made of those afterwards.
 */
#include "tunnel/tunnel_inside.h"

#include "base/auto.h"
#include "base/lowest.h"
#include "store/ask.h"

#include <stdlib.h>
#include <string.h>

struct friend_view {
	uint16_t           number;
	bool               connected;
	uint8_t            player[TUNNEL_ID_BYTES];
	struct addr        addr;
	int64_t            joined_ms;
	struct tunnel_flow flow[TUNNEL_WAYS];
	int64_t            dropped[TUNNEL_WAYS][TUNNEL_DROPS];
};

struct game_view {
	uint32_t          code;
	uint8_t           version;
	bool              connected, is_playing;
	uint8_t           host[TUNNEL_ID_BYTES]; /* version 2 */
	size_t            friends;
	int64_t           made_ms;
	struct tunnel_sum sum;
};

/* --- On the loop --- */

static void look(struct game_view *out, const struct tunnel_game *g, int64_t now_ms)
{
	*out = (struct game_view){
		.code = g->code, .version = g->version, .connected = g->host != NULL, .made_ms = g->made_ms
	};
	if (g->entry)
		memcpy(out->host, g->entry->digest, sizeof(out->host));
	for (size_t i = 0; i < g->friend_count; i++) {
		out->friends += !g->friends[i]->pending;
		out->is_playing |= g->friends[i]->conn && !g->friends[i]->pending;
	}
	tunnel_game_sum(&out->sum, g, now_ms);
}

static void look_at_friend(struct friend_view *out, const struct tunnel_friend *f)
{
	*out = (struct friend_view){ .number = f->number, .connected = f->conn != NULL, .joined_ms = f->joined_ms };
	if (f->conn)
		out->addr = *tunnel_client_of(f->conn);
	memcpy(out->player, f->id, sizeof(out->player));
	memcpy(out->flow, f->flow, sizeof(out->flow));
	memcpy(out->dropped, f->dropped, sizeof(out->dropped));
}

struct games_ask {
	struct tunnel    *tunnel;
	int64_t           after; /* codes above this */
	bool              has_host, has_player;
	uint8_t           host[TUNNEL_ID_BYTES], player[TUNNEL_ID_BYTES];
	size_t            cap; /* of both */
	void            **room;
	struct game_view *views;
	size_t            count; /* out */
};

static bool is_host(const struct tunnel_game *g, const uint8_t *id)
{
	return g->entry && memcmp(g->entry->digest, id, TUNNEL_ID_BYTES) == 0;
}

static bool plays(const struct tunnel_game *g, const uint8_t *id)
{
	for (size_t i = 0; g->version == 2 && i < g->friend_count; i++) {
		if (!g->friends[i]->pending && memcmp(g->friends[i]->id, id, TUNNEL_ID_BYTES) == 0)
			return true;
	}
	return is_host(g, id);
}

static bool is_wanted(const struct games_ask *a, const struct tunnel_game *g)
{
	return g->code > a->after && (!a->has_host || is_host(g, a->host)) && (!a->has_player || plays(g, a->player));
}

static int by_code(const void *a, const void *b)
{
	uint32_t one = ((const struct tunnel_game *)a)->code, other = ((const struct tunnel_game *)b)->code;

	return one < other ? -1 : one > other;
}

static void on_games(void *arg)
{
	struct games_ask          *a = arg;
	const struct tunnel_state *s = tunnel_state_of(a->tunnel);
	struct lowest              page;

	lowest_init(&page, a->room, a->cap, by_code);
	for (struct list *at = s->all.next; at != &s->all; at = at->next) {
		struct tunnel_game *g = CONTAINER(at, struct tunnel_game, in);

		if (is_wanted(a, g))
			lowest_offer(&page, g);
	}
	lowest_sort(&page);
	for (size_t i = 0; i < page.count; i++)
		look(&a->views[i], page.items[i], tunnel_now_ms(a->tunnel));
	a->count = page.count;
}

struct game_ask {
	struct tunnel     *tunnel;
	uint32_t           code;
	enum err           result;
	struct game_view   game;
	struct addr        addr;
	struct friend_view friends[TUNNEL_FRIENDS_MAX];
	size_t             count;
};

static void on_game(void *arg)
{
	struct game_ask          *a = arg;
	const struct tunnel_game *g = tunnel_find_game(tunnel_state_of(a->tunnel), a->code);

	a->result = g ? ERR_OK : ERR_NOT_FOUND;
	if (!g)
		return;
	look(&a->game, g, tunnel_now_ms(a->tunnel));
	if (g->host)
		a->addr = *tunnel_client_of(g->host);
	for (size_t i = 0; i < g->friend_count; i++) {
		if (!g->friends[i]->pending)
			look_at_friend(&a->friends[a->count++], g->friends[i]);
	}
}

struct end_ask {
	struct tunnel *tunnel;
	uint32_t       code;
	uint16_t       number; /* of a kick */
	bool           is_kick, dry_run;
	enum err       result;
	size_t         friends;
};

static void try_end(struct end_ask *a)
{
	const struct tunnel_game   *g = tunnel_find_game(tunnel_state_of(a->tunnel), a->code);
	const struct tunnel_friend *f = NULL;

	for (size_t i = 0; g && i < g->friend_count; i++) {
		a->friends += !g->friends[i]->pending;
		if (g->friends[i]->number == a->number && !g->friends[i]->pending)
			f = g->friends[i];
	}
	a->result = g && (f || !a->is_kick) ? ERR_OK : ERR_NOT_FOUND;
}

static void on_end(void *arg)
{
	struct end_ask *a = arg;

	try_end(a);
	if (a->dry_run || a->result != ERR_OK)
		return;

	struct tunnel_state *s    = tunnel_state_of(a->tunnel);
	struct tunnel_acts  *acts = tunnel_acts_of(a->tunnel);

	a->result = a->is_kick ? tunnel_on_kick(s, a->code, a->number, acts) : tunnel_on_close_game(s, a->code, acts);
	tunnel_do_acts(a->tunnel);
}

/* --- Afterwards --- */

static void put_flow(struct json *j, const char *name, const struct tunnel_flow *flow,
                     const int64_t dropped[TUNNEL_DROPS])
{
	struct json *child = json_object_new();
	int64_t      all   = 0;

	for (int i = 0; i < TUNNEL_DROPS; i++)
		all += dropped[i];
	if (child) {
		json_put_int(child, "datagrams", flow->datagrams);
		json_put_int(child, "bytes", flow->bytes);
		json_put_int(child, "dropped", all);
	}
	json_put_json(j, name, child);
}

static void put_player(struct json *j, const char *name, const uint8_t *id, uint8_t version)
{
	if (version == 2)
		api_put_id(j, name, id);
	else
		json_put_null(j, name);
}

static void put_addr(struct json *j, const struct addr *addr, bool connected)
{
	char text[ADDR_TEXT_BYTES];

	if (!connected) {
		json_put_null(j, "address");
		return;
	}
	addr_text(text, addr);
	json_put_text(j, "address", text);
}

static const char *state_of(const struct game_view *g)
{
	if (!g->connected)
		return "lost";
	return g->is_playing ? "playing" : "open";
}

/* friends: the list of them; NULL: how many they are. */
static struct json *json_of(const struct game_view *g, struct json *friends)
{
	struct json *j = json_object_new();

	if (!j) {
		json_free(friends);
		return NULL;
	}
	json_put_int(j, "code", g->code);
	json_put_int(j, "version", g->version);
	put_player(j, "host", g->host, g->version);
	json_put_bool(j, "connected", g->connected);
	json_put_text(j, "state", state_of(g));
	if (friends)
		json_put_json(j, "friends", friends);
	else
		json_put_int(j, "friends", (int64_t)g->friends);
	api_put_time(j, "made_at", g->made_ms);
	put_flow(j, "up", &g->sum.flow[TUNNEL_UP], g->sum.dropped[TUNNEL_UP]);
	put_flow(j, "down", &g->sum.flow[TUNNEL_DOWN], g->sum.dropped[TUNNEL_DOWN]);
	json_put_int(j, "rate_up", g->sum.rate[TUNNEL_UP]);
	json_put_int(j, "rate_down", g->sum.rate[TUNNEL_DOWN]);
	return j;
}

static enum err read_games_ask(struct games_ask *a, struct api_page *p)
{
	enum err e = api_query_id(a->host, &a->has_host, p->call, "host");

	if (e == ERR_OK)
		e = api_query_id(a->player, &a->has_player, p->call, "player");
	a->after = api_page_after_int(p, -1);
	a->cap   = (size_t)p->limit + 1; /* one more tells whether there is another page */
	return e;
}

enum err tunnel_admin_games(struct api_call *c, void *part)
{
	AUTO(auto_free) void **room  = NULL;
	AUTO(auto_free) void  *views = NULL;
	struct games_ask       a     = { .tunnel = part };
	struct api_page        p;
	enum err               e = api_page_begin(&p, c);

	if (e != ERR_OK)
		return e;
	e = read_games_ask(&a, &p);
	if (e != ERR_OK)
		return api_page_end(&p, e);
	a.room = room = calloc(a.cap, sizeof(*room));
	a.views = views = calloc(a.cap, sizeof(*a.views));
	e               = room && views ? api_on_loop(c, on_games, &a) : ERR_NOMEM;
	for (size_t i = 0; e == ERR_OK && i < a.count && api_page_room_int(&p, a.views[i].code); i++)
		api_page_add(&p, json_of(&a.views[i], NULL));
	return api_page_end(&p, e);
}

static struct json *json_of_friend(const struct friend_view *f, uint8_t version)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "number", f->number);
	put_player(j, "player", f->player, version);
	put_addr(j, &f->addr, f->connected);
	json_put_bool(j, "connected", f->connected);
	api_put_time(j, "joined_at", f->joined_ms);
	put_flow(j, "up", &f->flow[TUNNEL_UP], f->dropped[TUNNEL_UP]);
	put_flow(j, "down", &f->flow[TUNNEL_DOWN], f->dropped[TUNNEL_DOWN]);
	return j;
}

static struct json *json_of_friends(const struct game_ask *a)
{
	struct json *list = json_array_new();

	for (size_t i = 0; list && i < a->count; i++)
		json_add_json(list, json_of_friend(&a->friends[i], a->game.version));
	return list;
}

static struct json *json_of_drops(const struct tunnel_sum *sum)
{
	static const char *const names[TUNNEL_DROPS] = {
		[TUNNEL_DROP_AWAY] = "away",     [TUNNEL_DROP_UNKNOWN] = "unknown", [TUNNEL_DROP_SIZE] = "size",
		[TUNNEL_DROP_BUDGET] = "budget", [TUNNEL_DROP_SHARE] = "share",     [TUNNEL_DROP_SLOW] = "slow",
	};
	struct json *j = json_object_new();

	for (int i = 0; j && i < TUNNEL_DROPS; i++)
		json_put_int(j, names[i], sum->dropped[TUNNEL_UP][i] + sum->dropped[TUNNEL_DOWN][i]);
	return j;
}

static enum err read_code(uint32_t *out, const struct api_call *c)
{
	int64_t  code = 0;
	enum err e    = api_path_int(&code, c, 0, TUNNEL_CODE_V1_MIN, TUNNEL_CODE_MAX);

	*out = (uint32_t)code;
	return e;
}

enum err tunnel_admin_game(struct api_call *c, void *part)
{
	struct game_ask a = { .tunnel = part };
	enum err        e = read_code(&a.code, c);
	struct json    *j, *friends;

	if (e == ERR_OK)
		e = api_on_loop(c, on_game, &a);
	if (e == ERR_OK)
		e = a.result;
	if (e != ERR_OK)
		return e;
	friends = json_of_friends(&a);
	j       = friends ? json_of(&a.game, friends) : NULL;
	if (!j)
		return ERR_NOMEM;
	put_addr(j, &a.addr, a.game.connected);
	json_put_json(j, "drops", json_of_drops(&a.game.sum));
	return api_answer(c, 200, j);
}

/* --- Ends --- */

static enum err run_nothing(struct job *job, struct db *db)
{
	(void)job;
	(void)db;
	return ERR_OK;
}

static void let_go(struct job *job, enum err result)
{
	(void)result;
	free(job);
}

/*
 * What the tunnel forgets it forgets lazily. A job behind that, in the same queue, makes it durable, so that what an operator
 * ended does not come back when the machine stops right now.
 */
static enum err settle(struct api_call *c)
{
	struct job *job  = calloc(1, sizeof(*job));
	bool        gone = false;
	enum err    e    = ERR_NOMEM;

	if (job) {
		*job = (struct job){ .surface = SURFACE_TUNNEL, .run = run_nothing };
		e    = store_ask(api_store(c->api), job, &gone, let_go);
	}
	if (!gone)
		free(job);
	return e == ERR_OK
	               ? ERR_OK
	               : api_problem(c, e, "this has happened, but could not be written down: a restart may undo it");
}

static enum err end(struct api_call *c, struct end_ask *a)
{
	struct json *j;
	enum err     e;

	a->dry_run = c->dry_run;
	e          = api_on_loop(c, on_end, a);
	if (e == ERR_OK)
		e = a->result;
	if (e == ERR_OK && !c->dry_run)
		e = settle(c);
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j && !a->is_kick)
		json_put_int(j, "friends", (int64_t)a->friends);
	return api_answer(c, 200, j);
}

enum err tunnel_admin_close(struct api_call *c, void *part)
{
	struct end_ask a = { .tunnel = part };
	enum err       e = read_code(&a.code, c);

	return e == ERR_OK ? end(c, &a) : e;
}

enum err tunnel_admin_kick(struct api_call *c, void *part)
{
	struct end_ask a      = { .tunnel = part, .is_kick = true };
	int64_t        number = 0;
	enum err       e      = read_code(&a.code, c);

	if (e == ERR_OK)
		e = api_path_int(&number, c, 1, 1, UINT16_MAX);
	a.number = (uint16_t)number;
	return e == ERR_OK ? end(c, &a) : e;
}
