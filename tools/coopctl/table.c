/* Tables and lists of fields, for people. */
#include "coopctl/print.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

#define GAP         2 /* blanks between columns */
#define NARROWEST   5 /* a column of text is not made narrower */
#define COLUMNS_MAX 24

const char *print_color(const struct ctl *c, enum print_color color)
{
	static const char *const codes[] = {
		[PRINT_PLAIN] = "\033[0m", [PRINT_BOLD] = "\033[1m",   [PRINT_DIM] = "\033[2m",
		[PRINT_RED] = "\033[31m",  [PRINT_GREEN] = "\033[32m", [PRINT_YELLOW] = "\033[33m"
	};

	return c->color ? codes[color] : "";
}

static enum print_color color_of(const char *state)
{
	static const struct {
		const char      *word;
		enum print_color color;
	} words[] = {
		{ "ok", PRINT_GREEN },        { "ready", PRINT_GREEN },    { "playing", PRINT_GREEN },
		{ "yes", PRINT_GREEN },       { "begun", PRINT_YELLOW },   { "starting", PRINT_YELLOW },
		{ "draining", PRINT_YELLOW }, { "slow", PRINT_YELLOW },    { "lost", PRINT_YELLOW },
		{ "left", PRINT_YELLOW },     { "warning", PRINT_YELLOW }, { "failing", PRINT_RED },
		{ "failed", PRINT_RED },      { "removed", PRINT_RED },    { "bad", PRINT_RED },
	};

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (strcmp(words[i].word, state) == 0)
			return words[i].color;
	return PRINT_PLAIN;
}

static bool is_right(enum print_format format)
{
	return format == PRINT_NUMBER || format == PRINT_BYTES || format == PRINT_RATE || format == PRINT_MS;
}

/* Cells row by row, the first row the titles. */
struct table {
	const struct ctl          *c;
	const struct print_column *columns;
	size_t                     column_count, row_count;
	char                     **cells;
	size_t                     widths[COLUMNS_MAX];
};

static void fill(struct table *t, const json_t *items)
{
	while (t->columns[t->column_count].title && t->column_count < COLUMNS_MAX)
		t->column_count++;
	t->row_count = 1 + json_array_size(items);
	t->cells     = calloc(t->row_count * t->column_count + 1, sizeof(*t->cells));
	if (!t->cells)
		abort();
	for (size_t i = 0; i < t->row_count * t->column_count; i++) {
		const struct print_column *column = &t->columns[i % t->column_count];
		size_t                     row    = i / t->column_count;
		size_t                     width;

		t->cells[i] = row == 0 ? strdup(column->title)
		                       : print_value(t->c, print_member(json_array_get(items, row - 1), column->member),
		                                     column->format);
		if (!t->cells[i])
			abort();
		width = print_width(t->cells[i]);
		if (width > t->widths[i % t->column_count])
			t->widths[i % t->column_count] = width;
	}
}

static size_t width_of(const struct table *t)
{
	size_t width = 0;

	for (size_t i = 0; i < t->column_count; i++)
		width += t->widths[i] + (i > 0 ? GAP : 0);
	return width;
}

/* The widest column of text that may lose some more of its width; column_count: there is none. */
static size_t widest_text(const struct table *t)
{
	size_t widest = t->column_count;

	for (size_t i = 0; i < t->column_count; i++) {
		bool can = (t->columns[i].format == PRINT_TEXT || t->columns[i].format == PRINT_STATE) &&
		           t->widths[i] > NARROWEST;

		if (can && (widest == t->column_count || t->widths[i] > t->widths[widest]))
			widest = i;
	}
	return widest;
}

static void shrink(struct table *t)
{
	size_t i;

	while (t->c->columns > 0 && width_of(t) > t->c->columns && (i = widest_text(t)) < t->column_count)
		t->widths[i]--;
}

static void pad(FILE *out, size_t n)
{
	fprintf(out, "%*s", (int)n, "");
}

/* How many columns of the row there are up to the last that is not empty. */
static size_t columns_used(const struct table *t, size_t row)
{
	size_t n = t->column_count;

	while (n > 1 && t->cells[row * t->column_count + n - 1][0] == '\0')
		n--;
	return n;
}

