/*
 * Each record is its length in 4 bytes, then its bytes; both run over the end of the memory and on from its start.
 */
#include "base/ring.h"

#include <assert.h>
#include <string.h>

void ring_init(struct ring *r, void *mem, size_t cap)
{
	*r = (struct ring){ .mem = mem, .cap = cap };
}

static void append(struct ring *r, const void *data, size_t len)
{
	size_t at   = (r->first + r->used) % r->cap;
	size_t head = r->cap - at < len ? r->cap - at : len;

	memcpy(r->mem + at, data, head);
	if (len > head)
		memcpy(r->mem, (const uint8_t *)data + head, len - head);
	r->used += len;
}

static void remove_first(struct ring *r, void *out, size_t len)
{
	size_t head = r->cap - r->first < len ? r->cap - r->first : len;

	memcpy(out, r->mem + r->first, head);
	if (len > head)
		memcpy((uint8_t *)out + head, r->mem, len - head);
	r->first = (r->first + len) % r->cap;
	r->used -= len;
}

bool ring_put(struct ring *r, const void *data, size_t len)
{
	uint32_t record_len = (uint32_t)len;
	size_t   left       = r->cap - r->used;

	static_assert(sizeof(record_len) == RING_RECORD_BYTES, "the header says how much a record takes");
	assert(record_len == len);
	if (left < RING_RECORD_BYTES || left - RING_RECORD_BYTES < len)
		return false;
	append(r, &record_len, sizeof(record_len));
	append(r, data, len);
	return true;
}

bool ring_take(struct ring *r, void *out, size_t cap, size_t *len)
{
	uint32_t record_len;

	if (r->used == 0)
		return false;
	remove_first(r, &record_len, sizeof(record_len));
	assert(record_len <= cap);
	remove_first(r, out, record_len);
	*len = record_len;
	return true;
}
