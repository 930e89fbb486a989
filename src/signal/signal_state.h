/*
 * The relay: who is registered under which key, and what waits for whom. Told what happened and when; says what to do. Pure.
 *
 *	GREETING --greeting--> GREETED --nonce--> CHALLENGED --proof comes--> PROVING --valid, and a slot--> READY
 *	     \____________________\_____________________\________________________\__anything else, the deadline__|
 *	                                                              too long a line, a newer one of its name --+--> CLOSED
 *
 * Before READY a connection holds one of few slots, in all and per address, and so it does after; an IPv6 /48 may have 8 times
 * what an address may. A READY one has a queue (signal_queue_state.h), and may send so many lines in 10 s
 * (signal_account_state.h); its self tests are not counted. One that goes on sending lines that can be for nobody is closed: they
 * would cost it nothing, and the server as much as others.
 */
#ifndef SIGNAL_SIGNAL_STATE_H
#define SIGNAL_SIGNAL_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "conf/limits.h"
#include "signal/signal_account_state.h"
#include "signal/signal_queue_state.h"
#include "signal/signal_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum signal_phase {
	SIGNAL_GREETING,
	SIGNAL_GREETED,
	SIGNAL_CHALLENGED,
	SIGNAL_PROVING,
	SIGNAL_READY,
	SIGNAL_CLOSED,
	SIGNAL_PHASE_COUNT
};

/* Why a connection ends or a line is dropped: for the log and the counters; nobody on the wire is told. */
enum signal_why {
	SIGNAL_FINE,
	SIGNAL_WHY_PRE_TOTAL, /* over the slots of those that have not proved their key */
	SIGNAL_WHY_PRE_ADDRESS,
	SIGNAL_WHY_RATE,  /* too many connections in too short a time */
	SIGNAL_WHY_SHAPE, /* the greeting */
	SIGNAL_WHY_TOKEN,
	SIGNAL_WHY_LENGTH, /* of the identity */
	SIGNAL_WHY_IDENTITY,
	SIGNAL_WHY_EARLY,       /* a line where the nonce was still to come */
	SIGNAL_WHY_PROOF_SHAPE, /* no proof at all */
	SIGNAL_WHY_PROOF,       /* its signature is not good */
	SIGNAL_WHY_LATE,        /* the deadline */
	SIGNAL_WHY_LONG,        /* a line */
	SIGNAL_WHY_BREAK,       /* a message with a line break in it */
	SIGNAL_WHY_JUNK,        /* too many lines that name nobody */
	SIGNAL_WHY_FULL_TOTAL,  /* registered ones */
	SIGNAL_WHY_FULL_ADDRESS,
	SIGNAL_WHY_REPLACED, /* a newer connection has the name */
	SIGNAL_WHY_OPERATOR, /* he said so */
	SIGNAL_WHY_BANNED,   /* its address or identity */
	SIGNAL_WHY_MEMORY,
	SIGNAL_DROP_SHAPE, /* from here on lines that are dropped: where would it go? */
	SIGNAL_DROP_NOBODY,
	SIGNAL_DROP_FULL,  /* the destination's queue */
	SIGNAL_DROP_SHARE, /* the sender's share of it */
	SIGNAL_DROP_BUDGET,
	SIGNAL_WHY_COUNT
};

/* Embedded in the caller's own struct for a connection. */
struct signal_conn {
	struct list            unproved; /* in signal_state.unproved */
	enum signal_phase      phase;
	bool                   holds_unproved, holds_peer;   /* slots */
	int64_t                deadline_ms;                  /* of one that is not READY */
	struct signal_account *address, *network, *identity; /* the last of who has proved it, until it leaves */
	struct signal_sender   self;                         /* the key is claimed, and proved once READY */
	char                   nonce[SIGNAL_NONCE_CHARS];
	struct signal_queue    queue; /* what waits for it */
};

/* Whether this is the shared token; takes as long for every token of its length. */
typedef bool (*signal_token_check)(void *arg, const uint8_t *token, size_t len);

