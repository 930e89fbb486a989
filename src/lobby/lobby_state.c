/*
 * The table of lobbies: how one is put in, found, changed and taken out. Who may come in is in lobby_announce_state.c, what
 * a host is told about TURN in lobby_turn_state.c.
 */
#include "lobby/lobby_inside_state.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

/* How many lobbies an address has. */
struct share {
	size_t count;
};

/* Setting up and taking down */

enum err lobby_state_init(struct lobby_state *s, const struct limits *limits, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->limits = limits;
	map_init(&s->by_session, LOBBY_SESSION_BYTES, seed);
	map_init(&s->by_id, LOBBY_ID_BYTES, seed + 1);
	map_init(&s->by_addr, LOBBY_ADDR_BYTES, seed + 2);
	map_init(&s->by_wide, LOBBY_ADDR_BYTES, seed + 3);
	pool_init(&s->shares, sizeof(struct share), SIZE_MAX);
	list_init(&s->by_beat);
	return ERR_OK;
}

void lobby_state_fini(struct lobby_state *s)
{
	struct list *at;

	while ((at = list_take_first(&s->by_beat)))
		lobby_free(lobby_of_beat(at));
	map_fini(&s->by_session);
	map_fini(&s->by_id);
	map_fini(&s->by_addr);
	map_fini(&s->by_wide);
	pool_fini(&s->shares);
}

void lobby_free(struct lobby *l)
{
	if (!l)
		return;
	mem_free(l->row);
	mem_free(l);
}

/* Shares of addresses */

int64_t lobby_share(const struct map *m, const uint8_t *addr)
{
	const struct share *share = map_get(m, addr);

	return share ? (int64_t)share->count : 0;
}

/* Out of memory: ERR_NOMEM, and nothing is counted. */
static enum err share_take(struct lobby_state *s, struct map *m, const uint8_t *addr)
{
	struct share *share = map_get(m, addr);

	if (!share) {
		share = pool_take(&s->shares);
		if (!share)
			return ERR_NOMEM;
		if (map_put(m, addr, share) != ERR_OK) {
			pool_give(&s->shares, share);
			return ERR_NOMEM;
		}
	}
	share->count++;
	return ERR_OK;
}

static void share_give(struct lobby_state *s, struct map *m, const uint8_t *addr)
{
	struct share *share = map_get(m, addr);

	if (--share->count > 0)
		return;
	map_remove(m, addr);
	pool_give(&s->shares, share);
}

/* In and out */

/* The clock is read before the lock is taken, so a beat may be a little older than the newest here. */
static void place(struct lobby_state *s, struct lobby *l)
{
	struct list *before = s->by_beat.prev;

	while (before != &s->by_beat && lobby_of_beat(before)->beat_ms > l->beat_ms)
		before = before->prev;
	/* At the end of what begins behind it: in front of the next. */
	list_append(before->next, &l->by_beat);
}

enum err lobby_add(struct lobby_state *s, struct lobby *l)
{
	enum err e = map_put(&s->by_session, l->session, l);

	if (e != ERR_OK)
		return e;
	e = map_put(&s->by_id, l->id, l);
	if (e != ERR_OK)
		goto no_id;
	e = share_take(s, &s->by_addr, l->addr);
	if (e != ERR_OK)
		goto no_addr;
	e = l->has_wide ? share_take(s, &s->by_wide, l->addr_wide) : ERR_OK;
	if (e != ERR_OK)
		goto no_wide;
	place(s, l);
	s->count++;
	if (l->is_pending)
		s->pending++;
	else if (l->listed)
		s->changes++;
	return ERR_OK;

no_wide:
	share_give(s, &s->by_addr, l->addr);
no_addr:
	map_remove(&s->by_id, l->id);
no_id:
	map_remove(&s->by_session, l->session);
	return e;
}

void lobby_remove(struct lobby_state *s, struct lobby *l)
{
	if (l->is_pending)
		s->pending--;
	else if (l->listed)
		s->changes++;
	map_remove(&s->by_session, l->session);
	map_remove(&s->by_id, l->id);
	share_give(s, &s->by_addr, l->addr);
	if (l->has_wide)
		share_give(s, &s->by_wide, l->addr_wide);
	list_remove(&l->by_beat);
	s->count--;
}

void lobby_admit(struct lobby_state *s, struct lobby *l)
{
	assert(l->is_pending);
	l->is_pending = false;
	s->pending--;
	if (l->listed)
		s->changes++;
}

enum err lobby_restore(struct lobby_state *s, struct lobby *l)
{
	l->is_pending = false;
	return lobby_add(s, l);
}

size_t lobby_live(const struct lobby_state *s)
{
	return s->count - s->pending;
}

/* Finding */

static struct lobby *admitted(struct lobby *l)
{
	return l && !l->is_pending ? l : NULL;
}

struct lobby *lobby_of_host(struct lobby_state *s, const uint8_t session[LOBBY_SESSION_BYTES],
                            const uint8_t token[LOBBY_DIGEST_BYTES], lobby_same same)
{
	struct lobby *l = admitted(map_get(&s->by_session, session));

	return l && same(l->token, token, LOBBY_DIGEST_BYTES) ? l : NULL;
}

struct lobby *lobby_of_id(struct lobby_state *s, const uint8_t id[LOBBY_ID_BYTES])
{
	return admitted(map_get(&s->by_id, id));
}

struct lobby *lobby_sweep(struct lobby_state *s, int64_t now_ms)
{
	for (struct list *at = s->by_beat.next; at != &s->by_beat; at = at->next) {
		struct lobby *l = lobby_of_beat(at);

		if (now_ms - l->beat_ms <= s->limits->lobby_ttl_ms)
			break;
		if (l->is_pending)
			continue;
		lobby_remove(s, l);
		return l;
	}
	return NULL;
}

/* Beats */

/* What of a lobby a beat can change in its row. */
struct shown {
	int                players;
	struct lobby_links links;
};

static struct shown shown_of(const struct lobby *l)
{
	return (struct shown){ .players = l->players, .links = l->links };
}

static bool is_same(const struct shown *a, const struct shown *b)
{
	return a->players == b->players && a->links.relayed == b->links.relayed && a->links.direct == b->links.direct &&
	       a->links.lan == b->links.lan;
}

static int clamp(int64_t value, int max)
{
	return value < 0 ? 0 : value > max ? max : (int)value;
}

void lobby_show(struct lobby_state *s, struct lobby *l, bool listed)
{
	if (l->listed != listed)
		s->changes++;
	l->listed = listed;
}

void lobby_beat(struct lobby_state *s, struct lobby *l, const struct lobby_beat *b, int64_t now_ms)
{
	struct shown before = shown_of(l), after;

	if (b->has_players)
		l->players = clamp(b->players, l->players_max);
	if (b->has_links) {
		l->links.relayed = clamp(b->relayed, l->players_max);
		l->links.direct  = clamp(b->direct, l->players_max);
		l->links.lan     = clamp(b->lan, l->players_max);
	}
	if (b->has_listed)
		lobby_show(s, l, b->listed);
	l->beat_ms = now_ms;
	list_remove(&l->by_beat);
	place(s, l);

	after = shown_of(l);
	if (is_same(&before, &after))
		return;
	mem_free(l->row);
	l->row = NULL;
	if (l->listed)
		s->changes++;
}
