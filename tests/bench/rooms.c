/*
 * Load for the rooms: players on TCP, probes and relayed datagrams on UDP, streams.
 *
 *	rooms MODE --port PORT [--pid PID] [--peers N] [--bytes B] [--flight W | --rate R] [--seconds S] [--warmup S] ...
 *
 *	requests	each player asks for the ranking of a board that is not there, again and again
 *	messages	groups of four in a room: each message goes to the three others, one of whom sends the next
 *		--deaf		the last of the first group does not read
 *		--flood R	R probes per second with a wrong token come from one socket besides
 *	scores		on a board of --rows rows: R scores and R rankings per second, beside one room that talks
 *	probes		each player's socket asks where it is seen from
 *	relay		pairs send each other datagrams through the server
 *	streams		bytes through --peers streams; with --direct without a server, from socket to socket
 *
 * Closed loop (the default): W under way for each player (each group), the next when one is done. Paced: R per second in all.
 * After the warm-up everything is counted for S seconds. One line goes to standard output:
 *
 *	ops_s          requests answered, messages delivered, probes answered, datagrams delivered, or megabytes, per second
 *	lost           those that did not arrive
 *	p50_us p99_us  from sending to arriving; with scores: of the messages of the room beside
 *	cpu_us         processor time of the server's process (--pid) per one of these
 *	cpu_share      of one processor
 */
#include "lib_rooms_load.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_wire.h"

enum { FLOOD_BATCH = 64 };

static int64_t  flood_from_ns;
static uint64_t flooded;
static int      flood_fd = -1;

static int64_t seconds_ns(double seconds)
{
	return (int64_t)(seconds * 1e9);
}

/* Everybody is there: warms up, measures, drains, and says what came of it. */
static void measure(void (*run_until)(int64_t until_ns))
{
	int64_t cpu_ns;

	run_until(usage_now_ns() + seconds_ns(rooms_opt.warmup));
	cpu_ns              = rooms_opt.pid ? usage_cpu_ns(rooms_opt.pid) : 0;
	rooms_load.begin_ns = usage_now_ns();
	rooms_load.end_ns   = rooms_load.begin_ns + seconds_ns(rooms_opt.seconds);
	run_until(rooms_load.end_ns);
	cpu_ns              = rooms_opt.pid ? usage_cpu_ns(rooms_opt.pid) - cpu_ns : 0;
	rooms_load.draining = true;
	run_until(usage_now_ns() + seconds_ns(0.5));
	printf("ops_s=%.1f lost=%" PRId64 " p50_us=%.0f p99_us=%.0f cpu_us=%.3f cpu_share=%.2f\n",
	       rooms_load.counted / rooms_opt.seconds, (int64_t)(rooms_load.sent - rooms_load.arrived),
	       hist_percentile_us(&rooms_load.times, 0.5), hist_percentile_us(&rooms_load.times, 0.99),
	       rooms_load.counted > 0 ? (double)cpu_ns / rooms_load.counted / 1000 : 0.0,
	       (double)cpu_ns / 1e9 / rooms_opt.seconds);
}

/* A flood of what the server drops */

static void flood_to(int64_t now_ns)
{
	static uint8_t        probe[ROOMS_PROBE] = { 'P', 'S', 'N', 'R', 1, 0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef };
	static struct iovec   piece              = { probe, sizeof(probe) };
	static struct mmsghdr all[FLOOD_BATCH];

	if (rooms_opt.flood <= 0)
		return;
	if (flood_fd < 0) {
		flood_fd      = load_udp_socket();
		flood_from_ns = now_ns;
		for (int i = 0; i < FLOOD_BATCH; i++)
			all[i].msg_hdr = (struct msghdr){ .msg_iov = &piece, .msg_iovlen = 1 };
	}
	for (int i = 0; i < 16 && (double)(now_ns - flood_from_ns) * rooms_opt.flood / 1e9 >= (double)flooded; i++) {
		sendmmsg(flood_fd, all, FLOOD_BATCH, 0);
		flooded += FLOOD_BATCH;
	}
}

/* The generator never sleeps, so that nobody pays for waking it; see rooms_load.c. */
static void run_players(int64_t until_ns)
{
	int64_t now_ns;

	while ((now_ns = usage_now_ns()) < until_ns) {
		if (!rooms_load.draining)
			load_pace(now_ns);
		flood_to(now_ns);
		sock_loop_flush(&rooms_load.loop);

		int ready = sock_loop_wait(&rooms_load.loop, 0, NULL);

		for (int i = 0; i < ready; i++)
			load_on_ready(rooms_load.loop.events[i].data.ptr, rooms_load.loop.events[i].events);
	}
}

/* Arguments */

static const struct option options[] = { { "port", required_argument, NULL, 'p' },
	                                 { "pid", required_argument, NULL, 'i' },
	                                 { "peers", required_argument, NULL, 'n' },
	                                 { "bytes", required_argument, NULL, 'b' },
	                                 { "flight", required_argument, NULL, 'f' },
	                                 { "rate", required_argument, NULL, 'r' },
	                                 { "flood", required_argument, NULL, 'F' },
	                                 { "rows", required_argument, NULL, 'R' },
	                                 { "deaf", no_argument, NULL, 'd' },
	                                 { "direct", no_argument, NULL, 'D' },
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
		rooms_opt.port = (uint16_t)number(optarg, 1, UINT16_MAX);
		break;
	case 'i':
		rooms_opt.pid = (pid_t)number(optarg, 1, INT32_MAX);
		break;
	case 'n':
		rooms_opt.peers = (uint32_t)number(optarg, 1, 4000);
		break;
	case 'b':
		rooms_opt.bytes = (uint32_t)number(optarg, 8, 1400);
		break;
	case 'f':
		rooms_opt.flight = (uint32_t)number(optarg, 1, LOAD_FLIGHT_MAX);
		break;
	case 'r':
		rooms_opt.rate = number(optarg, 0.001, 10000000);
		break;
	case 'F':
		rooms_opt.flood = number(optarg, 1, 10000000);
		break;
	case 'R':
		rooms_opt.rows = (uint32_t)number(optarg, 1, 1000000);
		break;
	case 'd':
		rooms_opt.deaf = true;
		break;
	case 'D':
		rooms_opt.direct = true;
		break;
	case 's':
		rooms_opt.seconds = number(optarg, 0.1, 3600);
		break;
	case 'w':
		rooms_opt.warmup = number(optarg, 0, 3600);
		break;
	default:
		errx(2, "unknown option; see the head of rooms.c");
	}
}

static const struct mode {
	const char *name;
	void (*begin)(void);
	void (*run_until)(int64_t until_ns);
} modes[] = {
	{ "requests", load_begin_requests, run_players }, { "messages", load_begin_messages, run_players },
	{ "scores", load_begin_scores, run_players },     { "probes", load_begin_probes, run_players },
	{ "relay", load_begin_relay, run_players },       { "streams", streams_begin, streams_run },
};

int main(int argc, char **argv)
{
	int c;

	if (argc < 2)
		errx(2, "which mode? See the head of rooms.c");
	while ((c = getopt_long(argc - 1, argv + 1, "", options, NULL)) != -1)
		take_option(c);
	if (!rooms_opt.port && !rooms_opt.direct)
		errx(2, "--port is missing");
	sock_raise_limit();
	sock_loop_init(&rooms_load.loop);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		modes[i].begin();
		measure(modes[i].run_until);
		return 0;
	}
	errx(2, "there is no mode %s", argv[1]);
}
