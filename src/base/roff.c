#include "base/roff.h"

#include <stdbool.h>
#include <string.h>

void roff_put(FILE *out, const char *text, size_t len)
{
	bool begins = true;

	for (size_t i = 0; i < len; i++) {
		if (begins && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", out);
		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-')
			fputs("\\-", out);
		else if (text[i] == '~')
			fputs("\\(ti", out);
		else
			fputc(text[i], out);
		begins = text[i] == '\n';
	}
}

void roff_text(FILE *out, const char *text)
{
	roff_put(out, text, strlen(text));
}

void roff_paragraphs(FILE *out, const char *text)
{
	while (text) {
		const char *end = strstr(text, "\n\n");

		roff_put(out, text, end ? (size_t)(end - text) : strlen(text));
		fputs(end ? "\n.PP\n" : "\n", out);
		text = end ? end + 2 : NULL;
	}
}

void roff_code(FILE *out, const char *lines)
{
	fputs(".PP\n.nf\n.RS 4\n", out);
	for (const char *end; *lines; lines = *end ? end + 1 : end) {
		end = strchrnul(lines, '\n');
		roff_put(out, lines, (size_t)(end - lines));
		fputc('\n', out);
	}
	fputs(".RE\n.fi\n", out);
}
