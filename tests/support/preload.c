#include "support/preload.h"

#include <criterion/criterion.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside the test program: build/test/NAME. */
static void set_library(const char *name)
{
	char    path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	cr_assert_gt(len, 0);
	path[len]   = '\0';
	char *slash = strrchr(path, '/');

	cr_assert_lt((size_t)(slash + 1 - path) + strlen(name), sizeof(path));
	strcpy(slash + 1, name);
	cr_assert_eq(access(path, R_OK), 0, "%s must be built first", path);
	setenv("LD_PRELOAD", path, 1);
}

/* The sanitizer wants to be the first library; that ours comes before it is meant. */
static void allow_library(void)
{
	const char *given = getenv("ASAN_OPTIONS");
	char        options[1024];

	snprintf(options, sizeof(options), "%s%sverify_asan_link_order=0", given ? given : "", given ? ":" : "");
	setenv("ASAN_OPTIONS", options, 1);
}

void preload_library(const char *name)
{
	set_library(name);
	allow_library();
}
