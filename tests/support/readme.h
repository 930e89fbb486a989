/*
 * The configurations of other programs that README.md tells people to copy: a test runs these very lines, with the names
 * and ports of the test in place of those of the text.
 */
#ifndef TESTS_README_H
#define TESTS_README_H

/*
 * The lines of the first fenced block that opens with this word behind its backticks, like "nginx"; for free(). The test
 * ends when there is none.
 */
char *readme_block(const char *word);

/* The same of another document, by its path from the root of the tree. */
char *document_block(const char *path, const char *word);

/* text with every `from` replaced; text is freed. The test ends when there is none to replace: the README has changed. */
char *readme_replace(char *text, const char *from, const char *to);

/* text without the lines in which this stands; text is freed. The test ends when there is none. */
char *readme_cut(char *text, const char *part);

/* Lines in front of it and behind it, and into a file of the test's data folder; text is freed. */
void readme_save(char *text, const char *name, const char *before, const char *after);

#endif
