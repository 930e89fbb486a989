/*
 * Connections of the game tunnel. The header says how the work is divided.
 */
#include "tunnel/tunnel_serve.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/pool.h"
#include "crypt/hash.h"
#include "net/addr_event.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/random.h"
#include "store/player.h"
#include "tunnel/tunnel_guard.h"
#include "tunnel/tunnel_inside.h"
#include "tunnel/tunnel_keep.h"

#include <stdlib.h>
#include <string.h>

#define SWEEP_MS       3600000
#define SWEEP_FIRST_MS 3000
#define WARN_MS        3600000
#define HOUR_MS        3600000

struct conn {
	struct tunnel_conn state; /* first: the state's pointers are ours */
	struct tunnel     *tunnel;
	struct ws_conn    *ws;
	struct timer       timer;   /* NEW: to say what it is, or until the held JOIN; JOINING: for the store */
	struct tunnel_msg *held;    /* a JOIN that has to wait */
	bool               entered; /* counted as a player without forwarding field */
	/* What operators were told of it; they are told of its end as well. */
	enum { UNTOLD, TOLD_HOST, TOLD_FRIEND } told;
	uint32_t code;
	uint16_t number;
	uint8_t  id[TUNNEL_ID_BYTES];
};

/* Counted per turn of the loop, so that a datagram costs no atomic operation. */
struct flow {
	int64_t datagrams, bytes;
};

struct tunnel {
	struct loop         *loop;
	struct store        *store;
	const struct conf   *conf;
	struct tunnel_state  state;
	struct tunnel_keep  *keep;
	struct tunnel_guard *guard;
	struct pool          conns;
	struct timer         check, sweep;
	struct loop_flush    flush;
	struct flow          flow[TUNNEL_WAYS];
	int64_t              warned_ms;
	struct ws_handler    handler;
	struct tunnel_acts   acts;
	struct tunnel_game  *new_game; /* while its host is being told: it was not there before */
	tunnel_vault         vault;    /* NULL: there are no checkpoints here */
	void                *vault_arg;
	tunnel_over          over; /* NULL: nobody asks */
	void                *over_arg;
};

static struct conn *conn_of(struct tunnel_conn *c)
{
	return CONTAINER(c, struct conn, state);
}

static uint64_t id_of(const struct conn *c)
{
	return ws_conn_id(c->ws);
}

/* Doing what the state says */

static void send_msg(struct conn *c, const struct tunnel_msg *msg)
{
	uint8_t   buf[TUNNEL_BUILT_BYTES_MAX];
	struct wr w = wr_over(buf, sizeof(buf));

	tunnel_build(&w, msg);
	ws_send(c->ws, buf, wr_len(&w));
}

static void drop_held(struct conn *c)
{
	if (!c->held)
		return;
	tunnel_guard_let_join(c->tunnel->guard, ws_conn_client(c->ws));
	free(TAKE(c->held));
}

/* Events for operators */

/* Ids are of protocol 2. */
static const uint8_t *id_or_none(uint8_t version, const uint8_t *id)
{
	return version == 2 ? id : NULL;
}

static void tell_hosts(struct conn *c, const struct tunnel_msg *msg)
{
	const struct addr *from = ws_conn_client(c->ws);

	if (c->tunnel->new_game && c->state.game == c->tunnel->new_game)
		event_emit(E_GAME_OPENED, event_int("code", msg->code), event_int("version", msg->version),
		           event_id("host", id_or_none(msg->version, msg->id)), event_addr("from", from));
	else
		event_emit(E_GAME_HOST_BACK, event_int("code", msg->code), event_addr("from", from));
	c->tunnel->new_game = NULL;
	c->told             = TOLD_HOST;
	c->code             = msg->code;
}

static const uint8_t *player_of(const struct conn *c)
{
	static const uint8_t none[TUNNEL_ID_BYTES];

	return memcmp(c->id, none, sizeof(none)) == 0 ? NULL : c->id;
}

