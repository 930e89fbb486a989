#include "signal/signal_rate.h"

#include "net/addr_keys.h"

#include <stdlib.h>

#define KEYS_MAX 65536

struct signal_rate {
	struct both_bucket of_client;
	struct bucket     *of_tls;
};

struct signal_rate *signal_rate_new(const struct limits *limits, uint64_t seed)
{
	struct signal_rate *r = calloc(1, sizeof(*r));
	bool                is_made;

	if (!r)
		return NULL;
	is_made   = both_bucket_init(&r->of_client, limits->signal_accept_rate, limits->signal_accept_burst, KEYS_MAX,
	                             seed);
	r->of_tls = bucket_new(limits->signal_tls_rate, limits->signal_tls_rate, 1, seed + 2);
	if (is_made && r->of_tls)
		return r;
	signal_rate_free(r);
	return NULL;
}

void signal_rate_free(struct signal_rate *r)
{
	if (!r)
		return;
	both_bucket_fini(&r->of_client);
	bucket_free(r->of_tls);
	free(r);
}

/* The address first: one that floods takes no more of what is there for all than its own rate. */
bool signal_rate_take(struct signal_rate *r, const struct addr *client, bool is_tls, int64_t now_ms)
{
	static const uint8_t all[KEYED_KEY_BYTES];
	struct both_keys     k;

	if (client) {
		k = addr_keys(client);
		if (!both_bucket_take(&r->of_client, &k, now_ms))
			return false;
	}
	return !is_tls || bucket_take(r->of_tls, all, now_ms);
}
