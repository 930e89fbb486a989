/*
 * Memory that libraries do not get: malloc, calloc and realloc called from anywhere but the program itself, the C
 * library's own calls among them. For the plain build: the sanitizers bring a malloc of their own.
 *
 * What our own code takes is faults/wrap_alloc.c's.
 */
#include "fake/fail_at.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The C library's, which are there before anything can be looked up. NOLINTBEGIN */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
/* NOLINTEND */

static struct fail_at  idle;
static struct fail_at *control = &idle;
static uintptr_t       own_from, own_to; /* the program's code */

static int find_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
			own_from = info->dlpi_addr + part->p_vaddr;
			own_to   = own_from + part->p_memsz;
		}
	}
	return 1; /* the first is the program */
}

__attribute__((constructor)) static void set_up(void)
{
	const char *path = getenv("FAIL_AT_CONTROL");

	if (!path)
		return;
	dl_iterate_phdr(find_program, NULL);

	int   fd  = open(path, O_RDWR | O_CLOEXEC);
	void *mem = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* A test that wants a failure and gets none would pass for no reason. */
	if (mem == MAP_FAILED || own_to == 0)
		abort();
	close(fd);
	control = mem;
}

static void note(const char *name, uintptr_t caller)
{
	Dl_info     from = { 0 };
	const char *file = "?", *symbol = "?";

	if (dladdr((void *)caller, &from) && from.dli_fname) {
		file   = strrchr(from.dli_fname, '/') ? strrchr(from.dli_fname, '/') + 1 : from.dli_fname;
		symbol = from.dli_sname ? from.dli_sname : "?";
	}
	snprintf(control->what, sizeof(control->what), "%s, %.60s+%#zx (%.50s)", name, file,
	         (size_t)(caller - (uintptr_t)from.dli_fbase), symbol);
}

static bool strikes(const char *name, void *caller)
{
	static _Thread_local bool is_noting; /* snprintf and dladdr are libraries, too */
	uintptr_t                 at_code = (uintptr_t)caller;

	if (!control->armed || is_noting || (at_code >= own_from && at_code < own_to))
		return false;

	int64_t number = ++control->count, at = control->at, every = control->every;

	if (at == 0 || number < at || (number > at && (every == 0 || (number - at) % every != 0)))
		return false;
	if (number == at) {
		is_noting = true;
		note(name, at_code);
		is_noting = false;
	}
	errno = ENOMEM;
	return true;
}

#define FROM __builtin_return_address(0)

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
void *malloc(size_t bytes)
{
	return strikes("malloc", FROM) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return strikes("calloc", FROM) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return strikes("realloc", FROM) ? NULL : __libc_realloc(old, bytes);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
