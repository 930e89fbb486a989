/*
 * Load for peer to peer: STUN, the outside address, link messages.
 *
 *	p2p MODE --port PORT [--ws PORT] [--pid PID] [--peers N] [--bytes B] [--flight W] [--seconds S] [--warmup S] [--groups]
 *
 *	stun	each socket asks by STUN where it is seen from
 *	hello	the same by HELLO
 *	link	all are in one room, are open, and say that every pair has a path; W of them have a message under way to all the
 *		others, and the next when that is everywhere. With --groups there are groups of eight
 *
 * --port is that of UDP, and --ws that of /p2p: without it there are no sessions, as the bare echo needs none.
 *
 * What goes from a leader to its neighbours is not sent: it counts as delivered when the leader has it, for the server has done its
 * part then. After the warm-up everything is counted for S seconds. One line goes to standard output:
 *
 *	ops_s          answers, or messages delivered, per second
 *	lost           those that did not arrive
 *	p50_us p99_us  from sending to arriving
 *	cpu_us         processor time of the server's process (--pid) per one of these
 *	cpu_share      of one processor
 *	messages_s     link: messages that were said, per second
 *	frames         link: that left the server for each
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib_load.h"
#include "lib_p2p.h"
#include "lib_rooms.h"
#include "lib_usage.h"
#include "lib_ws.h"

enum { PEERS_MAX = 1000, ROOM_MAX = 64, BYTES_MAX = 1000, GROUP = 8 };

struct peer {
	struct sock   sock; /* first: epoll gives this back, and it is the peer */
	struct member is;
	int64_t       sent_ns[LOAD_FLIGHT_MAX]; /* a ring: answers come in order */
	uint32_t      first, next;
	uint32_t      missing; /* those whom its message has not reached */
};

static struct options {
	uint16_t port, ws;
	pid_t    pid;
	uint32_t peers, bytes, flight;
	double   seconds, warmup;
	bool     groups;
} opt = { .peers = ROOM_MAX, .bytes = 64, .flight = 1, .seconds = 5, .warmup = 1 };

static struct peer peers[PEERS_MAX];
static size_t      answer_bytes;
static uint64_t    frames;

/* Questions and answers */

static void ask_stun(struct peer *p)
{
	static const uint8_t request[P2P_STUN_REQUEST] = { 0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42 };

	if (send(p->sock.fd, request, sizeof(request), 0) != sizeof(request))
		err(1, "a datagram");
}

static void ask_hello(struct peer *p)
{
	static const uint8_t nonce[8];
	uint8_t              packet[P2P_PACKET];

	member_hello(&p->is, packet, 0, nonce);
	if (send(p->sock.fd, packet, sizeof(packet), 0) != sizeof(packet))
		err(1, "a datagram");
}

static void (*ask_now)(struct peer *p);

static void ask(struct peer *p)
{
	p->sent_ns[p->next++ % LOAD_FLIGHT_MAX] = usage_now_ns();
	load_run.sent++;
	ask_now(p);
}

static void on_datagrams(struct peer *p, uint32_t events)
{
	uint8_t bytes[P2P_STUN_ANSWER + 1];
	ssize_t got;

	(void)events;
	while ((got = recv(p->sock.fd, bytes, sizeof(bytes), 0)) >= 0) {
		if ((size_t)got != answer_bytes)
			errx(1, "an answer has %zd bytes", got);
		load_done(p->sent_ns[p->first++ % LOAD_FLIGHT_MAX], 1);
		if (!load_run.draining)
			ask(p);
	}
}

static void begin_asking(void)
{
	for (uint32_t i = 0; i < opt.peers; i++) {
		struct peer *p = &peers[i];

		if (opt.ws)
			member_open(&p->is, opt.ws);
		sock_add(&load_run.loop, &p->sock, load_udp_socket(p->is.ip, opt.port));
	}
	for (uint32_t i = 0; i < opt.peers * opt.flight; i++)
		ask(&peers[i % opt.peers]);
}

