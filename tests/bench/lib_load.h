/*
 * What the generators of rooms and of peer to peer share: what is counted, and when.
 *
 * The pattern is the same in each mode: everybody is made ready, load_measure lets it run, and each arrival is told to load_done.
 */
#ifndef BENCH_LIB_LOAD_H
#define BENCH_LIB_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "lib_hist.h"
#include "lib_sock.h"

enum { LOAD_FLIGHT_MAX = 64 };

/* sent and arrived are of the whole run, counted and times of what arrived between begin_ns and end_ns. */
struct load {
	struct sock_loop loop;
	uint64_t         sent, arrived;
	double           counted;
	int64_t          begin_ns, end_ns;
	bool             draining; /* nothing more is to be sent */
	struct hist      times;
};
extern struct load load_run;

/* One that was sent at sent_ns has arrived, and counts for so many. */
void load_done(int64_t sent_ns, double ops);

/*
 * Everybody is there: warms up, measures for so many seconds, drains, and prints what came of it, without an end of line. pid is
 * the server's, 0 when there is none.
 */
void load_measure(pid_t pid, double warmup, double seconds, void (*run_until)(int64_t until_ns));

/* A UDP socket that is connected to the server, from this address of the machine; 0: any. */
int load_udp_socket(uint32_t ip, uint16_t port);

/* Of an option; ends the program when it is none of these. */
double load_number(const char *text, double min, double max);

#endif
