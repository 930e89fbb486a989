/* Values of settings: from text into the field of struct conf, and back. For conf/ and its tests only. */
#ifndef CONF_CONF_VALUE_H
#define CONF_CONF_VALUE_H

#include "conf/conf_table.h"

#include <stdbool.h>
#include <stdio.h>

/* A value is at most so long, so that conf_print's line for it can be read again. */
#define CONF_VALUE_BYTES_MAX 2048

/* Why a value was refused: the rest of a sentence that begins with the setting's name. */
struct conf_why {
	char text[512];
};

/*
 * Parses text into the field of this row and frees what was there. False: *why says what is wrong and what is allowed,
 * and the field is untouched.
 */
bool conf_value_parse(void *field, const struct conf_row *row, const char *text, struct conf_why *why);

/* Writes the value in the form that conf_value_parse reads. */
void conf_value_print(FILE *out, const struct conf_row *row, const void *field);

/* For eyes: the same, but *** for a secret that is set. */
void conf_value_show(FILE *out, const struct conf_row *row, const void *field);

/* What conf_value_print writes, for free(); NULL: out of memory. */
char *conf_value_text(const struct conf_row *row, const void *field);

/* Frees what the field holds and zeroes it. */
void conf_value_fini(void *field, const struct conf_row *row);

/* What may stand there, in a few words for the sample file and the README: "yes or no", "1 to 32 friends". */
void conf_value_describe(FILE *out, const struct conf_row *row);

#endif
