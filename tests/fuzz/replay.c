/*
 * A plain main for a fuzz target: gives it each of its kept inputs once, without libFuzzer.
 *
 *	replay FOLDER...
 *
 * Each name is printed before its input runs, so the last line of the output names the input that broke something.
 * Every input lies in memory of exactly its size, so that the address sanitizer sees a read past its end.  Finding no
 * input at all is a failure: somebody moved the corpus.
 */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int inputs;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void run(const char *name, const uint8_t *data, size_t len)
{
	printf("%s (%zu bytes)\n", name, len);
	if (LLVMFuzzerTestOneInput(data, len) != 0) {
		printf("the target does not return 0\n");
		exit(1);
	}
}

static void run_file(const char *path)
{
	struct stat st;
	FILE       *file = fopen(path, "rb");

	if (!file || fstat(fileno(file), &st) != 0)
		die(path);
	size_t   len  = (size_t)st.st_size;
	uint8_t *data = malloc(len);
	if (!data && len > 0)
		die("malloc");
	if (fread(data, 1, len, file) != len)
		die(path);
	(void)fclose(file);
	run(path, data, len);
	free(data);
	inputs++;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* In the order of their names, so that two runs print the same. */
static void run_folder(const char *folder)
{
	struct dirent **entries = NULL;
	int             count   = scandir(folder, &entries, is_visible, alphasort);

	if (count < 0)
		die(folder);
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		(void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		run_file(path);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < argc; i++)
		run_folder(argv[i]);
	if (inputs == 0) {
		printf("no inputs\n");
		return 1;
	}
	run("(nothing)", (const uint8_t *)"", 0);
	return 0;
}
