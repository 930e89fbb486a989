#include "support/readme.h"

#include "support/data_folder.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT_BYTES_MAX ((size_t)1 << 20)

static char *read_document(const char *below)
{
	const char *tests = getenv("TESTS_DIR");
	char       *text  = calloc(1, DOCUMENT_BYTES_MAX);
	char        path[4096];

	cr_assert_not_null(tests, "TESTS_DIR must name the folder of the tests");
	snprintf(path, sizeof(path), "%s/../%s", tests, below);
	FILE *f = fopen(path, "re");

	cr_assert(text && f, "cannot read %s", path);
	cr_assert_lt(fread(text, 1, DOCUMENT_BYTES_MAX - 1, f), DOCUMENT_BYTES_MAX - 1);
	fclose(f);
	return text;
}

char *document_block(const char *path, const char *word)
{
	char *text = read_document(path);
	char  opening[64];

	snprintf(opening, sizeof(opening), "\n```%s\n", word);
	char *begin = strstr(text, opening);
	char *end   = begin ? strstr(begin + strlen(opening) - 1, "\n```\n") : NULL;

	cr_assert(end, "%s has no block that begins with ```%s", path, word);
	begin += strlen(opening);
	char *block = strndup(begin, (size_t)(end + 1 - begin));

	free(text);
	cr_assert_not_null(block);
	return block;
}

char *readme_block(const char *word)
{
	return document_block("README.md", word);
}

char *readme_replace(char *text, const char *from, const char *to)
{
	char  *out = NULL, *found;
	size_t len;
	FILE  *f  = open_memstream(&out, &len);
	char  *at = text;

	cr_assert_not_null(f);
	cr_assert(strstr(text, from), "the block of README.md has no \"%s\":\n%s", from, text);
	for (; (found = strstr(at, from)); at = found + strlen(from))
		fprintf(f, "%.*s%s", (int)(found - at), at, to);
	fputs(at, f);
	fclose(f);
	free(text);
	return out;
}

char *readme_cut(char *text, const char *part)
{
	char  *out = calloc(1, strlen(text) + 1);
	size_t len = 0;

	cr_assert_not_null(out);
	cr_assert(strstr(text, part), "the block of README.md has no \"%s\":\n%s", part, text);
	for (const char *line = text; *line;) {
		size_t bytes = strcspn(line, "\n") + 1;

		if (!memmem(line, bytes, part, strlen(part))) {
			memcpy(out + len, line, bytes);
			len += bytes;
		}
		line += bytes;
	}
	free(text);
	return out;
}

void readme_save(char *text, const char *name, const char *before, const char *after)
{
	FILE *f = fopen(data_path(name), "we");

	cr_assert_not_null(f, "cannot write %s", name);
	fprintf(f, "%s%s%s", before, text, after);
	fclose(f);
	free(text);
}
