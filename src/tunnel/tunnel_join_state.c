/*
 * Friends: joining, coming back by token, and what host and friends say of states and direct paths.
 */
#include "tunnel/tunnel_game_state.h"

#include <string.h>

#define SIGNAL_SPAN_MS 10000

/* Joining */

static struct tunnel_friend *friend_by_token(const struct tunnel_game *g, const uint8_t *token)
{
	for (size_t i = 0; token && i < g->friend_count; i++)
		if (g->friends[i]->has_token && memcmp(g->friends[i]->token, token, TUNNEL_TOKEN_DIGEST_BYTES) == 0)
			return g->friends[i];
	return NULL;
}

/* The game that this JOIN may look at, or NULL. */
static struct tunnel_game *joinable(const struct tunnel_state *s, const struct tunnel_join *join)
{
	struct tunnel_game *g = tunnel_find_game(s, join->code);

	if (!g || g->version != join->version || (g->version == 1 && !g->host))
		return NULL;
	return g;
}

enum tunnel_outlook tunnel_join_outlook(const struct tunnel_state *s, const struct tunnel_join *join)
{
	const struct tunnel_game *g = joinable(s, join);

	if (!g)
		return TUNNEL_NO_GAME;
	return friend_by_token(g, join->token) ? TUNNEL_KNOWN_TOKEN : TUNNEL_LIVE_GAME;
}

static bool has_seat(const struct tunnel_state *s, const struct tunnel_game *g, const struct tunnel_conn *c,
                     const struct tunnel_join *join)
{
	int64_t same_player = 0, same_addr = 0;

	if (g->friend_count >= s->limits->tunnel_friends)
		return false;
	for (size_t i = 0; i < g->friend_count; i++) {
		same_player += join->version == 2 && memcmp(g->friends[i]->id, join->id, TUNNEL_ID_BYTES) == 0;
		same_addr += memcmp(g->friends[i]->addr, c->addr, TUNNEL_ADDR_BYTES) == 0;
	}
	return same_player < s->limits->tunnel_seats_per_player &&
	       (c->exempt || same_addr < s->limits->tunnel_seats_per_address);
}

/* Counts up and wraps from 65535 to 1; numbers still in use are skipped. */
static uint16_t next_number(struct tunnel_game *g)
{
	uint16_t number;

	do {
		number         = g->next_number;
		g->next_number = number == UINT16_MAX ? 1 : (uint16_t)(number + 1);
	} while (tunnel_game_friend(g, number));
	return number;
}

static void seat(struct tunnel_friend *f, struct tunnel_conn *c, int64_t now_ms)
{
	f->conn     = c;
	c->friend   = f;
	c->role     = f->pending ? TUNNEL_JOINING : TUNNEL_FRIEND;
	c->heard_ms = now_ms;
}

static void tell_joined(const struct tunnel_friend *f, struct tunnel_acts *acts)
{
	tunnel_act_send(acts, f->conn,
	                (struct tunnel_msg){
				.op = TUNNEL_JOINED, .version = f->game->version, .state = f->game->state });
}

/* Back by token: the same number, and the host notices nothing. */
static void rejoin(struct tunnel_friend *f, struct tunnel_conn *c, int64_t now_ms, struct tunnel_acts *acts)
{
	if (f->conn)
		tunnel_act_close(acts, f->conn, M_TUNNEL_CLOSED_REPLACED);
	seat(f, c, now_ms);
	if (!f->pending)
		tell_joined(f, acts);
}

static void mark_joined(struct code_entry *entry, struct tunnel_acts *acts)
{
	/* While it is pending it is about to be freed: a touch would bring it back. */
	if (!entry || entry->joined || entry->pending)
		return;
	entry->joined = true;
	tunnel_act_player(acts, TUNNEL_ACT_TOUCH_PLAYER, entry);
}

void tunnel_on_join(struct tunnel_state *s, struct tunnel_conn *c, const struct tunnel_join *join,
                    struct tunnel_acts *acts)
{
	struct tunnel_game   *g     = joinable(s, join);
	struct tunnel_friend *known = g ? friend_by_token(g, join->token) : NULL;

