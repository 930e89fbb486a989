/*
 * Load for a tunnel server: games with friends that send datagrams, which their hosts send back.
 *
 *	load --server 127.0.0.1:PORT [--pid PID] [--games G] [--friends F] [--bytes B]
 *	     [--flight W | --rate R] [--idle N] [--seconds S] [--warmup S]
 *
 * Closed loop (the default): each friend keeps W datagrams under way.  One that is not back after 500 ms
 * counts as lost, and a new one takes its place.  Paced: each friend sends R datagrams per second, all of
 * them evenly spread over time; the server has no say in when.  --idle adds N connections, hosts with
 * eight friends each, that only send an ECHO every 20 s.
 *
 * After the warm-up everything is counted for S seconds; then nothing new is sent, and what is still
 * under way may come back.  One line goes to standard output, all of it about those seconds:
 *
 *	datagrams      carried by the server: a round trip is two
 *	sent lost      round trips begun, and those of them that did not end within 500 ms
 *	p50_us ...     round trip as the friend sees it
 *	lag_p99_us     paced: how late the generator itself was in sending
 *	cpu_us         processor time of the server's process (--pid) per datagram
 *	rss_start rss  resident bytes of the server before the first connection and at the end
 */
#include <arpa/inet.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib_bytes.h"
#include "lib_hist.h"
#include "lib_peer.h"
#include "lib_usage.h"

enum { FLIGHT_MAX = 64, PEERS_MAX = 100000, DATAGRAM_BYTES_MIN = 64, DATAGRAM_BYTES_MAX = 1500 };
enum { BACKLOG_BYTES_MAX = 1 << 20 }; /* paced: what a server does not take is lost here, as in a real client */

#define SECOND_NS     INT64_C(1000000000)
#define LOST_AFTER_NS (SECOND_NS / 2)
#define LOOK_EVERY_NS (SECOND_NS / 10)
#define ECHO_EVERY_NS (20 * SECOND_NS)

/* A datagram's first bytes; the rest is filling. */
enum { AT_STAMP = 0, AT_TRY = 8, AT_SLOT = 12 };

struct options {
	struct sockaddr_in server;
	pid_t              pid;
	uint32_t           games;
	uint32_t           friends; /* per game */
	uint32_t           bytes;
	uint32_t           flight;
	double             rate; /* 0: closed loop */
	uint32_t           idle;
	double             seconds;
	double             warmup;
};

/* One datagram under way in the closed loop.  An answer to an earlier try comes too late to count. */
struct slot {
	int64_t  sent_ns;
	uint32_t try;
};

struct window {
	int64_t     begin_ns;
	int64_t     end_ns;
	uint64_t    datagrams;
	uint64_t    sent;
	uint64_t    answered;
	int64_t     server_cpu_ns;
	int64_t     rss_start_bytes;
	int64_t     rss_bytes;
	struct hist rtt;
	struct hist lag;
};

/* Something that happens at an even pace, from begin_ns on. */
struct pace {
	int64_t  begin_ns;
	double   every_ns; /* 0: never */
	uint64_t count;    /* how often it happened */
};

static struct options opt = { .friends = 4, .bytes = 256, .flight = 1, .seconds = 5, .warmup = 1 };
static struct peers   peers;
static uint32_t       active; /* friends that send datagrams */
static uint32_t       idle_games;
static struct slot   *slots; /* opt.flight for each active friend */
static struct window  window = { .begin_ns = INT64_MAX, .end_ns = INT64_MAX };
static struct pace    sends;
static struct pace    echoes;
static int64_t        next_look_ns;
static bool           draining;
static uint8_t        filling[DATAGRAM_BYTES_MAX];

/* Neighbours in the order of sending belong to different games. */
static uint32_t game_of_friend(uint32_t i)
{
	return i < active ? i % opt.games : opt.games + (i - active) / TUNNEL_FRIENDS_MAX;
}

