/*
 * What one identity, or one address, has: connections, and lines sent in the last seconds, those that name nobody (junk) also
 * by themselves. Pure.
 *
 * An account lives as long as somebody holds it, and then until its lines are forgotten, so that nobody gets a fresh budget by
 * coming back.
 */
#ifndef SIGNAL_SIGNAL_ACCOUNT_STATE_H
#define SIGNAL_SIGNAL_ACCOUNT_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"

#include <stdint.h>

#define SIGNAL_SPAN_MS    10000 /* of the budgets */
#define SIGNAL_SPAN_SLOTS 11    /* whole seconds that touch it: a line counts for 10 to 11 s */

struct signal_span {
	int64_t  second; /* of slots[second % SIGNAL_SPAN_SLOTS], the newest */
	uint32_t slots[SIGNAL_SPAN_SLOTS], sum;
};

struct signal_account {
	struct list        idle;  /* in signal_accounts.idle, when nobody holds it */
	size_t             holds; /* connections that refer to it */
	size_t             unproved, peers;
	struct signal_span lines, junk;
	uint8_t            key[MAP_KEY_BYTES_MAX];
};

struct signal_accounts {
	struct map  by_key;
	struct pool pool;
	struct list idle; /* let go longest ago first */
	size_t      idle_count, idle_max;
};

/* held_max: at the same time. seed: random. */
void signal_accounts_init(struct signal_accounts *a, size_t key_bytes, size_t held_max, uint64_t seed);
void signal_accounts_fini(struct signal_accounts *a);

/* The account of this key, made if need be, held until signal_account_let. NULL: out of memory. */
struct signal_account *signal_account_hold(struct signal_accounts *a, const void *key, int64_t now_ms);
void                   signal_account_let(struct signal_accounts *a, struct signal_account *account, int64_t now_ms);

/* The same without making or holding it; NULL: there is none. */
struct signal_account *signal_account_find(const struct signal_accounts *a, const void *key);

/* Lines of the last SIGNAL_SPAN_MS; after this, signal_account_count counts one more. */
uint32_t signal_account_lines(struct signal_account *account, int64_t now_ms);
void     signal_account_count(struct signal_account *account);

/* Counts a line that names nobody; returns how many there were in the last SIGNAL_SPAN_MS, this one with them. */
uint32_t signal_account_junk(struct signal_account *account, int64_t now_ms);

#endif
