#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "base/mem.h"
#include "rooms/rooms_state_inside.h"

#include <assert.h>
#include <string.h>

/* Setting up */

void rooms_state_init(struct rooms_state *s, const struct limits *limits, const struct rooms_host *host,
                      struct rooms_boards *boards, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->limits    = limits;
	s->host      = host;
	s->boards    = boards;
	s->next_user = 1;
	s->next_room = 1;
	map_init(&s->by_id, sizeof(uint32_t), seed);
	map_init(&s->by_room, sizeof(uint64_t), seed + 1);
	map_init(&s->by_name, ROOMS_NAME_BYTES, seed + 2);
	map_init(&s->by_title, ROOMS_TITLE_BYTES, seed + 3);
	list_init(&s->rooms);
	list_init(&s->players);
	list_init(&s->titles_known);
	list_init(&s->taken);
	/* How many there may be is tested where a code is to be said, not by the pools. */
	pool_init(&s->room_pool, sizeof(struct rooms_room), SIZE_MAX);
	pool_init(&s->member_pool, sizeof(struct rooms_member), SIZE_MAX);
	pool_init(&s->name_pool, sizeof(struct rooms_name), SIZE_MAX);
	pool_init(&s->title_pool, sizeof(struct rooms_title), SIZE_MAX);
}

void rooms_state_fini(struct rooms_state *s)
{
	assert(s->player_count == 0 && s->room_count == 0 && s->blob_bytes == 0);
	for (struct list *at = s->titles_known.next; at != &s->titles_known; at = at->next)
		mem_free(CONTAINER(at, struct rooms_title, in_titles)->open);
	map_fini(&s->by_id);
	map_fini(&s->by_room);
	map_fini(&s->by_name);
	map_fini(&s->by_title);
	pool_fini(&s->room_pool);
	pool_fini(&s->member_pool);
	pool_fini(&s->name_pool);
	pool_fini(&s->title_pool);
}

/* Frames out */

struct rooms_letter rooms_letter_begin(struct rooms_state *s, enum rooms_type type)
{
	struct rooms_letter l = { .w = wr_over(s->frame, sizeof(s->frame)) };

	l.at = rooms_frame_begin(&l.w, type);
	return l;
}

struct rooms_letter rooms_letter_reply(struct rooms_state *s, enum rooms_type type, const struct rooms_request *r)
{
	struct rooms_letter l = rooms_letter_begin(s, type);

	wr_be(&l.w, r->req, ROOMS_REQ_BYTES);
	return l;
}

size_t rooms_letter_end(struct rooms_letter *l)
{
	rooms_frame_end(&l->w, l->at);
	assert(wr_ok(&l->w));
	return wr_len(&l->w);
}

void rooms_send(struct rooms_state *s, struct rooms_player *to, size_t len)
{
	s->host->send(s->host->arg, to, s->frame, len);
}

void rooms_letter_send(struct rooms_state *s, struct rooms_letter *l, struct rooms_player *to)
{
	rooms_send(s, to, rooms_letter_end(l));
}

void rooms_send_ok(struct rooms_state *s, struct rooms_player *to, const struct rooms_request *r)
{
	struct rooms_letter l = rooms_letter_reply(s, ROOMS_OK, r);

	rooms_letter_send(s, &l, to);
}

static void send_error(struct rooms_state *s, struct rooms_player *to, const struct rooms_request *r,
                       enum rooms_code code)
{
	struct rooms_letter l = rooms_letter_reply(s, ROOMS_ERROR, r);

	wr_be(&l.w, (uint32_t)code, 4);
	rooms_letter_send(s, &l, to);
}

bool rooms_may(const struct rooms_state *s, const struct rooms_player *p, enum rooms_ask what, int64_t now_ms)
{
	return p->from.is_exempt || s->host->may(s->host->arg, &p->from, what, NULL, now_ms);
}

/* Coming and going */

/* After 2^32 connections the ids begin anew: a server that let nobody in any more would be worse. */
static uint32_t next_user(struct rooms_state *s)
{
	uint32_t id = s->next_user;

	while (id == 0 || map_get(&s->by_id, &id))
		id++;
	s->next_user = id + 1;
	return id;
}