struct signal_state {
	const struct limits   *limits;
	signal_token_check     check;
	void                  *check_arg;
	struct map             by_key; /* READY ones */
	struct signal_accounts addresses, networks, identities;
	struct signal_store    store;
	struct list            unproved; /* in the order of their deadlines */
	size_t                 unproved_count, peer_count;
};

/* limits must outlive it. seed: random, for the tables. */
void signal_state_init(struct signal_state *s, const struct limits *limits, uint64_t seed, signal_token_check check,
                       void *check_arg);
void signal_state_fini(struct signal_state *s); /* every connection has left */

/* What is to be done now. */
struct signal_step {
	enum signal_what {
		SIGNAL_WAIT,       /* nothing */
		SIGNAL_CHALLENGE,  /* draw a nonce, signal_challenged, send it */
		SIGNAL_VERIFY,     /* sig over signal_proof_text of the key and nonce; then signal_proved */
		SIGNAL_REGISTERED, /* it is READY */
		SIGNAL_SEND,       /* dest has one line more in its queue */
		SIGNAL_DROP,       /* the line; why counts it */
		SIGNAL_CLOSE /* this connection, CLOSED by now, without slot and name; why says how it is counted */
	} what;
	enum signal_why     why;
	bool                is_test; /* SEND: of a self test */
	struct signal_conn *dest;
	struct signal_conn *evicted; /* of REGISTERED and CLOSE, when not NULL: it has left already; reset it */
	/* CLOSE for LENGTH or IDENTITY: what was offered as identity, in the line; NULL when that is a token. */
	const uint8_t *offered;
	size_t         offered_len;
	uint8_t        sig[SIGNAL_SIG_BYTES];
};

/*
 * Accepted from this address: takes a slot. network: of an IPv6 address its /48, else NULL. Anything but FINE says why not;
 * nothing is held then.
 */
struct signal_origin {
	const uint8_t *addr, *network; /* SIGNAL_ADDR_BYTES each */
	bool           is_exempt;      /* from all that counts per address */
};
enum signal_why signal_enter(struct signal_state *s, struct signal_conn *c, const struct signal_origin *from,
                             int64_t now_ms);

/* How long its next line may be, with LF. */
size_t signal_line_max(const struct signal_conn *c);

/*
 * A line of it, without LF, of at most that length. Or one that it cannot be told: longer, or with a break in it, or for want of
 * memory. After CLOSED both are ignored.
 */
struct signal_step signal_on_line(struct signal_state *s, struct signal_conn *c, const uint8_t *line, size_t len,
                                  int64_t now_ms);
struct signal_step signal_on_bad_line(struct signal_state *s, struct signal_conn *c, enum signal_why why);

/* The nonce that it is sent; GREETED only. */
void signal_challenged(struct signal_conn *c, const char nonce[SIGNAL_NONCE_CHARS]);

/* The answer to VERIFY; PROVING only. */
struct signal_step signal_proved(struct signal_state *s, struct signal_conn *c, bool is_valid, int64_t now_ms);

/* One whose deadline is over, CLOSED by now; call again. NULL: no more; *next_ms: when to ask again, 0: nobody waits. */
struct signal_conn *signal_on_tick(struct signal_state *s, int64_t now_ms, int64_t *next_ms);

/* It is gone: slot, name and queue are given back. Harmless when it has left already. */
void signal_leave(struct signal_state *s, struct signal_conn *c, int64_t now_ms);

/* A READY one's queue has sent so much (signal_queue_pieces), or is to be sent line by line (signal_queue_take). */
static inline void signal_sent(struct signal_state *s, struct signal_conn *c, size_t bytes)
{
	signal_queue_sent(&c->queue, &s->store, bytes);
}

static inline size_t signal_take(struct signal_state *s, struct signal_conn *c, uint8_t out[SIGNAL_LINE_MAX])
{
	return signal_queue_take(&c->queue, &s->store, out);
}

#endif
