/*
 * The bytes that PROTOCOL.md shows are those of the vectors.
 */
#include "support/pattern.h"
#include "support/readme.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH 17 /* of the first column */

static void compare(const struct vectors *all, const char *name, const struct pattern *shown)
{
	const struct vector *v = vectors_find(all, name);

	cr_expect(shown->len == v->len && memcmp(shown->value, v->data, v->len) == 0, "PROTOCOL.md: %s", name);
}

Test(rooms_document, every_example_is_a_vector)
{
	struct vectors all   = vectors_load("rooms.hex");
	char          *block = document_block("src/rooms/PROTOCOL.md", "rooms"), *rest = block, *line;
	char           name[VECTOR_NAME_BYTES] = "";
	struct pattern shown;
	const char    *why;
	size_t         count = 0;

	pattern_clear(&shown);
	while ((line = strsep(&rest, "\n")) && strlen(line) > NAME_WIDTH) {
		if (line[0] != ' ') {
			if (count > 0)
				compare(&all, name, &shown);
			cr_assert_eq(sscanf(line, "%39s", name), 1);
			pattern_clear(&shown);
			count++;
		}
		cr_assert(pattern_add_text(&shown, line + NAME_WIDTH, &why), "%s: %s", line, why);
	}
	compare(&all, name, &shown);
	cr_expect_geq(count, 16);
	free(block);
	vectors_free(&all);
}
