/*
 * For tests of TLS listeners: certificates made on the spot, and a client that trusts any.
 */
#ifndef TESTS_TLS_PEER_H
#define TESTS_TLS_PEER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes a fresh self-signed certificate for this name, and its key, as PEM. */
void tls_make_cert(const char *cert_path, const char *key_path, const char *name);
void tls_make_rsa_cert(const char *cert_path, const char *key_path, const char *name);

/* A certificate of choice; zeros make that of tls_make_cert. */
struct tls_wish {
	const char *name;
	long        from_s, until_s; /* when it is good, from now; both 0: for an hour back and forth */
	bool        is_rsa;
	bool        has_chain; /* signed by an authority, whose certificate stands behind it in the file */
};
void tls_make(const char *cert_path, const char *key_path, const struct tls_wish *wish);

struct tls_client {
	int      fd;
	SSL_CTX *ctx;
	SSL     *ssl;
};

/* Connects to 127.0.0.1:port and shakes hands, offering these protocols (ALPN wire format, or NULL). False: refused. */
bool tls_client_open(struct tls_client *c, int port, int rcvbuf_bytes, const char *alpn);

/* The same on a connected socket, which it owns; only this version (TLS1_3_VERSION, ...) is spoken, 0: any. */
bool tls_client_shake(struct tls_client *c, int fd, const char *alpn, int version);
void tls_client_close(struct tls_client *c);

/* On a connection of its own, whether hands are shaken in TLS 1.2 with one of these, and nothing else. */
bool tls_client_shakes_with(int port, const char *ciphers);

/* How many certificates the server has shown. */
int tls_client_chain_len(const struct tls_client *c);

/* The common name in the server's certificate. Returns out. */
const char *tls_client_server_name(const struct tls_client *c, char *out, size_t cap);

/* All of it; false when the server does not take it within five seconds. */
bool tls_client_send(struct tls_client *c, const void *data, size_t len);

/* Waits at most patience_ms for exactly len bytes, or for the end of the connection. Returns how many came. */
size_t tls_client_read(struct tls_client *c, void *out, size_t len, int patience_ms);

/* The upgrade, with these bytes right behind the head in the same record. Returns the HTTP status. */
int tls_client_upgrade(struct tls_client *c, const void *glued, size_t glued_len);

#endif
