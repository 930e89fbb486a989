/*
 * The values, and the page that shows them.
 */
#include "base/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *type, *name, *labels, *help;
};

#define COUNTER "counter"
#define GAUGE   "gauge"

static const struct row rows[METRIC_COUNT] = {
#define METRIC(id, type, name, labels, help) [M_##id] = { type, name, labels, help },
#include "base/metric.def"
#undef METRIC
};

_Atomic int64_t metric_values[METRIC_COUNT];

/* The format ends a help text at a line break and knows \\ and \n. */
static void print_help(FILE *out, const char *help)
{
	for (; *help; help++) {
		if (*help == '\\')
			fputs("\\\\", out);
		else if (*help == '\n')
			fputs("\\n", out);
		else
			fputc(*help, out);
	}
}

static void print_head(FILE *out, const struct row *row)
{
	fprintf(out, "# HELP %s ", row->name);
	print_help(out, row->help);
	fprintf(out, "\n# TYPE %s %s\n", row->name, row->type);
}

static void print_value(FILE *out, const struct row *row, int64_t value)
{
	if (row->labels[0])
		fprintf(out, "%s{%s} %" PRId64 "\n", row->name, row->labels, value);
	else
		fprintf(out, "%s %" PRId64 "\n", row->name, value);
}

char *metric_text(size_t *len)
{
	char *text = NULL;
	FILE *out  = open_memstream(&text, len);

	if (!out)
		return NULL;
	for (size_t m = 0; m < METRIC_COUNT; m++) {
		if (m == 0 || strcmp(rows[m].name, rows[m - 1].name) != 0)
			print_head(out, &rows[m]);
		print_value(out, &rows[m], metric_get((enum metric)m));
	}

	/* A stream that ran out of memory says so here at the latest. */
	int failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}
