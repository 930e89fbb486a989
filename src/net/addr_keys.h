/*
 * The keys by which a client is counted, see account/both.h.
 */
#ifndef NET_ADDR_KEYS_H
#define NET_ADDR_KEYS_H

#include "account/both.h"
#include "net/addr.h"

struct both_keys addr_keys(const struct addr *a);

#endif
