/*
 * WebSocket connections on the loop (RFC 6455, version 13, no extension; a subprotocol where a part has one).
 *
 * Who listens: our own sockets, accepted in small helpings, with limits per address and in all, before the library sees
 * them. The library (libwebsockets) does TLS, the request's head and the upgrade. After it, bytes are read and written
 * here with our own framing, straight from the socket or through its TLS session.
 *
 * Output: what is sent in one turn of the loop leaves in one write at its end. A connection has two queues: control
 * messages, which are never dropped (over limits.ws_control the connection is closed), and datagrams, of which a slow
 * receiver loses the oldest (limits.ws_backlog...). Control messages overtake waiting datagrams; both keep their own
 * order. Pongs travel with the datagrams. Everything here is for the loop thread.
 *
 * Life: opened, message..., closed, in this order, each connection; closed is never called from inside another function
 * of this header, and after ws_close no message is reported any more.
 */
#ifndef NET_WS_H
#define NET_WS_H

#include "base/err.h"
#include "conf/conf.h"
#include "net/accept.h"
#include "net/addr.h"
#include "net/ban.h"
#include "net/loop.h"
#include "net/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define WS_MESSAGE_BYTES_MAX 65552

#define WS_CALLER_BYTES 256

struct ws;
struct ws_conn;

/* What a part is told about its connections. */
struct ws_handler {
	void *part;
	/*
	 * The upgrade is done. Returns what the other calls get as data; NULL: the connection is closed, without
	 * closed.
	 */
	void *(*opened)(void *part, struct ws_conn *c, int64_t now_ms);
	/*
	 * One whole message, text or binary, never empty. The bytes are the callee's to change, and gone after the
	 * call.
	 */
	void (*message)(void *data, uint8_t *bytes, size_t len, int64_t now_ms);
	/* The connection is gone; c is invalid after the call. */
	void (*closed)(void *data, int64_t now_ms);
	/* A pong came; also one to a ping of the server's own, which is empty. NULL: nobody asks. */
	void (*pong)(void *data, const uint8_t *payload, size_t len, int64_t now_ms);
	/* So many datagrams that waited are lost, since the peer reads too slowly. Calls nothing of this header. NULL: nobody asks. */
	void (*lost)(void *data, size_t datagrams);
	/*
	 * The one subprotocol that is spoken here (at most 62 bytes): chosen when the client offers it, and one who offers
	 * others only is refused with 400; one who offers none is let in. NULL: what is offered is ignored. A list of over 126
	 * bytes, or that is none, is refused here and there.
	 */
	const char *subprotocol;
	size_t      message_max; /* bytes of one message, longer ones close with 1009; 0: WS_MESSAGE_BYTES_MAX */
	size_t      control_max; /* bytes of control messages that may wait; 0: limits.ws_control */
				 /* Both go by the handler that opened the connection, also after ws_hand_over. */
};

/*
 * Takes the limits, trusted proxies, header name, origins and certificate from conf, which must outlive it.
 * ERR_MALFORMED with a line in report for a certificate that cannot be used.
 */
enum err ws_new(struct ws **out, struct loop *l, const struct conf *conf, FILE *report);
void     ws_free(struct ws *ws); /* after loop_run returned and ws_stop was called */

/* Accepts from fd (a listening socket), which it owns from here on. ERR_MALFORMED: TLS without a certificate. */
enum err ws_listen(struct ws *ws, int fd, bool tls);

/*
 * Upgrades at path go to h; path NULL: those at every other path, except below /update/, which are refused (404).
 * Before ws_listen.
 */
void ws_route(struct ws *ws, const char *path, const struct ws_handler *h);

/*
 * The door: sockets beside those of the players, for few whom the part knows better than any limit of the players does. The path
 * is the only one there, and has no query. Any Host, Origin and forwarding field is let in; the part judges them when it is told of
 * the connection. The client is the peer, and limits per address do not count.
 */
struct ws_door {
	const char              *path;
	const struct ws_handler *handler;
	size_t                   connections_max; /* before and after their upgrade */
	/*
	 * So many are there, all upgraded, and one more comes: ends one that is needed least. False: it needs them all. One that is
	 * not upgraded goes without asking, the oldest first.
	 */
	bool (*make_room)(void *part);
};
void     ws_set_door(struct ws *ws, const struct ws_door *door); /* before ws_listen_door; once */
enum err ws_listen_door(struct ws *ws, int fd);                  /* as ws_listen; also a unix socket */

/* Who comes through the door, as the socket and the request's head say. Nothing of it is judged. */
struct ws_caller {
	bool  is_unix;
	bool  has_uid;
	uid_t uid; /* of a unix peer */
	bool  has_origin;
	bool  is_forwarded;            /* has Forwarded, Via, X-Real-IP or any X-Forwarded-* */
	char  host[WS_CALLER_BYTES];   /* "": missing, empty, or too long */
	char  origin[WS_CALLER_BYTES]; /* the same, or it came twice */
};

