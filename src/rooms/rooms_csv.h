/*
 * A board as CSV (RFC 4180), for operators and their spreadsheets, and back.
 *
 *	name,score,comment,recorded_at
 *	alice,1200,"so close, again",2026-12-01T09:30:00Z
 *	'=1+1,-5,~00ff,
 *
 * Names and comments are what players wrote, so a text cell that a spreadsheet could take for a formula (it begins with = + - @, a
 * tab or CR), or that begins with an apostrophe, has an apostrophe in front. What people cannot be shown as it is (it is no UTF-8, or
 * has characters that nobody sees or that turn the direction of writing), or begins with ~, is ~ and its bytes in hex. Reading takes
 * both off again: what was written is read as it was. A time of 0 is an empty cell.
 */
#ifndef ROOMS_ROOMS_CSV_H
#define ROOMS_ROOMS_CSV_H

#include "base/err.h"
#include "rooms/rooms_wire.h"

#include <stddef.h>
#include <stdint.h>

struct rooms_csv_row {
	uint8_t  name[ROOMS_NAME_BYTES]; /* padded with NULs */
	int64_t  score;
	uint64_t recorded_s;      /* up to the year 9999 */
	uint64_t seq;             /* not in the text */
	uint32_t line;            /* where it begins, from 1; only read */
	uint8_t  is_new, is_same; /* the importer's */
	uint8_t  comment_len;
	uint8_t  comment[ROOMS_COMMENT_MAX];
};

/* With the head line; lines end with CR LF. For free(); NULL when out of memory. */
char *rooms_csv_write(size_t *len, const struct rooms_csv_row *rows, size_t count);

struct rooms_csv_fault {
	uint32_t    line;
	const char *why; /* "has no score that is a whole number"; static */
};

/*
 * Reads all rows, in their order, at most rows_max and no name (in any case) twice; for free(). Lines may end with LF alone, empty
 * ones are skipped, and a byte-order mark is. ERR_INVALID with *fault; ERR_NOMEM. *rows is NULL then.
 */
enum err rooms_csv_read(struct rooms_csv_row **rows, size_t *count, struct rooms_csv_fault *fault, const char *text,
                        size_t len, size_t rows_max);

#endif
