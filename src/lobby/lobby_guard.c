/*
 * A window per class for addresses, and one for IPv6 /48s.
 */
#include "lobby/lobby_guard.h"

#include "account/window.h"

#include <assert.h>
#include <stdlib.h>

#define WIDE_FACTOR 8 /* what a /48 may have more than an address */

static_assert(LOBBY_ADDR_BYTES == KEYED_KEY_BYTES, "addresses are keys");

struct lobby_guard {
	struct window *of_addr[LOBBY_CLASS_COUNT];
	struct window *of_wide[LOBBY_CLASS_COUNT];
};

struct lobby_guard *lobby_guard_new(const struct limits *limits, uint64_t seed)
{
	const int64_t max[] = {
		[LOBBY_CREATE] = limits->lobby_creates,
		[LOBBY_JOIN]   = limits->lobby_joins,
		[LOBBY_MUTATE] = limits->lobby_mutates,
	};
	const size_t        keys = (size_t)limits->lobby_windows;
	struct lobby_guard *g    = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	for (uint64_t c = 0; c < LOBBY_CLASS_COUNT; c++) {
		g->of_addr[c] = window_new(max[c], LOBBY_WINDOW_MS, keys, seed + 2 * c);
		g->of_wide[c] = window_new(max[c] * WIDE_FACTOR, LOBBY_WINDOW_MS, keys, seed + 2 * c + 1);
		if (!g->of_addr[c] || !g->of_wide[c]) {
			lobby_guard_free(g);
			return NULL;
		}
	}
	return g;
}

void lobby_guard_free(struct lobby_guard *g)
{
	if (!g)
		return;
	for (size_t c = 0; c < LOBBY_CLASS_COUNT; c++) {
		window_free(g->of_addr[c]);
		window_free(g->of_wide[c]);
	}
	free(g);
}

bool lobby_guard_take(struct lobby_guard *g, enum lobby_class c, const uint8_t addr[LOBBY_ADDR_BYTES],
                      const uint8_t *addr_wide, int64_t now_ms)
{
	/* Looked at before any is counted: a refusal costs nobody anything. */
	if (addr_wide && window_is_full(g->of_wide[c], addr_wide, now_ms))
		return false;
	if (!window_take(g->of_addr[c], addr, now_ms))
		return false;
	if (addr_wide)
		window_note(g->of_wide[c], addr_wide, now_ms);
	return true;
}

void lobby_guard_note(struct lobby_guard *g, const uint8_t addr[LOBBY_ADDR_BYTES], const uint8_t *addr_wide,
                      int64_t at_ms)
{
	window_note(g->of_addr[LOBBY_CREATE], addr, at_ms);
	if (addr_wide)
		window_note(g->of_wide[LOBBY_CREATE], addr_wide, at_ms);
}
