#include "base/chain.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

struct chain_block {
	struct chain_block *next;
	uint8_t             bytes[CHAIN_BLOCK_BYTES];
};

void chain_blocks_init(struct pool *blocks)
{
	pool_init(blocks, sizeof(struct chain_block), SIZE_MAX); /* the chains' owners have bounds */
}

/* Bytes in the oldest block. */
static size_t in_head(const struct chain *c)
{
	return (c->head == c->tail ? c->end : CHAIN_BLOCK_BYTES) - c->begin;
}

static size_t free_in_tail(const struct chain *c)
{
	return c->tail ? CHAIN_BLOCK_BYTES - c->end : 0;
}

static void give_blocks(struct pool *blocks, struct chain_block *first)
{
	struct chain_block *next;

	for (; first; first = next) {
		next = first->next;
		pool_give(blocks, first);
	}
}

/* Empty blocks for so many bytes more than fit into the last one. False: out of memory. */
static bool take_blocks(struct chain_block **out, const struct chain *c, struct pool *blocks, size_t bytes)
{
	struct chain_block *first = NULL;

	for (size_t have = free_in_tail(c); have < bytes; have += CHAIN_BLOCK_BYTES) {
		struct chain_block *block = pool_take(blocks);

		if (!block) {
			give_blocks(blocks, first);
			return false;
		}
		block->next = first;
		first       = block;
	}
	*out = first;
	return true;
}

static void link_block(struct chain *c, struct chain_block **from)
{
	struct chain_block *block = *from;

	assert(block); /* take_blocks has counted */
	*from       = block->next;
	block->next = NULL;
	if (c->tail)
		c->tail->next = block;
	else
		c->head = block;
	c->tail = block;
	c->end  = 0;
}

/* Writes behind the last byte; goes on in these blocks. */
static void append(struct chain *c, struct chain_block **more, const void *data, size_t len)
{
	const uint8_t *from = data;

	c->bytes += len;
	while (len > 0) {
		if (free_in_tail(c) == 0)
			link_block(c, more);

		size_t n = len < free_in_tail(c) ? len : free_in_tail(c);

		memcpy(c->tail->bytes + c->end, from, n);
		c->end += n;
		from += n;
		len -= n;
	}
}

bool chain_put(struct chain *c, struct pool *blocks, const struct iovec *pieces, size_t count)
{
	struct chain_block *more;
	size_t              bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += pieces[i].iov_len;
	if (!take_blocks(&more, c, blocks, bytes))
		return false;
	for (size_t i = 0; i < count; i++)
		append(c, &more, pieces[i].iov_base, pieces[i].iov_len);
	return true;
}

size_t chain_pieces(const struct chain *c, struct iovec *pieces, size_t count)
{
	size_t used = 0, begin = c->begin;

	for (struct chain_block *b = c->head; b && used < count; b = b->next) {
		size_t end = b == c->tail ? c->end : CHAIN_BLOCK_BYTES;

		pieces[used++] = (struct iovec){ .iov_base = b->bytes + begin, .iov_len = end - begin };
		begin          = 0;
	}
	return used;
}

static void drop_head(struct chain *c, struct pool *blocks)
{
	struct chain_block *head = c->head;

	c->head  = head->next;
	c->begin = 0;
	if (!c->head)
		c->tail = NULL;
	pool_give(blocks, head);
}

void chain_drop(struct chain *c, struct pool *blocks, size_t bytes)
{
	assert(bytes <= c->bytes);
	c->bytes -= bytes;
	while (bytes > 0) {
		size_t n = bytes < in_head(c) ? bytes : in_head(c);

		c->begin += n;
		bytes -= n;
		if (in_head(c) == 0)
			drop_head(c, blocks);
	}
}

void chain_clear(struct chain *c, struct pool *blocks)
{
	give_blocks(blocks, c->head);
	*c = (struct chain){ 0 };
}