static void tell_joins(struct conn *c)
{
	const struct tunnel_friend *f = c->state.friend;

	c->told   = TOLD_FRIEND;
	c->code   = f->game->code;
	c->number = f->number;
	memcpy(c->id, f->id, sizeof(c->id));
	event_emit(E_FRIEND_JOINED, event_int("code", c->code), event_int("number", c->number),
	           event_id("player", player_of(c)), event_addr("from", ws_conn_client(c->ws)));
}

/* Who is replaced by a connection of his own is not gone; that a game is over is said of the game, not of its host. */
static void tell_end(struct conn *c, enum metric why)
{
	if (c->told == TOLD_HOST && why != M_TUNNEL_CLOSED_REPLACED && why != M_TUNNEL_CLOSED_ENDED)
		event_emit(E_GAME_HOST_LOST, event_int("code", c->code));
	if (c->told == TOLD_FRIEND && why != M_TUNNEL_CLOSED_REPLACED)
		event_emit(E_FRIEND_LEFT, event_int("code", c->code), event_int("number", c->number),
		           event_id("player", player_of(c)));
	c->told = UNTOLD;
}

static void close_conn(struct conn *c, enum metric why)
{
	tell_end(c, why);
	metric_inc(why);
	timer_clear(&c->timer);
	drop_held(c);
	ws_close(c->ws);
}

static void log_sent(struct conn *c, const struct tunnel_msg *msg)
{
	switch (msg->op) {
	case TUNNEL_HOST_OPENED:
		log_info("tunnel", id_of(c), "hosts", "code=%u version=%u", msg->code, msg->version);
		tell_hosts(c, msg);
		break;
	case TUNNEL_JOINED:
		log_info("tunnel", id_of(c), "joins", "code=%u number=%u state=%u", c->state.friend->game->code,
		         c->state.friend->number, msg->state);
		tell_joins(c);
		break;
	case TUNNEL_FAULT:
		log_debug("tunnel", id_of(c), "refused", "fault=%u", msg->fault);
		break;
	default:
		break;
	}
}

static void do_keep_player(struct tunnel *t, struct code_entry *e, struct tunnel_conn *asker, bool *failed)
{
	*failed = tunnel_keep_player(t->keep, e, asker->addr, loop_now_ms(t->loop)) != ERR_OK;
}

static void do_act(struct tunnel *t, struct tunnel_act *a, struct code_entry **unkept)
{
	bool failed;

	switch (a->what) {
	case TUNNEL_ACT_SEND:
		log_sent(conn_of(a->conn), &a->msg);
		send_msg(conn_of(a->conn), &a->msg);
		break;
	case TUNNEL_ACT_CLOSE:
		close_conn(conn_of(a->conn), a->why);
		break;
	case TUNNEL_ACT_DROP_TAG:
		ws_drop_tag(conn_of(a->conn)->ws, a->number);
		break;
	case TUNNEL_ACT_KEEP_PLAYER:
		do_keep_player(t, a->entry, a->entry->waiting, &failed);
		if (failed)
			*unkept = a->entry;
		break;
	case TUNNEL_ACT_TOUCH_PLAYER:
		tunnel_keep_touch(t->keep, a->entry);
		break;
	case TUNNEL_ACT_KEEP_GAME:
		t->new_game = a->game;
		tunnel_keep_game(t->keep, a->game);
		break;
	case TUNNEL_ACT_KEEP_FRIEND:
		/* Out of memory is as good as a store that takes too long: the timer lets him in. */
		(void)tunnel_keep_friend(t->keep, a->friend);
		timer_set(t->loop, &conn_of(a->friend->conn)->timer,
		          loop_now_ms(t->loop) + t->conf->limits.tunnel_keep_wait_ms);
		break;
	case TUNNEL_ACT_FORGET_FRIEND:
		tunnel_keep_forget_friend(t->keep, a->code, a->number);
		break;
	case TUNNEL_ACT_FORGET_GAME:
		log_info("tunnel", 0, "game-over", "code=%u", a->code);
		event_emit(E_GAME_CLOSED, event_int("code", a->code));
		tunnel_keep_forget_game(t->keep, a->code);
		if (t->over)
			t->over(t->over_arg, a->code);
		break;
	}
}

