/*
 * A splice on a loop of its own, and streams through it: the test has the two outer ends of each.
 *
 *	static struct splice_fixture f;
 *	struct splice_stream         s;
 *
 *	splice_fixture_init(&f);
 *	splice_fixture_start(&f);
 *	splice_stream_open(&s, &f, 0);
 *	... what is sent to s.ends[0] comes out of s.ends[1] ...
 *	splice_stream_close(&s);
 *	splice_fixture_stop(&f);
 */
#ifndef TESTS_SPLICE_FIXTURE_H
#define TESTS_SPLICE_FIXTURE_H

#include "net/splice.h"
#include "support/loop_thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct splice_fixture {
	struct loop_thread on;
	struct splice     *splice;
	int                listener, port;
	size_t             pipe_ends; /* of others, before there was a splice */
	_Atomic size_t     begun, ended;
	_Atomic size_t     turns;         /* of the loop */
	_Atomic size_t     bytes_at_once; /* the most in one turn */
	uint64_t           bytes;         /* up to the last turn */
	struct loop_flush  flush;
};

struct splice_stream {
	int            ends[2]; /* of the test */
	int            legs[2]; /* of the splice, once it has begun: to look at them only */
	_Atomic size_t ended;   /* how often */
	uint64_t       bytes;   /* that it was told then */

	struct splice_fixture *fixture;
};

void splice_fixture_init(struct splice_fixture *f);
void splice_fixture_start(struct splice_fixture *f);

/* Has the splice stop; what it says then is there when this returns. */
void splice_fixture_stop_streams(struct splice_fixture *f);

/* Ends all and looks whether each stream was told of its end, once. Also when the first of that was done before. */
void splice_fixture_stop(struct splice_fixture *f);

/* Four connected sockets; the ends with a receive buffer as in dial_tcp. */
void splice_stream_dial(struct splice_stream *s, struct splice_fixture *f, int rcvbuf_bytes);

/* Gives the legs to the splice. first[i] is for the end i; NULL: none. */
enum err splice_stream_begin(struct splice_stream *s, const uint8_t *const first[2], const size_t first_len[2]);

/* Both, without first bytes; asserted. */
void splice_stream_open(struct splice_stream *s, struct splice_fixture *f, int rcvbuf_bytes);

/* The ends, as far as they are not closed (-1). */
void splice_stream_close(struct splice_stream *s);

/* Bytes that no two places far from each other have in common: those from at on, SPLICE_BYTES_MAX of them at least. */
#define SPLICE_BYTES_MAX 262144
const uint8_t *splice_bytes_at(uint64_t at);

/* A stretch of those bytes on its way from one end to the other. */
struct splice_lane {
	int      from, to;
	uint64_t total;          /* then the end of the output follows, unless stays_open */
	uint64_t sent, received; /* so far */
	uint32_t random;         /* seed of the sizes of what is sent and received at a time; 0: as much as goes */
	bool     stays_open;
	bool     is_over; /* all came, and the end after it */
};

/* Sends on all of them until all buffers are full and nothing moves any more: nobody reads. */
void splice_lanes_fill(struct splice_fixture *f, struct splice_lane *lanes, size_t count);

/* Sends and receives on all of them at once until they are over; what comes is looked at. */
void splice_lanes_run(struct splice_lane *lanes, size_t count);

/* What one direction of a stream holds, which is no socket's: asked when nothing moves. */
int64_t splice_lane_held(const struct splice_stream *s, const struct splice_lane *l);

/* Open descriptors of this process; and those that are of pipes which were not there at the fixture's beginning. */
size_t splice_count_descriptors(void);
size_t splice_count_pipe_ends(const struct splice_fixture *f);

#endif
