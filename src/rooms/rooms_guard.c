/*
 * Counts for what an address has at the moment, windows for what it does in an hour or a minute, buckets for what it does in a
 * second;
 * each twice, for the address and for the /48 of an IPv6 one.
 *
 * A name that an address has used within the last hour is not new there.  Those are remembered one by one, so many in all: who
 * brings more pushes out the ones unused for longest, which then count as new again and nothing else.
 */
#include "rooms/rooms_guard.h"

#include "net/addr_keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX  65536
#define KNOWN_MAX 65536
#define HOUR_MS   3600000
#define MINUTE_MS 60000

static_assert(ROOMS_ADDR_BYTES == ADDR_KEY_BYTES, "addresses are keys");
static_assert(ADDR_KEY_BYTES + ROOMS_NAME_BYTES <= MAP_KEY_BYTES_MAX, "an address and a name are one key");

/* A name that an address has used. */
struct known {
	struct list by_use;
	uint8_t     key[ADDR_KEY_BYTES + ROOMS_NAME_BYTES];
	int64_t     used_ms;
};

struct rooms_guard {
	size_t             total, total_max; /* connections */
	struct both_count  connections, rooms;
	struct both_bucket accepts;
	struct both_window names, joins, boards, rows;
	struct bucket     *packets; /* NULL: as many as come */
	struct map         known;
	struct list        known_by_use;
};

static const uint8_t ipv4_in_ipv6[12] = { [10] = 0xFF, [11] = 0xFF };

void rooms_origin_of(struct rooms_origin *out, const struct addr *from, bool is_exempt)
{
	*out = (struct rooms_origin){ .is_ipv4 = from->family == ADDR_IPV4, .is_exempt = is_exempt };
	if (!out->is_ipv4) {
		memcpy(out->addr, from->ip, sizeof(out->addr));
		return;
	}
	memcpy(out->ip, from->ip, sizeof(out->ip));
	memcpy(out->addr, ipv4_in_ipv6, sizeof(ipv4_in_ipv6));
	memcpy(out->addr + sizeof(ipv4_in_ipv6), from->ip, sizeof(out->ip));
}

static struct both_keys keys_of_whole(const uint8_t whole[ROOMS_ADDR_BYTES])
{
	struct addr a = { .family = ADDR_IPV6 };

	if (memcmp(whole, ipv4_in_ipv6, sizeof(ipv4_in_ipv6)) == 0) {
		a.family = ADDR_IPV4;
		memcpy(a.ip, whole + sizeof(ipv4_in_ipv6), 4);
	} else {
		memcpy(a.ip, whole, sizeof(a.ip));
	}
	return addr_keys(&a);
}

static bool make_windows(struct both_window *w, int64_t max, int64_t span_ms, uint64_t seed)
{
	return both_window_init(w, max, span_ms, KEYS_MAX, seed);
}

/* --- Names --- */

static void forget_name(struct rooms_guard *g, struct known *n)
{
	map_remove(&g->known, n->key);
	list_remove(&n->by_use);
	free(n);
}

static struct known *oldest_name(const struct rooms_guard *g)
{
	return CONTAINER(g->known_by_use.next, struct known, by_use);
}

/* Those whose hour is over, and, when there are too many, the one unused for longest. */
static void make_place_for_name(struct rooms_guard *g, int64_t now_ms)
{
	while (!list_is_empty(&g->known_by_use) && now_ms - oldest_name(g)->used_ms >= HOUR_MS)
		forget_name(g, oldest_name(g));
	if (map_count(&g->known) >= KNOWN_MAX)
		forget_name(g, oldest_name(g));
}

/* When there is no memory it is not remembered, and counts as new the next time too. */
static void remember_name(struct rooms_guard *g, const uint8_t *key, int64_t now_ms)
{
	struct known *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	memcpy(n->key, key, sizeof(n->key));
	n->used_ms = now_ms;
	if (map_put(&g->known, n->key, n) == ERR_OK)
		list_append(&g->known_by_use, &n->by_use);
	else
		free(n);
}

static bool may_use_name(struct rooms_guard *g, const struct both_keys *k, const uint8_t *name, int64_t now_ms)
{
	uint8_t       key[ADDR_KEY_BYTES + ROOMS_NAME_BYTES];
	struct known *n;

	memcpy(key, k->address, ADDR_KEY_BYTES);
	rooms_fold(key + ADDR_KEY_BYTES, name);
	make_place_for_name(g, now_ms);
	n = map_get(&g->known, key);
	if (n) {
		n->used_ms = now_ms;
		list_remove(&n->by_use);
		list_append(&g->known_by_use, &n->by_use);
		return true;
	}
	if (!both_window_take(&g->names, k, now_ms))
		return false;
	remember_name(g, key, now_ms);
	return true;
}

