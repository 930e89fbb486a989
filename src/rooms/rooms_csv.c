#include "rooms/rooms_csv.h"

#include "base/auto.h"
#include "base/clean.h"
#include "base/hex.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HEAD         "name,score,comment,recorded_at"
#define BOM          "\xef\xbb\xbf"
#define COLUMNS      4
#define SECONDS_MAX  UINT64_C(253402300799) /* 9999-12-31T23:59:59Z */
#define TIME_CHARS   20
#define BYTES_MAX    ROOMS_COMMENT_MAX   /* of what a text cell stands for */
#define CELL_MAX     (2 * BYTES_MAX + 2) /* as hex; as text it is shorter */
#define ROW_TEXT_MAX (2 * (2 * CELL_MAX + 2) + 2 * 24 + COLUMNS + 2)

/* Behind an apostrophe these would be taken for a formula, or for that apostrophe. */
static bool is_guarded(char first)
{
	return first != '\0' && strchr("=+-@\t\r'", first) != NULL;
}

/* --- Writing --- */

struct text {
	char  *bytes;
	size_t len, cap;
};

/* There is room for a whole row. */
static void put(struct text *t, const char *bytes, size_t len)
{
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

static void put_text(struct text *t, const char *text)
{
	put(t, text, strlen(text));
}

/* Whether people can be shown it as it is; a line break in it is quoted. */
static bool is_clear(const uint8_t *bytes, size_t len)
{
	char plain[BYTES_MAX + 1], cleaned[CLEAN_BYTES(BYTES_MAX)];

	if (len > 0 && bytes[0] == '~')
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_break = bytes[i] == '\t' || bytes[i] == '\r' || bytes[i] == '\n';

		plain[i] = is_break ? ' ' : (char)bytes[i];
	}
	plain[len] = '\0';
	clean_text(cleaned, BYTES_MAX, plain, len, CLEAN_BAD_IS_SHOWN);
	/* A NUL makes the first one end early. */
	return strlen(plain) == len && strcmp(cleaned, plain) == 0;
}

static void put_quoted(struct text *t, const char *cell, size_t len)
{
	put_text(t, "\"");
	for (size_t i = 0; i < len; i++) {
		if (cell[i] == '"')
			put_text(t, "\"");
		put(t, cell + i, 1);
	}
	put_text(t, "\"");
}

static void put_cell(struct text *t, const uint8_t *bytes, size_t len)
{
	char   cell[CELL_MAX + 1];
	size_t used = 0;

	if (!is_clear(bytes, len)) {
		cell[0] = '~';
		hex_encode(cell + 1, bytes, len);
		put_text(t, cell);
		return;
	}
	if (len > 0 && is_guarded((char)bytes[0]))
		cell[used++] = '\'';
	memcpy(cell + used, bytes, len);
	used += len;
	cell[used] = '\0';
	if (strpbrk(cell, "\",\r\n"))
		put_quoted(t, cell, used);
	else
		put(t, cell, used);
}