static void begin_stun(void)
{
	ask_now      = ask_stun;
	answer_bytes = P2P_STUN_ANSWER;
	begin_asking();
}

static void begin_hello(void)
{
	ask_now      = ask_hello;
	answer_bytes = P2P_PACKET;
	begin_asking();
}

/* Link messages */

/* With 0 for its mask a frame is masked as it is. */
static void say_link(struct peer *p)
{
	size_t   len    = P2P_FRAME_HEAD + opt.bytes;
	uint8_t *out    = ws_put_masked(&load_run.loop, &p->sock, WS_BINARY, len, 0);
	int64_t  now_ns = usage_now_ns();

	memset(out, 0, len);
	out[0] = P2P_KIND_LINK;
	rooms_put(out + 6, UINT16_MAX, 2);
	memcpy(out + P2P_FRAME_HEAD, &now_ns, sizeof(now_ns));
	p->missing = opt.peers - 1;
	load_run.sent += p->missing;
}

/* Whom it has reached: who gets it, and to whom he is to pass it on. */
static void on_link(const uint8_t *frame)
{
	struct peer   *from    = &peers[rooms_get(frame + 6, 2)];
	const uint8_t *message = frame + P2P_FRAME_HEAD;
	uint32_t       reached = 1;
	int64_t        sent_ns;

	if (frame[1] & P2P_PASS_ON) {
		reached = *message + (frame[1] & P2P_OWN ? 0U : 1U);
		message += 1 + 2 * (size_t)*message;
	}
	memcpy(&sent_ns, message, sizeof(sent_ns));
	frames++;
	load_done(sent_ns, reached);
	load_run.arrived += reached - 1;
	from->missing -= reached;
	if (from->missing == 0 && !load_run.draining)
		say_link(from);
}

static void on_message(const struct ws_frame *f)
{
	if (f->op == WS_CLOSE)
		errx(1, "the server closes a session");
	if (f->op == WS_BINARY && f->data.p[0] == P2P_KIND_LINK)
		on_link(f->data.p);
	else if (f->op != WS_BINARY && memmem(f->data.p, f->data.len, "\"ok\":false", 10))
		errx(1, "the server refuses: %.*s", (int)f->data.len, (const char *)f->data.p);
}

static void on_stream(struct peer *p, uint32_t events)
{
	struct span     in;
	struct ws_frame f;
	enum sock_got   got;
	enum ws_got     taken;

	if (events & EPOLLOUT)
		sock_writable(&load_run.loop, &p->sock);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	got = sock_read(&in, &load_run.loop, &p->sock);
	if (got == SOCK_GONE)
		errx(1, "the server closes a connection");
	if (got != SOCK_BYTES)
		return;
	while ((taken = ws_take(&f, &in)) == WS_FRAME)
		on_message(&f);
	if (taken == WS_BAD)
		errx(1, "the server sends a broken frame");
	sock_keep(&p->sock, in);
}

/* Its seat is its place among the peers. */
static void enter(uint32_t seat)
{
	struct member *m = &peers[seat].is;

	member_open(m, opt.ws);
	member_be_open(m, opt.port);
	if (seat == 0)
		member_ask(m, "p2p.create", "%s", "");
	else
		member_ask(m, "p2p.join", ",\"room\":\"%s\"", peers[0].is.room);
}

/* The answer to what comes last says that the server knows all of it. */
static void link_up(uint32_t seat)
{
	struct member *m = &peers[seat].is;

	for (uint32_t i = 0; i < opt.peers; i++)
		if (i != seat)
			member_say(m, "p2p.link", ",\"peer\":\"%s\",\"state\":\"up\"", peers[i].is.uid);
	member_ask(m, "p2p.ping_try_done", "%s", "");
}

