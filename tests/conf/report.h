/* What the configuration says about its problems, caught in memory, for the tests beside this file. */
#ifndef TESTS_CONF_REPORT_H
#define TESTS_CONF_REPORT_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

struct report {
	FILE  *file;
	char  *text;
	size_t len;
};

static inline FILE *report_open(struct report *r)
{
	*r      = (struct report){ 0 };
	r->file = open_memstream(&r->text, &r->len);
	cr_assert_not_null(r->file);
	return r->file;
}

/* What was written, for report_free. */
static inline const char *report_text(struct report *r)
{
	cr_assert_eq(fflush(r->file), 0);
	return r->text;
}

static inline void report_free(struct report *r)
{
	(void)fclose(r->file);
	free(r->text);
}

/* An environment of up to 16 entries, which holds until the next call: environ's strings are not const. */
static inline char **environment(const char *const *entries)
{
	static char  text[16][80];
	static char *env[17];
	size_t       i = 0;

	for (; entries[i]; i++) {
		cr_assert_lt(i, 16);
		env[i] = text[i];
		cr_assert_lt(snprintf(text[i], sizeof(text[i]), "%s", entries[i]), (int)sizeof(text[i]));
	}
	env[i] = NULL;
	return env;
}

#endif
