/*
 * Pairs: which of them can go on, and how each ends.
 *
 * All sockets hang on one epoll descriptor of ours, edge-triggered: each is told of once when it can do something again, and
 * not at all while nobody wants to know (a level would be told of in every turn as long as the other side takes no more). So
 * what a socket can do is remembered until it says no. Pairs that can do something stand in a row and get turns, at the end of
 * each turn of the loop, until those have cost SPLICE_TURN_BYTES; while the row is not empty the loop does not wait.
 */
#include "net/splice.h"

#include "base/list.h"
#include "net/accept.h"
#include "net/splice_flow.h"

#include <linux/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define EVENTS_MAX 512

#define KEEPALIVE_IDLE_S     30
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES     9

/* After the end, when nobody looks any more: for so long the kernel offers the last bytes to a peer that takes none. */
#define LEFT_MS 60000

struct leg {
	struct flow_leg     can;
	struct splice_pair *pair;
};

struct splice_pair {
	struct splice *splice;
	struct leg     legs[2];
	struct flow    flows[2]; /* flows[i] comes from legs[i] */
	bool           is_broken;
	void (*ended)(void *arg, uint64_t bytes, int64_t now_ms);
	void       *arg;
	struct list in_pairs, in_ready;
};

struct splice {
	struct loop      *loop;
	int               epoll_fd;
	uv_poll_t         poll;
	uv_idle_t         busy; /* active while ready is not empty: the loop does not wait */
	struct loop_flush flush;
	struct flow_means means;
	struct list       pairs, ready;
	struct list       gone; /* closed; ended is to be called */
	uint64_t          bytes;
};

static void on_events(struct leg *l, uint32_t events)
{
	struct splice_pair *p = l->pair;

	l->can.can_read |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	l->can.can_write |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
	p->is_broken |= (events & EPOLLERR) != 0;
	if (list_is_empty(&p->in_ready))
		list_append(&p->splice->ready, &p->in_ready);
}

/* Nothing is done here, so no pair ends while events of it may follow. */
static void on_epoll(uv_poll_t *poll, int status, int events)
{
	struct splice     *s = poll->data;
	struct epoll_event told[EVENTS_MAX];
	int                n = epoll_wait(s->epoll_fd, told, EVENTS_MAX, 0);

	(void)status;
	(void)events;
	for (int i = 0; i < n; i++)
		on_events(told[i].data.ptr, told[i].events);
}

static void close_leg(struct splice *s, int fd, bool reset)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	int           ms  = LEFT_MS;

	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	else
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	/* By name: a child being started could hold the descriptor a moment longer, and epoll would go on telling of it. */
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

static void end(struct splice_pair *p, bool reset)
{
	struct splice *s = p->splice;

	for (int i = 0; i < 2; i++) {
		flow_fini(&p->flows[i], &s->means);
		close_leg(s, p->legs[i].can.fd, reset);
	}
	list_remove(&p->in_ready);
	list_remove(&p->in_pairs);
	list_append(&s->gone, &p->in_pairs);
}

/* Returns what it cost. */
static size_t run(struct splice_pair *p)
{
	struct splice *s      = p->splice;
	uint64_t       before = p->flows[0].bytes + p->flows[1].bytes;
	size_t         cost   = FLOW_STEP_BYTES;
	enum flow_says a      = flow_run(&p->flows[0], &s->means, &cost);
	enum flow_says b      = flow_run(&p->flows[1], &s->means, &cost);

	s->bytes += p->flows[0].bytes + p->flows[1].bytes - before;
	if (a == FLOW_BROKEN || b == FLOW_BROKEN)
		end(p, true);
	else if (a == FLOW_OVER && b == FLOW_OVER)
		end(p, false);
	else if (a == FLOW_MORE || b == FLOW_MORE)
		list_append(&s->ready, &p->in_ready);
	else if (p->is_broken) /* what it sent before that was passed on, as far as the other took it */
		end(p, true);
	return cost;
}

static void reap(struct splice *s)
{
	struct list *first;

	while ((first = list_take_first(&s->gone))) {
		struct splice_pair *p = CONTAINER(first, struct splice_pair, in_pairs);

		p->ended(p->arg, p->flows[0].bytes + p->flows[1].bytes, loop_now_ms(s->loop));
		free(p);
	}
}

/* That the loop does not wait is all that is wanted. */
static void on_busy(uv_idle_t *busy)
{
	(void)busy;
}

static void on_flush(struct loop_flush *f)
{
	struct splice *s    = CONTAINER(f, struct splice, flush);
	size_t         cost = 0;
	struct list   *first;

	s->means.now_ms = loop_now_ms(s->loop);
	while (cost < SPLICE_TURN_BYTES && (first = list_take_first(&s->ready)))
		cost += run(CONTAINER(first, struct splice_pair, in_ready));
	reap(s);
	if (list_is_empty(&s->ready))
		uv_idle_stop(&s->busy);
	else
		uv_idle_start(&s->busy, on_busy);
}

