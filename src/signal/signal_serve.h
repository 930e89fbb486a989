/*
 * The signaling relay, live: over TCP, TLS, and WebSocket at /signal, where one message is one line without its LF. One
 * registry for all three. What it says, byte by byte: src/signal/PROTOCOL.md. Everything here is for the loop thread.
 *
 *	net/tcp --> signal_tcp --> signal_line (cut) ---\                     /--> signal_state (decide) --> signal_queue_state
 *	net/ws  --> signal_ws ---------------------------+--> signal_serve --+
 *	                                                                      \--> crypt (token, proof), signal_log
 *	net <------ signal_tcp, signal_ws <------ what waits in a peer's queue, as fast as he takes it
 */
#ifndef SIGNAL_SIGNAL_SERVE_H
#define SIGNAL_SIGNAL_SERVE_H

#include "api/api.h"
#include "conf/conf.h"
#include "net/ban.h"
#include "net/loop.h"
#include "net/tcp.h"
#include "net/ws.h"

struct signal_relay;

/*
 * token: the one of data/secrets, for when signal.token is empty; it and what conf has of tokens are copied. conf must
 * outlive the relay. ERR_NOMEM.
 */
enum err signal_new(struct signal_relay **out, struct loop *loop, const struct conf *conf, const char *token);
void     signal_free(struct signal_relay *r); /* after tcp and ws are gone; NULL is fine */

/* For tcp_listen: plain or TLS. For ws_route(ws, "/signal", ...). */
const struct tcp_listen *signal_listen(const struct signal_relay *r, bool is_tls);
const struct ws_handler *signal_handler(const struct signal_relay *r);

/* After conf_reload: new connections show the new token, or the previous one. Those that are there stay. */
void signal_reload(struct signal_relay *r, const struct conf *conf, const char *token);

/* How many registered peers this ban of an identity is meant for: one at most; with end, it is closed. */
size_t signal_ban(struct signal_relay *r, const struct ban *b, bool end);

/* Everybody is closed, and nobody is let in any more. */
void signal_stop(struct signal_relay *r);

/* What operators may ask; their part is the same as above. */
extern const struct api_route signal_admin_routes[];

#endif
