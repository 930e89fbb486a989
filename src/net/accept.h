/*
 * Listening sockets of the loop: accepted in small helpings, with a pause when there is no descriptor for the next one.
 */
#ifndef NET_ACCEPT_H
#define NET_ACCEPT_H

#include "base/err.h"
#include "base/metric.h"
#include "net/addr.h"
#include "net/loop.h"

#include <stdint.h>

struct acceptor;

struct accept_to {
	/* A connection: fd is the callee's, non-blocking and closed on exec. */
	void (*take)(void *arg, int fd, const struct addr *peer);
	void       *arg;
	int64_t     turn_accepts; /* at most so many in a turn of the loop */
	enum metric starved;      /* counts the pauses for want of descriptors or memory */
};

/* Accepts from fd (a listening socket), which it owns from here on, also on failure. ERR_NOMEM, ERR_IO. *to is copied. */
enum err acceptor_new(struct acceptor **out, struct loop *l, int fd, const struct accept_to *to);

/* Nobody is taken any more; the socket is closed soon, by the loop. NULL is fine. */
void acceptor_close(struct acceptor *a);

/*
 * How the system treats a socket: of a connection, or of a listener, for those that it brings. 0: as it is. Keepalive is
 * probed after so many seconds of silence, then every interval, and so often until the peer is held for dead.
 */
struct accept_socket {
	int sndbuf_bytes;
	int keepalive_idle_s, keepalive_interval_s, keepalive_probes;
};
void accept_tune(int fd, const struct accept_socket *want);

/* A connection's number for the log: from 1, never given twice in a process. */
uint64_t accept_next_id(void);

#endif
