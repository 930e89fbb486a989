/*
 * Coming, going, and the loop: what is readable is read, what is due is done.
 */
#include "support/p2p_client.h"

#include "support/dial.h"
#include "support/netns.h"
#include "support/p2p_client_inside.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SUBPROTOCOL  "coopd.p2p.v1"
#define RCVBUF_BYTES (1 << 20)
#define LOOP_MS      1000 /* the longest time without a look at the clocks */
#define FDS_EACH     3

/* --- Sockets --- */

int p2p_client_socket(struct p2p_client *c)
{
	int before = netns_current();
	int size   = RCVBUF_BYTES;

	netns_switch(c->netns);
	int fd = dial_udp(*c->at ? c->at : "0.0.0.0", 0);

	netns_switch(before);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return fd;
}

/* What cannot be sent is lost, as any datagram may be. */
void p2p_client_datagram(struct p2p_client *c, int fd, const struct p2p_client_address *to, const void *bytes,
                         size_t len)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(to->port) };

	(void)c;
	memcpy(&at.sin_addr, to->ip, sizeof(to->ip));
	if (fd >= 0)
		while (sendto(fd, bytes, len, 0, (const struct sockaddr *)&at, sizeof(at)) < 0 && errno == EINTR)
			;
}

/* xorshift64*: the same losses in every run. */
static bool is_lost(struct p2p_clients *set)
{
	uint64_t x = set->seed ? set->seed : 1;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	set->seed = x;
	return (x * 0x2545f4914f6cdd1dULL >> 33) % 1000 < set->lost_per_mille;
}

void p2p_client_to_player(struct p2p_client *c, const struct p2p_client_address *to, const void *bytes, size_t len)
{
	c->set->sent++;
	if (!is_lost(c->set)) {
		p2p_client_datagram(c, c->udp, to, bytes, len);
		return;
	}
	c->set->lost++;
	c->set->links_lost += ((const uint8_t *)bytes)[3] == P2P_CLIENT_LINK;
}

static void read_datagram(struct p2p_client *c, int fd, const uint8_t *bytes, size_t len,
                          const struct p2p_client_address *from, int64_t now_ms)
{
	struct p2p_client_packet p;

	if (fd == c->udp && len > 3 && bytes[3] >= P2P_CLIENT_IS_OF_PLAYERS)
		p2p_client_on_player(c, bytes, len, from, now_ms);
	else if (p2p_client_packet_read(&p, bytes, len, &c->session))
		p2p_client_on_packet(c, fd, &p, from, now_ms);
	else
		c->dropped_packets++;
}

/* All that is there; an error is the echo of something sent before. */
static void read_udp(struct p2p_client *c, int fd, int64_t now_ms)
{
	uint8_t bytes[P2P_CLIENT_DATAGRAM_MAX];

	while (fd >= 0 && (fd == c->udp || fd == c->check_udp)) {
		struct sockaddr_in        at   = { 0 };
		socklen_t                 size = sizeof(at);
		struct p2p_client_address from;
		ssize_t                   got = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&at, &size);

		if (got < 0 && (errno == EAGAIN || errno == EBADF))
			return;
		if (got < 0)
			continue;
		from.port = ntohs(at.sin_port);
		memcpy(from.ip, &at.sin_addr, sizeof(from.ip));
		read_datagram(c, fd, bytes, (size_t)got, &from, now_ms);
	}
}

static void read_channel(struct p2p_client *c, int64_t now_ms)
{
	while (c->ws) {
		struct ws_client_event  e = ws_client_receive(c->ws, 0);
		struct p2p_client_frame f;

		if (e.what == WS_SILENCE)
			return;
		if (e.what != WS_MESSAGE) { /* a close, or its end */
			ws_client_free(c->ws);
			c->ws = NULL;
		} else if (e.is_text) {
			p2p_client_on_text(c, e.data, e.len, now_ms);
		} else if (p2p_client_frame_read(&f, e.data, e.len)) {
			p2p_client_on_frame(c, &f, now_ms);
		}
	}
}

/* --- The loop --- */

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void tick(struct p2p_client *c, int64_t now_ms)
{
	if (!c->ws || !c->has_hello || c->is_paused)
		return;
	c->due_ms = p2p_client_tick_nat(c, now_ms);
	c->due_ms = sooner(c->due_ms, p2p_client_tick_punch(c, now_ms));
	c->due_ms = sooner(c->due_ms, p2p_client_tick_link(c, now_ms));
}

static size_t gather_fds(struct pollfd *fds, const struct p2p_clients *set)
{
	size_t count = 0;

	for (const struct p2p_client *c = set->first; c; c = c->next) {
		bool is_deaf = c->is_paused;

		fds[count++] = (struct pollfd){ .fd = c->ws && !is_deaf ? c->ws->fd : -1, .events = POLLIN };
		fds[count++] = (struct pollfd){ .fd = is_deaf ? -1 : c->udp, .events = POLLIN };
		fds[count++] = (struct pollfd){ .fd = is_deaf ? -1 : c->check_udp, .events = POLLIN };
	}
	return count;
}

