/*
 * What waits for one peer: whole lines, oldest first, "sender SP payload LF". Pure.
 *
 * One sender has a share of the queue only, and so have all senders of one address together; beside the queue there is a
 * place for one self test of the peer's own, which therefore always finds its way. Bytes lie in a chain of small blocks, so
 * a queue takes no more memory than what waits in it (base/chain).
 *
 *	marks	[ sender, address, length ] -> [ ... ]			one per line
 *	blocks	[ ..begin=======] -> [===============] -> [====end..... ]	the bytes of all of them
 */
#ifndef SIGNAL_SIGNAL_QUEUE_STATE_H
#define SIGNAL_SIGNAL_QUEUE_STATE_H

#include "base/chain.h"
#include "base/list.h"
#include "base/pool.h"
#include "conf/limits.h"
#include "signal/signal_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNAL_ADDR_BYTES 16

/* The memory and the limits of all queues. */
struct signal_store {
	struct pool blocks, marks;
	size_t      frames_max, bytes_max;
	size_t      share_frames, share_bytes;
};

struct signal_queue {
	struct list  marks;
	size_t       frames, bytes; /* without what lies in the place of its own */
	bool         has_reserved;  /* a self test lies there */
	size_t       begun;         /* bytes of the oldest line that have left */
	struct chain chain;         /* all lines, as far as they are still to be sent */
};

/* Who sends. */
struct signal_sender {
	uint8_t key[SIGNAL_KEY_BYTES];
	uint8_t addr[SIGNAL_ADDR_BYTES];
	bool    is_exempt; /* there is no share of its address */
};

enum signal_put { SIGNAL_PUT, SIGNAL_PUT_FULL, SIGNAL_PUT_SHARE };

void signal_store_init(struct signal_store *store, const struct limits *limits);
void signal_store_fini(struct signal_store *store);

void signal_queue_init(struct signal_queue *q);
void signal_queue_clear(struct signal_queue *q, struct signal_store *store);

/* Adds a line, or does not; FULL also when out of memory. is_test: a self test of the queue's owner. */
enum signal_put signal_queue_put(struct signal_queue *q, struct signal_store *store, const struct signal_sender *from,
                                 const uint8_t *payload, size_t len, bool is_test);

bool signal_queue_is_empty(const struct signal_queue *q);

/* The next bytes, in at most count pieces that stay valid until the queue changes. Returns the pieces used. */
size_t signal_queue_pieces(const struct signal_queue *q, struct iovec *pieces, size_t count);
/* So many of them have left. */
void signal_queue_sent(struct signal_queue *q, struct signal_store *store, size_t bytes);

/*
 * The other way to send: takes out the oldest line, whole, without its LF, and returns its length. Not empty, and nothing of
 * it was sent.
 */
size_t signal_queue_take(struct signal_queue *q, struct signal_store *store, uint8_t out[SIGNAL_LINE_MAX]);

#endif
