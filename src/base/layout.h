/*
 * Messages whose layouts are strings: a codec gives a table of its fields, one letter each, and every message is the row of
 * letters that it is made of. One walker reads and writes them all.
 *
 *	static const struct layout_field fields[LAYOUT_LETTERS] = {
 *		['v'] = LAYOUT_INT(struct msg, version, 1),
 *		['k'] = LAYOUT_BYTES(struct msg, key),
 *		['r'] = LAYOUT_REST(struct msg, rest, rest_len),
 *	};
 *	layout_read(&msg, &r, fields, "vkr");
 *
 * Integers are little endian. A letter without a field is a mistake of ours, and asserted.
 */
#ifndef BASE_LAYOUT_H
#define BASE_LAYOUT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_LETTERS 128

enum layout_kind {
	LAYOUT_KIND_NONE,
	LAYOUT_KIND_INT,   /* of wire_bytes on the wire and field_bytes (1, 2, 4 or 8) in the struct */
	LAYOUT_KIND_BE,    /* the same, big endian */
	LAYOUT_KIND_BYTES, /* as they are; sets its flag, if it has one */
	LAYOUT_KIND_MAYBE, /* the same, but may be missing at the end of a message: only then the flag stays false */
	LAYOUT_KIND_REST,  /* all that is left, as a pointer into the message and a length */
	LAYOUT_KIND_BLOB,  /* the same, with its length, big endian of wire_bytes, before it */
	LAYOUT_KIND_MANY   /* things of wire_bytes each, as a pointer; a uint16_t that was read before says how many */
};

struct layout_field {
	enum layout_kind kind;
	bool             has_flag;
	uint16_t         wire_bytes, field_bytes;
	uint16_t         at; /* offset of the member */
	uint16_t other; /* offset of the bool that says it is there; of the length of a rest or blob; of how many */
};

#define LAYOUT_SIZE(type, member) sizeof(((type *)NULL)->member)
#define LAYOUT_INT(type, member, wire)                                                             \
	{                                                                                          \
		LAYOUT_KIND_INT, false, wire, LAYOUT_SIZE(type, member), offsetof(type, member), 0 \
	}
#define LAYOUT_BE(type, member, wire)                                                             \
	{                                                                                         \
		LAYOUT_KIND_BE, false, wire, LAYOUT_SIZE(type, member), offsetof(type, member), 0 \
	}
#define LAYOUT_BYTES(type, member)                                                              \
	{                                                                                       \
		LAYOUT_KIND_BYTES, false, LAYOUT_SIZE(type, member), LAYOUT_SIZE(type, member), \
			offsetof(type, member), 0                                               \
	}
#define LAYOUT_NOTED(type, member, flag)                                                                               \
	{                                                                                                              \
		LAYOUT_KIND_BYTES, true, LAYOUT_SIZE(type, member), LAYOUT_SIZE(type, member), offsetof(type, member), \
			offsetof(type, flag)                                                                           \
	}
#define LAYOUT_MAYBE(type, member, flag)                                                                               \
	{                                                                                                              \
		LAYOUT_KIND_MAYBE, true, LAYOUT_SIZE(type, member), LAYOUT_SIZE(type, member), offsetof(type, member), \
			offsetof(type, flag)                                                                           \
	}
#define LAYOUT_REST(type, member, len)                                                                           \
	{                                                                                                        \
		LAYOUT_KIND_REST, false, 0, sizeof(const uint8_t *), offsetof(type, member), offsetof(type, len) \
	}
#define LAYOUT_BLOB(type, member, len, wire)                                                                        \
	{                                                                                                           \
		LAYOUT_KIND_BLOB, false, wire, sizeof(const uint8_t *), offsetof(type, member), offsetof(type, len) \
	}
#define LAYOUT_MANY(type, member, count, each)                                                                        \
	{                                                                                                             \
		LAYOUT_KIND_MANY, false, each, sizeof(const uint8_t *), offsetof(type, member), offsetof(type, count) \
	}

/* Fills the members that the letters name; the others stay. The reader remembers when something was missing. */
void layout_read(void *msg, struct rd *r, const struct layout_field fields[LAYOUT_LETTERS], const char *letters);

/* Writes them; the writer remembers when they did not fit. */
void layout_write(struct wr *w, const void *msg, const struct layout_field fields[LAYOUT_LETTERS], const char *letters);

#endif
