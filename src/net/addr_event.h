/*
 * Addresses in events: cut like those of the log, see log.addresses.
 */
#ifndef NET_ADDR_EVENT_H
#define NET_ADDR_EVENT_H

#include "base/event.h"
#include "net/addr.h"

struct event_field event_addr(const char *name, const struct addr *a);

#endif
