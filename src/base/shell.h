/*
 * Commands that an operator is to run: what stands in them may have blanks, quotes and worse.
 */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

#include <stdio.h>

/* Both parts, one after the other, as one word of the shell, whatever is in them: 'it'\''s' */
void shell_word(FILE *out, const char *path, const char *rest);

#endif