static int64_t pace_due_ns(const struct pace *pace)
{
	return pace->every_ns > 0 ? pace->begin_ns + (int64_t)((double)pace->count * pace->every_ns) : INT64_MAX;
}

static bool in_window(int64_t ns)
{
	return ns >= window.begin_ns && ns < window.end_ns;
}

static void send_datagram(uint32_t friend_index, uint32_t slot, uint32_t try, int64_t now_ns)
{
	struct peer *p   = &peers.all[peers.game_count + friend_index];
	size_t       len = 1 + opt.bytes;

	if (in_window(now_ns))
		window.sent++;
	if (p->sock.out.len > BACKLOG_BYTES_MAX)
		return;

	uint8_t *m        = peer_begin(&peers, p, len);
	uint8_t *datagram = m + 1;

	m[0] = OP_FROM_FRIEND;
	memcpy(datagram, filling, opt.bytes);
	put_u64(datagram + AT_STAMP, (uint64_t)now_ns);
	put_u32(datagram + AT_TRY, try);
	put_u32(datagram + AT_SLOT, slot);
	peer_end(&peers, m, len);
}

static void send_slot(uint32_t friend_index, uint32_t slot, int64_t now_ns)
{
	struct slot *s = &slots[friend_index * opt.flight + slot];

	s->sent_ns = now_ns;
	s->try++;
	send_datagram(friend_index, slot, s->try, now_ns);
}

static void on_answer(uint32_t friend_index, const uint8_t *datagram)
{
	int64_t  now_ns   = usage_now_ns();
	int64_t  stamp_ns = (int64_t)get_u64(datagram + AT_STAMP);
	uint32_t slot     = get_u32(datagram + AT_SLOT);
	bool     in_time  = now_ns - stamp_ns <= LOST_AFTER_NS;

	if (in_window(now_ns))
		window.datagrams++;
	if (in_window(stamp_ns) && in_time) {
		window.answered++;
		hist_add(&window.rtt, now_ns - stamp_ns);
	}
	if (opt.rate > 0 || draining)
		return;
	if (slot < opt.flight && slots[friend_index * opt.flight + slot].try == get_u32(datagram + AT_TRY))
		send_slot(friend_index, slot, now_ns);
}

static void echo_datagram(struct peer *host, const uint8_t *m, size_t len)
{
	uint8_t *answer = peer_begin(&peers, host, len);

	memcpy(answer, m, len);
	answer[0] = OP_FROM_HOST;
	peer_end(&peers, answer, len);
	if (in_window(usage_now_ns()))
		window.datagrams++;
}

/* Everything else a server may say to a player changes nothing here. */
static void on_message(struct peer *p, const uint8_t *m, size_t len)
{
	if (len < 1 || (m[0] != OP_TO_HOST && m[0] != OP_TO_FRIEND))
		return;
	if (len != opt.bytes + (m[0] == OP_TO_HOST ? 3 : 1))
		errx(1, "a datagram of %" PRIu32 " bytes arrives in a message of %zu", opt.bytes, len);
	if (m[0] == OP_TO_HOST)
		echo_datagram(p, m, len);
	else
		on_answer((uint32_t)(p - peers.all) - peers.game_count, m + 1);
}

static void send_paced(int64_t now_ns)
{
	int64_t due_ns;

	while ((due_ns = pace_due_ns(&sends)) <= now_ns) {
		if (in_window(now_ns))
			hist_add(&window.lag, now_ns - due_ns);
		send_datagram((uint32_t)(sends.count++ % active), 0, 0, now_ns);
	}
}

static void resend_lost(int64_t now_ns)
{
	if (now_ns < next_look_ns)
		return;
	next_look_ns = now_ns + LOOK_EVERY_NS;
	for (uint32_t i = 0; i < active; i++)
		for (uint32_t slot = 0; slot < opt.flight; slot++)
			if (now_ns - slots[i * opt.flight + slot].sent_ns > LOST_AFTER_NS)
				send_slot(i, slot, now_ns);
}