static int64_t next_due(const struct p2p_clients *set, int64_t deadline_ms)
{
	int64_t due_ms = deadline_ms;

	for (const struct p2p_client *c = set->first; c; c = c->next) {
		if (c->ws && c->has_hello && !c->is_paused)
			due_ms = sooner(due_ms, c->due_ms);
	}
	return due_ms;
}

/* What came to a client may have changed what is due; all others are looked at when it is time. */
static void serve(struct p2p_client *c, const struct pollfd *fds, int64_t now_ms)
{
	bool is_ready = fds[0].revents || fds[1].revents || fds[2].revents;

	if (fds[0].revents)
		read_channel(c, now_ms);
	if (fds[1].revents)
		read_udp(c, c->udp, now_ms);
	if (fds[2].revents)
		read_udp(c, c->check_udp, now_ms);
	if (is_ready || now_ms >= c->due_ms)
		tick(c, now_ms);
}

static void turn(struct p2p_clients *set, struct pollfd *fds, int64_t deadline_ms)
{
	int64_t wait_ms = next_due(set, deadline_ms) - real_now_ms();
	size_t  count   = gather_fds(fds, set);

	wait_ms = wait_ms < 0 ? 0 : sooner(wait_ms, LOOP_MS);
	if (poll(fds, count, (int)wait_ms) < 0)
		return;
	for (struct p2p_client *c = set->first; c; c = c->next, fds += FDS_EACH)
		serve(c, fds, real_now_ms());
}

bool p2p_clients_run(struct p2p_clients *set, bool (*until)(void *arg), void *arg, int patience_ms)
{
	int64_t        deadline_ms = real_now_ms() + patience_ms;
	size_t         count       = 0;
	struct pollfd *fds;
	bool           holds;

	for (const struct p2p_client *c = set->first; c; c = c->next)
		count++;
	fds = calloc(count ? count : 1, FDS_EACH * sizeof(*fds));
	cr_assert_not_null(fds, "memory for a list of sockets");
	for (;;) {
		holds = until && until(arg);
		if (holds || real_now_ms() >= deadline_ms)
			break;
		turn(set, fds, deadline_ms);
	}
	free(fds);
	return holds;
}

/* --- Coming and going --- */

static void note_port(struct p2p_client *c)
{
	struct sockaddr_in me  = { 0 };
	socklen_t          len = sizeof(me);

	if (c->udp >= 0 && getsockname(c->udp, (struct sockaddr *)&me, &len) == 0)
		c->udp_port = ntohs(me.sin_port);
}

static struct p2p_client *make(struct p2p_clients *set, const char *name, const struct p2p_client_options *o)
{
	struct p2p_client *c = calloc(1, sizeof(*c));

	cr_assert_not_null(c, "memory for a client");
	c->set     = set;
	c->options = *o;
	snprintf(c->to, sizeof(c->to), "%s", o->to ? o->to : "127.0.0.1");
	snprintf(c->at, sizeof(c->at), "%s", o->at ? o->at : "");
	snprintf(c->local, sizeof(c->local), "%s", o->local ? o->local : "");
	crypto_generichash(c->player, sizeof(c->player), (const uint8_t *)name, strlen(name), NULL, 0);
	c->netns     = netns_current();
	c->check_udp = -1;
	c->due_ms    = INT64_MAX;
	c->udp       = p2p_client_socket(c);
	note_port(c);
	c->next    = set->first;
	set->first = c;
	return c;
}

static bool say_hello(struct p2p_client *c)
{
	char player[2 * sizeof(c->player) + 1], local[40] = "", members[200];

	sodium_bin2hex(player, sizeof(player), c->player, sizeof(c->player));
	if (*c->local)
		snprintf(local, sizeof(local), ",\"local\":[\"%s:%u\"]", c->local, c->udp_port);
	snprintf(members, sizeof(members), "\"player\":\"%s\",\"relay_only\":%s%s", player,
	         c->options.relay_only ? "true" : "false", local);
	return p2p_client_ask(c, "p2p.hello", members)->ok && c->has_hello;
}

struct p2p_client *p2p_client_new(struct p2p_clients *set, const char *name, const struct p2p_client_options *options)
{
	struct p2p_client *c = make(set, name, options);

	c->ws = ws_client_open(options->port,
	                       &(struct ws_client_options){ .to         = c->to,
	                                                    .path       = "/p2p",
	                                                    .headers    = "Sec-WebSocket-Protocol: " SUBPROTOCOL "\r\n",
	                                                    .takes_text = true,
	                                                    .subprotocol = SUBPROTOCOL });
	return say_hello(c) ? c : NULL;
}

void p2p_client_kill(struct p2p_client *c)
{
	if (c->ws) {
		ws_client_drop(c->ws);
		ws_client_free(c->ws);
	}
	c->ws = NULL;
	if (c->udp >= 0)
		close(c->udp);
	if (c->check_udp >= 0)
		close(c->check_udp);
	c->udp = c->check_udp = -1;
}

void p2p_clients_free(struct p2p_clients *set)
{
	while (set->first) {
		struct p2p_client *c = set->first;

		set->first = c->next;
		p2p_client_kill(c);
		sodium_memzero(c, sizeof(*c));
		free(c);
	}
}
