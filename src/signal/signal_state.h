/*
 * The relay: who is registered under which key, and what waits for whom. Told what happened and when; says what to do. Pure.
 *
 *	GREETING --greeting--> CHALLENGED --proof comes--> PROVING --valid, a slot--> READY --relay line--> READY
 *	     \_______________________\_______________________\____ anything else, or the deadline --> CLOSED
 *
 * Limits: pre-auth slots (in all, per address), registered ones (in all, per address; 8 times as many per IPv6 /48), a queue
 * per destination, of which one sender's identity has at most a half and one sender's address too, and a place of its own
 * for one self-test frame; lines per sender in 10 s, the self test not counted.
 */
#ifndef SIGNAL_SIGNAL_STATE_H
#define SIGNAL_SIGNAL_STATE_H

#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "conf/limits.h"
#include "signal/signal_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNAL_ADDR_BYTES 16

enum signal_phase {
	SIGNAL_GREETING,
	SIGNAL_CHALLENGED,
	SIGNAL_PROVING,
	SIGNAL_READY,
	SIGNAL_CLOSED,
	SIGNAL_PHASE_COUNT
};

/* Why a connection ends or a line is dropped: for the log and the counters; nobody on the wire is told. */
enum signal_why {
	SIGNAL_FINE,
	SIGNAL_PRE_TOTAL, /* over the pre-auth slots */
	SIGNAL_PRE_ADDRESS,
	SIGNAL_WHY_SHAPE, /* the greeting */
	SIGNAL_WHY_TOKEN,
	SIGNAL_WHY_IDENTITY,
	SIGNAL_WHY_PROOF,  /* malformed, or the signature is not good */
	SIGNAL_WHY_LATE,   /* the deadline */
	SIGNAL_WHY_LONG,   /* a line */
	SIGNAL_FULL_TOTAL, /* registered ones */
	SIGNAL_FULL_ADDRESS,
	SIGNAL_REPLACED, /* a newer connection has the name */
	SIGNAL_NO_MEMORY,
	SIGNAL_DROP_NO_DEST, /* from here on lines that are dropped: nobody, or no such line */
	SIGNAL_DROP_SHAPE,
	SIGNAL_DROP_FULL,  /* the destination's queue */
	SIGNAL_DROP_SHARE, /* the sender's share of it */
	SIGNAL_DROP_BUDGET,
	SIGNAL_WHY_COUNT
};
const char *signal_why_text(enum signal_why why); /* a word for logs and metrics: "token", "pre_auth_address" */

/* One waiting frame: sender SP payload LF. */
struct signal_frame {
	struct list in;
	uint8_t     sender[SIGNAL_KEY_BYTES];
	uint8_t     sender_addr[SIGNAL_ADDR_BYTES];
	bool        is_self;
	uint32_t    len, sent; /* bytes, and how many of them have left */
	uint8_t     bytes[];
};

/* Embedded in the caller's own struct for a connection. */
struct signal_conn {
	struct list       in; /* in signal_state.conns, in the order of their deadlines while unproved */
	enum signal_phase phase;
	int64_t           deadline_ms; /* 0 once READY */
	uint8_t           addr[SIGNAL_ADDR_BYTES], addr_wide[SIGNAL_ADDR_BYTES];
	bool              has_wide, is_exempt;
	uint8_t           key[SIGNAL_KEY_BYTES]; /* claimed; proved once READY */
	char              nonce[SIGNAL_NONCE_CHARS];
	struct list       frames; /* what waits for it, oldest first; a begun one is never dropped */
	size_t            frame_count, frame_bytes;
	int64_t           window_ms; /* of the sender's budget: a ring of two halves is enough, see the .c */
	uint32_t          lines[2];
};

struct signal_state {
	const struct limits *limits;
	struct map           by_key; /* READY ones */
	struct map           pre_by_addr, pre_by_wide, ready_by_addr, ready_by_wide;
	struct map           lines_by_addr;
	struct list          unproved;
	size_t               pre_count, ready_count;
};

enum err signal_state_init(struct signal_state *s, const struct limits *limits, uint64_t seed);
void     signal_state_fini(struct signal_state *s); /* all connections must have left */

/* What is to be done now. */
struct signal_step {
	enum {
		SIGNAL_WAIT,      /* nothing */
		SIGNAL_CHALLENGE, /* draw a nonce, signal_challenged, send the challenge */
		SIGNAL_VERIFY,    /* verify sig over signal_proof_text, then signal_proved */
		SIGNAL_REGISTERED, /* log it; evicted, when not NULL, is to be reset: it is CLOSED and has left already */
		SIGNAL_SEND,       /* dest has one frame more */
		SIGNAL_DROP,       /* count why */
		SIGNAL_CLOSE       /* close it; why says how it is logged */
	} what;
	enum signal_why     why;
	struct signal_conn *dest, *evicted;
	uint8_t             sig[SIGNAL_SIG_BYTES];
};

/* Accepted: takes a pre-auth slot. SIGNAL_FINE, or why not (nothing is held then). */
enum signal_why signal_enter(struct signal_state *s, struct signal_conn *c, int64_t now_ms);

/*
 * A line of it, LF included. is_token_good: asked only for a greeting that has a token, constant time, by the caller's
 * function.
 */
typedef bool (*signal_token_check)(void *arg, const uint8_t *token, size_t len);
struct signal_step signal_on_line(struct signal_state *s, struct signal_conn *c, const uint8_t *line, size_t len,
                                  signal_token_check check, void *arg, int64_t now_ms);
struct signal_step signal_on_too_long(struct signal_state *s, struct signal_conn *c);

void               signal_challenged(struct signal_conn *c, const char nonce[SIGNAL_NONCE_CHARS]);
struct signal_step signal_proved(struct signal_state *s, struct signal_conn *c, bool is_valid, int64_t now_ms);

/* The deadlines that are over: one per call, to be closed; NULL: no more. *next_ms: when to ask again, 0: nobody waits. */
struct signal_conn *signal_on_tick(struct signal_state *s, int64_t now_ms, int64_t *next_ms);

/* It is gone, or going: gives back slots, the name (unless a newer one has it) and its queue. Once. */
void signal_leave(struct signal_state *s, struct signal_conn *c);

/* The queue of a READY one: the next frame to send, and that n bytes of the queue's front have left. */
struct signal_frame *signal_first_frame(const struct signal_conn *c);
void                 signal_sent(struct signal_conn *c, size_t bytes);

#endif
