/*
 * The signaling relay, over TCP, TLS, and WebSocket at /signal (one message is one line without its LF). One registry for
 * all three. What it says, byte by byte: src/signal/PROTOCOL.md.
 */
#ifndef SIGNAL_SIGNAL_SERVE_H
#define SIGNAL_SIGNAL_SERVE_H

#include "conf/conf.h"
#include "net/loop.h"
#include "net/tcp.h"
#include "net/ws.h"

#include <stdio.h>

struct signal_relay;

/* signal.token and .token_previous are copied here and by signal_reload. token: as made in data/secrets, when the setting is empty. */
enum err signal_new(struct signal_relay **out, struct loop *loop, const struct conf *conf, const char *token,
                    FILE *report);
void     signal_free(struct signal_relay *r); /* after tcp and ws are gone */

/* For tcp_listen: plain or TLS. For ws_route(ws, "/signal", ...). */
const struct tcp_listen *signal_listen(struct signal_relay *r, bool is_tls);
const struct ws_handler *signal_handler(struct signal_relay *r);

void signal_reload(struct signal_relay *r, const struct conf *conf, const char *token); /* loop thread */
void signal_stop(struct signal_relay *r); /* loop thread: everybody is closed */

#endif