/* Does what is asked for; NULL, or a player whose keeping could not even be asked for. */
static struct code_entry *do_list(struct tunnel *t)
{
	struct code_entry *unkept = NULL;

	for (size_t i = 0; i < t->acts.count; i++)
		do_act(t, &t->acts.list[i], &unkept);
	t->acts.count = 0;
	return unkept;
}

/* Empties t->acts. */
static void do_acts(struct tunnel *t)
{
	struct code_entry *unkept;

	while ((unkept = do_list(t)))
		tunnel_on_player_kept(&t->state, unkept->digest, ERR_BUSY, loop_now_ms(t->loop), clock_wall_ms(),
		                      &t->acts);
}

/* Requests */

/* Over 20 players of one address that came without a forwarding field: most likely a proxy that sends none. */
static void note_player(struct conn *c)
{
	struct tunnel *t      = c->tunnel;
	int64_t        now_ms = loop_now_ms(t->loop);
	char           text[ADDR_TEXT_BYTES];

	if (c->entered || ws_conn_is_forwarded(c->ws) || ws_conn_is_exempt(c->ws))
		return;
	c->entered = tunnel_guard_enter(t->guard, ws_conn_client(c->ws));
	if (!c->entered)
		metric_inc(M_TUNNEL_ADDRESSES_LOST);
	if (c->entered || (t->warned_ms != 0 && now_ms - t->warned_ms < WARN_MS))
		return;
	t->warned_ms = now_ms;
	addr_text_log(text, ws_conn_client(c->ws));
	log_warn("tunnel", id_of(c), "addresses-lost",
	         "address=%s players-over=%lld: limits per address hit everybody; if this is your proxy, let it send "
	         "%s "
	         "and name it in http.trusted_proxies",
	         text, (long long)t->conf->limits.tunnel_lost_address_players, t->conf->http_client_address_header);
}

static void refuse(struct conn *c, enum err e, enum metric why)
{
	send_msg(c, &(struct tunnel_msg){ .op = TUNNEL_FAULT, .fault = (uint8_t)err_tunnel(e) });
	c->state.role = TUNNEL_GONE;
	close_conn(c, why);
}

/* True: he was refused. digest: of his key. */
static bool refuse_banned(struct conn *c, const uint8_t digest[HASH_SHA256_BYTES])
{
	if (!ban_has_player(digest))
		return false;
	metric_inc(M_BAN_REFUSED_TUNNEL);
	refuse(c, ERR_BANNED, M_TUNNEL_FAULT_BANNED);
	return true;
}

static void on_host_open(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	struct tunnel *t = c->tunnel;
	uint8_t        digest[HASH_SHA256_BYTES];

	hash_sha256(digest, msg->key, sizeof(msg->key));
	if (refuse_banned(c, digest))
		return;

	bool known = code_find(&t->state.codes, digest) != NULL;

	struct tunnel_open open = { .digest     = digest,
		                    .may_be_new = !known && tunnel_guard_new_player(t->guard, ws_conn_client(c->ws),
		                                                                    c->state.addr, now_ms),
		                    .random     = (uint32_t)random_u64(),
		                    .now_ms     = now_ms,
		                    .wall_ms    = clock_wall_ms() };

	tunnel_on_open(&t->state, &c->state, &open, &t->acts);
}

static void on_host_open_v1(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	struct tunnel *t = c->tunnel;
	uint8_t        new_secret[TUNNEL_SECRET_BYTES], new_digest[HASH_SHA256_BYTES], digest[HASH_SHA256_BYTES];

	random_bytes(new_secret, sizeof(new_secret));
	hash_sha256(new_digest, new_secret, sizeof(new_secret));
	hash_sha256(digest, msg->secret, sizeof(msg->secret));

	const uint8_t *kept = tunnel_v1_secret(&t->state, msg->code);

	struct tunnel_open_v1 open = { .old_code   = msg->code,
		                       .matches    = kept && equal_secret(kept, digest, sizeof(digest)),
		                       .old_secret = msg->secret,
		                       .new_secret = new_secret,
		                       .new_digest = new_digest,
		                       .now_ms     = now_ms,
		                       .wall_ms    = clock_wall_ms() };

	tunnel_on_open_v1(&t->state, &c->state, &open, &t->acts);
}