bool rooms_enter(struct rooms_state *s, struct rooms_player *p, const struct rooms_origin *from)
{
	*p = (struct rooms_player){ .user_id = next_user(s), .from = *from };
	list_init(&p->rooms);
	list_init(&p->in_players);
	if (map_put(&s->by_id, &p->user_id, p) != ERR_OK)
		return false;
	list_append(&s->players, &p->in_players);
	s->player_count++;
	return true;
}

/* He is nobody from here on. */
static void unname(struct rooms_state *s, struct rooms_player *p)
{
	if (!p->has_hello)
		return;
	rooms_leave_all(s, p);
	rooms_name_let(s, p);
	rooms_title_leave(s, p);
	p->has_hello = false;
	p->token     = 0;
	s->named_count--;
}

void rooms_leave(struct rooms_state *s, struct rooms_player *p)
{
	unname(s, p);
	map_remove(&s->by_id, &p->user_id);
	list_remove(&p->in_players);
	s->player_count--;
}

struct rooms_player *rooms_find_user(const struct rooms_state *s, uint32_t user_id)
{
	return map_get(&s->by_id, &user_id);
}

/* HELLO */

bool rooms_are_neighbours(const struct rooms_player *a, const struct rooms_player *b)
{
	return memcmp(a->from.addr, b->from.addr, sizeof(a->from.addr)) == 0;
}

static uint32_t new_token(const struct rooms_state *s)
{
	uint32_t token = 0;

	while (token == 0)
		token = s->host->random(s->host->arg);
	return token;
}

/* Somebody has the name. At the same address he is taken to be the same player, back after a crash. */
static bool may_replace(const struct rooms_state *s, const struct rooms_player *p, const struct rooms_name *name,
                        int64_t now_ms)
{
	if (!rooms_are_neighbours(p, name->holder))
		return false;
	return p->from.is_exempt || !rooms_name_is_taken(s, name, now_ms);
}

/* A name that nobody has counts for the address. */
static bool may_use(const struct rooms_state *s, const struct rooms_player *p, const uint8_t folded[ROOMS_NAME_BYTES],
                    int64_t now_ms)
{
	return p->from.is_exempt || s->host->may(s->host->arg, &p->from, ROOMS_ASK_NAME, folded, now_ms);
}

/* Whoever is somebody else now has left what he was in. */
static void move_to(struct rooms_state *s, struct rooms_player *p, struct rooms_name *name, struct rooms_title *title,
                    const struct rooms_request *r)
{
	if (memcmp(p->name, r->name, sizeof(p->name)) != 0 || p->in_title != title)
		rooms_leave_all(s, p);
	if (p->has_name != name) {
		rooms_name_let(s, p);
		rooms_name_hold(name, p);
	}
	if (p->in_title != title) {
		rooms_title_leave(s, p);
		rooms_title_enter(p, title);
	}
	memcpy(p->title, r->title, sizeof(p->title));
	memcpy(p->name, r->name, sizeof(p->name));
	memcpy(p->folded, name->folded, sizeof(p->folded));
	p->p2p_port = r->p2p_port;
	p->token    = new_token(s);
	s->named_count += !p->has_hello;
	p->has_hello = true;
}

static void send_hello_ack(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r)
{
	struct rooms_letter l = rooms_letter_reply(s, ROOMS_HELLO_ACK, r);

	wr_be(&l.w, p->user_id, 4);
	wr_bytes(&l.w, p->from.ip, sizeof(p->from.ip));
	wr_be(&l.w, p->token, 4);
	wr_be(&l.w, s->relays, 1);
	rooms_letter_send(s, &l, p);
}

/* Everything that can fail comes first: a HELLO that is refused changes nothing. */
static enum rooms_code do_hello(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                struct rooms_now now)
{
	uint8_t folded[ROOMS_NAME_BYTES];

