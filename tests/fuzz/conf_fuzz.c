/*
 * The configuration file: any text is accepted or refused with a report, and one that was accepted is accepted again
 * after conf_print has written it, with the same values.
 */
#include "base/auto.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static FILE *open_memory(char **text, size_t *len)
{
	FILE *file = open_memstream(text, len);

	must(file != NULL);
	return file;
}

/* True when accepted; a refusal must come with a reason. */
static bool load(struct conf *c, const char *text, size_t len)
{
	char  *said     = NULL;
	size_t said_len = 0;
	FILE  *report   = open_memory(&said, &said_len);
	bool   good     = conf_load_text(c, text, len, report) == ERR_OK;

	must(fclose(report) == 0);
	must(good == (said_len == 0));
	free(said);
	return good;
}

static void same_values(const struct conf *a, const struct conf *b)
{
	for (size_t id = 0; id < CONF_ROWS; id++) {
		const struct conf_row *row     = &conf_rows[id];
		AUTO(auto_free) char  *value_a = conf_value_text(row, conf_field_const(a, row));
		AUTO(auto_free) char  *value_b = conf_value_text(row, conf_field_const(b, row));

		must((row->flags & SECRET) || strcmp(value_a, value_b) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct conf first, again;

	if (!load(&first, (const char *)data, len))
		return 0;

	char  *printed     = NULL;
	size_t printed_len = 0;
	FILE  *out         = open_memory(&printed, &printed_len);
	conf_print(&first, out);
	must(fclose(out) == 0);
	must(load(&again, printed, printed_len));
	same_values(&first, &again);
	free(printed);
	conf_fini(&again);
	conf_fini(&first);
	return 0;
}
