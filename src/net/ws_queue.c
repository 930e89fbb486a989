#include "net/ws_queue.h"

#include <assert.h>
#include <stdlib.h>

#define BIT(i) (UINT32_C(1) << (i))

#define LARGE_SPARE_MAX 32

static bool is_hole(const struct ws_block *block, uint32_t i)
{
	return block->holes & BIT(i);
}

static bool is_all_holes(const struct ws_block *block)
{
	for (uint32_t i = block->first; i < block->count; i++)
		if (!is_hole(block, i))
			return false;
	return true;
}

void ws_blocks_init(struct ws_blocks *b, size_t spare_max)
{
	*b = (struct ws_blocks){ .spare_max = spare_max };
}

static void free_chain(struct ws_block *block)
{
	while (block) {
		struct ws_block *next = block->next;

		free(block);
		block = next;
	}
}

void ws_blocks_fini(struct ws_blocks *b)
{
	free_chain(b->spare);
	free_chain(b->large);
	*b = (struct ws_blocks){ .spare_max = b->spare_max };
}

static struct ws_block *empty(struct ws_block *block)
{
	block->next  = NULL;
	block->begin = block->end = 0;
	block->first = block->count = 0;
	block->holes                = 0;
	return block;
}

static struct ws_block *take_block(struct ws_blocks *b, size_t bytes)
{
	struct ws_block *block = b->spare;
	size_t           cap   = bytes > WS_BLOCK_BYTES ? bytes : WS_BLOCK_BYTES;

	if (block && cap == WS_BLOCK_BYTES) {
		b->spare = block->next;
		b->spare_count--;
	} else {
		block = malloc(sizeof(*block) + cap);
		if (!block)
			return NULL;
		block->cap = (uint32_t)cap;
	}
	block->is_large = false;
	return empty(block);
}

/* Large ones are asked for in one size. Should that change, the spare ones of the old size go. */
static struct ws_block *take_spare_large(struct ws_blocks *b, size_t bytes)
{
	struct ws_block *block = b->large;

	if (!block)
		return NULL;
	if (block->cap != bytes) {
		free_chain(block);
		b->large       = NULL;
		b->large_count = 0;
		return NULL;
	}
	b->large = block->next;
	b->large_count--;
	return block;
}

struct ws_block *ws_block_take(struct ws_blocks *b, size_t bytes)
{
	struct ws_block *block = take_spare_large(b, bytes);

	if (!block) {
		block = malloc(sizeof(*block) + bytes);
		if (!block)
			return NULL;
		block->cap      = (uint32_t)bytes;
		block->is_large = true;
	}
	return empty(block);
}

static void give_block(struct ws_blocks *b, struct ws_block *block)
{
	if (block->is_large && b->large_count < LARGE_SPARE_MAX && (!b->large || b->large->cap == block->cap)) {
		block->next = b->large;
		b->large    = block;
		b->large_count++;
		return;
	}
	if (block->is_large || block->cap != WS_BLOCK_BYTES || b->spare_count >= b->spare_max) {
		free(block);
		return;
	}
	block->next = b->spare;
	b->spare    = block;
	b->spare_count++;
}

void ws_queue_init(struct ws_queue *q, struct ws_blocks *blocks, const struct ws_queue_limits *limits)
{
	*q = (struct ws_queue){ .blocks = blocks, .limits = limits };
}

static void fini_chain(struct ws_blocks *blocks, struct ws_chain *c)
{
	while (c->head) {
		struct ws_block *block = c->head;

		c->head = block->next;
		give_block(blocks, block);
	}
	*c = (struct ws_chain){ 0 };
}

void ws_queue_fini(struct ws_queue *q)
{
	fini_chain(q->blocks, &q->control);
	fini_chain(q->blocks, &q->datagrams);
	q->begun = NULL;
}

static void append_block(struct ws_chain *c, struct ws_block *block)
{
	if (c->tail)
		c->tail->next = block;
	else
		c->head = block;
	c->tail = block;
}

static uint8_t *put(struct ws_queue *q, struct ws_chain *c, size_t bytes, uint32_t tag, int64_t now_ms)
{
	struct ws_block *block = c->tail;

	if (!block || block->is_large || block->count == WS_BLOCK_FRAMES || block->cap - block->end < bytes) {
		block = take_block(q->blocks, bytes);
		if (!block)
			return NULL;
		append_block(c, block);
	}

	uint8_t *at = block->data + block->end;

	block->marks[block->count++] = (struct ws_frame_mark){ .put_ms = now_ms, .bytes = (uint32_t)bytes, .tag = tag };
	block->end += (uint32_t)bytes;
	c->bytes += bytes;
	c->frames++;
	return at;
}

static bool has_room(const struct ws_queue *q, size_t bytes)
{
	return bytes <= q->limits->control_bytes && q->control.bytes <= q->limits->control_bytes - bytes;
}

void ws_block_free(struct ws_blocks *b, struct ws_block *block)
{
	if (block)
		give_block(b, block);
}

