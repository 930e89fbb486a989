#include "support/field_rows.h"

#include "support/vectors.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the column that the text begins with, up to the bar or the end; what follows the bar, or NULL. */
static const char *take_column(char *out, size_t cap, const char *text)
{
	const char *bar = strstr(text, " |");
	size_t      len = bar ? (size_t)(bar - text) : strlen(text);

	while (len > 0 && *text == ' ') {
		text++;
		len--;
	}
	while (len > 0 && text[len - 1] == ' ')
		len--;
	cr_assert_lt(len, cap, "a column is too long: %s", text);
	memcpy(out, text, len);
	out[len] = '\0';
	return bar ? bar + 2 : NULL;
}

static void read_row(struct field_row *row, const char *text)
{
	text = take_column(row->kind, sizeof(row->kind), text);
	cr_assert_not_null(text, "line %d: no second column", row->line);
	text = take_column(row->body, sizeof(row->body), text);
	cr_assert_not_null(text, "line %d: no third column", row->line);
	text = take_column(row->result, sizeof(row->result), text);
	cr_assert_null(text, "line %d: a fourth column", row->line);
}

struct field_rows field_rows_load(const char *file)
{
	struct field_rows f = { 0 };
	char              below[64], path[512], line[1024];

	snprintf(below, sizeof(below), "vectors/%s", file);
	FILE *in = fopen(tests_path(path, sizeof(path), below), "re");

	cr_assert_not_null(in, "%s: %s", path, strerror(errno));
	for (int number = 1; fgets(line, sizeof(line), in); number++) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		f.rows = realloc(f.rows, (f.count + 1) * sizeof(*f.rows));
		cr_assert_not_null(f.rows, "memory for rows");
		f.rows[f.count] = (struct field_row){ .line = number };
		read_row(&f.rows[f.count++], line);
	}
	fclose(in);
	return f;
}

void field_rows_free(struct field_rows *f)
{
	free(f->rows);
	*f = (struct field_rows){ 0 };
}
