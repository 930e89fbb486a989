/*
 * The game tunnel, live: WebSocket connections in, datagrams and control messages out.
 *
 *	bytes --net/ws--> tunnel_serve --> tunnel_wire (parse) --> tunnel_state (decide) --> tunnel_serve (keep, send)
 *
 * It reads the clock and the random source, hashes keys and tokens, and does what the state says. Everything here is for
 * the loop thread.
 */
#ifndef TUNNEL_TUNNEL_SERVE_H
#define TUNNEL_TUNNEL_SERVE_H

#include "api/api.h"
#include "base/err.h"
#include "conf/conf.h"
#include "net/ban.h"
#include "net/loop.h"
#include "net/ws.h"
#include "store/store.h"

#include <stdio.h>

struct tunnel;

/*
 * Loads what is kept, so before store_start. All arguments must outlive it. On failure one sentence for the operator was
 * written to report.
 */
enum err tunnel_new(struct tunnel **out, struct loop *loop, struct store *store, const struct conf *conf, FILE *report);

/* What net/ws is to call for every path that is no other part's. */
const struct ws_handler *tunnel_handler(struct tunnel *t);

/*
 * Who gets the connections that ask for their checkpoints (VAULT_OPEN of the right version, with its 16 byte key): open
 * is called instead of an answer, and has to hand the connection over (ws_hand_over) or close it. Without, they are
 * closed. Before the first connection.
 */
typedef void (*tunnel_vault)(void *arg, struct ws_conn *c, const uint8_t *key, int64_t now_ms);
void tunnel_set_vault(struct tunnel *t, tunnel_vault open, void *arg);

/*
 * Any thread: gives the player of this digest a new code, durably; his game under the old one is closed. done is called
 * on the loop thread, with the new code, or ERR_NOT_FOUND (he has none), ERR_LIMIT (limits.tunnel_new_codes),
 * ERR_NO_ROOM, ERR_BUSY, ERR_STORE. Takes the struct over until then.
 */
struct tunnel_new_code {
	struct loop_post post;
	struct tunnel   *tunnel;
	int64_t          asked_ms;
	uint8_t          digest[32];
	uint32_t         code;
	void (*done)(struct tunnel_new_code *n, enum err result);
};
void tunnel_new_code(struct tunnel *t, struct tunnel_new_code *n);

/*
 * Whether the player of this digest is the host or a friend of the live game (protocol 2) with this code: ERR_OK, ERR_NOT_ALLOWED,
 * ERR_NO_GAME. And who is told when a game is over; before the first connection.
 */
enum err tunnel_is_in_game(const struct tunnel *t, uint32_t code, const uint8_t digest[32]);
typedef void (*tunnel_over)(void *arg, uint32_t code);
void tunnel_set_over(struct tunnel *t, tunnel_over over, void *arg);

/* While on, no new game begins (FAULT 1); those that are there go on, their hosts come back, and friends still join. */
void tunnel_drain(struct tunnel *t, bool on);

/*
 * How many connections end by this ban of a player: his own, and with his game those of his friends, who are told that it is
 * over. With end, they do; a game that waits for him is over too, and places of his are lost. By a ban of an address games and
 * places of those who are connected from there end in the same way; connections from there are net/ws's, and not counted.
 */
size_t tunnel_ban(struct tunnel *t, const struct ban *b, bool end);

/*
 * A player is about to be forgotten: until tunnel_forget_end, which must follow, his code is nobody's to use, and whoever opens a
 * game with his key waits. ERR_NOT_FOUND: he has none; ERR_BUSY: it is being changed; then nothing follows.
 */
enum err tunnel_forget_begin(struct tunnel *t, const uint8_t id[8]);

/* His rows are gone (ERR_OK): his game ends, and who waits is closed, to come back as a new player. Else all is as it was. */
void tunnel_forget_end(struct tunnel *t, const uint8_t id[8], enum err result);

/* Begins the periodic checks. The loop need not run yet. */
void tunnel_start(struct tunnel *t);

/*
 * Before the connections are closed for a stop: ends the periodic checks, so that friends who go because of it do not end
 * the game that a restart is to bring back.
 */
void tunnel_stop(struct tunnel *t);

/* After the store has stopped, the loop has run what was posted, and every connection is gone. */
void tunnel_free(struct tunnel *t);

/* What operators may ask; their part is the same as above. */
extern const struct api_route tunnel_admin_routes[];

#endif