	if (known) {
		rejoin(known, c, join->now_ms, acts);
		return;
	}
	if (!g || !has_seat(s, g, c, join)) {
		tunnel_act_fault(acts, c, g ? ERR_GAME_FULL : ERR_NO_GAME);
		return;
	}

	struct tunnel_friend *f = tunnel_game_add_friend(s, g, next_number(g), join->now_ms);

	if (!f) {
		tunnel_act_fault(acts, c, ERR_GAME_FULL);
		return;
	}
	memcpy(f->addr, c->addr, sizeof(f->addr));
	if (join->id)
		memcpy(f->id, join->id, sizeof(f->id));
	f->has_token = join->token;
	if (join->token)
		memcpy(f->token, join->token, sizeof(f->token));
	f->pending   = true;
	f->joined_ms = join->wall_ms;
	seat(f, c, join->now_ms);
	mark_joined(g->entry, acts);

	struct tunnel_act *keep = tunnel_act(acts, TUNNEL_ACT_KEEP_FRIEND);

	keep->friend = f;
	keep->code   = g->code;
	keep->number = f->number;
}

void tunnel_on_friend_kept(struct tunnel_state *s, uint32_t code, int64_t made_ms, uint16_t number, int64_t now_ms,
                           struct tunnel_acts *acts)
{
	struct tunnel_game   *g = tunnel_find_game(s, code);
	struct tunnel_friend *f = g && g->made_ms == made_ms ? tunnel_game_friend(g, number) : NULL;

	if (!f || !f->pending)
		return;
	f->pending = false;
	tunnel_tell_friend_is(g, f, acts);
	if (!f->conn)
		return;
	seat(f, f->conn, now_ms);
	tell_joined(f, acts);
	tunnel_tell_paths(g, f, acts);
}

/* Candidates and states */

enum signal_kind { SIGNAL_PATHS, SIGNAL_STATE };

static bool take_signal(const struct limits *l, struct tunnel_conn *c, enum signal_kind kind, int64_t now_ms)
{
	struct tunnel_signals *sig = &c->signals[kind];

	if (sig->count == 0 || now_ms - sig->since_ms >= SIGNAL_SPAN_MS)
		*sig = (struct tunnel_signals){ .since_ms = now_ms };
	if (sig->count >= l->tunnel_signals)
		return false;
	sig->count++;
	return true;
}

bool tunnel_on_game_state(struct tunnel_state *s, struct tunnel_conn *c, uint8_t state, int64_t now_ms,
                          struct tunnel_acts *acts)
{
	if (c->role != TUNNEL_HOST || (state != TUNNEL_RESTARTING && state != TUNNEL_READY))
		return true;
	c->late_state = 0;
	if (!take_signal(s->limits, c, SIGNAL_STATE, now_ms)) {
		c->late_state = state;
		return false;
	}
	tunnel_game_set_state(c->game, state, acts);
	return true;
}

bool tunnel_on_paths_up(struct tunnel_state *s, struct tunnel_conn *c, const uint8_t *body, size_t len, int64_t now_ms,
                        struct tunnel_acts *acts)
{
	struct tunnel_friend *f = c->friend;

	if (c->role != TUNNEL_FRIEND)
		return true;
	if (!take_signal(s->limits, c, SIGNAL_PATHS, now_ms))
		return false;
	f->paths_len = (uint8_t)(len < sizeof(f->paths) ? len : sizeof(f->paths));
	memcpy(f->paths, body, f->paths_len);
	tunnel_tell_paths(f->game, f, acts);
	return true;
}

bool tunnel_on_paths_down(struct tunnel_state *s, struct tunnel_conn *c, uint16_t number, const uint8_t *body,
                          size_t len, int64_t now_ms, struct tunnel_acts *acts)
{
	struct tunnel_friend *f = c->role == TUNNEL_HOST ? tunnel_game_friend(c->game, number) : NULL;

	if (!f || !f->conn || f->pending)
		return true;
	if (!take_signal(s->limits, c, SIGNAL_PATHS, now_ms))
		return false;
	if (len > TUNNEL_PATHS_TO_FRIEND_BYTES)
		len = TUNNEL_PATHS_TO_FRIEND_BYTES;
	tunnel_act_send(acts, f->conn,
	                (struct tunnel_msg){ .op = TUNNEL_PATHS_TO_FRIEND, .rest = body, .rest_len = len });
	return true;
}
