#include "lib_sock.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES_MIN = 512 };

static void buffer_reserve(struct sock_buffer *b, size_t len)
{
	if (b->cap - b->len >= len)
		return;

	size_t cap = b->cap ? b->cap : BUFFER_BYTES_MIN;
	while (cap - b->len < len)
		cap *= 2;

	b->p = realloc(b->p, cap);
	if (!b->p)
		err(1, "a buffer of %zu bytes", cap);
	b->cap = cap;
}

static void buffer_free(struct sock_buffer *b)
{
	free(b->p);
	*b = (struct sock_buffer){ 0 };
}

static void mark_dirty(struct sock_loop *loop, struct sock *s)
{
	if (s->dirty)
		return;
	s->dirty = true;
	if (loop->dirty_last)
		loop->dirty_last->next_dirty = s;
	else
		loop->dirty_first = s;
	loop->dirty_last = s;
}

static void watch(struct sock_loop *loop, struct sock *s, int op, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = s };

	loop->calls.ctl++;
	if (epoll_ctl(loop->epoll_fd, op, s->fd, &event))
		err(1, "epoll_ctl");
}

static void flush_one(struct sock_loop *loop, struct sock *s)
{
	ssize_t sent = send(s->fd, s->out.p, s->out.len, MSG_NOSIGNAL);

	loop->calls.send++;
	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		s->out.len = 0; /* the peer is gone: the next recv says so, and there it is handled */
		return;
	}
	if (sent < 0)
		sent = 0;
	s->out.len -= (size_t)sent;
	if (s->out.len == 0)
		return;
	memmove(s->out.p, s->out.p + sent, s->out.len);
	s->blocked = true;
	watch(loop, s, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

void sock_loop_init(struct sock_loop *loop)
{
	memset(loop, 0, sizeof(*loop));
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		err(1, "epoll_create1");
}

int sock_loop_wait(struct sock_loop *loop, int64_t timeout_ns, const sigset_t *mask)
{
	struct timespec  timeout = { .tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000 };
	struct timespec *limit   = timeout_ns < 0 ? NULL : &timeout;

	loop->calls.wait++;
	int ready = epoll_pwait2(loop->epoll_fd, loop->events, SOCK_EVENTS, limit, mask);
	if (ready < 0 && errno != EINTR)
		err(1, "epoll_pwait2");
	return ready < 0 ? 0 : ready;
}

void sock_loop_flush(struct sock_loop *loop)
{
	struct sock *s = loop->dirty_first;

	loop->dirty_first = NULL;
	loop->dirty_last  = NULL;
	while (s) {
		struct sock *next = s->next_dirty;

		s->dirty      = false;
		s->next_dirty = NULL;
		if (s->fd >= 0 && !s->blocked && s->out.len > 0)
			flush_one(loop, s);
		s = next;
	}
}

void sock_add(struct sock_loop *loop, struct sock *s, int fd)
{
	*s = (struct sock){ .fd = fd };
	watch(loop, s, EPOLL_CTL_ADD, EPOLLIN);
}

void sock_close(struct sock *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	buffer_free(&s->rest);
	buffer_free(&s->out);
}

enum sock_got sock_read(struct span *out, struct sock_loop *loop, struct sock *s)
{
	size_t kept = s->rest.len;

	if (kept)
		memcpy(loop->scratch, s->rest.p, kept);

	ssize_t n = recv(s->fd, loop->scratch + kept, SOCK_READ_BYTES, 0);

	loop->calls.recv++;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return SOCK_NOTHING;
	if (n <= 0)
		return SOCK_GONE;
	s->rest.len = 0;
	*out        = (struct span){ .p = loop->scratch, .len = kept + (size_t)n };
	return SOCK_BYTES;
}

void sock_keep(struct sock *s, struct span rest)
{
	if (rest.len == 0)
		return;
	if (rest.len > SOCK_REST_BYTES)
		errx(1, "%zu bytes that make no frame", rest.len);
	buffer_reserve(&s->rest, rest.len);
	memcpy(s->rest.p, rest.p, rest.len);
	s->rest.len = rest.len;
}

uint8_t *sock_put(struct sock_loop *loop, struct sock *s, size_t len)
{
	buffer_reserve(&s->out, len);

	uint8_t *at = s->out.p + s->out.len;

	s->out.len += len;
	mark_dirty(loop, s);
	return at;
}

void sock_writable(struct sock_loop *loop, struct sock *s)
{
	if (!s->blocked)
		return;
	s->blocked = false;
	watch(loop, s, EPOLL_CTL_MOD, EPOLLIN);
	mark_dirty(loop, s);
}

void sock_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		err(1, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "setrlimit");
}
