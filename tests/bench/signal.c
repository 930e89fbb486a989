/*
 * Load for a signaling relay: peers in pairs that send each other lines, or that register again and again.
 *
 *	signal --port PORT [--pid PID] [--token TOKEN] [--peers N] [--bytes B] [--flight W | --rate R]
 *	       [--seconds S] [--warmup S]
 *	signal --port PORT ... --register N
 *
 * Closed loop (the default): each pair keeps W lines under way, each of B bytes of payload; a peer that gets one sends one
 * back.  Paced: each peer sends R lines per second to its partner.  --register: so many peers at once connect, greet, prove
 * their key and close after the first self test.
 *
 * After the warm-up everything is counted for S seconds.  One line goes to standard output:
 *
 *	lines_s        lines that arrived (or registrations), per second
 *	lost           lines that did not arrive at all
 *	p50_us p99_us  from sending to arriving (or of a whole registration)
 *	cpu_us         processor time of the server's process (--pid) per line (or registration)
 */
#include <arpa/inet.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_hist.h"
#include "lib_repeat.h"
#include "lib_sock.h"
#include "lib_usage.h"
#include "lib_wire.h"

enum { NAME_BYTES = 68, NONCE_LINE_BYTES = 71, LINE_BYTES_MAX = 8192, PEERS_MAX = 2000, STAMP_DIGITS = 16 };

#define SECOND_NS INT64_C(1000000000)
#define DRAIN_NS  (SECOND_NS / 2)

struct options {
	uint16_t    port;
	pid_t       pid;
	const char *token;
	uint32_t    peers, bytes, flight, registering;
	double      rate; /* 0: closed loop */
	double      seconds, warmup;
};

struct peer {
	struct sock   sock; /* first: epoll gives this back, and it is the peer */
	struct peer  *partner;
	char          name[NAME_BYTES + 1];
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
};

static struct options   opt = { .token = "bench", .peers = 500, .bytes = 64, .flight = 1, .seconds = 5, .warmup = 1 };
static struct sock_loop loop;
static struct peer     *peers;
static char             filling[LINE_BYTES_MAX];
static uint64_t         sent, arrived, counted;
static int64_t          begin_ns = INT64_MAX, end_ns = INT64_MAX;
static bool             draining;
static struct hist      times;

/* Keys of one number are the same in every run. */
static void make_key(struct peer *p, uint32_t number)
{
	unsigned char seed[crypto_sign_SEEDBYTES] = { 0 }, key[crypto_sign_PUBLICKEYBYTES];

	memcpy(seed, &number, sizeof(number));
	crypto_sign_seed_keypair(key, p->secret, seed);
	memcpy(p->name, "gen:", 4);
	sodium_bin2hex(p->name + 4, sizeof(p->name) - 4, key, sizeof(key));
}

/* Blocking: from the greeting to the echo of the self test. */
static void enter(struct peer *p, int fd)
{
	char          text[512], answer[NAME_BYTES + 8], nonce[NONCE_LINE_BYTES], hex[2 * crypto_sign_BYTES + 1];
	unsigned char sig[crypto_sign_BYTES];
	int           len = snprintf(text, sizeof(text), "%s %s\n", opt.token, p->name);

	wire_send(fd, text, (size_t)len);
	wire_read(fd, nonce, sizeof(nonce));
	len = snprintf(text, sizeof(text), "multivoid-signaling-register-v1%s%.64s", p->name, nonce + 6);
	crypto_sign_detached(sig, NULL, (const unsigned char *)text, (unsigned long long)len, p->secret);
	sodium_bin2hex(hex, sizeof(hex), sig, sizeof(sig));
	len = snprintf(text, sizeof(text), "auth %s\n%s \n", hex, p->name);
	wire_send(fd, text, (size_t)len);
	wire_read(fd, answer, NAME_BYTES + 2);
	if (memcmp(answer, p->name, NAME_BYTES) != 0)
		errx(1, "the echo of a self test is another line");
}

/* Lines */

