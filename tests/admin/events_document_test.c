/*
 * The tables of the document say what there is: every kind of event with its members, every figure.
 */
#include "admin/admin_figures.h"
#include "base/auto.h"
#include "base/event.h"
#include "os/file.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_BYTES 512

static char *document;

static void start(void)
{
	const char *tests = getenv("TESTS_DIR");
	char        path[256];
	size_t      len;

	snprintf(path, sizeof(path), "%s/../src/admin/PROTOCOL.md", tests ? tests : "tests");
	cr_assert_eq(file_read(&document, &len, path, 1024 * 1024), ERR_OK, "%s", path);
}

static void stop(void)
{
	free(document);
}

TestSuite(events_document, .init = start, .fini = stop);

/* How many rows the table below this head has. */
static size_t rows_below(const char *head)
{
	const char *at    = strstr(document, head);
	size_t      count = 0;

	cr_assert_not_null(at, "no table %s", head);
	for (at = strchr(at + 1, '\n'); at && at[1] == '|'; at = strchr(at + 1, '\n'))
		count++;
	return count - 1; /* the line of dashes */
}

/* "| `game.opened` | `code`, `version` | help |" */
static void put_row(char out[ROW_BYTES], enum event_kind kind)
{
	char   fields[ROW_BYTES], *rest = fields;
	size_t used;

	snprintf(fields, sizeof(fields), "%s", event_fields(kind));
	used = (size_t)snprintf(out, ROW_BYTES, "\n| `%s` |", event_name(kind));
	for (char *field; (field = strsep(&rest, " "));)
		used += (size_t)snprintf(out + used, ROW_BYTES - used, " `%s`%s", field, rest ? "," : "");
	snprintf(out + used, ROW_BYTES - used, " | %s |\n", event_help(kind));
}

Test(events_document, has_every_kind_and_no_other)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		char row[ROW_BYTES];

		put_row(row, (enum event_kind)kind);
		cr_expect(strstr(document, row), "not in the document:%s", row);
	}
	cr_expect_eq(rows_below("\n| kind | members | what |"), EVENT_KINDS);
}

Test(events_document, has_every_figure_and_no_other)
{
	size_t count = 0;

	for (; admin_figures_name(count); count++) {
		char row[ROW_BYTES];

		snprintf(row, sizeof(row), "\n| `%s` | %s |\n", admin_figures_name(count), admin_figures_help(count));
		cr_expect(strstr(document, row), "not in the document:%s", row);
	}
	cr_expect_eq(rows_below("\n| figure | what |"), count);
}
