/*
 * How often one address may ask: sliding windows of 60 s per address bucket and class, and 8 times as many per IPv6 /48.
 * Addresses come as keyed hashes (hash_keyed of addr_key under store_addr_key), the same that are kept, so that those of
 * announces outlive a restart. Not locked: the caller's lock.
 */
#ifndef LOBBY_LOBBY_GUARD_H
#define LOBBY_LOBBY_GUARD_H

#include "conf/limits.h"
#include "lobby/lobby_state.h"

#include <stdbool.h>
#include <stdint.h>

enum lobby_class { LOBBY_CREATE, LOBBY_JOIN, LOBBY_MUTATE, LOBBY_CLASS_COUNT };

#define LOBBY_WINDOW_MS 60000

struct lobby_guard;

/*
 * NULL when out of memory. At most limits.lobby_windows addresses of each class have a window of their own, and as many /48s;
 * newcomers beyond share one.
 */
struct lobby_guard *lobby_guard_new(const struct limits *limits, uint64_t seed);
void                lobby_guard_free(struct lobby_guard *g);

/* Counts one request, and true, unless it is over the limit of its address or its /48 (addr_wide NULL: none). */
bool lobby_guard_take(struct lobby_guard *g, enum lobby_class c, const uint8_t addr[LOBBY_ADDR_BYTES],
                      const uint8_t *addr_wide, int64_t now_ms);

/* An announce of before this start; at_ms is monotonic and may be negative. */
void lobby_guard_note(struct lobby_guard *g, const uint8_t addr[LOBBY_ADDR_BYTES], const uint8_t *addr_wide,
                      int64_t at_ms);

#endif
