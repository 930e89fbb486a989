/*
 * What keeps one address from making players without end, from guessing codes, and an operator from not noticing that
 * his proxy hides everybody's address: the tunnel's limits per address.
 *
 * Addresses come as keys: hashed ones where they are also kept in the database (new players), plain ones elsewhere.
 */
#ifndef TUNNEL_TUNNEL_GUARD_H
#define TUNNEL_TUNNEL_GUARD_H

#include "conf/limits.h"
#include "net/addr.h"

#include <stdbool.h>
#include <stdint.h>

struct tunnel_guard;

struct tunnel_guard *tunnel_guard_new(const struct limits *limits);
void                 tunnel_guard_free(struct tunnel_guard *g);

/*
 * May this client, whose hashed address is the other, make one more new player? Counts it when it may. An IPv6 /48 may
 * make 8 times what an address may.
 */
bool tunnel_guard_new_player(struct tunnel_guard *g, const struct addr *client, const uint8_t *hashed, int64_t now_ms);

/* One made before this start. */
void tunnel_guard_note_player(struct tunnel_guard *g, const uint8_t *hashed, int64_t at_ms);

/* The one counted at at_ms got no code after all. */
void tunnel_guard_unnote_player(struct tunnel_guard *g, const uint8_t *hashed, int64_t at_ms);

/* May the player of this digest have another code? Counts it when he may. unnote: he got none after all. */
bool tunnel_guard_new_code(struct tunnel_guard *g, const uint8_t *digest, int64_t now_ms);
void tunnel_guard_unnote_code(struct tunnel_guard *g, const uint8_t *digest, int64_t at_ms);

/*
 * How long a JOIN of this address has to wait before it is looked up: 0, or limits.tunnel_join_delay_ms; longer when
 * many of the address wait already, so that guessing over many connections at once is no faster.
 */
int64_t tunnel_guard_join_wait(struct tunnel_guard *g, const struct addr *client, int64_t now_ms);

/* A JOIN of this address begins to wait, or waits no more. */
void tunnel_guard_hold_join(struct tunnel_guard *g, const struct addr *client);
void tunnel_guard_let_join(struct tunnel_guard *g, const struct addr *client);

/* A JOIN that found no game. One of an address that is over its own limit counts against nobody else. */
void tunnel_guard_join_failed(struct tunnel_guard *g, const struct addr *client, int64_t now_ms);

/*
 * A player came, or went, whose address may not be his own because no forwarding field came with it. False when there are
 * more of one address than limits.tunnel_lost_address_players: then no leave is to be reported for him.
 */
bool tunnel_guard_enter(struct tunnel_guard *g, const struct addr *client);
void tunnel_guard_leave(struct tunnel_guard *g, const struct addr *client);

#endif