/*
 * Whoever had the socket may have kept its output small, which is enough for messages; a stream needs as much as the way to
 * its peer holds. The kernel goes back to finding that out.
 */
static void unlock_sndbuf(int fd)
{
#ifdef SO_BUF_LOCK
	int       locks = 0;
	socklen_t len   = sizeof(locks);

	if (getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locks, &len) != 0 || !(locks & SOCK_SNDBUF_LOCK))
		return;
	locks &= ~SOCK_SNDBUF_LOCK;
	setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locks, sizeof(locks));
#else
	(void)fd;
#endif
}

static void tune(int fd)
{
	static const struct accept_socket alive = { .keepalive_idle_s     = KEEPALIVE_IDLE_S,
		                                    .keepalive_interval_s = KEEPALIVE_INTERVAL_S,
		                                    .keepalive_probes     = KEEPALIVE_PROBES };
	int                               on    = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	accept_tune(fd, &alive);
	unlock_sndbuf(fd);
}

static struct splice_pair *pair_new(struct splice *s, const struct splice_side sides[2])
{
	struct splice_pair *p    = calloc(1, sizeof(*p));
	bool                fine = true;

	if (!p)
		return NULL;
	p->splice = s;
	list_init(&p->in_ready);
	list_init(&p->in_pairs);
	for (int i = 0; i < 2; i++)
		p->legs[i] = (struct leg){ .pair = p, .can.fd = sides[i].fd };
	for (int i = 0; i < 2; i++)
		fine &= flow_init(&p->flows[i], &p->legs[i].can, &p->legs[!i].can, sides[!i].first,
		                  sides[!i].first_len);
	if (fine)
		return p;
	for (int i = 0; i < 2; i++)
		flow_fini(&p->flows[i], &s->means);
	free(p);
	return NULL;
}

/* What it can do is told at once, also when it could before. */
static bool watch(struct leg *l)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = l };

	tune(l->can.fd);
	return epoll_ctl(l->pair->splice->epoll_fd, EPOLL_CTL_ADD, l->can.fd, &e) == 0;
}

static void give_up(struct splice *s, struct splice_pair *p, const struct splice_side sides[2])
{
	for (int i = 0; i < 2; i++) {
		close_leg(s, sides[i].fd, true);
		if (p)
			flow_fini(&p->flows[i], &s->means);
	}
	free(p);
}

enum err splice_begin(struct splice *s, const struct splice_side                      sides[2],
                      void (*ended)(void *arg, uint64_t bytes, int64_t now_ms), void *arg)
{
	struct splice_pair *p = pair_new(s, sides);

	loop_assert_thread(s->loop);
	if (!p || !watch(&p->legs[0]) || !watch(&p->legs[1])) {
		give_up(s, p, sides);
		return p ? ERR_IO : ERR_NOMEM;
	}
	p->ended = ended;
	p->arg   = arg;
	list_append(&s->pairs, &p->in_pairs);
	return ERR_OK;
}

uint64_t splice_bytes(const struct splice *s)
{
	return s->bytes;
}

bool splice_end(struct splice *s, const void *arg)
{
	loop_assert_thread(s->loop);
	for (struct list *at = s->pairs.next; at != &s->pairs; at = at->next) {
		struct splice_pair *p = CONTAINER(at, struct splice_pair, in_pairs);

		if (p->arg != arg)
			continue;
		end(p, true);
		return true;
	}
	return false;
}

void splice_stop(struct splice *s)
{
	loop_assert_thread(s->loop);
	while (!list_is_empty(&s->pairs))
		end(CONTAINER(s->pairs.next, struct splice_pair, in_pairs), true);
}

static enum err init_epoll(struct splice *s)
{
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0 || uv_poll_init(loop_uv(s->loop), &s->poll, s->epoll_fd) != 0)
		return ERR_IO;
	s->poll.data = s;
	uv_poll_start(&s->poll, UV_READABLE, on_epoll);
	return ERR_OK;
}

enum err splice_new(struct splice **out, struct loop *l)
{
	struct splice *s = calloc(1, sizeof(*s));
	enum err       e;

	if (!s)
		return ERR_NOMEM;
	s->loop      = l;
	s->epoll_fd  = -1;
	s->flush.run = on_flush;
	list_init(&s->pairs);
	list_init(&s->ready);
	list_init(&s->gone);
	uv_idle_init(loop_uv(l), &s->busy);
	s->means.helping = malloc(FLOW_COPY_BYTES);
	e                = s->means.helping ? init_epoll(s) : ERR_NOMEM;
	if (e != ERR_OK) {
		splice_free(s);
		return e;
	}
	loop_add_flush(l, &s->flush);
	*out = s;
	return ERR_OK;
}

void splice_free(struct splice *s)
{
	if (!s)
		return;
	splice_stop(s);
	reap(s);
	if (s->poll.data)
		uv_close((uv_handle_t *)&s->poll, NULL);
	uv_close((uv_handle_t *)&s->busy, NULL);
	loop_settle(s->loop);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	splice_pipes_fini(&s->means.pipes);
	free(s->means.helping);
	free(s);
}
