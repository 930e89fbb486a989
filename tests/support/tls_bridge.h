/*
 * A plain port for a server that wants TLS, so that every client of the tests can talk to it:
 *
 *	client --plain--> bridge, 127.0.0.1:free port --TLS, from an address of choice--> server
 *
 * It trusts one certificate, and refuses every other. It carries bytes and changes none.
 */
#ifndef TESTS_TLS_BRIDGE_H
#define TESTS_TLS_BRIDGE_H

#define TLS_BRIDGE_CONNECTIONS 32 /* at once */

struct tls_bridge;

/*
 * Starts it, with a thread of its own. from: the loopback address it connects from, like "127.0.0.5". name: of the server,
 * as the client says it in the handshake. The port it listens on goes to *port. Clients must be gone before it is closed.
 */
struct tls_bridge *tls_bridge_open(int *port, int to_port, const char *from, const char *cert_path, const char *name);
void               tls_bridge_close(struct tls_bridge *b);

#endif