static void put_time(struct text *t, uint64_t seconds)
{
	time_t    at = (time_t)(seconds > SECONDS_MAX ? SECONDS_MAX : seconds);
	struct tm utc;
	char      text[TIME_CHARS + 1];

	if (seconds > 0 && gmtime_r(&at, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
		put_text(t, text);
}

static void put_row(struct text *t, const struct rooms_csv_row *row)
{
	char score[24];

	snprintf(score, sizeof(score), ",%" PRId64 ",", row->score);
	put_cell(t, row->name, rooms_text_len(row->name, sizeof(row->name)));
	put_text(t, score);
	put_cell(t, row->comment, row->comment_len);
	put_text(t, ",");
	put_time(t, row->recorded_s);
	put_text(t, "\r\n");
}

static bool make_room(struct text *t)
{
	size_t cap = 2 * t->cap + ROW_TEXT_MAX;
	char  *larger;

	if (t->cap - t->len >= ROW_TEXT_MAX)
		return true;
	larger = realloc(t->bytes, cap);
	if (!larger)
		return false;
	t->bytes = larger;
	t->cap   = cap;
	return true;
}

char *rooms_csv_write(size_t *len, const struct rooms_csv_row *rows, size_t count)
{
	struct text t = { 0 };

	if (!make_room(&t))
		return NULL;
	put_text(&t, HEAD "\r\n");
	for (size_t i = 0; i < count; i++) {
		if (!make_room(&t)) {
			free(t.bytes);
			return NULL;
		}
		put_row(&t, &rows[i]);
	}
	*len = t.len;
	return t.bytes;
}

/* --- Reading --- */

struct reader {
	const char *at, *end;
	uint32_t    line; /* of at */
	const char *why;  /* what is wrong; NULL: nothing yet */
};

struct cell {
	char   text[CELL_MAX + 1];
	size_t len;
};

static bool fault(struct reader *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return false;
}

static bool add_char(struct reader *r, struct cell *c, char byte)
{
	if (byte == '\0')
		return fault(r, "has a NUL; such bytes are written as ~ and hex digits");
	if (c->len == CELL_MAX)
		return fault(r, "has a cell that is too long");
	c->text[c->len++] = byte;
	return true;
}

static bool is_line_end(const struct reader *r)
{
	return *r->at == '\n' || (*r->at == '\r' && r->end - r->at > 1 && r->at[1] == '\n');
}

static bool read_quoted(struct reader *r, struct cell *c)
{
	for (r->at++; r->at < r->end; r->at++) {
		if (*r->at == '"' && (r->end - r->at < 2 || r->at[1] != '"')) {
			r->at++;
			return r->at == r->end || *r->at == ',' || is_line_end(r)
			               ? true
			               : fault(r, "has something behind a closing quote");
		}
		if (!add_char(r, c, *r->at))
			return false;
		r->line += *r->at == '\n';
		r->at += *r->at == '"';
	}
	return fault(r, "has a quote that is never closed");
}

static bool read_plain(struct reader *r, struct cell *c)
{
	for (; r->at < r->end && *r->at != ',' && !is_line_end(r); r->at++) {
		if (*r->at == '"' || *r->at == '\r')
			return fault(r, "has a quote or a CR in a cell that is not in quotes");
		if (!add_char(r, c, *r->at))
			return false;
	}
	return true;
}

static bool read_cell(struct reader *r, struct cell *c)
{
	c->len = 0;
	if (!(r->at < r->end && *r->at == '"' ? read_quoted(r, c) : read_plain(r, c)))
		return false;
	c->text[c->len] = '\0';
	return true;
}

static void skip_line_end(struct reader *r)
{
	if (r->at == r->end)
		return;
	r->at += *r->at == '\r' ? 2 : 1;
	r->line++;
}

static bool read_cells(struct reader *r, struct cell cells[COLUMNS])
{
	for (size_t i = 0; i < COLUMNS; i++) {
		if (!read_cell(r, &cells[i]))
			return false;
		if ((r->at < r->end && *r->at == ',') != (i < COLUMNS - 1))
			return fault(r, "has not four cells");
		r->at += i < COLUMNS - 1;
	}
	skip_line_end(r);
	return true;
}

/* What a player wrote. */
static bool read_bytes(struct reader *r, uint8_t *out, size_t cap, size_t *len, const struct cell *c,
                       const char *long_why)
{
	const char *text  = c->text;
	size_t      bytes = c->len;

	if (text[0] == '~') {
		if (bytes - 1 > 2 * cap)
			return fault(r, long_why);
		*len = (bytes - 1) / 2;
		return hex_decode(out, *len, text + 1, bytes - 1) == ERR_OK
		               ? true
		               : fault(r, "has a ~ that is not followed by pairs of hex digits");
	}
	if (text[0] == '\'' && is_guarded(text[1])) {
		text++;
		bytes--;
	}
	if (bytes > cap)
		return fault(r, long_why);
	if (!text_is_utf8(text, bytes))
		return fault(r, "is not UTF-8; such bytes are written as ~ and hex digits");
	memcpy(out, text, bytes);
	*len = bytes;
	return true;
}

static bool digits(int *out, const char *text, size_t count)
{
	*out = 0;
	for (size_t i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = 10 * *out + (text[i] - '0');
	}
	return true;
}

static bool read_time(uint64_t *out, const struct cell *c)
{
	struct tm   t    = { 0 }, back;
	const char *text = c->text;
	time_t      at;

	*out = 0;
	if (c->len == 0)
		return true;
	if (c->len != TIME_CHARS || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
	    text[16] != ':' || text[19] != 'Z')
		return false;
	if (!digits(&t.tm_year, text, 4) || !digits(&t.tm_mon, text + 5, 2) || !digits(&t.tm_mday, text + 8, 2) ||
	    !digits(&t.tm_hour, text + 11, 2) || !digits(&t.tm_min, text + 14, 2) || !digits(&t.tm_sec, text + 17, 2))
		return false;
	t.tm_year -= 1900;
	t.tm_mon -= 1;
	back = t;
	at   = timegm(&back);
	/* A 31st of June would have become another day. */
	if (at < 0 || back.tm_mon != t.tm_mon || back.tm_mday != t.tm_mday || back.tm_hour != t.tm_hour ||
	    back.tm_min != t.tm_min || back.tm_sec != t.tm_sec)
		return false;
	*out = (uint64_t)at;
	return true;
}

static bool read_row(struct reader *r, struct rooms_csv_row *row)
{
	struct cell cells[COLUMNS];
	size_t      len;

	*row = (struct rooms_csv_row){ .line = r->line };
	if (!read_cells(r, cells) ||
	    !read_bytes(r, row->name, sizeof(row->name), &len, &cells[0], "has a name of more than 16 bytes"))
		return false;
	if (rooms_text_len(row->name, sizeof(row->name)) != len)
		return fault(r, "has a NUL in its name, where names end");
	if (text_to_int(&row->score, cells[1].text, INT64_MIN, INT64_MAX) != ERR_OK)
		return fault(r, "has no score that is a whole number of 64 bits");
	if (!read_bytes(r, row->comment, sizeof(row->comment), &len, &cells[2], "has a comment of more than 64 bytes"))
		return false;
	row->comment_len = (uint8_t)len;
	return read_time(&row->recorded_s, &cells[3]) ? true : fault(r, "has no time like 2026-12-01T09:30:00Z");
}

static bool read_head(struct reader *r)
{
	const char *head = HEAD;

	if ((size_t)(r->end - r->at) >= strlen(BOM) && memcmp(r->at, BOM, strlen(BOM)) == 0)
		r->at += strlen(BOM);
	if ((size_t)(r->end - r->at) < strlen(head) || memcmp(r->at, head, strlen(head)) != 0)
		return fault(r, "is not the head line " HEAD);
	r->at += strlen(head);
	if (r->at < r->end && !is_line_end(r))
		return fault(r, "is not the head line " HEAD);
	skip_line_end(r);
	return true;
}

/* --- No name twice --- */

static int compare_names(const void *pa, const void *pb)
{
	const struct rooms_csv_row *a = *(const struct rooms_csv_row *const *)pa;
	const struct rooms_csv_row *b = *(const struct rooms_csv_row *const *)pb;
	uint8_t                     name_a[ROOMS_NAME_BYTES], name_b[ROOMS_NAME_BYTES];
	int                         names;

	rooms_fold(name_a, a->name);
	rooms_fold(name_b, b->name);
	names = memcmp(name_a, name_b, sizeof(name_a));
	return names ? names : (a->line > b->line) - (a->line < b->line);
}

static bool is_same_name(const struct rooms_csv_row *a, const struct rooms_csv_row *b)
{
	uint8_t name_a[ROOMS_NAME_BYTES], name_b[ROOMS_NAME_BYTES];

	rooms_fold(name_a, a->name);
	rooms_fold(name_b, b->name);
	return memcmp(name_a, name_b, sizeof(name_a)) == 0;
}

/* *line: of the first row whose name was there already; 0: none. */
static enum err find_twice(uint32_t *line, const struct rooms_csv_row *rows, size_t count)
{
	AUTO(auto_free) const struct rooms_csv_row **order = calloc(count + 1, sizeof(*order));

	*line = 0;
	if (!order)
		return ERR_NOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = &rows[i];
	qsort(order, count, sizeof(*order), compare_names);
	for (size_t i = 1; i < count; i++) {
		if (is_same_name(order[i - 1], order[i]) && (*line == 0 || order[i]->line < *line))
			*line = order[i]->line;
	}
	return ERR_OK;
}

/* --- All of it --- */

static enum err read_rows(struct rooms_csv_row **rows, size_t *count, struct reader *r, size_t rows_max)
{
	size_t cap = 0;

	while (r->at < r->end) {
		struct rooms_csv_row row;

		if (is_line_end(r)) {
			skip_line_end(r);
			continue;
		}
		if (!read_row(r, &row) ||
		    (*count == rows_max &&
		     !fault(r, "is one row more than a board may have (limits.rooms_rows_per_board)"))) {
			r->line = row.line;
			return ERR_INVALID;
		}
		if (*count == cap) {
			void *larger = realloc(*rows, (2 * cap + 64) * sizeof(**rows));

			if (!larger)
				return ERR_NOMEM;
			*rows = larger;
			cap   = 2 * cap + 64;
		}
		(*rows)[(*count)++] = row;
	}
	return ERR_OK;
}

enum err rooms_csv_read(struct rooms_csv_row **rows, size_t *count, struct rooms_csv_fault *fault_out, const char *text,
                        size_t len, size_t rows_max)
{
	AUTO(auto_free) struct rooms_csv_row *all  = NULL;
	struct reader                         r    = { .at = text, .end = text + len, .line = 1 };
	size_t                                got  = 0;
	uint32_t                              line = 0;
	enum err                              e;

	*rows = NULL;
	e     = read_head(&r) ? read_rows(&all, &got, &r, rows_max) : ERR_INVALID;
	if (e == ERR_OK)
		e = find_twice(&line, all, got);
	if (line > 0) {
		r.line = line;
		fault(&r, "has a name that is there twice, in any case");
		e = ERR_INVALID;
	}
	*fault_out = (struct rooms_csv_fault){ r.line, r.why };
	if (e != ERR_OK)
		return e;
	*count = got;
	*rows  = got > 0 ? TAKE(all) : calloc(1, sizeof(**rows));
	return *rows ? ERR_OK : ERR_NOMEM;
}
