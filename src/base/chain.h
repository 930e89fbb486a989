/*
 * Bytes that wait, first in, first out, in a chain of small blocks: a queue takes no more memory than what waits in it. Pure.
 *
 *	[ ..begin=======] -> [===============] -> [====end..... ]
 */
#ifndef BASE_CHAIN_H
#define BASE_CHAIN_H

#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define CHAIN_BLOCK_BYTES 4080 /* with its link and what malloc adds, just under a page */

struct chain_block;

struct chain { /* all zeros: empty */
	struct chain_block *head, *tail;
	size_t              begin, end; /* in head; in tail */
	size_t              bytes;
};

/* The blocks of any number of chains. For pool_fini. */
void chain_blocks_init(struct pool *blocks);

/* Adds all the pieces, or, when out of memory, nothing. */
bool chain_put(struct chain *c, struct pool *blocks, const struct iovec *pieces, size_t count);

/* The next bytes, in at most count pieces that stay valid until the chain changes. Returns the pieces used. */
size_t chain_pieces(const struct chain *c, struct iovec *pieces, size_t count);

/* So many of them, at most c->bytes, have left. */
void chain_drop(struct chain *c, struct pool *blocks, size_t bytes);

/* All of them. */
void chain_clear(struct chain *c, struct pool *blocks);

#endif