bool ws_block_put(struct ws_queue *q, struct ws_block *block, uint32_t begin, uint32_t end)
{
	uint32_t bytes = end - begin;

	if (!has_room(q, bytes)) {
		give_block(q->blocks, block);
		return false;
	}
	block->begin    = begin;
	block->end      = end;
	block->count    = 1;
	block->marks[0] = (struct ws_frame_mark){ .bytes = bytes };
	append_block(&q->control, block);
	q->control.bytes += bytes;
	q->control.frames++;
	return true;
}

uint8_t *ws_queue_put_control(struct ws_queue *q, size_t bytes)
{
	if (!has_room(q, bytes))
		return NULL;
	return put(q, &q->control, bytes, 0, 0);
}

/* Takes the frames at the head of the chain that are gone, dropped or sent, and the blocks they emptied. */
static void trim(struct ws_queue *q, struct ws_chain *c)
{
	while (c->head) {
		struct ws_block *block = c->head;

		while (block->first < block->count && is_hole(block, block->first)) {
			block->holes &= ~BIT(block->first);
			block->begin += block->marks[block->first++].bytes;
		}
		if (block->first < block->count)
			return;
		c->head = block->next;
		if (!c->head)
			c->tail = NULL;
		give_block(q->blocks, block);
	}
}

static void drop(struct ws_chain *c, struct ws_block *block, uint32_t i)
{
	block->holes |= BIT(i);
	c->bytes -= block->marks[i].bytes;
	c->frames--;
}

/* The first mark of the chain's first block that may be dropped: not the one that is under way. */
static uint32_t first_free(const struct ws_queue *q)
{
	return q->datagrams.head->first + (q->begun == &q->datagrams ? 1 : 0);
}

/* Calls for each datagram that is neither dropped nor under way, oldest first, until pick says stop. */
enum pick { PICK_KEEP, PICK_DROP, PICK_STOP };

struct picking {
	enum pick (*pick)(struct picking *p, const struct ws_frame_mark *m);
	const struct ws_queue *q;
	int64_t                old_ms; /* put before this: too old */
	size_t                 room;   /* bytes wanted for a new one */
	uint32_t               tag;
	size_t                 dropped;
};

/* Unlinks the block after prev (NULL: the first). Returns the one behind it. */
static struct ws_block *unlink_block(struct ws_queue *q, struct ws_chain *c, struct ws_block *prev,
                                     struct ws_block *block)
{
	struct ws_block *next = block->next;

	if (prev)
		prev->next = next;
	else
		c->head = next;
	if (c->tail == block)
		c->tail = prev;
	give_block(q->blocks, block);
	return next;
}

/* False when pick said stop. */
static bool drop_picked_in(struct ws_queue *q, struct ws_block *block, struct picking *p)
{
	bool head = block == q->datagrams.head;

	for (uint32_t i = head ? first_free(q) : block->first; i < block->count; i++) {
		if (is_hole(block, i))
			continue;

		enum pick what = p->pick(p, &block->marks[i]);
		if (what == PICK_STOP)
			return false;
		if (what == PICK_DROP) {
			drop(&q->datagrams, block, i);
			p->dropped++;
		}
	}
	return true;
}

static void drop_picked(struct ws_queue *q, struct picking *p)
{
	struct ws_chain *c    = &q->datagrams;
	struct ws_block *prev = NULL;
	bool             more = true;

	/* A block of holes goes at once: behind a frame that is stuck half way they would pile up for ever. */
	for (struct ws_block *block = c->head; block && more;) {
		more = drop_picked_in(q, block, p);
		if (is_all_holes(block)) {
			block = unlink_block(q, c, prev, block);
		} else {
			prev  = block;
			block = block->next;
		}
	}
	trim(q, c);
}

static enum pick pick_old(struct picking *p, const struct ws_frame_mark *m)
{
	return m->put_ms < p->old_ms ? PICK_DROP : PICK_STOP;
}

size_t ws_queue_drop_old(struct ws_queue *q, int64_t now_ms)
{
	struct picking         p    = { .pick = pick_old, .q = q, .old_ms = now_ms - q->limits->datagram_ms };
	const struct ws_block *head = q->datagrams.head;

	/* Nearly always nothing waits, or even the oldest, under way or not, is young. */
	if (!head || head->marks[head->first].put_ms >= p.old_ms)
		return 0;
	drop_picked(q, &p);
	return p.dropped;
}

static enum pick pick_for_room(struct picking *p, const struct ws_frame_mark *m)
{
	const struct ws_chain        *c = &p->q->datagrams;
	const struct ws_queue_limits *l = p->q->limits;

	(void)m;
	return c->frames >= l->datagram_frames || c->bytes + p->room > l->datagram_bytes ? PICK_DROP : PICK_STOP;
}

uint8_t *ws_queue_put_datagram(struct ws_queue *q, size_t bytes, uint32_t tag, int64_t now_ms,
                               struct ws_dropped *dropped)
{
	struct picking p = { .pick = pick_for_room, .q = q, .room = bytes };

