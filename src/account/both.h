/*
 * Counters of an address, and of the /48 that an IPv6 one lies in: whoever has a network has very many addresses, so all of it
 * together may have BOTH_FACTOR times what one may.
 *
 *	struct both_keys who = addr_keys(client);		net/addr_keys.h
 *
 *	if (!both_count_take(&connections, &who))
 *		refuse
 */
#ifndef ACCOUNT_BOTH_H
#define ACCOUNT_BOTH_H

#include "account/bucket.h"
#include "account/count.h"
#include "account/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOTH_FACTOR 8

struct both_keys {
	uint8_t address[KEYED_KEY_BYTES], wide[KEYED_KEY_BYTES];
	bool    has_wide;
};

/* Each is made and freed as a pair; false, and nothing is held, when out of memory. What is freed may be freed again. */
struct both_count {
	struct count *of_address, *of_wide;
};
bool both_count_init(struct both_count *c, int64_t max, size_t keys_max, uint64_t seed);
void both_count_fini(struct both_count *c);
bool both_count_take(struct both_count *c, const struct both_keys *k);
/* One more, over the most too. */
void both_count_add(struct both_count *c, const struct both_keys *k);
void both_count_give(struct both_count *c, const struct both_keys *k);

struct both_window {
	struct window *of_address, *of_wide;
};
bool both_window_init(struct both_window *w, int64_t max, int64_t span_ms, size_t keys_max, uint64_t seed);
void both_window_fini(struct both_window *w);
/* A refusal counts nothing. */
bool both_window_take(struct both_window *w, const struct both_keys *k, int64_t now_ms);
bool both_window_is_full(struct both_window *w, const struct both_keys *k, int64_t now_ms);

struct both_bucket {
	struct bucket *of_address, *of_wide;
};
bool both_bucket_init(struct both_bucket *b, int64_t rate_per_s, int64_t burst, size_t keys_max, uint64_t seed);
void both_bucket_fini(struct both_bucket *b);
bool both_bucket_take(struct both_bucket *b, const struct both_keys *k, int64_t now_ms);

#endif
