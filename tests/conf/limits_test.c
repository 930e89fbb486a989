/* Each row of limits.def: its default, and its range at the edges and one past them. */
#include "conf/limits.h"

#include "conf/conf_value.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>

#define EACH_LIMIT(id) (size_t id = CONF_ROW_limits_ws_connections; id < CONF_ROWS; id++)

Test(limits, defaults_are_those_of_the_table)
{
	struct limits l = { 0 };

	limits_default(&l);
#define LIMIT(name, def, ...) cr_expect_eq(l.name, (def), #name);
#include "conf/limits.def"
#undef LIMIT
}

Test(limits, every_default_lies_in_its_range)
{
	struct conf c = { 0 };

	limits_default(&c.limits);
	for
		EACH_LIMIT(id)
		{
			const struct conf_row *row   = &conf_rows[id];
			int64_t                value = *(const int64_t *)conf_field_const(&c, row);

			cr_expect(row->type == CONF_TYPE_LIMIT && *row->unit && *row->help, "%s", row->name);
			cr_expect(row->min <= value && value <= row->max, "%s", row->name);
		}
}

static bool takes(const struct conf_row *row, int64_t number)
{
	struct conf_why why;
	int64_t         kept = -7;
	char            text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	bool taken = conf_value_parse(&kept, row, text, &why);
	cr_expect_eq(kept, taken ? number : -7, "%s = %s", row->name, text);
	return taken;
}

Test(limits, every_range_ends_where_the_table_says)
{
	for
		EACH_LIMIT(id)
		{
			const struct conf_row *row = &conf_rows[id];

			cr_expect(takes(row, row->min), "%s at its least", row->name);
			cr_expect(takes(row, row->max), "%s at its most", row->name);
			cr_expect_not(takes(row, row->min - 1), "%s below its least", row->name);
			cr_expect_not(takes(row, row->max + 1), "%s above its most", row->name);
		}
}
