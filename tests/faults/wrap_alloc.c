/*
 * Memory that our own code does not get. Linked into build/test/coopd-faults, the server under the sanitizers, with
 * --wrap for each function below: every call in our own objects comes here first, none of a library's does. After a
 * failure the sanitizers say whether something was used that is not there, or given back never or twice.
 */
#include "fake/fail_at.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES     10
#define OUR_FRAMES 3 /* note, strikes and the wrapper */

static struct fail_at  idle;
static struct fail_at *control = &idle;

extern char __executable_start; /* the linker's. NOLINT */

__attribute__((constructor)) static void set_up(void)
{
	const char *path = getenv("FAIL_AT_CONTROL");

	if (!path)
		return;

	int   fd  = open(path, O_RDWR | O_CLOEXEC);
	void *mem = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* A test that wants a failure and gets none would pass for no reason. */
	if (mem == MAP_FAILED)
		abort();
	close(fd);
	control = mem;
}

/* Who asked, from the nearest caller: for addr2line -f -i -e coopd-faults. */
static __attribute__((noinline)) void note(const char *name)
{
	void  *frames[FRAMES];
	int    count = backtrace(frames, FRAMES);
	size_t len   = (size_t)snprintf(control->what, sizeof(control->what), "%s, coopd-faults", name);

	for (int i = OUR_FRAMES; i < count && len < sizeof(control->what); i++)
		len += (size_t)snprintf(control->what + len, sizeof(control->what) - len, "%s%#zx",
		                        i == OUR_FRAMES ? "+" : ",", (size_t)((char *)frames[i] - &__executable_start));
}

static __attribute__((noinline)) bool strikes(const char *name)
{
	if (!control->armed)
		return false;

	int64_t number = ++control->count, at = control->at, every = control->every;

	if (at == 0 || number < at || (number > at && (every == 0 || (number - at) % every != 0)))
		return false;
	if (number == at)
		note(name);
	errno = ENOMEM;
	return true;
}

/* NAME as our code calls it is __wrap_NAME; the real one is __real_NAME. NOLINTBEGIN */
#define WRAP(type, name, params, fails, ...)                                  \
	type __real_##name params;                                            \
	type __wrap_##name params;                                            \
	type __wrap_##name params                                             \
	{                                                                     \
		return strikes(#name) ? (fails) : __real_##name(__VA_ARGS__); \
	}

WRAP(void *, malloc, (size_t bytes), NULL, bytes)
WRAP(void *, calloc, (size_t count, size_t bytes), NULL, count, bytes)
WRAP(void *, realloc, (void *old, size_t bytes), NULL, old, bytes)
WRAP(char *, strdup, (const char *text), NULL, text)
WRAP(char *, strndup, (const char *text, size_t max), NULL, text, max)
WRAP(char *, realpath, (const char *restrict path, char *restrict out), NULL, path, out)
WRAP(FILE *, open_memstream, (char **out, size_t *len), NULL, out, len)
WRAP(int, vasprintf, (char **out, const char *format, va_list args), -1, out, format, args)

int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **out, const char *format, ...)
{
	va_list args;

	if (strikes("asprintf"))
		return -1;
	va_start(args, format);
	int len = __real_vasprintf(out, format, args);
	va_end(args);
	return len;
}
/* NOLINTEND */