static void send_echoes(int64_t now_ns)
{
	while (pace_due_ns(&echoes) <= now_ns) {
		uint32_t     i = (uint32_t)(echoes.count++ % opt.idle);
		struct peer *p = i < idle_games ? &peers.all[opt.games + i]
		                                : &peers.all[peers.game_count + active + (i - idle_games)];
		uint8_t     *m = peer_begin(&peers, p, 5);

		m[0] = OP_ECHO;
		put_u32(m + 1, (uint32_t)(now_ns / 1000000));
		peer_end(&peers, m, 5);
	}
}

/*
 * With traffic the generator never sleeps: waking a processor of a virtual machine takes several
 * microseconds, and they would be the server's, whose send does the waking.  Over a network card nothing
 * of that kind happens.
 */
static int64_t patience_ns(int64_t end_ns)
{
	if (active > 0)
		return 0;

	int64_t due_ns  = pace_due_ns(&echoes);
	int64_t wait_ns = (due_ns < end_ns ? due_ns : end_ns) - usage_now_ns();

	return wait_ns > 0 ? wait_ns : 0;
}

static void run_until(int64_t end_ns)
{
	int64_t now_ns;

	while ((now_ns = usage_now_ns()) < end_ns) {
		if (!draining && opt.rate > 0)
			send_paced(now_ns);
		else if (!draining)
			resend_lost(now_ns);
		send_echoes(now_ns);
		peers_flush(&peers);
		peers_turn(&peers, patience_ns(end_ns));
	}
}

/* In the closed loop everything counts as lost at first, and so the first look sends it. */
static void begin_traffic(void)
{
	int64_t now_ns = usage_now_ns();
	double  second = (double)SECOND_NS;

	if (active > 0 && opt.rate > 0)
		sends = (struct pace){ .begin_ns = now_ns, .every_ns = second / (opt.rate * active) };
	if (opt.idle > 0)
		echoes = (struct pace){ .begin_ns = now_ns, .every_ns = (double)ECHO_EVERY_NS / opt.idle };
	if (active == 0 || opt.rate > 0)
		return;
	slots = calloc((size_t)active * opt.flight, sizeof(*slots));
	if (!slots)
		err(1, "%" PRIu32 " datagrams", active * opt.flight);
	for (uint32_t i = 0; i < active * opt.flight; i++)
		slots[i].sent_ns = INT64_MIN / 2;
}

static void measure(void)
{
	begin_traffic();
	run_until(usage_now_ns() + (int64_t)(opt.warmup * (double)SECOND_NS));

	window.server_cpu_ns = opt.pid ? -usage_cpu_ns(opt.pid) : 0;
	window.begin_ns      = usage_now_ns();
	run_until(window.begin_ns + (int64_t)(opt.seconds * (double)SECOND_NS));
	window.end_ns = usage_now_ns();
	window.server_cpu_ns += opt.pid ? usage_cpu_ns(opt.pid) : 0;
	window.rss_bytes = opt.pid ? usage_rss_bytes(opt.pid) : 0;

	draining = true;
	run_until(window.end_ns + LOST_AFTER_NS);
}

static void report(void)
{
	double       ns  = (double)(window.end_ns - window.begin_ns);
	double       all = (double)window.datagrams;
	struct hist *rtt = &window.rtt;

	printf("games=%" PRIu32 " friends=%" PRIu32 " bytes=%" PRIu32 " flight=%" PRIu32 " rate=%.3f idle=%" PRIu32
	       " seconds=%.3f",
	       opt.games, opt.friends, opt.bytes, opt.rate > 0 ? 0 : opt.flight, opt.rate, opt.idle,
	       ns / (double)SECOND_NS);
	printf(" datagrams=%" PRIu64 " datagrams_s=%.0f sent=%" PRIu64 " lost=%" PRIu64, window.datagrams,
	       all * (double)SECOND_NS / ns, window.sent, window.sent - window.answered);
	printf(" p50_us=%.1f p99_us=%.1f p999_us=%.1f lag_p99_us=%.1f", hist_percentile_us(rtt, 0.5),
	       hist_percentile_us(rtt, 0.99), hist_percentile_us(rtt, 0.999), hist_percentile_us(&window.lag, 0.99));
	printf(" cpu_us=%.4f cpu_share=%.3f rss_start=%" PRId64 " rss=%" PRId64 "\n",
	       all > 0 ? (double)window.server_cpu_ns / all / 1000 : 0.0, (double)window.server_cpu_ns / ns,
	       window.rss_start_bytes, window.rss_bytes);
}

