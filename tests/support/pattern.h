/*
 * Bytes to send, or bytes to expect with holes in them.
 *
 * Tests write them as text, so that a test reads like the conversation on the wire:
 *
 *	"0d 01 00 a0a1"		bytes in hex; blanks anywhere between two bytes
 *	"02 ?? ?? 01 00"	?? is any one byte (in C, `??)` is something else: leave a blank)
 *	"04 *"			* at the end is any rest, also none
 *	"(c0 a8 01 02)x9"	a group repeated
 *	"'hi'"			the characters themselves
 *
 * or put them together piece by piece with the pattern_add_ functions.
 */
#ifndef TESTS_PATTERN_H
#define TESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_BYTES_MAX 66000 /* a little over the largest message the server takes */

struct pattern {
	size_t  len;
	bool    rest;     /* anything may follow */
	bool    overflow; /* more was added than there is room for */
	uint8_t value[PATTERN_BYTES_MAX];
	uint8_t mask[PATTERN_BYTES_MAX]; /* 0xff: the byte must be equal; 0: any */
};

/* An empty pattern. The large arrays stay as they are. */
void pattern_clear(struct pattern *p);

/* Little endian, as the tunnel's numbers are. */
void pattern_add_u8(struct pattern *p, unsigned value);
void pattern_add_u16(struct pattern *p, unsigned value);
void pattern_add_u32(struct pattern *p, uint32_t value);
void pattern_add_bytes(struct pattern *p, const void *data, size_t len);
void pattern_add_any(struct pattern *p, size_t len);

/* Appends what the text says. False and *why (a constant text) when it cannot be read; what came before it stays. */
bool pattern_add_text(struct pattern *p, const char *text, const char **why);

/* The text must be readable: anything else ends the test. */
void pattern_read(struct pattern *p, const char *text);

bool pattern_matches(const struct pattern *p, const void *data, size_t len);

/* For messages to people: hex with blanks, "??" for holes, cut with "..." when it does not fit. Returns out. */
const char *pattern_show(char *out, size_t cap, const struct pattern *p);
const char *bytes_show(char *out, size_t cap, const void *data, size_t len);

#endif
