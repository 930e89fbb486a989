/*
 * The configuration file's form: [section] lines and name = value lines, by libinih. For conf/ only.
 *
 *	# a comment; so is what follows a # or ; after a blank
 *	[tunnel]
 *	listen = 127.0.0.1:64190
 *
 * libinih itself cuts long lines, forgets what stands behind a ']' and tells of one bad line only; the reader that
 * feeds it looks at each line first.
 */
#ifndef CONF_CONF_FILE_H
#define CONF_CONF_FILE_H

#include <stddef.h>

/* Longest line without its end. */
#define CONF_LINE_BYTES_MAX 4000

/* Called for each setting in a known section, and for each line that does not follow the form. Lines count from 1. */
struct conf_file_sink {
	void *arg;
	void (*setting)(void *arg, unsigned line, const char *section, const char *name, const char *value);
	void (*problem)(void *arg, unsigned line, const char *what);
};

void conf_file_parse(const char *text, size_t len, const struct conf_file_sink *sink);

#endif
