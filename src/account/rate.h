/*
 * How often one peer does something: so many within a span of time on average, and a burst of so many at once. For counters that
 * lie in the peer's own struct; those per address are in bucket.h.
 *
 *	struct rate asked = { 0 };			nothing was done yet
 *	if (!rate_take(&asked, 1, 50, 1000, 200, now_ms))
 *		too often
 */
#ifndef ACCOUNT_RATE_H
#define ACCOUNT_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct rate {
	int64_t missing; /* of a full burst, in parts of which one millisecond brings `rate` */
	int64_t at_ms;   /* when that was so */
};

/* Takes so many (1 or more) when they are there; false, and nothing is taken, when not. rate, span_ms and burst are at least 1. */
bool rate_take(struct rate *r, int64_t amount, int64_t rate, int64_t span_ms, int64_t burst, int64_t now_ms);

/* Whether rate_take would take it. */
bool rate_has(const struct rate *r, int64_t amount, int64_t rate, int64_t span_ms, int64_t burst, int64_t now_ms);

#endif
