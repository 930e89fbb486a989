/*
 * The forms that one word of a setting may have: an address to listen on, a network, a web origin, a host name, the
 * name of a header field. Checked only, not kept. For conf/ only.
 *
 * Each returns false after writing to *why what is wrong with the word and how to write it.
 */
#ifndef CONF_CONF_WORD_H
#define CONF_CONF_WORD_H

#include "conf/conf_value.h"

#include <stdbool.h>

/* Writes word (escaped and clipped, *** for a secret) and the reason to *why. Always false, for returning it. */
bool conf_refuse(struct conf_why *why, const struct conf_row *row, const char *word, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* One word of a LISTEN, NETWORKS, ORIGINS or LIST row. */
bool conf_word_check(const struct conf_row *row, const char *word, struct conf_why *why);

bool conf_word_host(const struct conf_row *row, const char *word, struct conf_why *why);
/* For a WORD: at most CONF_WORD_MAX printable ASCII characters, no blank among them. */
bool conf_word_plain(const struct conf_row *row, const char *word, struct conf_why *why);

bool conf_word_header(const struct conf_row *row, const char *word, struct conf_why *why);

/* host:port or [IPv6]:port, with a port from 1 to 65535, which may be missing unless it is needed. */
bool conf_word_is_place(const char *text, bool needs_port);

/* Something that the file format would take for a comment: # or ; at the start or after a blank. */
bool conf_word_has_comment(const char *text);

/* A control character other than tab. */
bool conf_word_has_control(const char *text);

bool conf_word_is_utf8(const char *text); /* at most CONF_VALUE_BYTES_MAX bytes */

#endif