static bool in_window(int64_t ns)
{
	return ns >= begin_ns && ns < end_ns;
}

static void send_line(struct peer *p, int64_t now_ns)
{
	size_t   len = NAME_BYTES + 1 + opt.bytes + 1;
	uint8_t *out = sock_put(&loop, &p->sock, len);
	char     stamp[STAMP_DIGITS + 1];

	snprintf(stamp, sizeof(stamp), "%016" PRIx64, (uint64_t)now_ns);
	memcpy(out, p->partner->name, NAME_BYTES);
	out[NAME_BYTES] = ' ';
	memcpy(out + NAME_BYTES + 1, filling, opt.bytes);
	memcpy(out + NAME_BYTES + 1, stamp, STAMP_DIGITS);
	out[len - 1] = '\n';
	sent++;
}

static void on_line(struct peer *p, const uint8_t *line, size_t len)
{
	int64_t now_ns = usage_now_ns(), stamp_ns;
	char    stamp[STAMP_DIGITS + 1];

	if (len != NAME_BYTES + 1 + opt.bytes + 1 || memcmp(line, p->partner->name, NAME_BYTES) != 0)
		errx(1, "a line arrives that nobody sent");
	memcpy(stamp, line + NAME_BYTES + 1, STAMP_DIGITS);
	stamp[STAMP_DIGITS] = '\0';
	stamp_ns            = (int64_t)strtoull(stamp, NULL, 16);
	arrived++;
	if (in_window(now_ns)) {
		counted++;
		hist_add(&times, now_ns - stamp_ns);
	}
	if (!draining && opt.rate <= 0)
		send_line(p, now_ns);
}

static void on_ready(struct peer *p, uint32_t events)
{
	struct span   in;
	uint8_t      *lf;
	enum sock_got got;

	if (events & EPOLLOUT)
		sock_writable(&loop, &p->sock);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	got = sock_read(&in, &loop, &p->sock);
	if (got == SOCK_GONE)
		errx(1, "the server closes a connection");
	if (got != SOCK_BYTES)
		return;
	while ((lf = memchr(in.p, '\n', in.len))) {
		size_t len = (size_t)(lf + 1 - in.p);

		on_line(p, in.p, len);
		in.p += len;
		in.len -= len;
	}
	sock_keep(&p->sock, in);
}

/* The generator never sleeps, so that nobody pays for waking it; see load.c. */
static void run_until(int64_t until_ns)
{
	static int64_t  paced_from_ns;
	static uint64_t paced;
	int64_t         now_ns;

	if (paced_from_ns == 0)
		paced_from_ns = usage_now_ns();
	while ((now_ns = usage_now_ns()) < until_ns) {
		while (!draining && opt.rate > 0 &&
		       (double)(now_ns - paced_from_ns) >= (double)paced * (double)SECOND_NS / (opt.rate * opt.peers))
			send_line(&peers[paced++ % opt.peers], now_ns);
		sock_loop_flush(&loop);

		int ready = sock_loop_wait(&loop, 0, NULL);

		for (int i = 0; i < ready; i++)
			on_ready(loop.events[i].data.ptr, loop.events[i].events);
	}
}

static void open_peers(void)
{
	peers = calloc(opt.peers, sizeof(*peers));
	if (!peers)
		err(1, "%" PRIu32 " peers", opt.peers);
	for (uint32_t i = 0; i < opt.peers; i++) {
		struct peer *p  = &peers[i];
		int          fd = wire_connect(opt.port), one = 1;

		make_key(p, i);
		enter(p, fd);
		p->partner = &peers[i ^ 1];
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		sock_add(&loop, &p->sock, fd);
	}
}

static int64_t seconds_ns(double seconds)
{
	return (int64_t)(seconds * (double)SECOND_NS);
}

