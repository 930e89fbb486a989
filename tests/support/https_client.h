/*
 * HTTP over TLS, as http_say and http_hear (support/http_fixture.h) are without it.
 */
#ifndef TESTS_HTTPS_CLIENT_H
#define TESTS_HTTPS_CLIENT_H

#include "support/http_client.h"
#include "support/tls_peer.h"

/* Connected to 127.0.0.1:port from this address of the loopback network, hands shaken; the test ends when it cannot be. */
struct tls_client https_open(int port, const char *from);

/* All of it, or the test ends. */
void https_say(struct tls_client *c, const char *text);

/* One answer, by its Content-Length; status 0: the connection ended. For http_result_free. */
struct http_result https_hear(struct tls_client *c);

/* A GET of this path on a kept connection; its status. */
int https_get(struct tls_client *c, const char *path);

#endif
