/*
 * Reads tests/vectors/NAME: three columns per line, "kind | body | result", blanks around them cut. Lines that begin with #
 * are comments.
 */
#ifndef TESTS_FIELD_ROWS_H
#define TESTS_FIELD_ROWS_H

#include <stddef.h>

struct field_row {
	int  line;
	char kind[16];
	char body[256];
	char result[256];
};

struct field_rows {
	struct field_row *rows;
	size_t            count;
};

/* A file that cannot be read, or a line of another shape, ends the test. Free with field_rows_free. */
struct field_rows field_rows_load(const char *file);
void              field_rows_free(struct field_rows *f);

#endif
