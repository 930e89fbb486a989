/*
 * The windows and counts behind the tunnel's limits per address.
 */
#include "tunnel/tunnel_guard.h"

#include "account/count.h"
#include "account/window.h"
#include "os/random.h"

#include <stdlib.h>

#define KEYS_MAX   65536
#define NET_FACTOR 8 /* what an IPv6 /48 may have more than an address */
#define HELD_MAX   INT32_MAX
#define HELD_STEP  4 /* so many wait side by side; the next as many wait a delay longer */
#define HOUR_MS    3600000
#define MINUTE_MS  60000

/* What is limited in all has one key. */
static const uint8_t everybody[ADDR_KEY_BYTES];

struct tunnel_guard {
	const struct limits *limits;
	struct window       *new_of_addr, *new_of_net, *new_in_all;
	struct window       *fails_of_addr, *fails_of_net, *fails_in_all;
	struct window       *codes_of_player;
	struct count        *unforwarded, *held;
};

struct tunnel_guard *tunnel_guard_new(const struct limits *l)
{
	struct tunnel_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->limits          = l;
	g->new_of_addr     = window_new(l->tunnel_new_per_address, HOUR_MS, KEYS_MAX, random_u64());
	g->new_of_net      = window_new(l->tunnel_new_per_address * NET_FACTOR, HOUR_MS, KEYS_MAX, random_u64());
	g->new_in_all      = window_new(l->tunnel_new_total, HOUR_MS, 1, random_u64());
	g->fails_of_addr   = window_new(l->tunnel_join_fails, MINUTE_MS, KEYS_MAX, random_u64());
	g->fails_of_net    = window_new(l->tunnel_join_fails_net, MINUTE_MS, KEYS_MAX, random_u64());
	g->fails_in_all    = window_new(l->tunnel_join_fails_total, MINUTE_MS, 1, random_u64());
	g->codes_of_player = window_new(l->tunnel_new_codes, HOUR_MS, KEYS_MAX, random_u64());
	g->held            = count_new(HELD_MAX, KEYS_MAX, random_u64());
	g->unforwarded     = count_new(l->tunnel_lost_address_players, KEYS_MAX, random_u64());
	if (!g->new_of_addr || !g->new_of_net || !g->held || !g->new_in_all || !g->fails_of_addr || !g->fails_of_net ||
	    !g->fails_in_all || !g->codes_of_player || !g->unforwarded) {
		tunnel_guard_free(g);
		return NULL;
	}
	return g;
}

void tunnel_guard_free(struct tunnel_guard *g)
{
	if (!g)
		return;
	window_free(g->new_of_addr);
	window_free(g->new_of_net);
	window_free(g->new_in_all);
	window_free(g->fails_of_addr);
	window_free(g->fails_of_net);
	window_free(g->fails_in_all);
	window_free(g->codes_of_player);
	count_free(g->unforwarded);
	count_free(g->held);
	free(g);
}

bool tunnel_guard_new_player(struct tunnel_guard *g, const struct addr *client, const uint8_t *hashed, int64_t now_ms)
{
	uint8_t net[ADDR_KEY_BYTES];
	bool    has_net = addr_key_wide(net, client);

	/* Looked at before any is counted: a refusal costs nobody anything. */
	if (window_is_full(g->new_in_all, everybody, now_ms) || window_is_full(g->new_of_addr, hashed, now_ms) ||
	    (has_net && window_is_full(g->new_of_net, net, now_ms)))
		return false;
	if (has_net)
		window_note(g->new_of_net, net, now_ms);
	tunnel_guard_note_player(g, hashed, now_ms);
	return true;
}

void tunnel_guard_note_player(struct tunnel_guard *g, const uint8_t *hashed, int64_t at_ms)
{
	window_note(g->new_in_all, everybody, at_ms);
	window_note(g->new_of_addr, hashed, at_ms);
}

void tunnel_guard_unnote_player(struct tunnel_guard *g, const uint8_t *hashed, int64_t at_ms)
{
	window_untake(g->new_in_all, everybody, at_ms);
	window_untake(g->new_of_addr, hashed, at_ms);
}

bool tunnel_guard_new_code(struct tunnel_guard *g, const uint8_t *digest, int64_t now_ms)
{
	return window_take(g->codes_of_player, digest, now_ms);
}

void tunnel_guard_unnote_code(struct tunnel_guard *g, const uint8_t *digest, int64_t at_ms)
{
	window_untake(g->codes_of_player, digest, at_ms);
}

int64_t tunnel_guard_join_wait(struct tunnel_guard *g, const struct addr *client, int64_t now_ms)
{
	uint8_t key[ADDR_KEY_BYTES], net[ADDR_KEY_BYTES];

	addr_key(key, client);
	if (window_is_full(g->fails_of_addr, key, now_ms) || window_is_full(g->fails_in_all, everybody, now_ms) ||
	    (addr_key_wide(net, client) && window_is_full(g->fails_of_net, net, now_ms)))
		return g->limits->tunnel_join_delay_ms * (1 + count_held(g->held, key) / HELD_STEP);
	return 0;
}

void tunnel_guard_hold_join(struct tunnel_guard *g, const struct addr *client)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, client);
	count_take(g->held, key);
}

void tunnel_guard_let_join(struct tunnel_guard *g, const struct addr *client)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, client);
	count_give(g->held, key);
}

void tunnel_guard_join_failed(struct tunnel_guard *g, const struct addr *client, int64_t now_ms)
{
	uint8_t key[ADDR_KEY_BYTES], net[ADDR_KEY_BYTES];

	addr_key(key, client);
	/* Else one address could make everybody's JOIN wait. */
	bool own_full = window_is_full(g->fails_of_addr, key, now_ms);

	window_note(g->fails_of_addr, key, now_ms);
	if (own_full)
		return;
	window_note(g->fails_in_all, everybody, now_ms);
	if (addr_key_wide(net, client))
		window_note(g->fails_of_net, net, now_ms);
}

bool tunnel_guard_enter(struct tunnel_guard *g, const struct addr *client)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, client);
	return count_take(g->unforwarded, key);
}

void tunnel_guard_leave(struct tunnel_guard *g, const struct addr *client)
{
	uint8_t key[ADDR_KEY_BYTES];

	addr_key(key, client);
	count_give(g->unforwarded, key);
}
