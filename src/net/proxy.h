/*
 * Who a client is, behind a proxy or not, with figures of what trusted proxies say.
 */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "base/err.h"
#include "base/metric.h"
#include "net/addr.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * As addr_client. From a trusted peer it counts: seen is the figure for those who name the client; those for who names nobody,
 * and for a bad field, are the next two.
 */
enum err proxy_client(struct addr *out, bool *forwarded, const struct addr *peer, const struct addr_nets *trusted,
                      const char *value, size_t len, enum metric seen);

#endif
