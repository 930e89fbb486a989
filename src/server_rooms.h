/*
 * The rooms and what carries them: a port for TCP and UDP, and the status page.
 */
#ifndef SERVER_ROOMS_H
#define SERVER_ROOMS_H

#include "conf/conf.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tcp.h"
#include "net/udp.h"
#include "rooms/rooms_serve.h"
#include "server_listen.h"
#include "store/store.h"

#include <stdbool.h>

struct server_rooms { /* all zeros: not wanted */
	struct rooms       *rooms;
	struct udp         *udp;
	struct http_server *status;
	struct listeners    tcp_sockets, udp_sockets, status_sockets;
};

/* In this order, from the server's own functions of these names; false: it has been said why. Without rooms.enable nothing. */
bool server_rooms_build(struct server_rooms *s, struct loop *loop, struct store *store, const struct conf *conf);
bool server_rooms_start(struct server_rooms *s, struct tcp *tcp, const struct conf *conf);
void server_rooms_stop(struct server_rooms *s); /* before tcp_stop */

/* After the loop has returned: before store_stop; after that and tcp_free. */
void server_rooms_finish(struct server_rooms *s);
bool server_rooms_has_lost(const struct server_rooms *s); /* after loop_drain: scores that were answered */
void server_rooms_free(struct server_rooms *s);

#endif
