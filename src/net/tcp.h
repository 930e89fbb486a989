/*
 * TCP connections on the loop that speak neither HTTP nor WebSocket: bytes in, bytes out, plainly or in TLS.
 *
 * What comes is handed on as it comes. What goes is fetched: the part keeps what waits, as it must keep it anyway to bound
 * it, and is asked for it at the end of a turn and whenever the peer takes more; so nothing lies in between, and all that is
 * sent in one turn leaves in one write.
 *
 *	accepted --------> bytes..., fetch/sent... --------> closed
 *	     \                    \__ tcp_take: nothing more is called
 *	      \__ refused: closed without a byte, nothing more is called
 *
 * Everything here is for the loop thread. closed comes exactly once for each that was accepted and not taken, never from
 * inside another function of this header.
 */
#ifndef NET_TCP_H
#define NET_TCP_H

#include "base/err.h"
#include "base/metric.h"
#include "conf/conf.h"
#include "net/addr.h"
#include "net/ban.h"
#include "net/loop.h"
#include "net/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct tcp;
struct tcp_conn;

/* Closed by us and not gone yet: the part may have forgotten them, so its caps do not bound them. */
#define TCP_LEAVING_MAX 64

enum tcp_end {
	TCP_END_PEER,      /* the peer closed, or the network broke */
	TCP_END_OURS,      /* tcp_close, tcp_reset */
	TCP_END_HANDSHAKE, /* TLS failed */
	TCP_END_STALLED,   /* took nothing of what waited for tcp_listen.stall_ms: reset */
	TCP_END_BANNED,    /* tcp_ban: reset */
	TCP_END_STOPPED    /* tcp_stop */
};

struct tcp_handler {
	void *part;
	/*
	 * Accepted, before TLS and before any byte. Returns what the other calls get as data; NULL: it is closed without
	 * a byte.
	 */
	void *(*accepted)(void *part, struct tcp_conn *c, int64_t now_ms);
	/*
	 * Bytes came, as many as there were, at most limits.ws_turn_bytes in a turn (in TLS, where a record comes whole, not
	 * less than 16 KiB). The callee may change them.
	 */
	void (*bytes)(void *data, uint8_t *bytes, size_t len, int64_t now_ms);
	/*
	 * What is to be sent next, in at most count pieces that stay valid until the next call of the part; returns how many.
	 * 0: nothing waits.
	 */
	size_t (*fetch)(void *data, struct iovec *pieces, size_t count);
	/* So many bytes of that have left (in TLS: were taken over). Once for each write. */
	void (*sent)(void *data, size_t bytes, int64_t now_ms);
	/*
	 * The peer's output has ended (its FIN; in TLS its word for it): nothing more comes. NULL: that is the end both ways, and
	 * the connection is closed. Else the part goes on sending, and ends it by tcp_close.
	 */
	void (*ended)(void *data, int64_t now_ms);
	/*
	 * In a pause: the peer's output has ended, behind what waits unread. It is said once for a connection; ended comes all
	 * the same, after those bytes, when the pause is over. NULL: that is early enough. Never in TLS.
	 */
	void (*ended_unread)(void *data, int64_t now_ms);
	/* The connection is gone; c is invalid after the call. */
	void (*closed)(void *data, enum tcp_end why, int64_t now_ms);
};

struct tcp_listen {
	const struct tcp_handler *handler;
	bool                      is_tls;
	int                       sndbuf_bytes; /* SO_SNDBUF of each connection; 0: the system's */
	int                       keepalive_idle_s, keepalive_interval_s, keepalive_probes; /* idle 0: none */
	/* Something waits, here or in the kernel, and the peer acknowledged none of it for so long, or a quarter more; 0: never. */
	int64_t     stall_ms;
	enum metric banned; /* counts those of a banned address, which are closed before anybody hears of them */
};

enum err tcp_new(struct tcp **out, struct loop *l, const struct conf *conf);
void     tcp_free(struct tcp *t); /* after loop_run returned; resets, and reports to their parts, those that are left */

/*
 * Accepts from fd (a listening socket), which it owns from here on, also on failure. *on is copied. ERR_MALFORMED: TLS
 * without a certificate.
 */
enum err tcp_listen(struct tcp *t, int fd, const struct tcp_listen *on);

/* For TLS listeners: before tcp_listen, and again after a reload. New handshakes get it. NULL does nothing. */
void tcp_cert_use(struct tcp *t, const struct tls_cert *cert);

/* As ws_accept_end. */
void tcp_accept_end(struct tcp *t);

/* Nobody is accepted any more, everybody is closed after what waits is sent; done when all are gone or after 5 s. */
void tcp_stop(struct tcp *t, void (*done)(void *arg), void *arg);

/* How many connections this ban is meant for, by their address; with end, they are reset, and closed follows. */
size_t tcp_ban(struct tcp *t, const struct ban *b, bool end);

uint64_t           tcp_conn_id(const struct tcp_conn *c); /* for logs; never used twice in a process, nor by ws */
const struct addr *tcp_conn_peer(const struct tcp_conn *c);
bool               tcp_conn_is_tls(const struct tcp_conn *c);
bool               tcp_conn_is_exempt(const struct tcp_conn *c); /* loopback, outside production */

/* There is something to fetch. Costs nothing when said often. */
void tcp_wake(struct tcp_conn *c);

/*
 * Fetches and sends now what would leave at the end of the turn, as far as the peer takes it: for a part whose queue would be
 * full before that.
 */
void tcp_flush(struct tcp_conn *c);

/*
 * Sends what waits (fetch goes on, for at most limits.ws_close_ms), then FIN; what the peer still sends is read and dropped
 * for a moment (2 s, and 256 KiB but in a pause), so that our last bytes are not destroyed by a reset. bytes is not
 * called any more. At most 64 are on their way out in this manner; with one more, the first of them is reset.
 */
void tcp_close(struct tcp_conn *c);

/*
 * bytes is not called until tcp_resume: what the peer sends waits in the kernel, and its end and its errors are not noticed
 * before that, but by ended_unread, and for a reset, by which what waits is lost. What tcp had read already was in the last call of bytes. Also from
 * inside accepted; said again, or when it is closed already, they do nothing.
 */
void tcp_pause(struct tcp_conn *c);
void tcp_resume(struct tcp_conn *c);

/*
 * Gives the connection away: returns its socket, which is the caller's from here on, non-blocking and closed on exec; what the
 * part had not sent is not sent. Nothing of the handler is called any more, closed neither; c is gone. Not in TLS. It may be
 * called from inside the handler's functions. -1: it has ended in this turn already, or is being closed, by whomever; closed
 * comes as always.
 */
int tcp_take(struct tcp_conn *c);

/* The end at once, by a reset; what the kernel still holds is gone. */
void tcp_reset(struct tcp_conn *c);

#endif
