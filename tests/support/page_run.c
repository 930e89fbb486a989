#include "support/page_run.h"

#include "support/data_folder.h"
#include "support/dial.h"
#include "support/program.h"

#include <criterion/criterion.h>

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_EVERY_MS 200
#define LINE_BYTES    1000
#define SKIPPED       77 /* run.mjs ends so where something is missing */

/* What the browser leaves behind lies in the test's folder, and goes with it. */
static void become_node(const int in[2], const int out[2], const char *scenario)
{
	const char *tests = getenv("TESTS_DIR");
	char        script[300];
	sigset_t    none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	close(in[1]);
	close(out[0]);
	snprintf(script, sizeof(script), "%s/e2e/run.mjs", tests ? tests : "tests");
	execlp("node", "node", script, scenario, (char *)NULL);
	_exit(127);
}

static void answer(FILE *to, const char *line, const struct page_act *acts)
{
	char        out[PAGE_ANSWER_BYTES] = "";
	size_t      len                    = strcspn(line, " ");
	const char *rest                   = line[len] ? line + len + 1 : "";

	for (; acts && acts->word; acts++) {
		if (strlen(acts->word) != len || strncmp(acts->word, line, len) != 0)
			continue;
		acts->act(out, rest);
		fprintf(to, "%s\n", out);
		fflush(to);
		return;
	}
	cr_assert_fail("the scenario asks for \"%s\", which this test does not do", line);
}

/* One line at a time, each byte for itself: poll must see what is left. False: there are no more. */
static bool read_line(char line[LINE_BYTES], int fd)
{
	size_t  len = 0;
	ssize_t got = 1;

	while (len < LINE_BYTES - 1 && (got = read(fd, line + len, 1)) == 1 && line[len] != '\n')
		len++;
	line[len] = '\0';
	return got == 1 || len > 0;
}

static void serve(int from, FILE *to, const struct page_act *acts)
{
	char          line[LINE_BYTES];
	int64_t       end = real_now_ms() + PAGE_SCENARIO_MS;
	struct pollfd p   = { .fd = from, .events = POLLIN };

	while (real_now_ms() < end) {
		if (poll(&p, 1, LOOK_EVERY_MS) <= 0)
			continue;
		if (!read_line(line, from))
			return;
		if (line[0] == '@')
			answer(to, line + 1, acts);
		else
			fprintf(stderr, "%s\n", line);
	}
	fprintf(stderr, "the scenario takes too long\n");
}

static int run(const char *scenario, const struct page_act *acts)
{
	int   in[2], out[2], status;
	pid_t pid;

	cr_assert(pipe(in) == 0 && pipe(out) == 0);
	signal(SIGPIPE, SIG_IGN);
	setenv("HOME", data_folder(), 1);
	setenv("TMPDIR", data_folder(), 1);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0)
		become_node(in, out, scenario);
	close(in[0]);
	close(out[1]);

	FILE *to = fdopen(in[1], "w");

	cr_assert_not_null(to);
	serve(out[0], to, acts);
	fclose(to); /* it ends by itself, or now */
	close(out[0]);
	kill(pid, SIGTERM);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

void page_run(const char *scenario, const struct page_act *acts)
{
	int status;

	if (!program_or_skip("node"))
		return;
	status = run(scenario, acts);
	if (status != SKIPPED)
		cr_expect_eq(status, 0, "the scenario %s ended with %d", scenario, status);
}
