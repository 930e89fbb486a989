/*
 * Peer to peer, live: the control channel at /p2p on the WebSocket listener, and the UDP sockets of the NAT check and STUN.
 * What it says, byte by byte: src/p2p/PROTOCOL.md.  Everything here is for the loop thread.
 *
 *	net/ws --> p2p_serve --> p2p_ask (op, members) --> p2p_rooms, p2p_nat, p2p_links --> ..._state (decide) --> p2p_say --> net/ws
 *	net/udp --> p2p_udp --> p2p_wire, p2p_stun_wire --> net/udp
 */
#ifndef P2P_P2P_SERVE_H
#define P2P_P2P_SERVE_H

#include "api/api.h"
#include "conf/conf.h"
#include "net/ban.h"
#include "net/loop.h"
#include "net/udp.h"
#include "net/ws.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct p2p;

/* conf must outlive it. ERR_NOMEM, with a sentence in report. */
enum err p2p_new(struct p2p **out, struct loop *loop, struct store *store, const struct conf *conf, FILE *report);
void     p2p_free(struct p2p *p); /* after ws and udp are gone; NULL is fine */

const struct ws_handler *p2p_handler(const struct p2p *p); /* for ws_route(ws, "/p2p", ...) */

/*
 * Binds the four sockets (or two, with one address) and receives from them. What cannot be bound stops the start, or, for the
 * second address without p2p.second_required, is a warning. ERR_HELD, ERR_IO, ERR_MALFORMED with a sentence in report.
 */
enum err p2p_listen(struct p2p *p, struct udp *udp, FILE *report);

/* Binds them and puts them with the inherited ones (net/inherit.h), where p2p_listen finds them. The same errors. */
enum err p2p_try_listen(const struct conf *conf, FILE *report);

void p2p_announce(const struct p2p *p); /* what is bound, in the log */

/* Asks whether the player of this digest is the host or a friend of the live protocol 2 game with that code; code is 6 digits. */
typedef enum err (*p2p_game_asker)(void *arg, uint32_t code, const uint8_t digest[32]);
void p2p_set_games(struct p2p *p, p2p_game_asker ask, void *arg);
/* The game with this code is over: its room ends. */
void p2p_game_over(struct p2p *p, uint32_t code);

/*
 * How many sessions this ban of a player is meant for; with end, they are closed. By a ban of an address outside addresses from
 * there are forgotten; connections are net/ws's.
 */
size_t p2p_ban(struct p2p *p, const struct ban *b, bool end);

void p2p_stop(struct p2p *p);

/* While on, no new room is made (room_limit); those of running games are no new ones. Loop thread. */
void p2p_drain(struct p2p *p, bool on);

/* What operators may ask; their part is the same as above. */
extern const struct api_route p2p_admin_routes[];

#endif