/* --- For the others --- */

struct rooms_guard *rooms_guard_new(const struct limits *l, uint64_t seed)
{
	struct rooms_guard *g = calloc(1, sizeof(*g));
	bool                is_made;

	if (!g)
		return NULL;
	map_init(&g->known, sizeof(((struct known *)0)->key), seed);
	list_init(&g->known_by_use);
	g->total_max = (size_t)l->rooms_connections;
	/* With as many keys as can be held in all, no key is ever without room. */
	is_made = both_count_init(&g->connections, l->rooms_per_address, (size_t)l->rooms_connections, seed + 1) &&
	          both_count_init(&g->rooms, l->rooms_rooms_per_address, (size_t)l->rooms_rooms, seed + 3) &&
	          both_bucket_init(&g->accepts, l->rooms_accept_rate, l->rooms_accept_burst, KEYS_MAX, seed + 5) &&
	          make_windows(&g->names, l->rooms_names_per_hour, HOUR_MS, seed + 7) &&
	          make_windows(&g->boards, l->rooms_boards_per_hour, HOUR_MS, seed + 9) &&
	          make_windows(&g->rows, l->rooms_rows_per_hour, HOUR_MS, seed + 11) &&
	          make_windows(&g->joins, l->rooms_joins_per_minute, MINUTE_MS, seed + 15);
	if (is_made && l->rooms_udp_rate > 0) {
		g->packets = bucket_new(l->rooms_udp_rate, l->rooms_udp_burst, KEYS_MAX, seed + 13);
		is_made    = g->packets != NULL;
	}
	if (is_made)
		return g;
	rooms_guard_free(g);
	return NULL;
}

void rooms_guard_free(struct rooms_guard *g)
{
	if (!g)
		return;
	while (!list_is_empty(&g->known_by_use))
		forget_name(g, oldest_name(g));
	map_fini(&g->known);
	both_count_fini(&g->connections);
	both_count_fini(&g->rooms);
	both_bucket_fini(&g->accepts);
	bucket_free(g->packets);
	both_window_fini(&g->names);
	both_window_fini(&g->boards);
	both_window_fini(&g->rows);
	both_window_fini(&g->joins);
	free(g);
}

enum rooms_guard_says rooms_guard_enter(struct rooms_guard *g, const struct addr *from, bool is_exempt, int64_t now_ms)
{
	struct both_keys k = addr_keys(from);

	if (g->total >= g->total_max)
		return ROOMS_GUARD_TOTAL;
	if (!is_exempt && !both_bucket_take(&g->accepts, &k, now_ms))
		return ROOMS_GUARD_RATE;
	if (!is_exempt && !both_count_take(&g->connections, &k))
		return ROOMS_GUARD_ADDRESS;
	g->total++;
	return ROOMS_GUARD_FINE;
}

void rooms_guard_leave(struct rooms_guard *g, const struct addr *from, bool is_exempt)
{
	struct both_keys k = addr_keys(from);

	assert(g->total > 0);
	g->total--;
	if (!is_exempt)
		both_count_give(&g->connections, &k);
}

bool rooms_guard_may(struct rooms_guard *g, const struct rooms_origin *from, enum rooms_ask what, const uint8_t *name,
                     int64_t now_ms)
{
	struct both_keys k = keys_of_whole(from->addr);

	if (from->is_exempt)
		return true;
	switch (what) {
	case ROOMS_ASK_NAME:
		return may_use_name(g, &k, name, now_ms);
	case ROOMS_ASK_ROOM:
		return both_count_take(&g->rooms, &k);
	case ROOMS_ASK_JOIN:
		return both_window_take(&g->joins, &k, now_ms);
	case ROOMS_ASK_BOARD:
		return both_window_take(&g->boards, &k, now_ms);
	case ROOMS_ASK_ROW:
		return both_window_take(&g->rows, &k, now_ms);
	}
	return false;
}

void rooms_guard_room_gone(struct rooms_guard *g, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	struct both_keys k = keys_of_whole(owner);

	if (count_held(g->rooms.of_address, k.address) > 0)
		both_count_give(&g->rooms, &k);
}

void rooms_guard_room_came(struct rooms_guard *g, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	struct both_keys k = keys_of_whole(owner);

	both_count_add(&g->rooms, &k);
}

bool rooms_guard_packet(struct rooms_guard *g, const struct rooms_origin *from, int64_t now_ms)
{
	struct both_keys k;

	if (from->is_exempt || !g->packets)
		return true;
	k = keys_of_whole(from->addr);
	return bucket_take(g->packets, k.address, now_ms);
}
