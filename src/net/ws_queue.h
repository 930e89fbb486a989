/*
 * What waits to be sent on one connection, as whole frames. Pure: no socket, and the caller says what time it is.
 *
 * Two chains of blocks: control frames, which are never dropped, and datagrams, of which the oldest go when there are
 * too many, too many bytes, or when they have waited too long. On the wire control frames go first; but a frame of
 * which a part has left is finished before anything else, and is never dropped.
 *
 *	chain -> block -> block -> block		a block: frames one behind the other, and what is known of each
 *
 * Blocks come from a store that keeps some for the next taker, so that the usual turn of the loop allocates nothing and
 * a connection with nothing to send holds nothing.
 */
#ifndef NET_WS_QUEUE_H
#define NET_WS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define WS_BLOCK_FRAMES 32
#define WS_BLOCK_BYTES  3520 /* of frames, in a usual block; all of it takes just under a page */

struct ws_frame_mark {
	int64_t  put_ms;
	uint32_t bytes;
	uint32_t tag;
};

struct ws_block {
	struct ws_block     *next;
	uint32_t             cap;          /* bytes of data */
	uint32_t             begin, end;   /* data between belongs to the marks between first and count */
	uint32_t             first, count; /* marks before first have left */
	bool                 is_large;     /* holds one frame; see ws_block_take */
	uint32_t             holes; /* a bit for each mark from first on that was dropped: its bytes are passed over */
	struct ws_frame_mark marks[WS_BLOCK_FRAMES];
	uint8_t              data[];
};

/* Spare blocks, shared by all queues of one thread. */
struct ws_blocks {
	struct ws_block *spare;
	size_t           spare_count, spare_max;
	struct ws_block *large; /* spare ones of those taken one by one, all of one size */
	size_t           large_count;
};

struct ws_chain {
	struct ws_block *head, *tail;
	size_t           bytes, frames; /* still to be sent, without the dropped ones */
};

struct ws_queue_limits {
	size_t  control_bytes;
	size_t  datagram_bytes, datagram_frames;
	int64_t datagram_ms;
};

struct ws_queue {
	struct ws_blocks             *blocks;
	const struct ws_queue_limits *limits;
	struct ws_chain               control, datagrams;
	struct ws_chain              *begun;       /* the chain whose first frame has left in part; NULL: none */
	uint32_t                      begun_bytes; /* of that frame, that have left */
};

struct ws_dropped {
	size_t full, old; /* frames */
};

void ws_blocks_init(struct ws_blocks *b, size_t spare_max);
void ws_blocks_fini(struct ws_blocks *b);

/* Takes no memory. Both must outlive the queue. */
void ws_queue_init(struct ws_queue *q, struct ws_blocks *blocks, const struct ws_queue_limits *limits);
void ws_queue_fini(struct ws_queue *q);

/* Bytes still to be sent. */
static inline size_t ws_queue_bytes(const struct ws_queue *q)
{
	return q->control.bytes + q->datagrams.bytes;
}

/*
 * A block of one's own, for a large frame that is made elsewhere and not copied: any thread may fill its data. NULL: out of
 * memory. ws_block_put puts it behind the control frames as one frame, data from begin to end, and owns it from then on;
 * false: over the limit, and it is freed. ws_block_free is for one that is not wanted any more.
 */
struct ws_block *ws_block_take(struct ws_blocks *b, size_t bytes);
void             ws_block_free(struct ws_blocks *b, struct ws_block *block);
bool             ws_block_put(struct ws_queue *q, struct ws_block *block, uint32_t begin, uint32_t end);

/*
 * Room for one frame of exactly so many bytes, which the caller fills before the next call. NULL: over the limit of the
 * chain (control), longer than the whole limit (datagram), or out of memory. A datagram first makes room for itself by
 * dropping older ones, counted in *dropped.
 */
uint8_t *ws_queue_put_control(struct ws_queue *q, size_t bytes);
uint8_t *ws_queue_put_datagram(struct ws_queue *q, size_t bytes, uint32_t tag, int64_t now_ms,
                               struct ws_dropped *dropped);

/* Drops datagrams that have waited too long. Returns how many. */
size_t ws_queue_drop_old(struct ws_queue *q, int64_t now_ms);

/* Drops the datagrams of this tag; all of them. Returns how many. */
size_t ws_queue_drop_tag(struct ws_queue *q, uint32_t tag);
size_t ws_queue_drop_datagrams(struct ws_queue *q);

/*
 * The next bytes to send, in order, in at most count pieces. Returns the pieces used; they are valid until the next call
 * that changes the queue.
 */
size_t ws_queue_pieces(const struct ws_queue *q, struct iovec *pieces, size_t count);

/* So many of those bytes have left. */
void ws_queue_sent(struct ws_queue *q, size_t bytes);

#endif