static double number(const char *name, const char *text, double min, double max)
{
	char  *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= min && v <= max))
		errx(2, "--%s takes a number from %g to %g, not \"%s\"", name, min, max, text);
	return v;
}

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in addr  = { .sin_family = AF_INET };
	const char        *colon = strrchr(text, ':');
	char               host[64];

	if (!colon || (size_t)(colon - text) >= sizeof(host))
		errx(2, "--server takes ADDRESS:PORT, not \"%s\"", text);
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	if (inet_pton(AF_INET, host, &addr.sin_addr) != 1)
		errx(2, "\"%s\" is no IPv4 address", host);
	addr.sin_port = htons((uint16_t)number("server", colon + 1, 1, UINT16_MAX));
	return addr;
}

static void read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "server", required_argument, NULL, 's' },
		{ "pid", required_argument, NULL, 'p' },
		{ "games", required_argument, NULL, 'g' },
		{ "friends", required_argument, NULL, 'f' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "flight", required_argument, NULL, 'w' },
		{ "rate", required_argument, NULL, 'r' },
		{ "idle", required_argument, NULL, 'i' },
		{ "seconds", required_argument, NULL, 't' },
		{ "warmup", required_argument, NULL, 'u' },
		{ 0 },
	};
	int c, i;

	while ((c = getopt_long(argc, argv, "", names, &i)) != -1) {
		switch (c) {
		case 's':
			opt.server = address(optarg);
			break;
		case 'p':
			opt.pid = (pid_t)number(names[i].name, optarg, 1, INT32_MAX);
			break;
		case 'g':
			opt.games = (uint32_t)number(names[i].name, optarg, 0, PEERS_MAX);
			break;
		case 'f':
			opt.friends = (uint32_t)number(names[i].name, optarg, 0, TUNNEL_FRIENDS_MAX);
			break;
		case 'b':
			opt.bytes = (uint32_t)number(names[i].name, optarg, DATAGRAM_BYTES_MIN, DATAGRAM_BYTES_MAX);
			break;
		case 'w':
			opt.flight = (uint32_t)number(names[i].name, optarg, 1, FLIGHT_MAX);
			break;
		case 'r':
			opt.rate = number(names[i].name, optarg, 0.001, 1e6);
			break;
		case 'i':
			opt.idle = (uint32_t)number(names[i].name, optarg, 0, PEERS_MAX);
			break;
		case 't':
			opt.seconds = number(names[i].name, optarg, 0.1, 3600);
			break;
		case 'u':
			opt.warmup = number(names[i].name, optarg, 0, 3600);
			break;
		default:
			errx(2, "the options are explained at the top of tests/bench/load.c");
		}
	}
	if (optind != argc || !opt.server.sin_port || opt.games + opt.idle == 0)
		errx(2, "--server and one of --games and --idle are needed");
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	sock_raise_limit();

	active     = opt.games * opt.friends;
	idle_games = (opt.idle + TUNNEL_FRIENDS_MAX) / (1 + TUNNEL_FRIENDS_MAX);

	peers.server           = opt.server;
	peers.game_count       = opt.games + idle_games;
	peers.on_message       = on_message;
	window.rss_start_bytes = opt.pid ? usage_rss_bytes(opt.pid) : 0;
	peers_open(&peers, active + opt.idle - idle_games, game_of_friend);
	measure();
	report();
	return 0;
}