/* Of a connection that is being opened. */
const struct ws_caller *ws_conn_caller(const struct ws_conn *c);

/* New connections get this certificate, those there are notice nothing. NULL does nothing, and so it is without TLS. */
void ws_cert_use(struct ws *ws, const struct tls_cert *cert);

/* As http_reload. */
void ws_reload(struct ws *ws);

/*
 * Nobody is accepted any more; those that are there stay, and who is about to come in still does. With another process that has the
 * listening sockets, who comes now waits for that one.
 */
void ws_accept_end(struct ws *ws);

/* No new connections; every one gets a close; done is called when all are gone or 5 s (limits.ws_close_ms) are over. */
void ws_stop(struct ws *ws, void (*done)(void *arg), void *arg);

/*
 * How many connections this ban is meant for, by the address of their client or peer; with end, they are reset, and closed
 * follows. Newcomers of a banned address are closed at accept, or refused with 403 when a proxy says whose they are.
 */
size_t ws_ban(struct ws *ws, const struct ban *b, bool end);

uint64_t           ws_conn_id(const struct ws_conn *c);     /* for logs; never used twice in a process */
const struct addr *ws_conn_client(const struct ws_conn *c); /* behind trusted proxies; port 0 then */
bool               ws_conn_is_forwarded(const struct ws_conn *c);

/* A loopback client without forwarding field, outside production: limits per address do not count for it. */
bool ws_conn_is_exempt(const struct ws_conn *c);

/*
 * Queues one control message, binary or text (which has to be UTF-8). Over the limit the connection is closed and counted.
 */
void ws_send(struct ws_conn *c, const void *data, size_t len);
void ws_send_text(struct ws_conn *c, const void *data, size_t len);

/* Sends now what would leave at the end of the turn, as far as the peer takes it. */
void ws_flush(struct ws_conn *c);

/*
 * A large control message that is made where others can make it and is not copied. ws_buffer_take (loop thread) gives
 * memory for a message of at most so many bytes, NULL when out of it; any thread may then fill ws_buffer_bytes.
 * ws_send_buffer sends the first len of them and owns the buffer from then on; ws_buffer_free is for one that is not
 * sent. Buffers must be gone before the server is.
 */
struct ws_buffer;
struct ws_buffer *ws_buffer_take(struct ws_conn *c, size_t bytes);
uint8_t          *ws_buffer_bytes(struct ws_buffer *b);
void              ws_send_buffer(struct ws_conn *c, struct ws_buffer *b, size_t len);
void              ws_buffer_free(struct ws_buffer *b);

/*
 * Queues one datagram: head then body as one message. Messages of one tag can be dropped together. False when it was
 * dropped at once because the connection is closing or memory is short.
 */
bool ws_send_datagram(struct ws_conn *c, uint32_t tag, const void *head, size_t head_len, const void *body,
                      size_t body_len);

/* Drops every waiting datagram of this tag that has not begun to leave. */
void ws_drop_tag(struct ws_conn *c, uint32_t tag);

/* The message that is being reported is a text message. */
bool ws_message_is_text(const struct ws_conn *c);

/* A ping with this payload (at most 125 bytes), among the control messages and counted as one. */
void ws_ping(struct ws_conn *c, const void *payload, size_t len);

/* As ws_close, with a status (RFC 6455, 7.4). A connection that is closing already keeps its own. */
void ws_close_status(struct ws_conn *c, uint16_t status);

/* Sends what waits, then an empty close frame, waits for the peer's, ends TCP; after limits.ws_close_ms a reset. */
void ws_close(struct ws_conn *c);

/* The end at once, by a reset; what waits is gone. */
void ws_reset(struct ws_conn *c);

void ws_set_socket(struct ws_conn *c, const struct accept_socket *want);

/*
 * Reads no more messages until resumed: for a connection whose last messages are still being worked on. At most one
 * message that was read already is reported after pause (the rest is kept). Pings are not answered meanwhile either.
 */
void ws_pause(struct ws_conn *c);
void ws_resume(struct ws_conn *c);

/*
 * Calls drained(data) once, from the loop and not from inside this call, when no control message waits on this
 * connection any more (at once, then, if none does). For who sends more than a control queue holds, piece by piece.
 */
void ws_when_drained(struct ws_conn *c, void (*drained)(void *data, int64_t now_ms));

/* Hands the connection to another part: its messages and end go to h with data from now on. */
void ws_hand_over(struct ws_conn *c, const struct ws_handler *h, void *data);

/* Bytes that wait to be sent on this connection. */
size_t ws_conn_queued(const struct ws_conn *c);

#endif