static void begin_link(void)
{
	if (!opt.ws || opt.peers > ROOM_MAX || opt.flight > opt.peers)
		errx(2, "link needs --ws, and up to %d --peers", ROOM_MAX);
	for (uint32_t i = 0; i < opt.peers; i++)
		enter(i);
	member_ask(&peers[0].is, "p2p.start", "%s", "");
	for (uint32_t i = 0; i < opt.peers; i++)
		link_up(i);
	if (opt.groups)
		member_ask(&peers[0].is, "p2p.links", ",\"max\":%d", GROUP);
	for (uint32_t i = 0; i < opt.peers; i++) {
		if (fcntl(peers[i].is.fd, F_SETFL, O_NONBLOCK))
			err(1, "fcntl");
		sock_add(&load_run.loop, &peers[i].sock, peers[i].is.fd);
	}
	for (uint32_t i = 0; i < opt.flight; i++)
		say_link(&peers[i]);
}

/* Modes */

static const struct mode {
	const char *name;
	void (*begin)(void);
	void (*on_ready)(struct peer *p, uint32_t events);
} modes[] = { { "stun", begin_stun, on_datagrams },
	      { "hello", begin_hello, on_datagrams },
	      { "link", begin_link, on_stream } };

static const struct mode *mode;

/* The generator never sleeps, so that nobody pays for waking it; see load.c. */
static void run_until(int64_t until_ns)
{
	while (usage_now_ns() < until_ns) {
		int ready;

		sock_loop_flush(&load_run.loop);
		ready = sock_loop_wait(&load_run.loop, 0, NULL);
		for (int i = 0; i < ready; i++)
			mode->on_ready(load_run.loop.events[i].data.ptr, load_run.loop.events[i].events);
	}
}

static void print_link(void)
{
	uint32_t others = opt.peers - 1;

	printf(" messages_s=%.1f frames=%.2f", load_run.counted / others / opt.seconds,
	       load_run.arrived ? (double)frames * others / (double)load_run.arrived : 0.0);
}

/* Arguments */

static const struct option options[] = {
	{ "port", required_argument, NULL, 'p' },   { "ws", required_argument, NULL, 'W' },
	{ "pid", required_argument, NULL, 'i' },    { "peers", required_argument, NULL, 'n' },
	{ "bytes", required_argument, NULL, 'b' },  { "flight", required_argument, NULL, 'f' },
	{ "groups", no_argument, NULL, 'g' },       { "seconds", required_argument, NULL, 's' },
	{ "warmup", required_argument, NULL, 'w' }, { 0 }
};

static void take_option(int c)
{
	switch (c) {
	case 'p':
		opt.port = (uint16_t)load_number(optarg, 1, UINT16_MAX);
		break;
	case 'W':
		opt.ws = (uint16_t)load_number(optarg, 1, UINT16_MAX);
		break;
	case 'i':
		opt.pid = (pid_t)load_number(optarg, 1, INT32_MAX);
		break;
	case 'n':
		opt.peers = (uint32_t)load_number(optarg, 2, PEERS_MAX);
		break;
	case 'b':
		opt.bytes = (uint32_t)load_number(optarg, 8, BYTES_MAX);
		break;
	case 'f':
		opt.flight = (uint32_t)load_number(optarg, 1, LOAD_FLIGHT_MAX);
		break;
	case 'g':
		opt.groups = true;
		break;
	case 's':
		opt.seconds = load_number(optarg, 0.1, 3600);
		break;
	case 'w':
		opt.warmup = load_number(optarg, 0, 3600);
		break;
	default:
		errx(2, "unknown option; see the head of p2p.c");
	}
}

int main(int argc, char **argv)
{
	int c;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	if (!mode)
		errx(2, "which mode? See the head of p2p.c");
	while ((c = getopt_long(argc - 1, argv + 1, "", options, NULL)) != -1)
		take_option(c);
	if (!opt.port)
		errx(2, "--port is missing");
	if (sodium_init() < 0)
		errx(1, "libsodium does not start");
	sock_raise_limit();
	sock_loop_init(&load_run.loop);
	for (uint32_t i = 0; i < opt.peers; i++)
		member_init(&peers[i].is, i);
	mode->begin();
	load_measure(opt.pid, opt.warmup, opt.seconds, run_until);
	if (mode->begin == begin_link)
		print_link();
	puts("");
	return 0;
}