static void on_open(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	note_player(c);
	timer_clear(&c->timer);
	if (msg->version == 2)
		on_host_open(c, msg, now_ms);
	else
		on_host_open_v1(c, msg, now_ms);
}

/* Looks a JOIN up; at once, or when it comes back after having been held. */
static void join(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms, bool may_wait)
{
	struct tunnel *t = c->tunnel;
	uint8_t        token[HASH_SHA256_BYTES], id[HASH_SHA256_BYTES];

	hash_sha256(token, msg->token, sizeof(msg->token));
	hash_sha256(id, msg->key, sizeof(msg->key));
	if (msg->version == 2 && refuse_banned(c, id))
		return;

	struct tunnel_join  want    = { .version = msg->version,
		                        .code    = msg->code,
		                        .token   = msg->has_token ? token : NULL,
		                        .id      = msg->version == 2 ? id : NULL,
		                        .now_ms  = now_ms,
		                        .wall_ms = clock_wall_ms() };
	enum tunnel_outlook outlook = tunnel_join_outlook(&t->state, &want);
	int64_t             wait_ms = 0;

	if (may_wait && outlook != TUNNEL_KNOWN_TOKEN)
		wait_ms = tunnel_guard_join_wait(t->guard, ws_conn_client(c->ws), now_ms);
	if (wait_ms > 0 && (c->held = malloc(sizeof(*c->held)))) {
		*c->held      = *msg;
		c->held->rest = NULL;
		tunnel_guard_hold_join(t->guard, ws_conn_client(c->ws));
		metric_inc(M_TUNNEL_JOIN_DELAYED);
		timer_set(t->loop, &c->timer, now_ms + wait_ms);
		return;
	}
	if (outlook == TUNNEL_NO_GAME)
		tunnel_guard_join_failed(t->guard, ws_conn_client(c->ws), now_ms);
	timer_clear(&c->timer);
	tunnel_on_join(&t->state, &c->state, &want, &t->acts);
}

static void on_join(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	note_player(c);
	join(c, msg, now_ms, true);
}

static void count_late(bool taken)
{
	if (!taken)
		metric_inc(M_TUNNEL_IGNORED_RATE);
}

static void on_paths_up(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	struct tunnel *t = c->tunnel;

	count_late(tunnel_on_paths_up(&t->state, &c->state, msg->rest, msg->rest_len, now_ms, &t->acts));
}

static void on_paths_down(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	struct tunnel *t = c->tunnel;

	count_late(tunnel_on_paths_down(&t->state, &c->state, msg->number, msg->rest, msg->rest_len, now_ms, &t->acts));
}

static void on_game_state(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	count_late(tunnel_on_game_state(&c->tunnel->state, &c->state, msg->state, now_ms, &c->tunnel->acts));
}

static void forget_conn(struct conn *c, int64_t now_ms)
{
	struct tunnel *t = c->tunnel;

	timer_clear(&c->timer);
	drop_held(c);
	if (c->entered)
		tunnel_guard_leave(t->guard, ws_conn_client(c->ws));
	tunnel_on_closed(&t->state, &c->state, now_ms, &t->acts);
	do_acts(t);
	pool_give(&t->conns, c);
}

/*
 * The connection is no longer the tunnel's. Without checkpoints here it gets the end: a client that gets no answer would
 * wait for ever.
 */
static void on_vault_open(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms)
{
	struct tunnel  *t  = c->tunnel;
	struct ws_conn *ws = c->ws;

	c->state.role = TUNNEL_GONE;
	if (!t->vault) {
		close_conn(c, M_TUNNEL_CLOSED_VAULT);
		return;
	}
	forget_conn(c, now_ms);
	t->vault(t->vault_arg, ws, msg->key, now_ms);
}

/* Messages */

#define IN(role) (1u << (role))

