#include "net/accept.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PAUSE_MS     100 /* without descriptors or memory for the next connection */
#define UNSENT_BYTES (64 * 1024)

struct acceptor {
	struct loop     *loop;
	int              fd;
	struct accept_to to;
	uv_poll_t        poll;
	struct timer     pause; /* out of descriptors: tries again later */
};

uint64_t accept_next_id(void)
{
	static _Atomic uint64_t last_id;

	return atomic_fetch_add(&last_id, 1) + 1;
}

static bool is_starved(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* Without descriptors or memory, asking again at once would only burn the processor: the queue of the kernel waits. */
static void pause_for_a_moment(struct acceptor *a)
{
	metric_inc(a->to.starved);
	uv_poll_stop(&a->poll);
	timer_set(a->loop, &a->pause, loop_now_ms(a->loop) + PAUSE_MS);
}

static void on_connections(uv_poll_t *poll, int status, int events)
{
	struct acceptor *a = poll->data;

	(void)status;
	(void)events;
	for (int64_t i = 0; i < a->to.turn_accepts && !uv_is_closing((uv_handle_t *)poll); i++) {
		struct sockaddr_storage from;
		socklen_t               len = sizeof(from);
		int         fd = accept4(a->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct addr peer;

		if (fd >= 0) {
			addr_of_sockaddr(&peer, (const struct sockaddr *)&from, len);
			a->to.take(a->to.arg, fd, &peer);
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			return;
		} else if (is_starved(errno)) {
			pause_for_a_moment(a);
			return;
		}
	}
}

static void on_pause_over(struct timer *t, int64_t now_ms)
{
	struct acceptor *a = CONTAINER(t, struct acceptor, pause);

	(void)now_ms;
	uv_poll_start(&a->poll, UV_READABLE, on_connections);
}

/* What accepted sockets inherit. */
static void tune(int fd)
{
	int on = 1, unsent = UNSENT_BYTES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* What a slow reader has to wait for waits in our queues, where it is counted, not in the kernel. */
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

enum err acceptor_new(struct acceptor **out, struct loop *l, int fd, const struct accept_to *to)
{
	struct acceptor *a = calloc(1, sizeof(*a));

	if (!a) {
		close(fd);
		return ERR_NOMEM;
	}
	a->loop = l;
	a->fd   = fd;
	a->to   = *to;
	tune(fd);
	timer_init(&a->pause, on_pause_over);
	if (uv_poll_init(loop_uv(l), &a->poll, fd) != 0) {
		close(fd);
		free(a);
		return ERR_IO;
	}
	a->poll.data = a;
	uv_poll_start(&a->poll, UV_READABLE, on_connections);
	*out = a;
	return ERR_OK;
}

static void on_closed(uv_handle_t *handle)
{
	struct acceptor *a = handle->data;

	close(a->fd);
	free(a);
}

void acceptor_close(struct acceptor *a)
{
	if (!a)
		return;
	timer_clear(&a->pause);
	uv_close((uv_handle_t *)&a->poll, on_closed);
}

static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

void accept_tune(int fd, const struct accept_socket *want)
{
	if (want->sndbuf_bytes > 0)
		set(fd, SOL_SOCKET, SO_SNDBUF, want->sndbuf_bytes);
	if (want->keepalive_idle_s == 0)
		return;
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, want->keepalive_idle_s);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, want->keepalive_interval_s);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, want->keepalive_probes);
}
