/*
 * Reads tests/vectors/NAME: one message per line, "name | c>s, s>c or c>c | hex", with # comments and empty lines.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VECTOR_NAME_BYTES 40
#define VECTOR_BYTES_MAX  192

struct vector {
	char    name[VECTOR_NAME_BYTES];
	bool    to_server; /* c>s */
	size_t  len;
	uint8_t data[VECTOR_BYTES_MAX];
};

struct vectors {
	struct vector *rows;
	size_t         count;
};

/*
 * file is a name in the folder vectors/ of TESTS_DIR ("tests" when that is not set). A file that cannot be read, a
 * line that does not parse, a repeated name, or no row at all ends the test. Free with vectors_free.
 */
struct vectors vectors_load(const char *file);
void           vectors_free(struct vectors *v);

/* A name that is not there ends the test. */
const struct vector *vectors_find(const struct vectors *v, const char *name);

/* The path of a file below TESTS_DIR, in out. */
const char *tests_path(char *out, size_t cap, const char *below);

#endif