static const struct op {
	unsigned roles; /* in which it means something */
	void (*run)(struct conn *c, const struct tunnel_msg *msg, int64_t now_ms);
} ops[] = {
	/* op                        allowed in          handler */
	[TUNNEL_HOST_OPEN]         = { IN(TUNNEL_NEW), on_open },
	[TUNNEL_JOIN]              = { IN(TUNNEL_NEW), on_join },
	[TUNNEL_PATHS_FROM_FRIEND] = { IN(TUNNEL_FRIEND), on_paths_up },
	[TUNNEL_PATHS_FROM_HOST]   = { IN(TUNNEL_HOST), on_paths_down },
	[TUNNEL_GAME_STATE]        = { IN(TUNNEL_HOST), on_game_state },
	[TUNNEL_VAULT_OPEN]        = { IN(TUNNEL_NEW), on_vault_open },
};

static void on_request(struct conn *c, const uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct tunnel    *t  = c->tunnel;
	const struct op  *op = bytes[0] < COUNT_OF(ops) ? &ops[bytes[0]] : NULL;
	struct tunnel_msg msg;

	if (!op || !(op->roles & IN(c->state.role)) || c->held) {
		metric_inc(M_TUNNEL_IGNORED);
		return;
	}
	switch (tunnel_parse_client(&msg, bytes, len)) {
	case TUNNEL_PARSED:
		op->run(c, &msg, now_ms);
		break;
	case TUNNEL_BAD_VERSION:
		refuse(c, ERR_VERSION, M_TUNNEL_FAULT_VERSION);
		break;
	case TUNNEL_SHORT:
	case TUNNEL_UNKNOWN:
		metric_inc(M_TUNNEL_IGNORED_SHORT);
		break;
	}
	do_acts(t); /* c may be another part's now */
}

static void count_route(struct tunnel *t, const struct tunnel_route *route, enum tunnel_way way, size_t len, bool sent)
{
	tunnel_on_routed(route, way, len, sent);
	if (sent) {
		t->flow[way].datagrams++;
		t->flow[way].bytes += (int64_t)len;
	} else {
		metric_inc(route->to ? M_TUNNEL_DROPPED_SLOW : route->why);
	}
}

static void on_datagram_up(struct conn *c, const uint8_t *payload, size_t len, int64_t now_ms)
{
	struct tunnel      *t       = c->tunnel;
	struct tunnel_route route   = tunnel_route_up(&t->state, &c->state, len, now_ms);
	uint8_t             head[3] = { TUNNEL_TO_HOST, (uint8_t)route.number, (uint8_t)(route.number >> 8) };
	bool                sent    = false;

	if (c->state.role == TUNNEL_FRIEND)
		tunnel_on_sign_of_life(&c->state, now_ms);
	if (route.to)
		sent = ws_send_datagram(conn_of(route.to)->ws, route.number, head, sizeof(head), payload, len);
	count_route(t, &route, TUNNEL_UP, len, sent);
}

static void on_datagram_down(struct conn *c, const uint8_t *body, size_t len, int64_t now_ms)
{
	static const uint8_t head[1] = { TUNNEL_TO_FRIEND };
	struct tunnel       *t       = c->tunnel;
	bool                 sent    = false;

	if (len < 2) {
		metric_inc(M_TUNNEL_IGNORED_SHORT);
		return;
	}

	uint16_t            number = (uint16_t)(body[0] | body[1] << 8);
	struct tunnel_route route  = tunnel_route_down(&t->state, &c->state, number, len - 2, now_ms);

	if (route.to)
		sent = ws_send_datagram(conn_of(route.to)->ws, 0, head, sizeof(head), body + 2, len - 2);
	count_route(t, &route, TUNNEL_DOWN, len - 2, sent);
}

static void on_echo(struct conn *c, const uint8_t *bytes, size_t len, int64_t now_ms)
{
	if (c->state.role == TUNNEL_FRIEND)
		tunnel_on_sign_of_life(&c->state, now_ms);
	ws_send_datagram(c->ws, 0, NULL, 0, bytes, len < TUNNEL_ECHO_BYTES ? len : TUNNEL_ECHO_BYTES);
}

