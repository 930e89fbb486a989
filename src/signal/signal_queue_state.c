#include "signal/signal_queue_state.h"

#include <assert.h>
#include <string.h>

#define PERCENT 100

struct mark {
	struct list in;
	uint32_t    len;
	bool        is_reserved; /* lies in the place for a self test */
	uint8_t     sender[SIGNAL_KEY_BYTES], addr[SIGNAL_ADDR_BYTES];
};

/* Setting up */

static size_t share_of(int64_t all, int64_t percent, size_t least)
{
	size_t share = (size_t)all * (size_t)percent / PERCENT;

	return share > least ? share : least;
}

void signal_store_init(struct signal_store *store, const struct limits *l)
{
	/* The queues' own limits bound both, and the number of peers does. */
	chain_blocks_init(&store->blocks);
	pool_init(&store->marks, sizeof(struct mark), SIZE_MAX);
	store->frames_max   = (size_t)l->signal_queue_frames;
	store->bytes_max    = (size_t)l->signal_queue_bytes;
	store->share_frames = share_of(l->signal_queue_frames, l->signal_share_percent, 1);
	store->share_bytes  = share_of(l->signal_queue_bytes, l->signal_share_percent, SIGNAL_LINE_MAX);
}

void signal_store_fini(struct signal_store *store)
{
	pool_fini(&store->blocks);
	pool_fini(&store->marks);
}

void signal_queue_init(struct signal_queue *q)
{
	*q = (struct signal_queue){ 0 };
	list_init(&q->marks);
}

/* Shares */

struct held {
	size_t frames, bytes;
};

static bool is_over(const struct signal_store *store, struct held held, size_t len)
{
	return held.frames + 1 > store->share_frames || held.bytes + len > store->share_bytes;
}

/* With so little in the queue, nobody can have more than his share; that is the usual case. */
static bool is_under_any_share(const struct signal_queue *q, const struct signal_store *store, size_t len)
{
	return !is_over(store, (struct held){ q->frames, q->bytes }, len);
}

static bool keeps_share(const struct signal_queue *q, const struct signal_store *store,
                        const struct signal_sender *from, size_t len)
{
	struct held sender = { 0 }, addr = { 0 };

	if (is_under_any_share(q, store, len))
		return true;
	for (struct list *at = q->marks.next; at != &q->marks; at = at->next) {
		const struct mark *m = CONTAINER(at, struct mark, in);

		if (m->is_reserved)
			continue;
		if (memcmp(m->sender, from->key, sizeof(m->sender)) == 0) {
			sender.frames++;
			sender.bytes += m->len;
		}
		if (memcmp(m->addr, from->addr, sizeof(m->addr)) == 0) {
			addr.frames++;
			addr.bytes += m->len;
		}
	}
	return !is_over(store, sender, len) && (from->is_exempt || !is_over(store, addr, len));
}

static enum signal_put admit(const struct signal_queue *q, const struct signal_store *store,
                             const struct signal_sender *from, size_t len)
{
	if (q->frames + 1 > store->frames_max || q->bytes + len > store->bytes_max)
		return SIGNAL_PUT_FULL;
	return keeps_share(q, store, from, len) ? SIGNAL_PUT : SIGNAL_PUT_SHARE;
}

/* Lines */

static struct mark *make_mark(struct signal_store *store, const struct signal_sender *from, size_t len,
                              bool is_reserved)
{
	struct mark *m = pool_take(&store->marks);

	if (!m)
		return NULL;
	m->len         = (uint32_t)len;
	m->is_reserved = is_reserved;
	memcpy(m->sender, from->key, sizeof(m->sender));
	memcpy(m->addr, from->addr, sizeof(m->addr));
	return m;
}

static void enter(struct signal_queue *q, struct mark *m)
{
	list_append(&q->marks, &m->in);
	if (m->is_reserved) {
		q->has_reserved = true;
	} else {
		q->frames++;
		q->bytes += m->len;
	}
}

/* The oldest line is gone. */
static void leave(struct signal_queue *q, struct signal_store *store, struct mark *m)
{
	list_remove(&m->in);
	if (m->is_reserved) {
		q->has_reserved = false;
	} else {
		q->frames--;
		q->bytes -= m->len;
	}
	q->begun = 0;
	pool_give(&store->marks, m);
}

enum signal_put signal_queue_put(struct signal_queue *q, struct signal_store *store, const struct signal_sender *from,
                                 const uint8_t *payload, size_t len, bool is_test)
{
	size_t          bytes = SIGNAL_IDENTITY_CHARS + 1 + len + 1;
	enum signal_put may   = admit(q, store, from, bytes);
	bool            aside = may != SIGNAL_PUT && is_test && !q->has_reserved;
	char            name[SIGNAL_IDENTITY_CHARS + 1], end[] = "\n";

	assert(bytes <= SIGNAL_LINE_MAX);
	if (may != SIGNAL_PUT && !aside)
		return may;

	struct mark *m        = make_mark(store, from, bytes, aside);
	struct iovec pieces[] = { { name, sizeof(name) }, { (void *)(uintptr_t)payload, len }, { end, 1 } };

	if (!m)
		return SIGNAL_PUT_FULL;
	signal_identity(name, from->key);
	name[SIGNAL_IDENTITY_CHARS] = ' ';
	if (!chain_put(&q->chain, &store->blocks, pieces, COUNT_OF(pieces))) {
		pool_give(&store->marks, m);
		return SIGNAL_PUT_FULL;
	}
	enter(q, m);
	return SIGNAL_PUT;
}

static struct mark *oldest(const struct signal_queue *q)
{
	return CONTAINER(q->marks.next, struct mark, in);
}

bool signal_queue_is_empty(const struct signal_queue *q)
{
	return list_is_empty(&q->marks);
}

size_t signal_queue_pieces(const struct signal_queue *q, struct iovec *pieces, size_t count)
{
	return chain_pieces(&q->chain, pieces, count);
}

void signal_queue_sent(struct signal_queue *q, struct signal_store *store, size_t bytes)
{
	chain_drop(&q->chain, &store->blocks, bytes);
	while (bytes > 0) {
		struct mark *m    = oldest(q);
		size_t       left = m->len - q->begun;

		if (bytes < left) {
			q->begun += bytes;
			return;
		}
		bytes -= left;
		leave(q, store, m);
	}
}

size_t signal_queue_take(struct signal_queue *q, struct signal_store *store, uint8_t out[SIGNAL_LINE_MAX])
{
	size_t       len = oldest(q)->len, at = 0;
	struct iovec piece;

	assert(q->begun == 0);
	while (at < len && signal_queue_pieces(q, &piece, 1) == 1) {
		size_t n = len - at < piece.iov_len ? len - at : piece.iov_len;

		memcpy(out + at, piece.iov_base, n);
		at += n;
		chain_drop(&q->chain, &store->blocks, n);
	}
	leave(q, store, oldest(q));
	return len - 1;
}

void signal_queue_clear(struct signal_queue *q, struct signal_store *store)
{
	while (!list_is_empty(&q->marks))
		leave(q, store, oldest(q));
	chain_clear(&q->chain, &store->blocks);
	signal_queue_init(q);
}
