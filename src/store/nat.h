/*
 * Statistics of NAT checks: how often each result came on each day, without players and addresses. On the store thread (inside a
 * job) or before it starts.
 */
#ifndef STORE_NAT_H
#define STORE_NAT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

struct nat_found {
	int  type;    /* 0 unknown, 1 open, 2 address restricted, 3 port restricted, 4 symmetric */
	int  reason;  /* of an unknown one: 1 UDP blocked, 2 no answer, 3 second address not reached; else 0 */
	int  mapping; /* 0 unknown, 1 the same for all destinations, 2 varies */
	bool conflict, is_partial;
};

/* One more of these on the day of wall_ms; days that are keep_days old or older go. */
enum err nat_count(struct db *db, const struct nat_found *found, int64_t wall_ms, int64_t keep_days);

#endif