static void on_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct conn *c = data;

	if (c->state.role == TUNNEL_HOST)
		tunnel_on_sign_of_life(&c->state, now_ms);
	switch (bytes[0]) {
	case TUNNEL_FROM_FRIEND:
		on_datagram_up(c, bytes + 1, len - 1, now_ms);
		break;
	case TUNNEL_FROM_HOST:
		on_datagram_down(c, bytes + 1, len - 1, now_ms);
		break;
	case TUNNEL_ECHO:
		on_echo(c, bytes, len, now_ms);
		break;
	default:
		on_request(c, bytes, len, now_ms);
		break;
	}
}

/* Connections */

static void on_timer(struct timer *timer, int64_t now_ms)
{
	struct conn   *c = CONTAINER(timer, struct conn, timer);
	struct tunnel *t = c->tunnel;

	if (c->state.role == TUNNEL_JOINING) {
		const struct tunnel_friend *f = c->state.friend;

		tunnel_on_friend_kept(&t->state, f->game->code, f->game->made_ms, f->number, now_ms, &t->acts);
	} else if (c->held) {
		struct tunnel_msg msg = *c->held;

		drop_held(c);
		join(c, &msg, now_ms, false);
	} else if (c->state.role == TUNNEL_NEW) {
		c->state.role = TUNNEL_GONE;
		close_conn(c, M_TUNNEL_ROLE_LATE);
	}
	do_acts(t);
}

static void *on_opened(void *part, struct ws_conn *ws, int64_t now_ms)
{
	struct tunnel *t = part;
	struct conn   *c = pool_take(&t->conns);
	uint8_t        key[ADDR_KEY_BYTES], hashed[HASH_KEYED_BYTES];

	if (!c)
		return NULL;
	addr_key(key, ws_conn_client(ws));
	hash_keyed(hashed, store_addr_key(t->store), key, sizeof(key));
	c->tunnel = t;
	c->ws     = ws;
	tunnel_conn_init(&c->state, hashed, ws_conn_is_exempt(ws), now_ms);
	timer_init(&c->timer, on_timer);
	timer_set(t->loop, &c->timer, now_ms + t->conf->limits.tunnel_role_ms);
	return c;
}

static void on_closed(void *data, int64_t now_ms)
{
	struct conn *c = data;

	if (c->state.role == TUNNEL_HOST || c->state.role == TUNNEL_FRIEND)
		log_info("tunnel", id_of(c), c->state.role == TUNNEL_HOST ? "host-lost" : "friend-lost", "code=%u",
		         c->state.role == TUNNEL_HOST ? c->state.game->code : c->state.friend->game->code);
	tell_end(c, M_WS_CLOSED_PEER);
	forget_conn(c, now_ms);
}

static void on_lost(void *data, size_t datagrams)
{
	struct conn *c = data;

	tunnel_on_lost(&c->state, datagrams);
}

/* What operators' routes see */

struct tunnel_state *tunnel_state_of(struct tunnel *t)
{
	return &t->state;
}

int64_t tunnel_now_ms(const struct tunnel *t)
{
	return loop_now_ms(t->loop);
}

const struct addr *tunnel_client_of(const struct tunnel_conn *c)
{
	return ws_conn_client(CONST_CONTAINER(c, struct conn, state)->ws);
}

struct tunnel_acts *tunnel_acts_of(struct tunnel *t)
{
	return &t->acts;
}

void tunnel_do_acts(struct tunnel *t)
{
	do_acts(t);
}

/* Answers of the store */

static void on_player_kept(void *arg, const struct tunnel_kept_player *p, enum err result)
{
	struct tunnel *t = arg;

	/* Clients come back every few seconds: while the disk is full that must not use up their hour. */
	if (result != ERR_OK)
		tunnel_guard_unnote_player(t->guard, p->addr, p->asked_ms);
	tunnel_on_player_kept(&t->state, p->id, result, loop_now_ms(t->loop), clock_wall_ms(), &t->acts);
	do_acts(t);
}

static void on_new_code_kept(void *arg, void *asker, const uint8_t *digest, uint32_t to, enum err result)
{
	struct tunnel          *t = arg;
	struct tunnel_new_code *n = asker;

	result = tunnel_on_new_code_kept(&t->state, digest, to, result, &t->acts);
	do_acts(t);
	if (result != ERR_OK)
		tunnel_guard_unnote_code(t->guard, n->digest, n->asked_ms);
	n->code = to;
	n->done(n, result);
}

