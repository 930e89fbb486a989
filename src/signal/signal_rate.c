#include "signal/signal_rate.h"

#include "account/bucket.h"

#include <stdlib.h>

#define KEYS_MAX       65536
#define NETWORK_FACTOR 8 /* what an IPv6 /48 may have more than an address */

struct signal_rate {
	struct bucket *of_address, *of_network, *of_tls;
};

struct signal_rate *signal_rate_new(const struct limits *limits, uint64_t seed)
{
	int64_t             rate = limits->signal_accept_rate, burst = limits->signal_accept_burst;
	struct signal_rate *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->of_address = bucket_new(rate, burst, KEYS_MAX, seed);
	r->of_network = bucket_new(rate * NETWORK_FACTOR, burst * NETWORK_FACTOR, KEYS_MAX, seed + 1);
	r->of_tls     = bucket_new(limits->signal_tls_rate, limits->signal_tls_rate, 1, seed + 2);
	if (r->of_address && r->of_network && r->of_tls)
		return r;
	signal_rate_free(r);
	return NULL;
}

void signal_rate_free(struct signal_rate *r)
{
	if (!r)
		return;
	bucket_free(r->of_address);
	bucket_free(r->of_network);
	bucket_free(r->of_tls);
	free(r);
}

static bool is_welcome(struct signal_rate *r, const struct addr *client, int64_t now_ms)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, client);
	if (!bucket_take(r->of_address, key, now_ms))
		return false;
	return !addr_key_wide(key, client) || bucket_take(r->of_network, key, now_ms);
}

/* The address first: one that floods takes no more of what is there for all than its own rate. */
bool signal_rate_take(struct signal_rate *r, const struct addr *client, bool is_tls, int64_t now_ms)
{
	static const uint8_t all[KEYED_KEY_BYTES];

	if (client && !is_welcome(r, client, now_ms))
		return false;
	return !is_tls || bucket_take(r->of_tls, all, now_ms);
}
