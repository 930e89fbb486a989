/*
 * Finding a part in a text whatever their case: of Latin, Greek, Cyrillic and Armenian, a character at a time (so that a
 * German sharp s is no "ss").
 */
#ifndef BASE_FOLD_H
#define BASE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLD_CHARS_MAX 256 /* of the part; one that is longer is found in nothing */

struct fold {
	uint32_t chars[FOLD_CHARS_MAX];
	size_t   len;
	bool     too_long;
};

void fold_init(struct fold *f, const char *part);

/* Whether it stands anywhere in the text; an empty part does. */
bool fold_is_in(const struct fold *f, const char *text);

/* The character that all cases of this one are compared as. */
uint32_t fold_char(uint32_t code);

#endif
