/*
 * Members are reached by their offsets; memcpy keeps that clear of the rules of aliasing.
 */
#include "base/layout.h"

#include <assert.h>

static void set_int(uint8_t *member, const struct layout_field *f, uint64_t v)
{
	uint8_t  u8  = (uint8_t)v;
	uint16_t u16 = (uint16_t)v;
	uint32_t u32 = (uint32_t)v;

	switch (f->field_bytes) {
	case 1:
		memcpy(member, &u8, sizeof(u8));
		break;
	case 2:
		memcpy(member, &u16, sizeof(u16));
		break;
	case 4:
		memcpy(member, &u32, sizeof(u32));
		break;
	default:
		assert(f->field_bytes == sizeof(v));
		memcpy(member, &v, sizeof(v));
	}
}

static uint64_t get_int(const uint8_t *member, const struct layout_field *f)
{
	uint8_t  u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (f->field_bytes) {
	case 1:
		memcpy(&u8, member, sizeof(u8));
		return u8;
	case 2:
		memcpy(&u16, member, sizeof(u16));
		return u16;
	case 4:
		memcpy(&u32, member, sizeof(u32));
		return u32;
	default:
		assert(f->field_bytes == sizeof(u64));
		memcpy(&u64, member, sizeof(u64));
		return u64;
	}
}

static void read_bytes(uint8_t *msg, struct rd *r, const struct layout_field *f)
{
	const bool there = true;

	rd_copy(r, msg + f->at, f->wire_bytes);
	if (f->has_flag)
		memcpy(msg + f->other, &there, sizeof(there));
}

/* A pointer into the message, and its length. */
static void set_span(uint8_t *msg, const struct layout_field *f, const uint8_t *span, size_t len)
{
	memcpy(msg + f->at, &span, sizeof(span));
	memcpy(msg + f->other, &len, sizeof(len));
}

static const uint8_t *get_pointer(const uint8_t *msg, const struct layout_field *f)
{
	const uint8_t *span;

	memcpy(&span, msg + f->at, sizeof(span));
	return span;
}

static size_t get_len(const uint8_t *msg, const struct layout_field *f)
{
	size_t len;

	memcpy(&len, msg + f->other, sizeof(len));
	return len;
}

static size_t get_count(const uint8_t *msg, const struct layout_field *f)
{
	uint16_t count;

	memcpy(&count, msg + f->other, sizeof(count));
	return count;
}

static void read_rest(uint8_t *msg, struct rd *r, const struct layout_field *f)
{
	size_t         len  = 0;
	const uint8_t *rest = rd_rest(r, &len);

	set_span(msg, f, rest, len);
}

static void read_blob(uint8_t *msg, struct rd *r, const struct layout_field *f)
{
	size_t         len  = (size_t)rd_be(r, f->wire_bytes);
	const uint8_t *blob = rd_bytes(r, len);

	set_span(msg, f, blob, blob ? len : 0);
}

static void write_blob(struct wr *w, const uint8_t *msg, const struct layout_field *f)
{
	size_t len = get_len(msg, f);

	if (f->wire_bytes < sizeof(len) && len >> (8 * f->wire_bytes))
		w->failed = true;
	wr_be(w, len, f->wire_bytes);
	wr_bytes(w, get_pointer(msg, f), len);
}

static void read_many(uint8_t *msg, struct rd *r, const struct layout_field *f)
{
	const uint8_t *many = rd_bytes(r, get_count(msg, f) * f->wire_bytes);

	memcpy(msg + f->at, &many, sizeof(many));
}

static bool is_there(const uint8_t *msg, const struct layout_field *f)
{
	bool there;

	memcpy(&there, msg + f->other, sizeof(there));
	return there;
}

static const struct layout_field *field_of(const struct layout_field *fields, char letter)
{
	assert(letter > 0 && fields[(size_t)letter].kind != LAYOUT_KIND_NONE);
	return &fields[(size_t)letter];
}

void layout_read(void *msg, struct rd *r, const struct layout_field fields[LAYOUT_LETTERS], const char *letters)
{
	for (const char *at = letters; *at; at++) {
		const struct layout_field *f = field_of(fields, *at);

		switch (f->kind) {
		case LAYOUT_KIND_INT:
			set_int((uint8_t *)msg + f->at, f, rd_le(r, f->wire_bytes));
			break;
		case LAYOUT_KIND_BE:
			set_int((uint8_t *)msg + f->at, f, rd_be(r, f->wire_bytes));
			break;
		case LAYOUT_KIND_MAYBE:
			if (rd_left(r) < f->wire_bytes)
				break;
			/* fallthrough */
		case LAYOUT_KIND_BYTES:
			read_bytes(msg, r, f);
			break;
		case LAYOUT_KIND_REST:
			read_rest(msg, r, f);
			break;
		case LAYOUT_KIND_BLOB:
			read_blob(msg, r, f);
			break;
		case LAYOUT_KIND_MANY:
			read_many(msg, r, f);
			break;
		case LAYOUT_KIND_NONE:
			break;
		}
	}
}

void layout_write(struct wr *w, const void *msg, const struct layout_field fields[LAYOUT_LETTERS], const char *letters)
{
	for (const char *at = letters; *at; at++) {
		const struct layout_field *f      = field_of(fields, *at);
		const uint8_t             *member = (const uint8_t *)msg + f->at;

		switch (f->kind) {
		case LAYOUT_KIND_INT:
			wr_le(w, get_int(member, f), f->wire_bytes);
			break;
		case LAYOUT_KIND_BE:
			wr_be(w, get_int(member, f), f->wire_bytes);
			break;
		case LAYOUT_KIND_MAYBE:
			if (is_there(msg, f))
				wr_bytes(w, member, f->wire_bytes);
			break;
		case LAYOUT_KIND_BYTES:
			wr_bytes(w, member, f->wire_bytes);
			break;
		case LAYOUT_KIND_REST:
			wr_bytes(w, get_pointer(msg, f), get_len(msg, f));
			break;
		case LAYOUT_KIND_BLOB:
			write_blob(w, msg, f);
			break;
		case LAYOUT_KIND_MANY:
			wr_bytes(w, get_pointer(msg, f), get_count(msg, f) * f->wire_bytes);
			break;
		case LAYOUT_KIND_NONE:
			break;
		}
	}
}
