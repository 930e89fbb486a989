#include "base/shell.h"

static void put(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	}
}

void shell_word(FILE *out, const char *path, const char *rest)
{
	fputc('\'', out);
	put(out, path);
	put(out, rest);
	fputc('\'', out);
}
