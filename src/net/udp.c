/*
 * UDP sockets. All share one place for what comes, since one is read at a time; what goes waits in an array of the socket
 * that it leaves from, so that a datagram that came in here and goes out there costs no call of its own.
 */
#include "net/udp.h"

#include "base/list.h"
#include "base/metric.h"
#include "net/ban.h"
#include "net/udp_batch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define TURN_DATAGRAMS 512
#define TURN_BYTES     ((size_t)1024 * 1024) /* long ones make a turn long before they are many */

struct udp_socket {
	struct udp        *udp;
	int                fd;
	bool               is_wildcard;
	struct udp_handler handler;
	uv_poll_t          poll;
	struct list        in_sockets;
	struct list        in_sending; /* out holds something */
	struct udp_out     out;
	int64_t            out_bytes; /* of what is in it */
	struct addr        bound;
};

struct udp {
	struct loop  *loop;
	struct list   sockets, sending;
	bool          gathers; /* got is being called: what is sent waits for the end of the batch */
	bool          stopped;
	struct udp_in in;
};

static void send_all_of(struct udp_socket *s)
{
	size_t count   = s->out.count;
	size_t dropped = udp_out_send(&s->out, s->fd);

	if (dropped > 0)
		metric_add(M_UDP_DROPPED, (int64_t)dropped);
	metric_add(M_UDP_DATAGRAMS_OUT, (int64_t)(count - dropped));
	metric_add(M_UDP_BYTES_OUT, s->out_bytes);
	s->out_bytes = 0;
}

static void send_all(struct udp *u)
{
	struct list *first;

	while ((first = list_take_first(&u->sending)))
		send_all_of(CONTAINER(first, struct udp_socket, in_sending));
}

static void hand_over(struct udp_socket *s, size_t i, int64_t now_ms)
{
	const struct udp_in *in   = &s->udp->in;
	struct udp_datagram  d    = { .path  = { .socket = s, .port = ntohs(in->from[i].sin_port) },
		                      .bytes = in->pieces[i].iov_base,
		                      .len   = in->msgs[i].msg_len,
		                      .cap   = in->pieces[i].iov_len };
	struct addr          from = { .family = ADDR_IPV4 };
	struct in_addr       local;

	memcpy(d.path.ip, &in->from[i].sin_addr, sizeof(d.path.ip));
	memcpy(from.ip, d.path.ip, sizeof(d.path.ip));
	if (ban_has_address(&from)) {
		metric_inc(s->handler.banned);
		return;
	}
	if (s->is_wildcard && udp_in_local(&local, in, i))
		memcpy(d.path.local_ip, &local, sizeof(d.path.local_ip));
	s->handler.got(s->handler.part, &d, now_ms);
}

/* Receives once. Returns how many came, and adds their length to *bytes. */
static size_t take_batch(struct udp_socket *s, size_t *bytes, int64_t now_ms)
{
	struct udp *u     = s->udp;
	size_t      count = udp_in_receive(&u->in, s->fd);

	u->gathers = true;
	for (size_t i = 0; i < count && !u->stopped; i++) {
		*bytes += u->in.msgs[i].msg_len;
		hand_over(s, i, now_ms);
	}
	u->gathers = false;
	send_all(u); /* now, since the next batch comes to the same memory */
	return count;
}

static void on_readable(uv_poll_t *poll, int status, int events);

/* libuv looks no more at a socket that has an error. Ours stays as good as it was: the error is of something sent. */
static void forgive(struct udp_socket *s)
{
	int       error = 0;
	socklen_t len   = sizeof(error);

	getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	uv_poll_start(&s->poll, UV_READABLE, on_readable);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct udp_socket *s      = poll->data;
	int64_t            now_ms = loop_now_ms(s->udp->loop);
	size_t             count, total = 0, bytes = 0;

	(void)events;
	if (status < 0)
		forgive(s);
	do {
		count = take_batch(s, &bytes, now_ms);
		total += count;
	} while (count == UDP_BATCH && total < TURN_DATAGRAMS && bytes < TURN_BYTES);
	metric_add(M_UDP_DATAGRAMS_IN, (int64_t)total);
	metric_add(M_UDP_BYTES_IN, (int64_t)bytes);
}