static void measure_lines(void)
{
	sock_loop_init(&loop);
	open_peers();
	for (uint32_t i = 0; opt.rate <= 0 && i < opt.peers; i += 2)
		for (uint32_t k = 0; k < opt.flight; k++)
			send_line(&peers[i], usage_now_ns());
	run_until(usage_now_ns() + seconds_ns(opt.warmup));

	int64_t cpu_ns = opt.pid ? usage_cpu_ns(opt.pid) : 0;

	begin_ns = usage_now_ns();
	end_ns   = begin_ns + seconds_ns(opt.seconds);
	run_until(end_ns);
	cpu_ns   = opt.pid ? usage_cpu_ns(opt.pid) - cpu_ns : 0;
	draining = true;
	run_until(usage_now_ns() + DRAIN_NS);

	double n = (double)counted;

	printf("lines_s=%.1f lost=%" PRIu64 " p50_us=%.0f p99_us=%.0f cpu_us=%.3f\n", n / opt.seconds, sent - arrived,
	       hist_percentile_us(&times, 0.5), hist_percentile_us(&times, 0.99),
	       n > 0 ? (double)cpu_ns / n / 1000 : 0.0);
}

/* Registrations */

static void register_once(uint32_t thread)
{
	struct peer *p  = &peers[thread];
	int          fd = wire_connect(opt.port);

	enter(p, fd);
	close(fd);
}

static void measure_registrations(void)
{
	struct repeat r = { .threads = opt.registering,
		            .warmup  = opt.warmup,
		            .seconds = opt.seconds,
		            .pid     = opt.pid,
		            .once    = register_once };

	peers = calloc(opt.registering, sizeof(*peers));
	if (!peers)
		err(1, "%" PRIu32 " peers", opt.registering);
	for (uint32_t i = 0; i < opt.registering; i++)
		make_key(&peers[i], i);
	repeat_run(&r);
}

/* Arguments */

static const struct option options[] = { { "port", required_argument, NULL, 'p' },
	                                 { "pid", required_argument, NULL, 'i' },
	                                 { "token", required_argument, NULL, 't' },
	                                 { "peers", required_argument, NULL, 'n' },
	                                 { "bytes", required_argument, NULL, 'b' },
	                                 { "flight", required_argument, NULL, 'f' },
	                                 { "rate", required_argument, NULL, 'r' },
	                                 { "register", required_argument, NULL, 'g' },
	                                 { "seconds", required_argument, NULL, 's' },
	                                 { "warmup", required_argument, NULL, 'w' },
	                                 { 0 } };

static double number(const char *text, double min, double max)
{
	char  *end;
	double value = strtod(text, &end);

	if (end == text || *end || value < min || value > max)
		errx(2, "\"%s\" is no number from %g to %g", text, min, max);
	return value;
}

static void take_option(int c)
{
	switch (c) {
	case 'p':
		opt.port = (uint16_t)number(optarg, 1, UINT16_MAX);
		break;
	case 'i':
		opt.pid = (pid_t)number(optarg, 1, INT32_MAX);
		break;
	case 't':
		opt.token = optarg;
		break;
	case 'n':
		opt.peers = (uint32_t)number(optarg, 2, PEERS_MAX) & ~1U;
		break;
	case 'b':
		opt.bytes = (uint32_t)number(optarg, STAMP_DIGITS, LINE_BYTES_MAX - NAME_BYTES - 2);
		break;
	case 'f':
		opt.flight = (uint32_t)number(optarg, 1, 64);
		break;
	case 'r':
		opt.rate = number(optarg, 0.001, 100000);
		break;
	case 'g':
		opt.registering = (uint32_t)number(optarg, 1, 256);
		break;
	case 's':
		opt.seconds = number(optarg, 0.1, 3600);
		break;
	case 'w':
		opt.warmup = number(optarg, 0, 3600);
		break;
	default:
		errx(2, "unknown option; see the head of signal.c");
	}
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		take_option(c);
	if (!opt.port)
		errx(2, "--port is missing");
	if (sodium_init() < 0)
		errx(1, "libsodium does not start");
	memset(filling, 'a', sizeof(filling));
	sock_raise_limit();
	if (opt.registering)
		measure_registrations();
	else
		measure_lines();
	return 0;
}
