/*
 * Peers that take nothing. That the socket has room says little, since it may have had it all the time, and a trickle
 * makes none: the kernel is asked what the peer has not acknowledged yet, now and then, while there is something.
 */
#include "net/tcp_conn.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#define LOOKS 4 /* in the time of a stall: it is noticed a quarter late at most */

/* What the kernel still has: not sent, or not acknowledged. */
static uint64_t owed_bytes(const struct tcp_conn *c)
{
	int bytes = 0;

	return ioctl(c->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (uint64_t)bytes : 0;
}

static uint64_t taken_bytes(const struct tcp_conn *c)
{
	return c->wire->written(c) - owed_bytes(c);
}

static void look_again(struct tcp_conn *c, int64_t now_ms)
{
	timer_set(c->tcp->loop, &c->timer, now_ms + c->listener->on.stall_ms / LOOKS);
}

void tcp_stall_watch(struct tcp_conn *c, int64_t now_ms)
{
	if (c->listener->on.stall_ms == 0 || c->phase != TCP_CONN_OPEN || (c->timer.at_ms && !c->is_stuck))
		return;
	c->taken_bytes = taken_bytes(c);
	c->took_ms     = now_ms;
	if (!c->timer.at_ms)
		look_again(c, now_ms);
}

void tcp_stall_look(struct tcp_conn *c, int64_t now_ms)
{
	uint64_t taken = taken_bytes(c);

	if (!c->is_stuck && owed_bytes(c) == 0)
		return;
	if (taken != c->taken_bytes) {
		c->taken_bytes = taken;
		c->took_ms     = now_ms;
	} else if (now_ms >= c->took_ms + c->listener->on.stall_ms) {
		tcp_conn_end(c, TCP_END_STALLED, true);
		return;
	}
	look_again(c, now_ms);
}
