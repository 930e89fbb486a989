/*
 * The connections of an HTTP server: who has a slot, until when, and who must go when slots are short.
 *
 *	     first line            whole request          answer ready
 *	IDLE ----------> READING ----------------> WORKING --------------> ANSWERING ----> IDLE
 *	                    |                       ^   |                     ^   \_______> LINGERING
 *	                    |    body over, refused |   | body accepted,      |
 *	                    |                       |   v answer is a stream  |
 *	                    |                      TRANSFER ------------------|----------> IDLE
 *	                    \_____________ refused at its head ______________/
 *
 *	request broken off:                  READING, WORKING, TRANSFER or ANSWERING ----> IDLE
 *	deadline, pushed out, or the server stops:    each, but WORKING has no deadline -> CUT
 *
 * A connection begins in READING, so that one deadline holds from accept to the end of the first request. Deadlines are
 * total: a byte now and then moves none of them. But a TRANSFER has all the time it needs while at least rate bytes/s
 * move, looked at every rate_ms; what our own side takes for a piece of it (http_table_hold) is not held against the
 * peer. A CUT connection has no slot any more, and its socket was shut down; the thread that serves it notices and ends.
 *
 * When all slots are taken, a newcomer gets the one of a connection without a complete request: an idle one first (its
 * client loses nothing), then one of the address that has most, and the oldest among equals. So whoever fills the
 * server with slow requests pushes out himself. A begun request does not go for an address that has more than its own.
 *
 * When every request is complete, an answer goes that has been on its way for push_ms: its client does not read, or
 * reads too slowly for a server that is full. An address with n times as many as the newcomer's has an n-th of that
 * time. Again it is one of the address that has most, and the oldest answer among
 * equals. When there is none of these either, the newcomer goes. An address that has as many as one may have pushes out
 * no answer of its own: its newcomer goes. Otherwise an answer nobody reads would be replaced the moment it may be pushed
 * out, and those who come back without end would leave none for anybody else.
 *
 * A connection counts for its peer. Behind a proxy that is nobody, so once a head names the client, the connection is
 * the client's, in his limit and when somebody has to go, until it is IDLE again or the next head names another.
 *
 * Any thread may call any of these.
 */
#ifndef NET_HTTP_TABLE_H
#define NET_HTTP_TABLE_H

#include "base/err.h"
#include "base/list.h"
#include "net/addr.h"
#include "net/ban.h"
#include "net/http_share.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_phase {
	HTTP_IDLE,
	HTTP_READING,
	HTTP_WORKING,
	HTTP_TRANSFER,
	HTTP_ANSWERING,
	HTTP_LINGERING,
	HTTP_CUT,
	HTTP_PHASE_COUNT
};

/* A part of the caller's own struct for the connection; id, peer and fd may be read, the rest is the table's. */
struct http_slot {
	struct list       in;
	uint64_t          id;       /* for logs; never used twice in a process */
	struct addr       peer;     /* of TCP, not behind the proxy */
	bool              is_named; /* counts for a client behind the proxy */
	struct addr       client;   /* of the request, by its head; of no family: none is known */
	bool              has_player;
	uint8_t           player[BAN_PLAYER_BYTES]; /* whose request it is */
	int               fd;                       /* the library's; open until http_table_leave */
	enum http_phase   phase;
	int64_t           since_ms;    /* monotonic; when the phase began */
	int64_t           deadline_ms; /* 0: none */
	struct http_share share;       /* none once CUT */

	/* Of a TRANSFER. */
	uint64_t moved, mark; /* bytes up to now; and when the time began that ends at deadline_ms */
	int64_t  held_ms;
	bool     is_outgoing;
	bool     is_held; /* our side is at work since held_ms */
	bool     is_slow; /* that is why it was CUT */
};

struct http_table_config {
	const char             *name; /* in logs */
	size_t                  slots_max;
	size_t                  per_address_max; /* 0: no limit; 8 times as many per /48 of IPv6 */
	const struct addr_nets *unlimited;       /* addresses that per_address_max is not for */
	int64_t                 request_ms, idle_ms;
	int64_t                 push_ms;       /* after which an answer on its way may be pushed out */
	int64_t                 rate, rate_ms; /* of transfers; bytes/s, measured over rate_ms */
};

struct http_table {
	struct http_table_config cfg;
	pthread_mutex_t          lock;
	pthread_cond_t           wake;    /* for the sweeper: there is something to look at, or it must end */
	pthread_cond_t           settled; /* for http_table_stop: one less is running */
	pthread_t                sweeper;
	bool                     asleep; /* the sweeper waits for wake, however long it takes */
	struct list              slots;  /* from the oldest to the newest, the CUT ones too */
	struct http_shares       shares;
	size_t                   taken;   /* slots in use */
	size_t                   running; /* WORKING, TRANSFER or ANSWERING */
	bool                     stopping, ended;
};

/* Starts the thread that looks at the deadlines. cfg is copied, what it points to must outlive the table. */
enum err http_table_init(struct http_table *t, const struct http_table_config *cfg);
void     http_table_fini(struct http_table *t); /* all connections must have left */

/*
 * A connection was accepted: it gets a slot or is CUT at once. False only when it is CUT. http_table_leave is due in
 * either case, before the socket is closed.
 */
bool http_table_enter(struct http_table *t, struct http_slot *s, int fd, const struct addr *peer);
void http_table_leave(struct http_table *t, struct http_slot *s);

/* The first line of a request came. */
void http_table_hear(struct http_table *t, struct http_slot *s);

/*
 * The head of a request names its client, behind whatever proxy. False: he, or his /48, has more than he may have with
 * this one, which is to be refused. It counts for him until it is closed.
 */
bool http_table_name(struct http_table *t, struct http_slot *s, const struct addr *client);

/* The request is this player's, until the connection is IDLE again. */
void http_table_set_player(struct http_table *t, struct http_slot *s, const uint8_t id[BAN_PLAYER_BYTES]);

/* How many connections this ban is meant for; with end, they are CUT. */
size_t http_table_ban(struct http_table *t, const struct ban *b, bool end);

/* Moves on, with the deadline of the new phase. False when the connection is CUT: nothing need be done for it. */
bool http_table_move(struct http_table *t, struct http_slot *s, enum http_phase to);

/* WORKING becomes TRANSFER, of a body that comes or goes out. False as above. */
bool http_table_begin_transfer(struct http_table *t, struct http_slot *s, bool is_outgoing);

/* Around what our side does with a piece of a transfer: until http_table_pass, the peer is not the one who waits. */
void http_table_hold(struct http_table *t, struct http_slot *s);
void http_table_pass(struct http_table *t, struct http_slot *s, size_t bytes);

/* Whether the connection was CUT because its transfer was too slow. */
bool http_table_is_slow(struct http_table *t, struct http_slot *s);

/* Looks at all deadlines now. */
void http_table_sweep(struct http_table *t);

/*
 * Cuts what does not run, and waits at most wait_ms of real time for the rest, each of which is cut when it ends. No
 * slot is given any more.
 */
void http_table_stop(struct http_table *t, int64_t wait_ms);

#endif
