/*
 * The arrays that recvmmsg and sendmmsg work on. All in them that stays the same is written once, so that a datagram costs a
 * few stores.
 */
#ifndef NET_UDP_BATCH_H
#define NET_UDP_BATCH_H

#include "base/err.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define UDP_BATCH 64

/* What goes with a datagram: which address of ours it came to, or is to leave from. */
union udp_control {
	struct cmsghdr head;
	uint8_t        bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

struct udp_in {
	size_t             count; /* that came last */
	struct mmsghdr     msgs[UDP_BATCH];
	struct iovec       pieces[UDP_BATCH];
	struct sockaddr_in from[UDP_BATCH];
	union udp_control  control[UDP_BATCH];
	uint8_t           *memory; /* where the datagrams lie */
};

/* ERR_NOMEM. */
enum err udp_in_init(struct udp_in *in);
void     udp_in_fini(struct udp_in *in); /* also when init failed or never was */

/* How many datagrams came: the first of the arrays, until the next call. */
size_t udp_in_receive(struct udp_in *in, int fd);

/* The address of ours that datagram i was sent to, from a socket that says so; otherwise false. */
bool udp_in_local(struct in_addr *out, const struct udp_in *in, size_t i);

struct udp_out {
	size_t             count; /* that wait */
	struct mmsghdr     msgs[UDP_BATCH];
	struct iovec       pieces[UDP_BATCH];
	struct sockaddr_in to[UDP_BATCH];
	union udp_control  control[UDP_BATCH];
};

void udp_out_init(struct udp_out *out);

/*
 * One more to be sent; there is room for it. The bytes stay the caller's. from: the address of ours that it is to come from;
 * INADDR_ANY: what the socket is bound to, or what the way there says.
 */
void udp_out_add(struct udp_out *out, struct in_addr from, struct in_addr to, uint16_t port, const void *bytes,
                 size_t len);

/* Sends all that wait. Returns how many the system did not take: they are gone too. */
size_t udp_out_send(struct udp_out *out, int fd);

#endif
