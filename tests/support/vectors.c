#include "support/vectors.h"

#include "support/pattern.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tests_path(char *out, size_t cap, const char *below)
{
	const char *dir = getenv("TESTS_DIR");

	snprintf(out, cap, "%s/%s", dir ? dir : "tests", below);
	return out;
}

/* False when the line is none of ours. */
static bool read_row(struct vector *row, const char *line)
{
	char           direction[4];
	int            hex = 0;
	struct pattern p;
	const char    *why;

	if (sscanf(line, " %39[a-z0-9_] | %3[cs>] | %n", row->name, direction, &hex) != 2 || hex == 0)
		return false;
	row->to_server = strcmp(direction, "c>s") == 0;
	if (!row->to_server && strcmp(direction, "s>c") != 0 && strcmp(direction, "c>c") != 0)
		return false;
	pattern_clear(&p);
	if (!pattern_add_text(&p, line + hex, &why) || p.len == 0 || p.len > VECTOR_BYTES_MAX)
		return false;
	memcpy(row->data, p.value, p.len);
	row->len = p.len;
	return true;
}

static const struct vector *find(const struct vectors *v, const char *name)
{
	for (size_t i = 0; i < v->count; i++)
		if (strcmp(v->rows[i].name, name) == 0)
			return &v->rows[i];
	return NULL;
}

struct vectors vectors_load(const char *file)
{
	struct vectors v = { 0 };
	struct vector  row;
	char           below[64], path[512], line[1024];
	int            number = 0;

	snprintf(below, sizeof(below), "vectors/%s", file);
	FILE *in = fopen(tests_path(path, sizeof(path), below), "re");

	cr_assert_not_null(in, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), in)) {
		number++;
		line[strcspn(line, "#\n")] = '\0';
		if (line[strspn(line, " \t")] == '\0')
			continue;
		cr_assert(read_row(&row, line), "%s:%d: not \"name | c>s | hex\"", path, number);
		cr_assert_null(find(&v, row.name), "%s:%d: %s is there already", path, number, row.name);
		v.rows = realloc(v.rows, (v.count + 1) * sizeof(*v.rows));
		cr_assert_not_null(v.rows, "memory for vectors");
		v.rows[v.count++] = row;
	}
	fclose(in);
	cr_assert_gt(v.count, 0, "%s holds no vector", path);
	return v;
}

void vectors_free(struct vectors *v)
{
	free(v->rows);
	*v = (struct vectors){ 0 };
}

const struct vector *vectors_find(const struct vectors *v, const char *name)
{
	const struct vector *row = find(v, name);

	cr_assert_not_null(row, "no vector named %s", name);
	return row;
}
