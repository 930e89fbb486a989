/*
 * What an address may have of sessions, checks and rooms at a time, and how often it may ask for rooms that are not there.
 */
#include "p2p/p2p_inside.h"

#include "net/addr_keys.h"

#include <stdlib.h>

#define KEYS_MAX  65536
#define MINUTE_MS 60000

struct p2p_guard {
	size_t             total, total_max; /* sessions */
	struct count      *present;          /* the same by address, exempt ones too */
	struct both_count  sessions, checks, rooms;
	struct both_window failed, joins;
};

struct p2p_guard *p2p_guard_new(const struct limits *l, uint64_t seed)
{
	struct p2p_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->total_max = (size_t)l->p2p_sessions;
	/* With as many keys as can be held in all, no key is ever without room. */
	g->present = count_new(INT64_MAX, (size_t)l->p2p_sessions, seed + 8);
	if (g->present && both_count_init(&g->sessions, l->p2p_sessions_per_address, (size_t)l->p2p_sessions, seed) &&
	    both_count_init(&g->checks, l->p2p_checks_per_address, (size_t)l->p2p_checks, seed + 2) &&
	    both_count_init(&g->rooms, l->p2p_rooms_per_address, (size_t)l->p2p_rooms, seed + 4) &&
	    both_window_init(&g->failed, l->p2p_failed_joins, MINUTE_MS, KEYS_MAX, seed + 6) &&
	    both_window_init(&g->joins, l->p2p_joins_per_minute, MINUTE_MS, KEYS_MAX, seed + 8))
		return g;
	p2p_guard_free(g);
	return NULL;
}

void p2p_guard_free(struct p2p_guard *g)
{
	if (!g)
		return;
	count_free(g->present);
	both_count_fini(&g->sessions);
	both_count_fini(&g->checks);
	both_count_fini(&g->rooms);
	both_window_fini(&g->failed);
	both_window_fini(&g->joins);
	free(g);
}

static bool take(struct both_count *c, const struct addr *a, bool is_exempt)
{
	struct both_keys k = addr_keys(a);

	return is_exempt || both_count_take(c, &k);
}

static void give(struct both_count *c, const struct addr *a, bool is_exempt)
{
	struct both_keys k = addr_keys(a);

	if (!is_exempt)
		both_count_give(c, &k);
}

enum p2p_guard_says p2p_guard_enter(struct p2p_guard *g, const struct addr *a, bool is_exempt)
{
	uint8_t key[ADDR_KEY_BYTES];

	if (g->total >= g->total_max)
		return P2P_GUARD_TOTAL;
	if (!take(&g->sessions, a, is_exempt))
		return P2P_GUARD_ADDRESS;
	g->total++;
	addr_key(key, a);
	count_take(g->present, key);
	return P2P_GUARD_FINE;
}

void p2p_guard_leave(struct p2p_guard *g, const struct addr *a, bool is_exempt)
{
	uint8_t key[ADDR_KEY_BYTES];

	g->total--;
	addr_key(key, a);
	count_give(g->present, key);
	give(&g->sessions, a, is_exempt);
}

bool p2p_guard_knows(const struct p2p_guard *g, const struct addr *a)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, a);
	return count_held(g->present, key) > 0;
}

bool p2p_guard_check(struct p2p_guard *g, const struct addr *a, bool is_exempt)
{
	return take(&g->checks, a, is_exempt);
}

void p2p_guard_check_over(struct p2p_guard *g, const struct addr *a, bool is_exempt)
{
	give(&g->checks, a, is_exempt);
}

bool p2p_guard_room(struct p2p_guard *g, const struct addr *a, bool is_exempt)
{
	return take(&g->rooms, a, is_exempt);
}

void p2p_guard_room_gone(struct p2p_guard *g, const struct addr *a, bool is_exempt)
{
	give(&g->rooms, a, is_exempt);
}

bool p2p_guard_may_join(struct p2p_guard *g, const struct addr *a, bool is_exempt, int64_t now_ms)
{
	struct both_keys k = addr_keys(a);

	return is_exempt || !both_window_is_full(&g->failed, &k, now_ms);
}

void p2p_guard_join_failed(struct p2p_guard *g, const struct addr *a, bool is_exempt, int64_t now_ms)
{
	struct both_keys k = addr_keys(a);

	if (!is_exempt)
		both_window_take(&g->failed, &k, now_ms);
}

bool p2p_guard_join(struct p2p_guard *g, const struct addr *a, bool is_exempt, int64_t now_ms)
{
	struct both_keys k = addr_keys(a);

	return is_exempt || both_window_take(&g->joins, &k, now_ms);
}
