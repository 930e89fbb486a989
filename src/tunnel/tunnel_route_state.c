/*
 * Where a datagram goes, and whether the budget of its game lets it pass.
 *
 * A game has a budget of bytes per direction, shared by its friends. While it is more than half full anybody may use it.
 * Below that each friend may only use his equal share of what flows in, so that one who sends without end leaves the
 * others theirs. A datagram counts 64 bytes at least: small ones cost the server as much.
 */
#include "tunnel/tunnel_game_state.h"

#include <assert.h>

#define DATAGRAM_BYTES_MIN 64
#define REFILL_MS_MAX      10000 /* longer is as good as full, and the product stays small */

static void refill(struct tunnel_budget *b, int64_t rate, int64_t burst, int64_t now_ms)
{
	int64_t elapsed_ms = now_ms - b->at_ms;

	if (elapsed_ms > 0) {
		if (elapsed_ms > REFILL_MS_MAX)
			elapsed_ms = REFILL_MS_MAX;
		b->bytes += rate * elapsed_ms / 1000;
		b->at_ms = now_ms;
	}
	if (b->bytes > burst)
		b->bytes = burst;
}

/* Takes the datagram's bytes from the budget: 0, or what to count when they are not there. */
static enum metric spend(const struct limits *l, struct tunnel_friend *f, enum tunnel_way way, size_t len,
                         int64_t now_ms)
{
	struct tunnel_budget *all   = &f->game->budget[way];
	struct tunnel_budget *share = &f->share[way];
	int64_t               cost  = len < DATAGRAM_BYTES_MIN ? DATAGRAM_BYTES_MIN : (int64_t)len;

	refill(all, l->tunnel_rate, l->tunnel_burst, now_ms);
	if (all->bytes < cost)
		return M_TUNNEL_DROPPED_BUDGET;

	/* What of it comes out of the lower half: only that is charged, or a friend alone could not use it all. */
	int64_t low = l->tunnel_burst / 2 - (all->bytes - cost);

	if (low > cost)
		low = cost;
	if (low > 0) {
		int64_t friends = f->game->friend_count;

		refill(share, l->tunnel_rate / friends, l->tunnel_burst / 2 / friends, now_ms);
		if (share->bytes < low)
			return M_TUNNEL_DROPPED_SHARE;
		share->bytes -= low;
	}
	all->bytes -= cost;
	return 0;
}

static_assert(M_TUNNEL_DROPPED_SLOW - M_TUNNEL_DROPPED_AWAY == TUNNEL_DROP_SLOW && TUNNEL_DROP_SLOW + 1 == TUNNEL_DROPS,
              "drops are counted in the order of their metrics");

static struct tunnel_route drop(struct tunnel_friend *f, enum metric why)
{
	return (struct tunnel_route){ .friend = f, .why = why };
}

struct tunnel_route tunnel_route_up(struct tunnel_state *s, struct tunnel_conn *c, size_t len, int64_t now_ms)
{
	struct tunnel_friend *f = c->friend;

	if (c->role != TUNNEL_FRIEND)
		return drop(NULL, M_TUNNEL_IGNORED);
	if ((int64_t)len > s->limits->tunnel_to_host_bytes)
		return drop(f, M_TUNNEL_DROPPED_SIZE);
	if (!f->game->host)
		return drop(f, M_TUNNEL_DROPPED_AWAY);

	enum metric over = spend(s->limits, f, TUNNEL_UP, len, now_ms);

	if (over)
		return drop(f, over);
	return (struct tunnel_route){ .to = f->game->host, .friend = f, .number = f->number };
}

struct tunnel_route tunnel_route_down(struct tunnel_state *s, struct tunnel_conn *c, uint16_t number, size_t len,
                                      int64_t now_ms)
{
	struct tunnel_friend *f = NULL;

	if (c->role != TUNNEL_HOST)
		return drop(NULL, M_TUNNEL_IGNORED);
	for (size_t i = 0; i < c->game->friend_count && !f; i++)
		if (c->game->friends[i]->number == number)
			f = c->game->friends[i];
	if (!f) {
		c->game->dropped[TUNNEL_DOWN][TUNNEL_DROP_UNKNOWN]++;
		return drop(NULL, M_TUNNEL_DROPPED_UNKNOWN);
	}
	if ((int64_t)len > s->limits->tunnel_to_friend_bytes)
		return drop(f, M_TUNNEL_DROPPED_SIZE);

	enum metric over = spend(s->limits, f, TUNNEL_DOWN, len, now_ms);

	if (over)
		return drop(f, over);
	/* A friend in his grace period uses the budget all the same. */
	if (!f->conn || f->pending)
		return drop(f, M_TUNNEL_DROPPED_AWAY);
	return (struct tunnel_route){ .to = f->conn, .friend = f, .number = number };
}

/* What went through */

void tunnel_on_lost(struct tunnel_conn *c, size_t count)
{
	if (c->role == TUNNEL_FRIEND)
		c->friend->dropped[TUNNEL_DOWN][TUNNEL_DROP_SLOW] += (int64_t)count;
	else if (c->role == TUNNEL_HOST)
		c->game->dropped[TUNNEL_UP][TUNNEL_DROP_SLOW] += (int64_t)count;
}

static void add_flow(struct tunnel_flow *to, const struct tunnel_flow *more)
{
	to->datagrams += more->datagrams;
	to->bytes += more->bytes;
}

static void add_drops(int64_t to[TUNNEL_WAYS][TUNNEL_DROPS], const int64_t more[TUNNEL_WAYS][TUNNEL_DROPS])
{
	for (int way = 0; way < TUNNEL_WAYS; way++)
		for (int i = 0; i < TUNNEL_DROPS; i++)
			to[way][i] += more[way][i];
}

void tunnel_game_keep_counts(struct tunnel_game *g, const struct tunnel_friend *f)
{
	for (int way = 0; way < TUNNEL_WAYS; way++)
		add_flow(&g->past[way], &f->flow[way]);
	add_drops(g->dropped, f->dropped);
}

static int64_t bytes_of(const struct tunnel_game *g, enum tunnel_way way)
{
	int64_t bytes = g->past[way].bytes;

	for (size_t i = 0; i < g->friend_count; i++)
		bytes += g->friends[i]->flow[way].bytes;
	return bytes;
}

void tunnel_game_sample(struct tunnel_game *g, int64_t now_ms)
{
	g->samples[0] = g->samples[1];
	g->samples[1] = (struct tunnel_sample){
		.at_ms = now_ms,
		.bytes = { [TUNNEL_UP] = bytes_of(g, TUNNEL_UP), [TUNNEL_DOWN] = bytes_of(g, TUNNEL_DOWN) }
	};
}

void tunnel_game_sum(struct tunnel_sum *out, const struct tunnel_game *g, int64_t now_ms)
{
	int64_t span_ms = now_ms - g->samples[0].at_ms;

	*out = (struct tunnel_sum){ 0 };
	add_drops(out->dropped, g->dropped);
	for (size_t i = 0; i < g->friend_count; i++)
		add_drops(out->dropped, g->friends[i]->dropped);
	for (int way = 0; way < TUNNEL_WAYS; way++) {
		add_flow(&out->flow[way], &g->past[way]);
		for (size_t i = 0; i < g->friend_count; i++)
			add_flow(&out->flow[way], &g->friends[i]->flow[way]);
		if (span_ms > 0)
			out->rate[way] = (out->flow[way].bytes - g->samples[0].bytes[way]) * 1000 / span_ms;
	}
}
