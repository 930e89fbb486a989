/*
 * The reader of lines: whatever the pieces in which bytes come, the lines are the same, and so is the point at which one is
 * too long.
 *
 *	first byte	how the rest is cut: so many bytes, then half as many, ... then from the beginning
 *	second byte	the limit, from 1 on
 */
#include "signal/signal_line.h"

#include <stdlib.h>
#include <string.h>

#define LINES_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Where each line ends, and whether one was too long. */
struct found {
	size_t ends[LINES_MAX], count;
	bool   too_long;
};

static void find_plainly(struct found *f, const uint8_t *data, size_t len, size_t max)
{
	size_t begin = 0;

	for (size_t i = 0; i < len; i++) {
		if (i - begin + 1 > max) {
			f->too_long = true;
			return;
		}
		if (data[i] == '\n') {
			f->ends[f->count++] = i;
			begin               = i + 1;
		}
	}
}

/* A piece in memory of its own, so that a reader which keeps a pointer into it is caught. */
static bool feed(struct found *f, struct signal_reader *r, const uint8_t *whole, size_t begin, size_t len, size_t max)
{
	uint8_t         *piece = malloc(len ? len : 1);
	const uint8_t   *at    = piece, *line;
	size_t           line_len;
	enum signal_read read;

	memcpy(piece, whole + begin, len);
	while ((read = signal_reader_next(r, &at, piece + len, max, &line, &line_len)) == SIGNAL_READ_LINE) {
		size_t end = begin + (size_t)(at - piece) - 1;

		if (line_len > end || memcmp(line, whole + end - line_len, line_len) != 0)
			abort();
		f->ends[f->count++] = end;
	}
	free(piece);
	f->too_long = read == SIGNAL_READ_TOO_LONG;
	return read == SIGNAL_READ_MORE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct found  plain, cut;
	struct signal_reader r = { 0 };

	if (len < 2 || len > LINES_MAX)
		return 0;

	size_t first = data[0], max = (size_t)data[1] + 1, step = first;

	data += 2;
	len -= 2;
	plain.count = cut.count = 0;
	plain.too_long = cut.too_long = false;
	find_plainly(&plain, data, len, max);
	for (size_t at = 0; at < len;) {
		size_t n = step == 0 ? 1 : step;

		if (n > len - at)
			n = len - at;
		if (!feed(&cut, &r, data, at, n, max))
			break;
		at += n;
		step = step == 0 ? first : step / 2;
	}
	signal_reader_fini(&r);
	if (plain.too_long != cut.too_long || plain.count != cut.count ||
	    memcmp(plain.ends, cut.ends, plain.count * sizeof(plain.ends[0])) != 0)
		abort();
	return 0;
}
