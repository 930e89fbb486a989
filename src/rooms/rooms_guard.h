/*
 * How much of the rooms an address may use: connections, new names, boards, rows, rooms, joins, packets.  The limits are rows of
 * limits.def (rooms_*); addresses are counted as account/ counts, IPv6 also by its /48 at 8 times the limit.
 */
#ifndef ROOMS_ROOMS_GUARD_H
#define ROOMS_ROOMS_GUARD_H

#include "conf/limits.h"
#include "net/addr.h"
#include "rooms/rooms_state.h"

#include <stdbool.h>
#include <stdint.h>

struct rooms_guard;

struct rooms_guard *rooms_guard_new(const struct limits *limits, uint64_t seed); /* NULL when out of memory */
void                rooms_guard_free(struct rooms_guard *g);                     /* NULL is fine */

/* Where a connection comes from, as the state and the functions below see it: the whole address; IPv4 as ::ffff:1.2.3.4. */
void rooms_origin_of(struct rooms_origin *out, const struct addr *from, bool is_exempt);

/* A connection at accept: in all and per address; and how often. Each FINE is given back. */
enum rooms_guard_says { ROOMS_GUARD_FINE, ROOMS_GUARD_TOTAL, ROOMS_GUARD_ADDRESS, ROOMS_GUARD_RATE };
enum rooms_guard_says rooms_guard_enter(struct rooms_guard *g, const struct addr *from, bool is_exempt, int64_t now_ms);
void                  rooms_guard_leave(struct rooms_guard *g, const struct addr *from, bool is_exempt);

/*
 * For rooms_host.may, room_gone and room_came. name: only of NAME, in any case. An address that is exempt is one for good: its
 * rooms are not counted, neither when they are made nor when they go.
 */
bool rooms_guard_may(struct rooms_guard *g, const struct rooms_origin *from, enum rooms_ask what, const uint8_t *name,
                     int64_t now_ms);
void rooms_guard_room_gone(struct rooms_guard *g, const uint8_t owner[ROOMS_ADDR_BYTES]);
void rooms_guard_room_came(struct rooms_guard *g, const uint8_t owner[ROOMS_ADDR_BYTES]);

/* One UDP packet of a player whose connection comes from there: cheap, nothing is allocated once the address is known. */
bool rooms_guard_packet(struct rooms_guard *g, const struct rooms_origin *from, int64_t now_ms);

#endif
