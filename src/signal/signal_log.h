/*
 * What the relay says about its connections, in the log and in figures. Never a token, a nonce or a payload.
 */
#ifndef SIGNAL_SIGNAL_LOG_H
#define SIGNAL_SIGNAL_LOG_H

#include "net/addr.h"
#include "net/loop.h"
#include "os/log_lines.h"
#include "signal/signal_state.h"

#include <stddef.h>
#include <stdint.h>

/* How a connection ended of which the relay has not decided it. */
enum signal_end { SIGNAL_END_PEER, SIGNAL_END_HANDSHAKE, SIGNAL_END_STALLED, SIGNAL_END_BANNED, SIGNAL_END_SERVER };

/* Refusals for want of room, or for coming too often, of one kind: at most one line a second, with how many there were. */
struct signal_fullness {
	struct loop    *loop;
	struct timer    timer; /* set for a second after a line */
	enum signal_why why;
	int64_t         count; /* since that line */
};

#define SIGNAL_LOG_KINDS 5
struct signal_log {
	struct signal_fullness full[SIGNAL_LOG_KINDS];
	/* Lines about those that have not proved a key: anybody can bring them about, so the log takes so many a second. */
	struct loop     *loop;
	struct log_lines unproved;
	struct timer     rest; /* while there may be some that were not told of */
};

void signal_log_init(struct signal_log *log, struct loop *loop);
void signal_log_fini(struct signal_log *log);

/* Whom a line is about. key NULL: it has not proved any. */
struct signal_about {
	uint64_t           id;
	const char        *listener; /* plain, tls, websocket */
	const struct addr *addr;
	const uint8_t     *key;
};

void signal_log_admitted(struct signal_log *log, const struct signal_about *who);
void signal_log_registered(const struct signal_about *who);
void signal_log_replaced(const struct signal_about *who, uint64_t by);

/* Closed for this; offered: what it gave as its identity, NULL: not worth a word. Counts it. */
void signal_log_closed(struct signal_log *log, const struct signal_about *who, enum signal_why why,
                       const uint8_t *offered, size_t len);

/* Gone by itself. Counts it. */
void signal_log_gone(struct signal_log *log, const struct signal_about *who, enum signal_end end);

/* A line was dropped: only counted. */
void signal_log_dropped(enum signal_why why);

#endif
