/*
 * The live rooms as a whole: made, stopped and freed; and what the state asks of its host.
 */
#include "rooms/rooms_serve.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "os/random.h"
#include "rooms/rooms_change.h"
#include "rooms/rooms_inside.h"

#include <stdlib.h>
#include <string.h>

/* What the state wants done */

static struct rooms_peer *peer_of(struct rooms_player *player)
{
	return CONTAINER(player, struct rooms_peer, player);
}

static void send_frame(void *arg, struct rooms_player *to, const uint8_t *frame, size_t len)
{
	(void)arg;
	rooms_peer_send(peer_of(to), frame, len);
}

static void close_replaced(void *arg, struct rooms_player *player, enum rooms_why why)
{
	(void)arg;
	(void)why; /* there is one */
	rooms_give_up(peer_of(player), ROOMS_END_REPLACED);
}

static uint32_t random_token(void *arg)
{
	(void)arg;
	return (uint32_t)random_u64();
}

static bool may(void *arg, const struct rooms_origin *from, enum rooms_ask what, const uint8_t *name, int64_t now_ms)
{
	return rooms_guard_may(((struct rooms *)arg)->guard, from, what, name, now_ms);
}

static bool packet(void *arg, const struct rooms_player *p, int64_t now_ms)
{
	return rooms_guard_packet(((struct rooms *)arg)->guard, &p->from, now_ms);
}

static void room_gone(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	rooms_guard_room_gone(((struct rooms *)arg)->guard, owner);
}

static void room_came(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	rooms_guard_room_came(((struct rooms *)arg)->guard, owner);
}

static void room_over(void *arg, uint64_t room)
{
	(void)arg;
	event_emit(E_ROOM_CLOSED, event_int("room", (int64_t)room));
}

static bool can_keep(void *arg)
{
	return rooms_keep_can(((struct rooms *)arg)->keep);
}

static bool is_banned(void *arg, const uint8_t title[ROOMS_TITLE_BYTES], const uint8_t name[ROOMS_NAME_BYTES])
{
	(void)arg;
	if (!ban_has_name(title, name))
		return false;
	metric_inc(M_BAN_REFUSED_ROOMS);
	return true;
}

static void recorded(void *arg, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES],
                     const struct rooms_recorded *what)
{
	const uint8_t   *title = rooms_board_title(board);
	struct rooms_row row;

	rooms_keep_recorded(((struct rooms *)arg)->keep, board, name, what);
	if (rooms_board_rank_of(&row, board, name) > 0)
		event_emit(E_SCORE_RECORDED, event_text("title", title, rooms_text_len(title, ROOMS_TITLE_BYTES)),
		           event_int("board", rooms_board_number(board)),
		           event_text("name", row.name, rooms_text_len(row.name, ROOMS_NAME_BYTES)),
		           event_int("score", row.score));
}

/* The whole of it */

/* The setting has been checked: each word is a title. */
static bool take_titles(struct rooms *r)
{
	const struct conf_list *words = &r->conf->rooms_titles;

	if (words->count == 0)
		return true;
	r->titles = calloc(words->count, sizeof(*r->titles));
	if (!r->titles)
		return false;
	for (size_t i = 0; i < words->count; i++)
		memcpy(r->titles[i], words->words[i], strnlen(words->words[i], ROOMS_TITLE_BYTES));
	r->state.titles      = (const uint8_t(*)[ROOMS_TITLE_BYTES])r->titles;
	r->state.title_count = words->count;
	return true;
}

static void init_state(struct rooms *r)
{
	r->host = (struct rooms_host){ .arg       = r,
		                       .send      = send_frame,
		                       .close     = close_replaced,
		                       .random    = random_token,
		                       .may       = may,
		                       .packet    = packet,
		                       .room_gone = room_gone,
		                       .room_came = room_came,
		                       .room_over = room_over,
		                       .can_keep  = can_keep,
		                       .is_banned = is_banned,
		                       .recorded  = recorded };
	rooms_state_init(&r->state, &r->conf->limits, &r->host, r->boards, random_u64());
	r->state.relays     = r->conf->rooms_relay;
	r->state.any_source = r->conf->rooms_udp_any_source;
	rooms_streams_init(&r->streams, &r->state, random_u64());
}