/* On the loop: what tunnel_new_code was asked. */
static void on_new_code(struct loop_post *p)
{
	struct tunnel_new_code *n = CONTAINER(p, struct tunnel_new_code, post);
	struct tunnel          *t = n->tunnel;
	uint32_t                from, to;

	enum err e  = tunnel_on_new_code(&t->state, n->digest, (uint32_t)random_u64(), &from, &to);
	n->asked_ms = loop_now_ms(t->loop);
	if (e == ERR_OK && !tunnel_guard_new_code(t->guard, n->digest, n->asked_ms)) {
		(void)tunnel_on_new_code_kept(&t->state, n->digest, to, ERR_BUSY, &t->acts);
		e = ERR_LIMIT;
	} else if (e == ERR_OK) {
		e = tunnel_keep_new_code(t->keep, n->digest, from, to, n);
		if (e == ERR_OK)
			return; /* on_new_code_kept answers */
		e = tunnel_on_new_code_kept(&t->state, n->digest, to, ERR_BUSY, &t->acts);
		tunnel_guard_unnote_code(t->guard, n->digest, n->asked_ms);
	}
	n->done(n, e);
}

void tunnel_new_code(struct tunnel *t, struct tunnel_new_code *n)
{
	n->tunnel   = t;
	n->post.run = on_new_code;
	loop_post(t->loop, &n->post);
}

static void on_friend_kept(void *arg, uint32_t code, int64_t made_ms, uint16_t number)
{
	struct tunnel *t = arg;

	tunnel_on_friend_kept(&t->state, code, made_ms, number, loop_now_ms(t->loop), &t->acts);
	do_acts(t);
}

static void on_removed(void *arg, const uint8_t *digests, size_t count)
{
	struct tunnel *t = arg;

	log_info("tunnel", 0, "codes-expire", "count=%zu", count);
	if (count >= PLAYER_SWEEP_MAX) /* there may be more than one sweep takes */
		timer_set(t->loop, &t->sweep, loop_now_ms(t->loop) + SWEEP_FIRST_MS);
	tunnel_on_players_removed(&t->state, digests, count, &t->acts);
	do_acts(t);
}

/* Periodic work */

static void on_check(struct timer *timer, int64_t now_ms)
{
	struct tunnel *t = CONTAINER(timer, struct tunnel, check);
	size_t         hosts, friends;
	bool           more;

	do {
		more = tunnel_on_tick(&t->state, now_ms, &t->acts);
		do_acts(t);
	} while (more);
	tunnel_count(&t->state, &hosts, &friends);
	metric_set(M_TUNNEL_GAMES, (int64_t)t->state.game_count);
	metric_set(M_TUNNEL_HOSTS, (int64_t)hosts);
	metric_set(M_TUNNEL_FRIENDS, (int64_t)friends);
	metric_set(M_TUNNEL_PLAYERS, (int64_t)t->state.codes.taken_count);
	timer_set(t->loop, timer, now_ms + t->conf->limits.tunnel_check_ms);
}

static void on_sweep(struct timer *timer, int64_t now_ms)
{
	struct tunnel *t = CONTAINER(timer, struct tunnel, sweep);

	tunnel_keep_sweep(t->keep, now_ms);
	timer_set(t->loop, timer, now_ms + SWEEP_MS);
}

static void publish_flow(struct loop_flush *flush)
{
	struct tunnel *t = CONTAINER(flush, struct tunnel, flush);

	if (t->flow[TUNNEL_UP].datagrams + t->flow[TUNNEL_DOWN].datagrams == 0)
		return;
	metric_add(M_TUNNEL_TO_HOST, t->flow[TUNNEL_UP].datagrams);
	metric_add(M_TUNNEL_TO_HOST_BYTES, t->flow[TUNNEL_UP].bytes);
	metric_add(M_TUNNEL_TO_FRIEND, t->flow[TUNNEL_DOWN].datagrams);
	metric_add(M_TUNNEL_TO_FRIEND_BYTES, t->flow[TUNNEL_DOWN].bytes);
	memset(t->flow, 0, sizeof(t->flow));
}

