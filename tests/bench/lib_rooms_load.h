/*
 * What the files of the generator of rooms (rooms.c) share: the players, and each mode's beginning.
 */
#ifndef BENCH_LIB_ROOMS_LOAD_H
#define BENCH_LIB_ROOMS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "lib_load.h"
#include "lib_rooms.h"
#include "lib_usage.h"

struct rooms_options {
	uint16_t port;
	pid_t    pid;
	uint32_t peers, bytes, flight, rows;
	double   rate, flood; /* 0: closed loop; no flood */
	double   seconds, warmup;
	bool     deaf, direct;
};
extern struct rooms_options rooms_opt;

/* lib_rooms_load.c: each connects its players and sends the first. */
void load_begin_requests(void);
void load_begin_messages(void);
void load_begin_scores(void);
void load_begin_probes(void);
void load_begin_relay(void);
void load_pace(int64_t now_ns); /* sends what is due by now */
void load_on_ready(void *who, uint32_t events);

/* One player, blocking: for what has to be so before the measurement. */
struct load_player {

	uint32_t number, user_id, token;
	uint64_t room_id;
};
/* Connected, and known by this name. fd is left blocking until the caller adds it to the loop. */
int load_enter(struct load_player *p, uint32_t number);
/* Into the room of its group. group: the players of one group, of whom this is the at-th. */
void load_enter_room(struct load_player *group, uint32_t at, int fd);
/* The next frame of this type; pushes of other types are thrown away. Returns its payload's length. */
size_t load_await(int fd, uint8_t type, uint8_t *payload, size_t cap);

/* lib_rooms_streams.c */
void streams_begin(void);
void streams_run(int64_t until_ns);

#endif
