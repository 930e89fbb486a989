/*
 * One direction of a pair of splice: what comes from the one socket is put into the other.
 *
 * It reads only when nothing waits, so at most one helping waits at a time: in a pipe that is borrowed for as long, or, where
 * it was copied, in memory of its size. Large helpings go through a pipe, which saves a third of the work. Small ones are
 * copied: for them the work is the same, no pipe is needed, and packets of a few bytes do not each hold a page of the kernel's.
 * A helping is large or small as the one before it was.
 */
#ifndef NET_SPLICE_FLOW_H
#define NET_SPLICE_FLOW_H

#include "net/splice_pipe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_COPY_BYTES 65536 /* of a helping that is copied */
#define FLOW_BULK_BYTES 16384 /* a helping of so much is large */

/* What each call costs beside the bytes; and after how much others have their turn, which is some tenths of a millisecond. */
#define FLOW_STEP_BYTES 4096
#define FLOW_TURN_BYTES 524288

/* A socket, the end of one flow and the beginning of the other. Whoever watches it says what it can do. */
struct flow_leg {
	int  fd;
	bool can_read, can_write;
};

struct flow {
	struct flow_leg    *from, *to;
	bool                is_bulk;
	bool                is_over; /* the end of the input was passed on */
	struct splice_pipe *pipe;    /* with what waits; NULL: it waits in rest */
	uint8_t            *rest;
	size_t              rest_at, waiting;
	size_t              first_left; /* of what waits so much did not come from the socket */
	uint64_t            bytes;      /* passed on */
	size_t              used;       /* of its turn */
};

/* What the flows of one thread share. */
struct flow_means {
	struct splice_pipes pipes;
	uint8_t            *helping; /* FLOW_COPY_BYTES */
	int64_t             now_ms;
};

enum flow_says {
	FLOW_WAITS, /* for its sockets */
	FLOW_MORE,  /* had its turn, and could go on */
	FLOW_OVER,
	FLOW_BROKEN /* by an error of a socket, or by want of memory */
};

/* False: out of memory. The bytes go out before all others. */
bool flow_init(struct flow *f, struct flow_leg *from, struct flow_leg *to, const uint8_t *first, size_t first_len);

/* What waits is lost. */
void flow_fini(struct flow *f, struct flow_means *m);

/* Passes on what there is, for one turn. Adds to *cost the bytes that went, and something for each call. */
enum flow_says flow_run(struct flow *f, struct flow_means *m, size_t *cost);

#endif
