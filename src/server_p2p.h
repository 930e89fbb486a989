/*
 * Peer to peer in this process: its sockets, and what it asks of the tunnel, whose games have rooms of their own.
 */
#ifndef SERVER_P2P_H
#define SERVER_P2P_H

#include "p2p/p2p_serve.h"
#include "tunnel/tunnel_serve.h"

#include <stdbool.h>

struct server_p2p {
	struct udp *udp;
	struct p2p *p2p; /* NULL: not there */
};

/* False: the operator was told why. tunnel is not NULL. */
bool server_p2p_build(struct server_p2p *s, struct loop *loop, struct store *store, struct ws *ws,
                      struct tunnel *tunnel, const struct conf *conf);
void server_p2p_start(struct server_p2p *s); /* says where it listens */
void server_p2p_stop(struct server_p2p *s);
void server_p2p_free(struct server_p2p *s);

#endif
