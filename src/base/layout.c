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
	default:
		assert(f->field_bytes == sizeof(u32));
		memcpy(member, &u32, sizeof(u32));
	}
}

static uint64_t get_int(const uint8_t *member, const struct layout_field *f)
{
	uint8_t  u8;
	uint16_t u16;
	uint32_t u32;

	switch (f->field_bytes) {
	case 1:
		memcpy(&u8, member, sizeof(u8));
		return u8;
	case 2:
		memcpy(&u16, member, sizeof(u16));
		return u16;
	default:
		assert(f->field_bytes == sizeof(u32));
		memcpy(&u32, member, sizeof(u32));
		return u32;
	}
}

static void read_bytes(uint8_t *msg, struct rd *r, const struct layout_field *f)
{
	const bool there = true;

	rd_copy(r, msg + f->at, f->wire_bytes);
	if (f->has_flag)
		memcpy(msg + f->other, &there, sizeof(there));
}

static void read_rest(uint8_t *msg, struct rd *r, const struct layout_field *f)
{
	size_t         len  = 0;
	const uint8_t *rest = rd_rest(r, &len);

	memcpy(msg + f->at, &rest, sizeof(rest));
	memcpy(msg + f->other, &len, sizeof(len));
}

static void write_rest(struct wr *w, const uint8_t *msg, const struct layout_field *f)
{
	const uint8_t *rest;
	size_t         len;

	memcpy(&rest, msg + f->at, sizeof(rest));
	memcpy(&len, msg + f->other, sizeof(len));
	wr_bytes(w, rest, len);
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
		case LAYOUT_KIND_MAYBE:
			if (is_there(msg, f))
				wr_bytes(w, member, f->wire_bytes);
			break;
		case LAYOUT_KIND_BYTES:
			wr_bytes(w, member, f->wire_bytes);
			break;
		case LAYOUT_KIND_REST:
			write_rest(w, msg, f);
			break;
		case LAYOUT_KIND_NONE:
			break;
		}
	}
}
