/*
 * Text for manual pages: what roff would take for requests and escapes is written so that it is printed as it is.
 */
#ifndef BASE_ROFF_H
#define BASE_ROFF_H

#include <stddef.h>
#include <stdio.h>

/* The text; it must stand at the beginning of a line or behind something that is no request. A line's end in it ends a line. */
void roff_put(FILE *out, const char *text, size_t len);
void roff_text(FILE *out, const char *text);

/* The same, with an empty line between paragraphs as roff wants it, and a line's end behind the last. */
void roff_paragraphs(FILE *out, const char *text);

/* Lines of code, indented, as they stand. */
void roff_code(FILE *out, const char *lines);

#endif