/* Everything that can fail. */
static enum err make_parts(struct rooms *r, FILE *report)
{
	const struct limits *l = &r->conf->limits;
	enum err             e;

	r->guard = rooms_guard_new(l, random_u64());
	if (!r->guard || !r->boards || !take_titles(r))
		return ERR_NOMEM;
	e = splice_new(&r->splice, r->loop);
	if (e != ERR_OK)
		return e;
	e = rooms_keep_new(&r->keep, r->loop, r->store, r->conf, r->boards, report);
	return e == ERR_OK ? rooms_status_init(r) : e;
}

enum err rooms_new(struct rooms **out, struct loop *loop, struct store *store, const struct conf *conf, FILE *report)
{
	struct rooms *r = calloc(1, sizeof(*r));
	enum err      e;

	if (!r) {
		fputs("coopd: there is no memory for the rooms.\n", report);
		return ERR_NOMEM;
	}
	r->loop  = loop;
	r->store = store;
	r->conf  = conf;
	list_init(&r->peers);
	list_init(&r->waiting);
	list_init(&r->leaving);
	list_init(&r->changes);
	pool_init(&r->peer_pool, sizeof(struct rooms_peer), SIZE_MAX); /* the guard bounds it */
	chain_blocks_init(&r->block_pool);
	rooms_log_init(&r->log, loop);
	r->boards = rooms_boards_new(&conf->limits);
	init_state(r);
	rooms_peer_init(r);
	rooms_hold_init(r);
	rooms_udp_init(r);
	rooms_leg_init(r);
	e = make_parts(r, report);
	if (e != ERR_OK) {
		if (e != ERR_STORE)
			fputs("coopd: there is no memory, or no file descriptor, for the rooms.\n", report);
		rooms_free(r);
		return e;
	}
	rooms_publish(r);
	*out = r;
	return ERR_OK;
}

void rooms_drain(struct rooms *r, bool on)
{
	r->state.is_draining = on;
}

void rooms_stop(struct rooms *r)
{
	int64_t now_ms = loop_now_ms(r->loop);

	r->is_stopping = true;
	/* All of them first: then nobody is told of the others, who go as well. */
	for (struct list *at = r->peers.next; at != &r->peers; at = at->next) {
		struct rooms_peer *p = CONTAINER(at, struct rooms_peer, in_peers);

		if (p->role == ROOMS_ROLE_PLAYER)
			rooms_give_up(p, ROOMS_END_SERVER);
	}
	rooms_settle(r, now_ms);
	splice_stop(r->splice);
	rooms_status_stop(r);
	rooms_changes_stop(r);
	rooms_keep_stop(r->keep);
}

void rooms_finish(struct rooms *r)
{
	rooms_status_stop(r);
	rooms_keep_stop(r->keep);
}

bool rooms_has_lost(const struct rooms *r)
{
	return rooms_keep_has_lost(r->keep);
}

void rooms_free(struct rooms *r)
{
	if (!r)
		return;
	if (r->splice)
		splice_free(r->splice);
	while (!list_is_empty(&r->peers))
		rooms_peer_free(CONTAINER(r->peers.next, struct rooms_peer, in_peers));
	timer_clear(&r->offers_timer);
	timer_clear(&r->stream_timer);
	rooms_status_fini(r);
	rooms_streams_fini(&r->streams);
	rooms_state_fini(&r->state);
	rooms_keep_free(r->keep);
	rooms_boards_free(r->boards);
	rooms_guard_free(r->guard);
	rooms_log_fini(&r->log);
	pool_fini(&r->peer_pool);
	pool_fini(&r->block_pool);
	free(r->titles);
	free(r);
}