enum err udp_new(struct udp **out, struct loop *l)
{
	struct udp *u = calloc(1, sizeof(*u));
	enum err    e;

	if (!u)
		return ERR_NOMEM;
	u->loop = l;
	list_init(&u->sockets);
	list_init(&u->sending);
	e = udp_in_init(&u->in);
	if (e != ERR_OK) {
		free(u);
		return e;
	}
	*out = u;
	return ERR_OK;
}

static bool is_wildcard(const struct addr *a)
{
	static const uint8_t none[4];

	return memcmp(a->ip, none, sizeof(none)) == 0;
}

/* Has the kernel say, and libuv look. */
static bool begin(struct udp_socket *s)
{
	int yes = 1;

	if (s->is_wildcard && setsockopt(s->fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof(yes)) != 0)
		return false;
	if (uv_poll_init(loop_uv(s->udp->loop), &s->poll, s->fd) != 0)
		return false;
	s->poll.data = s;
	uv_poll_start(&s->poll, UV_READABLE, on_readable);
	return true;
}

enum err udp_listen(struct udp_socket **out, struct udp *u, int fd, const struct addr *bound,
                    const struct udp_handler *handler)
{
	struct udp_socket *s = calloc(1, sizeof(*s));
	enum err           e = !s ? ERR_NOMEM : ERR_IO;

	loop_assert_thread(u->loop);
	if (s) {
		s->udp         = u;
		s->fd          = fd;
		s->handler     = *handler;
		s->bound       = *bound;
		s->is_wildcard = is_wildcard(bound);
		list_init(&s->in_sending);
		udp_out_init(&s->out);
	}
	if (!s || bound->family != ADDR_IPV4 || !begin(s)) {
		close(fd);
		free(s);
		return e;
	}
	list_append(&u->sockets, &s->in_sockets);
	*out = s;
	return ERR_OK;
}

const struct addr *udp_socket_addr(const struct udp_socket *s)
{
	return &s->bound;
}

void udp_send(const struct udp_path *to, const void *bytes, size_t len)
{
	struct udp_socket *s = to->socket;
	struct in_addr     from, ip;

	loop_assert_thread(s->udp->loop);
	memcpy(&from, to->local_ip, sizeof(from));
	memcpy(&ip, to->ip, sizeof(ip));
	if (s->out.count == UDP_BATCH)
		send_all_of(s);
	s->out_bytes += (int64_t)len;
	udp_out_add(&s->out, from, ip, to->port, bytes, len);
	if (!s->udp->gathers)
		send_all_of(s);
	else if (list_is_empty(&s->in_sending))
		list_append(&s->udp->sending, &s->in_sending);
}

void udp_stop(struct udp *u)
{
	loop_assert_thread(u->loop);
	u->stopped = true;
	for (struct list *at = u->sockets.next; at != &u->sockets; at = at->next)
		uv_poll_stop(&CONTAINER(at, struct udp_socket, in_sockets)->poll);
}

static void free_sockets(struct udp *u)
{
	struct list *first;

	while ((first = list_take_first(&u->sockets))) {
		struct udp_socket *s = CONTAINER(first, struct udp_socket, in_sockets);

		close(s->fd);
		free(s);
	}
}

void udp_free(struct udp *u)
{
	if (!u)
		return;
	for (struct list *at = u->sockets.next; at != &u->sockets; at = at->next)
		uv_close((uv_handle_t *)&CONTAINER(at, struct udp_socket, in_sockets)->poll, NULL);
	loop_settle(u->loop);
	free_sockets(u);
	udp_in_fini(&u->in);
	free(u);
}