/* Setting up */

struct load {
	struct tunnel *tunnel;
	int64_t        mono_ms, wall_ms;
};

static void load_new_player(const uint8_t *addr, int64_t at_ms, void *arg)
{
	const struct load *l = arg;

	tunnel_guard_note_player(l->tunnel->guard, addr, l->mono_ms - (l->wall_ms - at_ms));
}

static enum err load(struct tunnel *t)
{
	struct load l      = { .tunnel = t, .mono_ms = clock_mono_ms(), .wall_ms = clock_wall_ms() };
	enum err    loaded = tunnel_keep_load(&t->state, t->store, l.mono_ms);

	if (loaded != ERR_OK)
		return loaded;
	return player_each_new(store_db(t->store), l.wall_ms - HOUR_MS, load_new_player, &l);
}

enum err tunnel_new(struct tunnel **out, struct loop *loop, struct store *store, const struct conf *conf, FILE *report)
{
	struct tunnel *t = calloc(1, sizeof(*t));

	if (!t)
		return ERR_NOMEM;
	t->loop    = loop;
	t->store   = store;
	t->conf    = conf;
	t->handler = (struct ws_handler){
		.part = t, .opened = on_opened, .message = on_message, .closed = on_closed, .lost = on_lost
	};
	t->flush = (struct loop_flush){ .run = publish_flow };
	tunnel_state_init(&t->state, &conf->limits, random_u64());
	pool_init(&t->conns, sizeof(struct conn), (size_t)conf->limits.ws_connections);
	timer_init(&t->check, on_check);
	timer_init(&t->sweep, on_sweep);

	struct tunnel_keep_answers answers = { .player   = on_player_kept,
		                               .friend   = on_friend_kept,
		                               .removed  = on_removed,
		                               .new_code = on_new_code_kept,
		                               .arg      = t };

	t->keep  = tunnel_keep_new(store, loop, &conf->limits, &answers);
	t->guard = tunnel_guard_new(&conf->limits);

	enum err loaded = t->keep && t->guard ? load(t) : ERR_NOMEM;

	if (loaded != ERR_OK) {
		fprintf(report, "The games that are kept cannot be loaded: %s.\n", err_people(loaded));
		tunnel_free(t);
		return loaded;
	}
	*out = t;
	return ERR_OK;
}

const struct ws_handler *tunnel_handler(struct tunnel *t)
{
	return &t->handler;
}

void tunnel_set_vault(struct tunnel *t, tunnel_vault open, void *arg)
{
	t->vault     = open;
	t->vault_arg = arg;
}

void tunnel_set_over(struct tunnel *t, tunnel_over over, void *arg)
{
	t->over     = over;
	t->over_arg = arg;
}

enum err tunnel_is_in_game(const struct tunnel *t, uint32_t code, const uint8_t digest[32])
{
	static const enum err says[] = {
		[TUNNEL_PLACE_NO_GAME] = ERR_NO_GAME, [TUNNEL_PLACE_NONE] = ERR_NOT_ALLOWED, [TUNNEL_PLACE_HAS] = ERR_OK
	};

	return says[tunnel_place_of(&t->state, code, digest)];
}

void tunnel_drain(struct tunnel *t, bool on)
{
	t->state.is_draining = on;
}

void tunnel_start(struct tunnel *t)
{
	int64_t now_ms = clock_mono_ms();

	loop_add_flush(t->loop, &t->flush);
	timer_set(t->loop, &t->check, now_ms + t->conf->limits.tunnel_check_ms);
	timer_set(t->loop, &t->sweep, now_ms + SWEEP_FIRST_MS);
}

void tunnel_stop(struct tunnel *t)
{
	timer_clear(&t->check);
	timer_clear(&t->sweep);
}

void tunnel_free(struct tunnel *t)
{
	tunnel_stop(t);
	tunnel_keep_free(t->keep);
	tunnel_guard_free(t->guard);
	tunnel_state_fini(&t->state);
	pool_fini(&t->conns);
	free(t);
}
