/*
 * A token bucket per key: so many a second on average, and a burst of so many at once after a quiet while.
 *
 *	struct bucket *accepts = bucket_new(20, 60, 65536, random_u64());
 *	if (!bucket_take(accepts, address_key, now_ms))
 *		refuse the connection
 *
 * A key that is new has a full bucket. Keys, their number, the overflow that keys without room share, and threads: see
 * keyed.h. A key takes about 150 bytes.
 */
#ifndef ACCOUNT_BUCKET_H
#define ACCOUNT_BUCKET_H

#include "account/keyed.h"

struct bucket;

/* All numbers are at least 1; rate and burst at most 10^12. NULL when out of memory. */
struct bucket *bucket_new(int64_t rate_per_s, int64_t burst, size_t keys_max, uint64_t seed);
void           bucket_free(struct bucket *b);
void           bucket_freep(struct bucket **b);

/* Takes one token; false when there is no whole one, and nothing is taken then. */
bool bucket_take(struct bucket *b, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms);

/* From now on. Tokens taken stay taken. */
void bucket_set(struct bucket *b, int64_t rate_per_s, int64_t burst);

/* Keys with an entry of their own. */
size_t bucket_keys(const struct bucket *b);

#endif
