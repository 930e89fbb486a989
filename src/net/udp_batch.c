#include "net/udp_batch.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Each datagram has a place of its own that holds the longest there can be; pages that none has reached are not used. */
#define PLACE_BYTES  65536
#define MEMORY_BYTES ((size_t)UDP_BATCH * PLACE_BYTES)

enum err udp_in_init(struct udp_in *in)
{
	void *memory =
		mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return ERR_NOMEM;
	madvise(memory, MEMORY_BYTES, MADV_NOHUGEPAGE); /* which would take all of it at the first byte */
	in->memory = memory;
	for (size_t i = 0; i < UDP_BATCH; i++) {
		in->pieces[i] = (struct iovec){ .iov_base = in->memory + i * PLACE_BYTES, .iov_len = PLACE_BYTES };

		in->msgs[i].msg_hdr = (struct msghdr){ .msg_name       = &in->from[i],
			                               .msg_namelen    = sizeof(in->from[i]),
			                               .msg_iov        = &in->pieces[i],
			                               .msg_iovlen     = 1,
			                               .msg_control    = &in->control[i],
			                               .msg_controllen = sizeof(in->control[i]) };
	}
	return ERR_OK;
}

void udp_in_fini(struct udp_in *in)
{
	if (in->memory)
		munmap(in->memory, MEMORY_BYTES);
	in->memory = NULL;
}

size_t udp_in_receive(struct udp_in *in, int fd)
{
	/* The kernel wrote there how much of it is used. */
	for (size_t i = 0; i < in->count; i++)
		in->msgs[i].msg_hdr.msg_controllen = sizeof(in->control[i]);

	int n = recvmmsg(fd, in->msgs, UDP_BATCH, MSG_DONTWAIT, NULL);

	/* An error says something of a datagram that was sent before, and only once. */
	in->count = n > 0 ? (size_t)n : 0;
	return in->count;
}

bool udp_in_local(struct in_addr *out, const struct udp_in *in, size_t i)
{
	const union udp_control *c = &in->control[i];
	struct in_pktinfo        info;

	if (in->msgs[i].msg_hdr.msg_controllen < sizeof(*c) || c->head.cmsg_level != IPPROTO_IP ||
	    c->head.cmsg_type != IP_PKTINFO)
		return false;
	memcpy(&info, CMSG_DATA(&c->head), sizeof(info));
	*out = info.ipi_spec_dst;
	return true;
}

void udp_out_init(struct udp_out *out)
{
	out->count = 0;
	for (size_t i = 0; i < UDP_BATCH; i++) {
		out->to[i] = (struct sockaddr_in){ .sin_family = AF_INET };

		out->control[i].head = (struct cmsghdr){ .cmsg_len   = CMSG_LEN(sizeof(struct in_pktinfo)),
			                                 .cmsg_level = IPPROTO_IP,
			                                 .cmsg_type  = IP_PKTINFO };

		out->msgs[i].msg_hdr = (struct msghdr){ .msg_name    = &out->to[i],
			                                .msg_namelen = sizeof(out->to[i]),
			                                .msg_iov     = &out->pieces[i],
			                                .msg_iovlen  = 1 };
	}
}

void udp_out_add(struct udp_out *out, struct in_addr from, struct in_addr to, uint16_t port, const void *bytes,
                 size_t len)
{
	struct in_pktinfo info = { .ipi_spec_dst = from };
	size_t            i    = out->count++;
	struct msghdr    *m    = &out->msgs[i].msg_hdr;

	assert(i < UDP_BATCH);
	out->to[i].sin_addr     = to;
	out->to[i].sin_port     = htons(port);
	out->pieces[i].iov_base = (void *)(uintptr_t)bytes;
	out->pieces[i].iov_len  = len;

	m->msg_control    = NULL;
	m->msg_controllen = 0;
	if (from.s_addr == htonl(INADDR_ANY))
		return;
	memcpy(CMSG_DATA(&out->control[i].head), &info, sizeof(info));
	m->msg_control    = &out->control[i];
	m->msg_controllen = sizeof(out->control[i]);
}

/* Of the socket, and not of the one datagram: others would fare no better. */
static bool is_full(int why)
{
	return why == EAGAIN || why == EWOULDBLOCK || why == ENOBUFS || why == ENOMEM;
}

size_t udp_out_send(struct udp_out *out, int fd)
{
	size_t count = out->count, at = 0, dropped = 0;

	out->count = 0;
	while (at < count) {
		int n = sendmmsg(fd, out->msgs + at, (unsigned)(count - at), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			at += (size_t)n;
		} else if (is_full(errno)) {
			return dropped + count - at;
		} else if (errno != EINTR) {
			dropped++;
			at++;
		}
	}
	return dropped;
}
