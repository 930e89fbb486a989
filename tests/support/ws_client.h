/*
 * A WebSocket client of the tests' own: it waits with deadlines, checks that the server behaves, and can itself
 * misbehave in every way a stranger could.
 *
 *	struct ws_client *c = ws_client_open(server.tunnel_port, NULL);
 *
 *	ws_client_send(c, "01 02 (00)x16");
 *	ws_expect(c, "02 ?? ?? ?? ?? 37 47 08 ff f7 71 9d d5");
 *	ws_expect_nothing(c, 100);
 *	ws_client_free(c);
 *
 * Not reading is simply not calling ws_client_receive: with a small rcvbuf_bytes the server soon feels it.
 */
#ifndef TESTS_WS_CLIENT_H
#define TESTS_WS_CLIENT_H

#include "support/dial.h"
#include "support/pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_CLIENT_FINAL    0x80 /* the FIN bit */
#define WS_CLIENT_CONTINUE 0x00
#define WS_CLIENT_TEXT     0x01
#define WS_CLIENT_BINARY   0x02
#define WS_CLIENT_CLOSE    0x08
#define WS_CLIENT_PING     0x09
#define WS_CLIENT_PONG     0x0a

struct ws_client_options {
	const char *to;           /* the server's address; NULL: 127.0.0.1 */
	const char *unix_path;    /* a unix socket instead; NULL: TCP */
	const char *host;         /* the Host field; NULL: 127.0.0.1, "": none */
	const char *path;         /* NULL: "/" */
	const char *user_agent;   /* NULL: "CrysisCoop/2" */
	const char *headers;      /* further header lines, each with its CR LF; NULL: none */
	int         rcvbuf_bytes; /* 0: the system's */
	bool        mute;         /* answers neither a ping nor a close */
	bool        takes_text;   /* text messages are messages, too */
	const char *subprotocol;  /* what the answer must choose; NULL: none. What is offered is one of the headers */
};

struct ws_client {
	int               fd; /* -1 once dropped or ended */
	bool              mute, takes_text;
	bool              close_sent;
	uint8_t          *in; /* what was read: from in_at to in_len not yet looked at */
	size_t            in_at, in_len, in_cap;
	size_t            used; /* behind in_at, bytes of the last event */
	struct ws_client *next; /* of all that are not freed */
};

enum ws_client_what {
	WS_MESSAGE, /* one unfragmented binary message; or text, for who takes that */
	WS_PING,    /* only seen by a mute client */
	WS_PONG,
	WS_CLOSED,   /* a close frame */
	WS_END,      /* TCP's end, or a reset */
	WS_SILENCE,  /* the deadline passed */
	WS_NONSENSE, /* a frame no server may send, or text, fragments, extension bits */
};

struct ws_client_event {
	enum ws_client_what what;
	const uint8_t      *data; /* into the client, until the next call */
	size_t              len;
	int                 status;  /* of WS_CLOSED: the status code, 0 when there is none */
	bool                reset;   /* of WS_END: it was a reset */
	bool                is_text; /* of WS_MESSAGE */
};

/* Connects and upgrades; anything but a clean 101 ends the test. options NULL: none. */
struct ws_client *ws_client_open(int port, const struct ws_client_options *options);

/* Only the TCP connection, for what comes instead of an upgrade. Ends the test when nobody listens. */
struct ws_client *ws_client_dial(int port, const struct ws_client_options *options);

/* The upgrade on such a connection: the HTTP status; 0 when the server closed without one, -1 when it said nothing. */
int ws_client_upgrade(struct ws_client *c, const struct ws_client_options *options);

/* Closes TCP when it is still open. NULL is fine. */
void ws_client_free(struct ws_client *c);

/*
 * Sending. All return false when the server no longer takes anything (it is gone, or does not read for 5 s);
 * a test that expects no such thing may ignore it, for what it expects next will fail.
 */
bool ws_client_send(struct ws_client *c, const char *pattern); /* one masked binary message */
bool ws_client_send_bytes(struct ws_client *c, const void *data, size_t len);
bool ws_client_send_pattern(struct ws_client *c, const struct pattern *p);
bool ws_client_send_raw(struct ws_client *c, const void *data, size_t len); /* no frame around it */

/* One frame: first_byte is FIN, extension bits and opcode as they stand on the wire. */
bool ws_client_send_frame(struct ws_client *c, unsigned first_byte, bool masked, const void *data, size_t len);

/* The head of a frame that claims so many payload bytes, masked with zeros, and nothing more. */
bool ws_client_send_head(struct ws_client *c, unsigned first_byte, uint64_t claimed_len);

bool ws_client_ping(struct ws_client *c, const char *payload);
bool ws_client_close(struct ws_client *c, int status); /* a close frame; status 0: without one */

/* Ends TCP with a reset, as a crash does. The client can only be freed afterwards. */
void ws_client_drop(struct ws_client *c);

/* The next event. Pings and a close frame are answered on the way unless the client is mute. */
struct ws_client_event ws_client_receive(struct ws_client *c, int patience_ms);

/* For messages to people: "message 0d 01 00", "close frame", "end of TCP", ... Returns out. */
const char *ws_client_show(char *out, size_t cap, const struct ws_client_event *e);

/* Expectations: what does not hold ends the test, with the caller's line in the report. */
#define ws_expect(c, pattern)         ws_expect_at(__FILE__, __LINE__, c, pattern)
#define ws_expect_pattern(c, p)       ws_expect_pattern_at(__FILE__, __LINE__, c, p)
#define ws_expect_nothing(c, real_ms) ws_expect_nothing_at(__FILE__, __LINE__, c, real_ms)
#define ws_expect_pong(c, payload)    ws_expect_pong_at(__FILE__, __LINE__, c, payload)
#define ws_expect_closed(c)           ws_expect_closed_at(__FILE__, __LINE__, c)
#define ws_expect_end(c)              ws_expect_end_at(__FILE__, __LINE__, c)

void ws_expect_at(const char *file, int line, struct ws_client *c, const char *pattern);
void ws_expect_pattern_at(const char *file, int line, struct ws_client *c, const struct pattern *p);
void ws_expect_nothing_at(const char *file, int line, struct ws_client *c, int real_ms);
void ws_expect_pong_at(const char *file, int line, struct ws_client *c, const char *payload);

/* An empty close frame as the very next thing, then TCP's end: how the server closes. */
void ws_expect_closed_at(const char *file, int line, struct ws_client *c);

/* The connection ends, whatever still comes before that: for those whom nothing was promised. */
void ws_expect_end_at(const char *file, int line, struct ws_client *c);

#endif
