#include "net/splice_flow.h"

#include "net/splice.h"
#include "net/wire.h"
#include "os/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes that could not be sent wait from here on. */
static bool keep(struct flow *f, const uint8_t *bytes, size_t len)
{
	assert(f->waiting == 0 && !f->rest && !f->pipe);
	if (len == 0)
		return true;
	f->rest = malloc(len);
	if (!f->rest) {
		log_error("splice", 0, "breaks", "a stream for want of memory");
		return false;
	}
	memcpy(f->rest, bytes, len);
	f->rest_at = 0;
	f->waiting = len;
	return true;
}

bool flow_init(struct flow *f, struct flow_leg *from, struct flow_leg *to, const uint8_t *first, size_t first_len)
{
	*f = (struct flow){ .from = from, .to = to, .first_left = first_len };
	return keep(f, first, first_len);
}

/* Nothing waits any more, or nobody wants it. */
static void let_go(struct flow *f, struct flow_means *m)
{
	splice_pipe_give(&m->pipes, f->pipe, f->waiting == 0);
	free(f->rest);
	f->pipe    = NULL;
	f->rest    = NULL;
	f->waiting = 0;
}

void flow_fini(struct flow *f, struct flow_means *m)
{
	let_go(f, m);
}

static void count(struct flow *f, size_t sent)
{
	size_t first = sent < f->first_left ? sent : f->first_left;

	f->first_left -= first;
	f->bytes += sent - first;
	f->used += sent;
}

static ssize_t move(int from, int to, size_t bytes)
{
	ssize_t n;

	do
		n = splice(from, NULL, to, NULL, bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN ? WIRE_AGAIN : WIRE_BROKEN;
}

/* Sends of what waits as much as the socket takes. */
static ssize_t put(struct flow *f, struct flow_means *m)
{
	struct iovec rest = { .iov_base = f->rest + f->rest_at, .iov_len = f->waiting };
	ssize_t      n    = f->pipe ? move(f->pipe->out, f->to->fd, f->waiting) : wire_write(f->to->fd, &rest, 1);

	if (n == WIRE_AGAIN)
		f->to->can_write = false;
	if (n <= 0)
		return n == 0 ? WIRE_BROKEN : n;
	count(f, (size_t)n);
	f->rest_at += (size_t)n;
	f->waiting -= (size_t)n;
	if (f->waiting == 0)
		let_go(f, m);
	return n;
}

static ssize_t get_by_pipe(struct flow *f, struct flow_means *m)
{
	ssize_t n = WIRE_AGAIN;

	f->pipe = splice_pipe_take(&m->pipes, m->now_ms);
	if (f->pipe)
		n = move(f->from->fd, f->pipe->in, SPLICE_WAITING_BYTES);
	if (n > 0)
		f->waiting = (size_t)n;
	else
		let_go(f, m);
	return n;
}

/* What is not sent at once waits. */
static ssize_t get_by_copy(struct flow *f, struct flow_means *m)
{
	ssize_t n = wire_read(f->from->fd, m->helping, FLOW_COPY_BYTES);

	if (n <= 0)
		return n;

	struct iovec all  = { .iov_base = m->helping, .iov_len = (size_t)n };
	ssize_t      sent = wire_write(f->to->fd, &all, 1);

	if (sent == WIRE_AGAIN) {
		f->to->can_write = false;
		sent             = 0;
	}
	if (sent < 0)
		return WIRE_BROKEN;
	count(f, (size_t)sent);
	return keep(f, m->helping + sent, (size_t)(n - sent)) ? n : WIRE_BROKEN;
}

/*
 * The next helping. Only recv is believed that nothing is there, or that it was the last: splice goes no further than to the
 * mark of an urgent byte, and says the one or the other then. An error it takes from the socket, so recv would not find it.
 */
static ssize_t get(struct flow *f, struct flow_means *m)
{
	ssize_t n = f->is_bulk ? get_by_pipe(f, m) : WIRE_AGAIN;

	if (n == WIRE_AGAIN || n == WIRE_END)
		n = get_by_copy(f, m);
	if (n > 0)
		f->is_bulk = n >= FLOW_BULK_BYTES;
	if (n == WIRE_AGAIN)
		f->from->can_read = false;
	return n;
}

static bool is_stuck(const struct flow *f)
{
	return f->waiting > 0 ? !f->to->can_write : !f->from->can_read;
}

enum flow_says flow_run(struct flow *f, struct flow_means *m, size_t *cost)
{
	f->used = 0;
	while (!f->is_over && !is_stuck(f) && f->used < FLOW_TURN_BYTES) {
		ssize_t n = f->waiting > 0 ? put(f, m) : get(f, m);

		if (n == WIRE_BROKEN)
			return FLOW_BROKEN;
		if (n == WIRE_END) {
			shutdown(f->to->fd, SHUT_WR);
			f->is_over = true;
		}
		f->used += FLOW_STEP_BYTES;
	}
	*cost += f->used;
	if (f->is_over)
		return FLOW_OVER;
	return is_stuck(f) ? FLOW_WAITS : FLOW_MORE;
}
