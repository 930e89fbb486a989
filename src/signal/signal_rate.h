/*
 * How often may be connected over TCP and TLS: per address, 8 times as often per IPv6 /48, and handshakes of TLS in all, which
 * are what costs most before anybody has said who he is.
 */
#ifndef SIGNAL_SIGNAL_RATE_H
#define SIGNAL_SIGNAL_RATE_H

#include "conf/limits.h"
#include "net/addr.h"

#include <stdbool.h>
#include <stdint.h>

struct signal_rate;

/* By limits.signal_accept_rate, signal_accept_burst and signal_tls_rate. NULL when out of memory. */
struct signal_rate *signal_rate_new(const struct limits *limits, uint64_t seed);
void                signal_rate_free(struct signal_rate *r); /* NULL is fine */

/* Whether one more may come. client NULL: one that is exempt from what counts per address. */
bool signal_rate_take(struct signal_rate *r, const struct addr *client, bool is_tls, int64_t now_ms);

#endif
