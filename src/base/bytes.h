/*
 * Readers and writers over bytes: how every wire format is read and built.
 *
 * Both remember failure, so a codec runs straight through and asks once at the end. A failed reader gives zeros and
 * NULL; a failed writer writes nothing more. Integers are little endian unless the name ends in be.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rd {
	const uint8_t *at, *end;
	bool           failed;
};

static inline struct rd rd_over(const void *data, size_t len)
{
	return (struct rd){ .at = data, .end = len ? (const uint8_t *)data + len : data };
}

static inline size_t rd_left(const struct rd *r)
{
	return r->failed ? 0 : (size_t)(r->end - r->at);
}

/* The next n bytes, inside the data (no copy); NULL and failed when there are fewer. */
static inline const uint8_t *rd_bytes(struct rd *r, size_t n)
{
	if (r->failed || (size_t)(r->end - r->at) < n) {
		r->failed = true;
		return NULL;
	}
	const uint8_t *p = r->at;
	r->at += n;
	return p;
}

/* Copies the next n bytes to out; zeros when there are fewer. */
static inline void rd_copy(struct rd *r, void *out, size_t n)
{
	const uint8_t *p = rd_bytes(r, n);

	if (p)
		memcpy(out, p, n);
	else
		memset(out, 0, n);
}

static inline uint64_t rd_le(struct rd *r, size_t n)
{
	const uint8_t *p = rd_bytes(r, n);
	uint64_t       v = 0;

	for (size_t i = p ? n : 0; i > 0; i--)
		v = v << 8 | p[i - 1];
	return v;
}

static inline uint64_t rd_be(struct rd *r, size_t n)
{
	const uint8_t *p = rd_bytes(r, n);
	uint64_t       v = 0;

	for (size_t i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static inline uint8_t rd_u8(struct rd *r)
{
	return (uint8_t)rd_le(r, 1);
}

static inline uint16_t rd_u16(struct rd *r)
{
	return (uint16_t)rd_le(r, 2);
}

static inline uint32_t rd_u32(struct rd *r)
{
	return (uint32_t)rd_le(r, 4);
}

/* All that is left; *len is its length. Never fails by itself. */
static inline const uint8_t *rd_rest(struct rd *r, size_t *len)
{
	*len = rd_left(r);
	return rd_bytes(r, *len);
}

/* Nothing failed so far; bytes may be left. */
static inline bool rd_ok(const struct rd *r)
{
	return !r->failed;
}

/* Nothing failed and nothing is left. */
static inline bool rd_done(const struct rd *r)
{
	return !r->failed && r->at == r->end;
}

struct wr {
	uint8_t *start, *at, *end;
	bool     failed;
};

static inline struct wr wr_over(void *buf, size_t cap)
{
	return (struct wr){ .start = buf, .at = buf, .end = (uint8_t *)buf + cap };
}

static inline void wr_bytes(struct wr *w, const void *data, size_t n)
{
	if (w->failed || (size_t)(w->end - w->at) < n) {
		w->failed = true;
		return;
	}
	if (n)
		memcpy(w->at, data, n);
	w->at += n;
}

static inline void wr_le(struct wr *w, uint64_t v, size_t n)
{
	uint8_t b[8];

	for (size_t i = 0; i < n; i++)
		b[i] = (uint8_t)(v >> (8 * i));
	wr_bytes(w, b, n);
}

static inline void wr_be(struct wr *w, uint64_t v, size_t n)
{
	uint8_t b[8];

	for (size_t i = 0; i < n; i++)
		b[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
	wr_bytes(w, b, n);
}

static inline void wr_u8(struct wr *w, uint8_t v)
{
	wr_le(w, v, 1);
}

static inline void wr_u16(struct wr *w, uint16_t v)
{
	wr_le(w, v, 2);
}

static inline void wr_u32(struct wr *w, uint32_t v)
{
	wr_le(w, v, 4);
}

/* What was written; 0 when anything did not fit. */
static inline size_t wr_len(const struct wr *w)
{
	return w->failed ? 0 : (size_t)(w->at - w->start);
}

static inline bool wr_ok(const struct wr *w)
{
	return !w->failed;
}

#endif