	if (bytes > q->limits->datagram_bytes)
		return NULL;
	dropped->old += ws_queue_drop_old(q, now_ms);
	if (pick_for_room(&p, NULL) == PICK_DROP) {
		drop_picked(q, &p);
		dropped->full += p.dropped;
	}
	return put(q, &q->datagrams, bytes, tag, now_ms);
}

static enum pick pick_tag(struct picking *p, const struct ws_frame_mark *m)
{
	return m->tag == p->tag ? PICK_DROP : PICK_KEEP;
}

size_t ws_queue_drop_tag(struct ws_queue *q, uint32_t tag)
{
	struct picking p = { .pick = pick_tag, .q = q, .tag = tag };

	drop_picked(q, &p);
	return p.dropped;
}

static enum pick pick_all(struct picking *p, const struct ws_frame_mark *m)
{
	(void)p;
	(void)m;
	return PICK_DROP;
}

size_t ws_queue_drop_datagrams(struct ws_queue *q)
{
	struct picking p = { .pick = pick_all, .q = q };

	drop_picked(q, &p);
	return p.dropped;
}

/* Pieces under construction: bytes that lie behind the last piece lengthen it. */
struct gather {
	struct iovec *pieces;
	size_t        used, count;
};

static bool add_piece(struct gather *g, const uint8_t *at, size_t bytes)
{
	if (bytes == 0)
		return true;
	if (g->used > 0) {
		struct iovec *last = &g->pieces[g->used - 1];

		if ((const uint8_t *)last->iov_base + last->iov_len == at) {
			last->iov_len += bytes;
			return true;
		}
	}
	if (g->used == g->count)
		return false;
	g->pieces[g->used++] = (struct iovec){ .iov_base = (void *)(uintptr_t)at, .iov_len = bytes };
	return true;
}

static bool add_block(struct gather *g, const struct ws_block *block, uint32_t skip_frames, size_t skip_bytes)
{
	const uint8_t *at = block->data + block->begin + skip_bytes;

	if (block->holes == 0)
		return add_piece(g, at, block->end - block->begin - skip_bytes);
	for (uint32_t i = block->first + skip_frames; i < block->count; i++) {
		const struct ws_frame_mark *m = &block->marks[i];

		if (!is_hole(block, i) && !add_piece(g, at, m->bytes))
			return false;
		at += m->bytes;
	}
	return true;
}

size_t ws_queue_pieces(const struct ws_queue *q, struct iovec *pieces, size_t count)
{
	const struct ws_chain *order[] = { &q->control, &q->datagrams };
	struct gather          g       = { .pieces = pieces, .count = count };

	if (q->begun) {
		const struct ws_block *block = q->begun->head;
		uint32_t               left  = block->marks[block->first].bytes - q->begun_bytes;

		if (!add_piece(&g, block->data + block->begin + q->begun_bytes, left))
			return g.used;
	}
	for (size_t i = 0; i < 2; i++)
		for (const struct ws_block *block = order[i]->head; block; block = block->next) {
			bool begun = q->begun == order[i] && block == order[i]->head;

			if (!add_block(&g, block, begun ? 1 : 0, begun ? block->marks[block->first].bytes : 0))
				return g.used;
		}
	return g.used;
}

/* All or a part of the first frame of the chain has left. Returns the bytes that are left over for the next. */
static size_t frame_sent(struct ws_queue *q, struct ws_chain *c, size_t bytes)
{
	struct ws_block *block   = c->head;
	uint32_t         whole   = block->marks[block->first].bytes;
	uint32_t         already = q->begun == c ? q->begun_bytes : 0;

	if (bytes < whole - already) {
		q->begun       = c;
		q->begun_bytes = already + (uint32_t)bytes;
		c->bytes -= bytes;
		return 0;
	}
	q->begun = NULL;
	block->begin += whole;
	block->first++;
	c->bytes -= whole - already;
	c->frames--;
	trim(q, c);
	return bytes - (whole - already);
}

/* The whole chain has left: what nearly every send comes to. */
static size_t chain_sent(struct ws_queue *q, struct ws_chain *c, size_t bytes)
{
	bytes -= c->bytes;
	fini_chain(q->blocks, c);
	return bytes;
}

static size_t sent_from(struct ws_queue *q, struct ws_chain *c, size_t bytes)
{
	if (!q->begun && bytes >= c->bytes)
		return chain_sent(q, c, bytes);
	while (bytes > 0 && c->head)
		bytes = frame_sent(q, c, bytes);
	return bytes;
}

void ws_queue_sent(struct ws_queue *q, size_t bytes)
{
	assert(bytes <= ws_queue_bytes(q));
	if (q->begun && bytes > 0)
		bytes = frame_sent(q, q->begun, bytes);
	if (bytes > 0)
		bytes = sent_from(q, &q->control, bytes);
	if (bytes > 0)
		bytes = sent_from(q, &q->datagrams, bytes);
	assert(bytes == 0);
}
