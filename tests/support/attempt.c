/*
 * Criterion's macros tell of a failed expectation through criterion_send_assert. The program's own function of that name
 * comes before the library's in the search for it, so an attempt hears of its failure before the test does.
 */
#include "support/attempt.h"

#include "support/dial.h"

#include <criterion/criterion.h>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_EVERY_MS 1
#define STATUS_FAILED 61

static char *told; /* in an attempt: where it says why it failed */

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	static void (*real)(struct criterion_assert_stats *);

	if (told && !stats->passed) {
		snprintf(told, ATTEMPT_WHY_BYTES, "%.80s:%u: %.300s", stats->file, stats->line, stats->message);
		_exit(STATUS_FAILED);
	}
	if (told)
		return;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "criterion_send_assert");
	real(stats);
}

void *attempt_share(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(mem, MAP_FAILED, "memory to share: %s", strerror(errno));
	return mem;
}

/* Whether it ended by itself within the time; *how is what waitpid says. */
static bool await(pid_t pid, int patience_ms, int *how)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;

	while (waitpid(pid, how, WNOHANG) != pid) {
		if (real_now_ms() > deadline_ms) {
			kill(pid, SIGKILL);
			waitpid(pid, how, 0);
			return false;
		}
		real_sleep_ms(LOOK_EVERY_MS);
	}
	return true;
}

enum attempt_end attempt(void (*act)(void *arg), void *arg, int patience_ms, char why[ATTEMPT_WHY_BYTES])
{
	static char *shared;
	int          how;

	if (!shared)
		shared = attempt_share(ATTEMPT_WHY_BYTES);
	shared[0] = '\0';

	pid_t pid = fork();

	cr_assert_geq(pid, 0, "no process: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		told = shared;
		act(arg);
		_exit(0);
	}
	bool in_time = await(pid, patience_ms, &how);

	memcpy(why, shared, ATTEMPT_WHY_BYTES);
	if (!in_time)
		return ATTEMPT_LATE;
	if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
		return ATTEMPT_DONE;
	cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == STATUS_FAILED, "the test's own client died: %#x",
	          (unsigned)how);
	return ATTEMPT_REFUSED;
}
