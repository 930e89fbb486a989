/*
 * UDP sockets on the loop: many datagrams in one call, in and out, without taking memory or a lock for any of them.
 *
 *	socket readable --> got(datagram), got(datagram), ... --> what was answered leaves together
 *
 * A datagram is received into memory of the module and may be changed there: an answer is usually written over the
 * question. A helping is at most 64 datagrams, and a socket has at most 512 datagrams or about 1 MiB in one turn of the loop.
 * What is sent from inside got leaves at the end of the helping or before, and must stay as it is until then, as the datagram's
 * own memory does; what is sent from anywhere else leaves at once. There is no queue: what the system does not take is dropped
 * and counted.
 *
 * A socket that is bound to the wildcard answers from the address that was asked: the way of a datagram (udp_path) knows it.
 *
 * IPv4 only. Everything here is for the loop thread.
 */
#ifndef NET_UDP_H
#define NET_UDP_H

#include "base/err.h"
#include "base/metric.h"
#include "net/addr.h"
#include "net/loop.h"

#include <stddef.h>
#include <stdint.h>

struct udp;
struct udp_socket;

#define UDP_DATAGRAM_BYTES_MAX 65507

/* How a peer is reached: plain data, to be kept as long as its socket lives. */
struct udp_path {
	struct udp_socket *socket;
	uint8_t            local_ip[4]; /* of ours, that was asked; zeros: whatever the socket is bound to */
	uint8_t            ip[4];       /* of the peer, network order */
	uint16_t           port;        /* of the peer */
};

struct udp_datagram {
	struct udp_path path; /* where it came from: an answer goes back on it */
	uint8_t        *bytes;
	size_t          len, cap; /* cap is at least UDP_DATAGRAM_BYTES_MAX */
};

struct udp_handler {
	void *part;
	void (*got)(void *part, struct udp_datagram *d, int64_t now_ms);
	enum metric banned; /* counts those from a banned address, which are dropped */
};

/* ERR_NOMEM. */
enum err udp_new(struct udp **out, struct loop *l);
void     udp_free(struct udp *u); /* after loop_run returned; closes its sockets */

/*
 * Receives from fd (a bound socket), which it owns from here on, also on failure. bound: what it is bound to. The handler is
 * copied. ERR_NOMEM, ERR_IO.
 */
enum err udp_listen(struct udp_socket **out, struct udp *u, int fd, const struct addr *bound,
                    const struct udp_handler *handler);

/* Nothing is received any more, got is not called again; sending goes on until udp_free. */
void udp_stop(struct udp *u);

/* What the socket is bound to. */
const struct addr *udp_socket_addr(const struct udp_socket *s);

void udp_send(const struct udp_path *to, const void *bytes, size_t len);

#endif
