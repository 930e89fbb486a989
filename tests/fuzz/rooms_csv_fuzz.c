/*
 * Boards as CSV: any text is read or refused, with a line that is in it; and what was read is written, read and written again as it
 * was.
 */
#include "rooms/rooms_csv.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_same(const struct rooms_csv_row *a, const struct rooms_csv_row *b)
{
	if (memcmp(a->name, b->name, sizeof(a->name)) != 0 || a->score != b->score || a->recorded_s != b->recorded_s ||
	    a->comment_len != b->comment_len || memcmp(a->comment, b->comment, sizeof(a->comment)) != 0)
		abort();
}

static void check_back(const struct rooms_csv_row *rows, size_t count)
{
	struct rooms_csv_row  *back = NULL;
	struct rooms_csv_fault fault;
	size_t                 len, again_len, got = 0;
	char                  *text = rooms_csv_write(&len, rows, count), *again;

	if (!text || rooms_csv_read(&back, &got, &fault, text, len, ROWS_MAX) != ERR_OK || got != count)
		abort();
	for (size_t i = 0; i < count; i++)
		check_same(&rows[i], &back[i]);
	again = rooms_csv_write(&again_len, back, got);
	if (!again || again_len != len || memcmp(again, text, len) != 0)
		abort();
	free(text);
	free(again);
	free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rooms_csv_row  *rows  = NULL;
	struct rooms_csv_fault fault = { 0 };
	size_t                 count = 0, lines = 1;
	enum err               e = rooms_csv_read(&rows, &count, &fault, (const char *)data, len, ROWS_MAX);

	if (e == ERR_OK) {
		check_back(rows, count);
		free(rows);
		return 0;
	}
	for (size_t i = 0; i < len; i++)
		lines += data[i] == '\n';
	if (e != ERR_INVALID || rows || !fault.why || fault.line < 1 || fault.line > lines)
		abort();
	return 0;
}
