/*
 * A signaling peer of the tests: on plain TCP, in TLS or over WebSocket, it speaks in lines and waits with deadlines.
 *
 *	struct identity       alice = identity_of(1);
 *	struct signal_client *a     = signal_registered(server, SIGNAL_PLAIN, &alice);
 *
 *	signal_say(a, "%s c0ffee", bob.text);
 *	signal_expect(b, "%s c0ffee", alice.text);
 *	signal_expect_silence(a, 50);
 *	signal_client_free(a);
 */
#ifndef TESTS_SIGNAL_CLIENT_H
#define TESTS_SIGNAL_CLIENT_H

#include "support/dial.h"
#include "support/identity.h"
#include "support/server.h"
#include "support/tls_peer.h"
#include "support/ws_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum signal_way { SIGNAL_PLAIN, SIGNAL_TLS, SIGNAL_WEBSOCKET, SIGNAL_WAYS };
extern const char *const signal_way_names[SIGNAL_WAYS];

#define SIGNAL_NONCE_TEXT 65

struct signal_client {
	enum signal_way       way;
	int                   fd; /* -1 over WebSocket, and once it has ended */
	bool                  has_tls;
	bool                  has_line, is_text; /* of the last line: it is still in the buffer; it came as text */
	struct tls_client     tls;
	struct ws_client     *ws;
	char                 *in; /* the last line, and what was read behind it */
	size_t                in_len, in_cap;
	size_t                line_len; /* of the last line, without LF */
	char                  nonce[SIGNAL_NONCE_TEXT];
	struct signal_client *next; /* of all that are not freed */
};

/* Settings for a server with a TLS listener; its certificate lies below /tmp for as long as the test lasts. */
const char *const *signal_tls_sets(const char *const *more);

/* Connected; nothing was said. from: another address of this machine to come from (over WebSocket: forwarded), or NULL. */
struct signal_client *signal_dial(const struct server *s, enum signal_way way);
struct signal_client *signal_dial_from(const struct server *s, enum signal_way way, const char *from, int rcvbuf_bytes);
void                  signal_client_free(struct signal_client *c); /* NULL is fine */

/* Bytes as they are; over WebSocket one message. False: the server takes no more. */
bool signal_send(struct signal_client *c, const void *bytes, size_t len);

/* One line. */
bool signal_say(struct signal_client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Steps of registering. */
void signal_greet(struct signal_client *c, const struct identity *who); /* with the token of the tests' servers */
void signal_take_nonce(struct signal_client *c);
void signal_prove(struct signal_client *c, const struct identity *who);

/* The proof for a nonce, in hex. */
void signal_proof_hex(char out[129], const struct identity *who, const char *nonce);

/* All of them, and the self test whose echo says that it worked. */
void                  signal_register(struct signal_client *c, const struct identity *who);
struct signal_client *signal_registered(const struct server *s, enum signal_way way, const struct identity *who);

/* A self test and its echo; lines that come before it are passed over. */
void signal_test_self(struct signal_client *c, const struct identity *who);

/* The next line, in c->in with a NUL behind its c->line_len bytes until the next call; or why there is none. */
enum signal_got { SIGNAL_GOT_LINE, SIGNAL_GOT_NOTHING, SIGNAL_GOT_END };
enum signal_got signal_read_line(struct signal_client *c, int patience_ms);

#define signal_expect(c, ...)         signal_expect_at(__FILE__, __LINE__, c, __VA_ARGS__)
#define signal_expect_silence(c, ms)  signal_expect_silence_at(__FILE__, __LINE__, c, ms)
#define signal_expect_end(c)          signal_expect_end_at(__FILE__, __LINE__, c, NULL)
#define signal_expect_end_case(c, of) signal_expect_end_at(__FILE__, __LINE__, c, of)
void signal_expect_at(const char *file, int line, struct signal_client *c, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void signal_expect_silence_at(const char *file, int line, struct signal_client *c, int real_ms);
/* Not a line more, then the end. */
void signal_expect_end_at(const char *file, int line, struct signal_client *c, const char *of);

#endif