/* One row, never wider than the terminal. */
static void print_row(const struct table *t, FILE *out, size_t row)
{
	size_t left         = t->c->columns > 0 ? t->c->columns : SIZE_MAX;
	size_t used_columns = columns_used(t, row);

	for (size_t i = 0; i < used_columns; i++) {
		size_t gap   = i > 0 ? GAP : 0;
		size_t room  = left > gap ? left - gap : 0;
		size_t width = t->widths[i] < room ? t->widths[i] : room;

		if (width == 0)
			break;

		AUTO(auto_free) char *cell  = print_cut(t->cells[row * t->column_count + i], width);
		size_t                used  = print_width(cell);
		bool                  last  = i + 1 == used_columns || room - width <= GAP;
		enum print_color      color = row == 0                              ? PRINT_BOLD
		                              : t->columns[i].format == PRINT_STATE ? color_of(cell)
		                                                                    : PRINT_PLAIN;

		pad(out, gap + (is_right(t->columns[i].format) ? width - used : 0));
		if (color == PRINT_PLAIN)
			fputs(cell, out);
		else
			fprintf(out, "%s%s%s", print_color(t->c, color), cell, print_color(t->c, PRINT_PLAIN));
		if (!last && !is_right(t->columns[i].format))
			pad(out, width - used);
		left = room - width;
	}
	fputc('\n', out);
}

void print_table(const struct ctl *c, FILE *out, const json_t *items, const struct print_column *columns)
{
	struct table t = { .c = c, .columns = columns };

	fill(&t, items);
	shrink(&t);
	for (size_t row = 0; row < t.row_count; row++)
		print_row(&t, out, row);
	for (size_t i = 0; i < t.row_count * t.column_count; i++)
		free(t.cells[i]);
	free(t.cells);
}

/* How wide the titles may be, so that the values have some room beside them. */
static size_t title_width(const struct ctl *c, const json_t *object, const struct print_column *fields)
{
	enum { VALUE_MIN = 8 };

	size_t widest = 0, most = c->columns > 2 * (GAP + VALUE_MIN) ? c->columns - GAP - VALUE_MIN : c->columns / 2;

	for (; fields->title; fields++) {
		size_t width = print_member(object, fields->member) ? print_width(fields->title) : 0;

		widest = width > widest ? width : widest;
	}
	return c->columns > 0 && widest > most ? most : widest;
}

static void print_field(const struct ctl *c, FILE *out, const struct print_column *f, const json_t *member,
                        size_t width)
{
	AUTO(auto_free) char *title = print_cut(f->title, width);
	AUTO(auto_free) char *value = print_value(c, member, f->format == PRINT_YES ? PRINT_TEXT : f->format);
	size_t                room  = c->columns > width + GAP ? c->columns - width - GAP : c->columns ? 1 : SIZE_MAX;
	AUTO(auto_free) char *cut   = print_cut(value, room);
	enum print_color      color = f->format == PRINT_STATE ? color_of(value) : PRINT_PLAIN;

	fprintf(out, "%s%s%s", print_color(c, PRINT_BOLD), title, print_color(c, PRINT_PLAIN));
	pad(out, width - print_width(title) + GAP);
	fprintf(out, "%s%s%s\n", color ? print_color(c, color) : "", cut, color ? print_color(c, PRINT_PLAIN) : "");
}

void print_fields(const struct ctl *c, FILE *out, const json_t *object, const struct print_column *fields)
{
	size_t width = title_width(c, object, fields);

	for (; fields->title; fields++) {
		const json_t *member = print_member(object, fields->member);

		if (member)
			print_field(c, out, fields, member, width);
	}
}

void print_heading(const struct ctl *c, FILE *out, const char *text)
{
	AUTO(auto_free) char *cut = print_cut(text, c->columns ? c->columns : SIZE_MAX);

	fprintf(out, "\n%s%s%s\n", print_color(c, PRINT_BOLD), cut, print_color(c, PRINT_PLAIN));
}

void print_list(const struct ctl *c, const json_t *list, const struct print_column *columns, const char *none)
{
	const json_t *items = json_object_get(list, "items");

	if (c->json)
		print_json(stdout, list);
	else if (json_array_size(items) == 0)
		printf("%s\n", none);
	else
		print_table(c, stdout, items, columns);
}
