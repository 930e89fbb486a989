/*
 * How many of something each address has: IPv4 by address, IPv6 by /64 and, at WIDE_FACTOR times as many, by /48. What
 * the limits per address of net/http are counted with. No lock of its own.
 */
#ifndef NET_HTTP_SHARE_H
#define NET_HTTP_SHARE_H

#include "base/err.h"
#include "base/map.h"
#include "net/addr.h"

#include <stddef.h>
#include <stdint.h>

#define HTTP_SHARE_WIDE_FACTOR 8

/* One address, or one /48, that has at least one. */
struct http_bucket {
	uint8_t key[ADDR_KEY_BYTES];
	size_t  count;
};

struct http_shares {
	struct map buckets;
};

/* One of those that are counted; all NULL: not counted. */
struct http_share {
	struct http_bucket *narrow, *wide; /* wide: of IPv6 only */
};

void http_shares_init(struct http_shares *all);
void http_shares_fini(struct http_shares *all);

/* Counts one more; for http_share_leave. ERR_NOMEM: nothing is counted. */
enum err http_share_join(struct http_share *s, struct http_shares *all, const struct addr *a);
void     http_share_leave(struct http_share *s, struct http_shares *all);

/*
 * Counts it for another address instead. ERR_NOMEM: it stays where it is counted.
 */
enum err http_share_change(struct http_share *s, struct http_shares *all, const struct addr *a);

/* The one of its two buckets that has more than max, or WIDE_FACTOR times as many; NULL: none has. */
const struct http_bucket *http_share_over(const struct http_share *s, size_t max);

#endif
