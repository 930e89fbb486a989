#include "base/fold.h"

#include "base/auto.h"
#include "base/text.h"

/* Capitals from first to last; small ones are so much further on. PAIRS: a capital has its small one right behind it. */
enum { PAIRS = 0 };

static const struct range {
	uint32_t first, last, further;
} ranges[] = {
	{ 0xc0, 0xd6, 32 },        { 0xd8, 0xde, 32 },        { 0x100, 0x12f, PAIRS }, { 0x132, 0x137, PAIRS },
	{ 0x139, 0x148, PAIRS },   { 0x14a, 0x177, PAIRS },   { 0x179, 0x17e, PAIRS }, { 0x386, 0x386, 38 },
	{ 0x388, 0x38a, 37 },      { 0x38c, 0x38c, 64 },      { 0x38e, 0x38f, 63 },    { 0x391, 0x3a1, 32 },
	{ 0x3a3, 0x3ab, 32 },      { 0x400, 0x40f, 80 },      { 0x410, 0x42f, 32 },    { 0x460, 0x481, PAIRS },
	{ 0x48a, 0x4bf, PAIRS },   { 0x4c1, 0x4ce, PAIRS },   { 0x4d0, 0x52f, PAIRS }, { 0x531, 0x556, 48 },
	{ 0x1e00, 0x1e95, PAIRS }, { 0x1ea0, 0x1eff, PAIRS }, { 0xff21, 0xff3a, 32 },
};

uint32_t fold_char(uint32_t code)
{
	if (code < 0x80)
		return code >= 'A' && code <= 'Z' ? code + 32 : code;
	if (code == 0x178) /* Y with diaeresis: its small one is in Latin-1 */
		return 0xff;
	if (code == 0x3c2) /* sigma at the end of a word */
		return 0x3c3;
	for (size_t i = 0; i < COUNT_OF(ranges); i++) {
		const struct range *r = &ranges[i];

		if (code < r->first || code > r->last)
			continue;
		if (r->further != PAIRS)
			return code + r->further;
		/* A pair begins at each second one from the first. */
		return (code - r->first) % 2 == 0 ? code + 1 : code;
	}
	return code;
}

/* The next character; a byte that is part of none stands for itself. */
static uint32_t next_char(const char **at, size_t *left)
{
	uint32_t code = (unsigned char)**at;
	size_t   len  = code < 0x80 ? 1 : text_char(&code, *at, *left);

	if (len == 0) {
		code = 0x110000u + (unsigned char)**at;
		len  = 1;
	}
	*at += len;
	*left -= len;
	return fold_char(code);
}

void fold_init(struct fold *f, const char *part)
{
	size_t left = text_length(part);

	*f = (struct fold){ 0 };
	while (left > 0) {
		uint32_t code = next_char(&part, &left);

		if (f->len == FOLD_CHARS_MAX) {
			f->too_long = true;
			return;
		}
		f->chars[f->len++] = code;
	}
}

static bool begins_with(const struct fold *f, const char *text, size_t left)
{
	for (size_t i = 0; i < f->len; i++) {
		if (left == 0 || next_char(&text, &left) != f->chars[i])
			return false;
	}
	return true;
}

bool fold_is_in(const struct fold *f, const char *text)
{
	size_t left = text_length(text);

	if (f->too_long)
		return false;
	while (!begins_with(f, text, left)) {
		if (left == 0)
			return false;
		next_char(&text, &left);
	}
	return true;
}
