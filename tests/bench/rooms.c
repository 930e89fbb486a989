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

#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_wire.h"

/* So few in one call, because the calls are made by the thread that measures: what it waits for them would count as the server's. */
enum { FLOOD_BATCH = 8 };

static int64_t  flood_from_ns;
static uint64_t flooded;
static int      flood_fd = -1;

/* A flood of what the server drops */

static void flood_to(int64_t now_ns)
{
	static uint8_t        probe[ROOMS_PROBE] = { 'P', 'S', 'N', 'R', 1, 0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef };
	static struct iovec   piece              = { probe, sizeof(probe) };
	static struct mmsghdr all[FLOOD_BATCH];

	if (rooms_opt.flood <= 0)
		return;
	if (flood_fd < 0) {
		flood_fd      = load_udp_socket(0, rooms_opt.port);
		flood_from_ns = now_ns;
		for (int i = 0; i < FLOOD_BATCH; i++)
			all[i].msg_hdr = (struct msghdr){ .msg_iov = &piece, .msg_iovlen = 1 };
	}
	if ((double)(now_ns - flood_from_ns) * rooms_opt.flood / 1e9 < (double)flooded)
		return;
	sendmmsg(flood_fd, all, FLOOD_BATCH, 0);
	flooded += FLOOD_BATCH;
}

/* The generator never sleeps, so that nobody pays for waking it; see load.c. */
static void run_players(int64_t until_ns)
{
	int64_t now_ns;

	while ((now_ns = usage_now_ns()) < until_ns) {
		if (!load_run.draining)
			load_pace(now_ns);
		flood_to(now_ns);
		sock_loop_flush(&load_run.loop);

		int ready = sock_loop_wait(&load_run.loop, 0, NULL);

		for (int i = 0; i < ready; i++)
			load_on_ready(load_run.loop.events[i].data.ptr, load_run.loop.events[i].events);
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

static void take_option(int c)
{
	switch (c) {
	case 'p':
		rooms_opt.port = (uint16_t)load_number(optarg, 1, UINT16_MAX);
		break;
	case 'i':
		rooms_opt.pid = (pid_t)load_number(optarg, 1, INT32_MAX);
		break;
	case 'n':
		rooms_opt.peers = (uint32_t)load_number(optarg, 1, 4000);
		break;
	case 'b':
		rooms_opt.bytes = (uint32_t)load_number(optarg, 8, 1400);
		break;
	case 'f':
		rooms_opt.flight = (uint32_t)load_number(optarg, 1, LOAD_FLIGHT_MAX);
		break;
	case 'r':
		rooms_opt.rate = load_number(optarg, 0.001, 10000000);
		break;
	case 'F':
		rooms_opt.flood = load_number(optarg, 1, 10000000);
		break;
	case 'R':
		rooms_opt.rows = (uint32_t)load_number(optarg, 1, 1000000);
		break;
	case 'd':
		rooms_opt.deaf = true;
		break;
	case 'D':
		rooms_opt.direct = true;
		break;
	case 's':
		rooms_opt.seconds = load_number(optarg, 0.1, 3600);
		break;
	case 'w':
		rooms_opt.warmup = load_number(optarg, 0, 3600);
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
	sock_loop_init(&load_run.loop);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		modes[i].begin();
		load_measure(rooms_opt.pid, rooms_opt.warmup, rooms_opt.seconds, modes[i].run_until);
		puts("");
		if (flooded > 0)
			fprintf(stderr, "flood=%.0f/s\n",
			        (double)flooded * 1e9 / (double)(usage_now_ns() - flood_from_ns));
		return 0;
	}
	errx(2, "there is no mode %s", argv[1]);
}