	if (rooms_text_len(r->title, sizeof(r->title)) == 0)
		return ROOMS_BAD;
	if (s->host->is_banned && s->host->is_banned(s->host->arg, r->title, r->name))
		return ROOMS_TAKEN;
	rooms_fold(folded, r->name);
	rooms_names_forget(s, now.mono_ms);

	struct rooms_name   *name   = rooms_name_find(s, folded);
	struct rooms_player *holder = name ? name->holder : NULL;

	if (holder && holder != p && !may_replace(s, p, name, now.mono_ms))
		return ROOMS_TAKEN;
	if (!rooms_title_is_allowed(s, r->title))
		return ROOMS_NOT_FOUND;

	struct rooms_title *title = rooms_title_get(s, p, r->title);

	if (!title)
		return ROOMS_LIMIT;
	if (holder || may_use(s, p, folded, now.mono_ms))
		name = rooms_name_get(s, folded);
	else
		name = NULL;
	if (!name) {
		rooms_title_drop_unused(s, title);
		return ROOMS_LIMIT;
	}
	move_to(s, p, name, title, r);
	if (holder && holder != p) {
		rooms_name_note_taken(s, name, now.mono_ms);
		unname(s, holder);
	}
	send_hello_ack(s, p, r);
	if (holder && holder != p)
		s->host->close(s->host->arg, holder, ROOMS_WHY_REPLACED);
	return ROOMS_FINE;
}

/* Requests */

static enum rooms_code do_heartbeat(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                    struct rooms_now now)
{
	(void)s;
	(void)p;
	(void)r;
	(void)now;
	return ROOMS_FINE;
}

struct request {
	const char    *name;
	bool           is_for_anybody; /* also for one who has not said HELLO */
	rooms_handler *handler;
};

/* clang-format off */
static const struct request requests[] = {
	[ROOMS_HELLO]             = { "HELLO",             true,  do_hello               },
	[ROOMS_HEARTBEAT]         = { "HEARTBEAT",         false, do_heartbeat           },
	[ROOMS_CREATE_ROOM]       = { "CREATE_ROOM",       false, rooms_do_create        },
	[ROOMS_SEARCH_ROOMS]      = { "SEARCH_ROOMS",      false, rooms_do_search        },
	[ROOMS_JOIN_ROOM]         = { "JOIN_ROOM",         false, rooms_do_join          },
	[ROOMS_LEAVE_ROOM]        = { "LEAVE_ROOM",        false, rooms_do_leave         },
	[ROOMS_SET_ROOM_DATA]     = { "SET_ROOM_DATA",     false, rooms_do_set           },
	[ROOMS_ROOM_MESSAGE]      = { "ROOM_MESSAGE",      false, rooms_do_message       },
	[ROOMS_KICK_MEMBER]       = { "KICK_MEMBER",       false, rooms_do_kick          },
	[ROOMS_RECORD_SCORE]      = { "RECORD_SCORE",      false, rooms_do_record        },
	[ROOMS_GET_RANKING]       = { "GET_RANKING",       false, rooms_do_ranking       },
	[ROOMS_GET_RANKING_BY_ID] = { "GET_RANKING_BY_ID", false, rooms_do_ranking_by_id },
};
/* clang-format on */

static const struct request *request_of(uint8_t type)
{
	return type < COUNT_OF(requests) && requests[type].handler ? &requests[type] : NULL;
}

const char *rooms_request_name(uint8_t type)
{
	const struct request *row = request_of(type);

	return row ? row->name : NULL;
}

void rooms_on_frame(struct rooms_state *s, struct rooms_player *p, uint8_t type, const uint8_t *payload, size_t len,
                    struct rooms_now now)
{
	if (len < ROOMS_REQ_BYTES)
		return;

	struct rooms_request  r;
	enum rooms_code       code = rooms_parse(&r, type, payload, len);
	const struct request *row  = request_of(type);

	if (!p->has_hello && !(row && row->is_for_anybody))
		code = ROOMS_NO_HELLO;
	else if (!row)
		code = ROOMS_BAD;
	else if (code == ROOMS_FINE)
		code = row->handler(s, p, &r, now);
	if (code != ROOMS_FINE)
		send_error(s, p, &r, code);
}
