/*
 * What the rooms say about their connections, in the log and in figures. Never a token, and text of players only escaped.
 *
 *	info	each HELLO, and how each player's connection ended; so many lines a second, and then how many more there were
 *	warn	that connections are refused, once a second
 *	debug	what happens in rooms, and every request that was answered by an ERROR
 */
#ifndef ROOMS_ROOMS_LOG_H
#define ROOMS_ROOMS_LOG_H

#include "net/addr.h"
#include "net/loop.h"
#include "os/log_lines.h"
#include "rooms/rooms_guard.h"

#include <stddef.h>
#include <stdint.h>

struct rooms_peer;

/* How a player's connection ended. */
enum rooms_end {
	ROOMS_END_PEER,
	ROOMS_END_SILENT,
	ROOMS_END_NO_HELLO,
	ROOMS_END_REPLACED,
	ROOMS_END_OUTPUT,
	ROOMS_END_OUTPUT_BUDGET,
	ROOMS_END_INPUT_BUDGET,
	ROOMS_END_MEMORY,
	ROOMS_END_SERVER,
	ROOMS_END_OPERATOR,
	ROOMS_END_BANNED
};

enum rooms_refusal {
	ROOMS_REFUSED_TOTAL,
	ROOMS_REFUSED_ADDRESS,
	ROOMS_REFUSED_RATE,
	ROOMS_REFUSED_MEMORY,
	ROOMS_REFUSALS
};

struct rooms_log {
	struct loop     *loop;
	struct log_lines lines;                   /* about players: anybody can bring them about */
	struct timer     rest;                    /* while there may be some that were not told of */
	int64_t          refused[ROOMS_REFUSALS]; /* since the last line about it */
	struct timer     refusals;                /* set for a second after such a line */
};

void rooms_log_init(struct rooms_log *log, struct loop *loop);
void rooms_log_fini(struct rooms_log *log);

/* Closed at accept. */
void rooms_log_refused(struct rooms_log *log, enum rooms_refusal why);

/* The first HELLO of a connection succeeded: for operators who watch. */
void rooms_log_in(const struct rooms_peer *p);

/* HELLO succeeded. */
void rooms_log_hello(struct rooms_log *log, const struct rooms_peer *p);

/* A request of this type was answered, as p->replied and p->code say. */
void rooms_log_request(const struct rooms_peer *p, uint8_t type, const uint8_t *payload, size_t len);

/* A player's connection is over, for p->end. */
void rooms_log_ended(struct rooms_log *log, const struct rooms_peer *p);

/* Figures of a frame that goes out. */
void rooms_log_sent(struct rooms_peer *p, const uint8_t *frame, size_t len);

#endif
