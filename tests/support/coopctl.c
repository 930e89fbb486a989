#include "support/coopctl.h"

#include "base/auto.h"
#include "support/data_folder.h"
#include "support/dial.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define WORDS_MAX        64
#define OUTPUT_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define WIDE             200

/* --- Words --- */

/* Splits text, which is changed. */
static size_t split(const char **words, char *text)
{
	size_t count = 0;

	while (*text && count < WORDS_MAX) {
		char end = *text == '\'' ? '\'' : ' ';

		text += strspn(text, " ");
		end = *text == '\'' ? '\'' : ' ';
		text += end == '\'';
		if (!*text && end == ' ')
			break;
		words[count++] = text;
		text           = strchrnul(text, end);
		if (*text)
			*text++ = '\0';
	}
	cr_assert_lt(count, WORDS_MAX);
	return count;
}

struct coopctl_result coopctl(const struct coopctl_run *run, const char *words)
{
	AUTO(auto_free) char *copy = strdup(words);
	const char           *args[WORDS_MAX + 1];

	args[split(args, copy)] = NULL;
	return coopctl_args(run, args);
}

/* --- The program --- */

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void set_environment(const struct coopctl_run *run)
{
	static const char *const kept[] = { "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "PATH" };
	char                    *values[COUNT_OF(kept)];
	char                     columns[16];

	for (size_t i = 0; i < COUNT_OF(kept); i++)
		values[i] = copy_of(getenv(kept[i]));
	clearenv();
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		if (values[i])
			setenv(kept[i], values[i], 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TERM", "xterm", 1);
	if (!run->real_clock)
		setenv("COOPCTL_NOW", COOPCTL_NOW, 1);
	snprintf(columns, sizeof(columns), "%d", run->columns);
	if (run->columns)
		setenv("COLUMNS", columns, 1);
	for (const char *const *v = run->env; v && *v; v++)
		putenv((char *)(uintptr_t)*v);
}

static void become(const struct coopctl_run *run, const char *const *args, pid_t test)
{
	const char *argv[WORDS_MAX + 4] = { "coopctl" };
	const char *program             = getenv("COOPCTL_BIN");
	size_t      n                   = 1;
	sigset_t    none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!program || getppid() != test || chdir(data_folder()) != 0)
		_exit(125);
	set_environment(run);
	if (run->socket) {
		argv[n++] = "--socket";
		argv[n++] = run->socket;
	}
	for (; *args; args++)
		argv[n++] = *args;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(3, ~0U, 0);
	execv(program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* What the test waits for has come: *run has no more to wait for. */
static void react(struct coopctl_run *run, const char *out, int terminal, pid_t pid)
{
	if (!run->when || !strstr(out, run->when))
		return;
	run->when = NULL;
	if (run->meanwhile)
		run->meanwhile(run->arg);
	if (run->then)
		cr_assert_eq(write(terminal, run->then, strlen(run->then)), (ssize_t)strlen(run->then));
	else
		kill(pid, SIGINT);
}

/* Reads both to their ends; an fd of -1 has one already. */
static void read_all(int fds[2], struct coopctl_result *r, const struct coopctl_run *with, pid_t pid)
{
	struct coopctl_run run      = *with;
	int                terminal = fds[0];
	char              *texts[2] = { calloc(1, OUTPUT_BYTES_MAX + 1), calloc(1, OUTPUT_BYTES_MAX + 1) };
	size_t             lens[2]  = { 0, 0 };
	int64_t            deadline = real_now_ms() + COOPCTL_PATIENCE_MS;

	cr_assert(texts[0] && texts[1]);
	while (fds[0] >= 0 || fds[1] >= 0) {
		struct pollfd polled[] = { { .fd = fds[0], .events = POLLIN }, { .fd = fds[1], .events = POLLIN } };

		cr_assert_lt(real_now_ms(), deadline, "coopctl does not end");
		if (poll(polled, 2, 1000) <= 0)
			continue;
		for (size_t i = 0; i < 2; i++) {
			ssize_t n =
				polled[i].revents ? read(fds[i], texts[i] + lens[i], OUTPUT_BYTES_MAX - lens[i]) : 1;

			if (polled[i].revents && n <= 0)
				fds[i] = -1;
			else if (polled[i].revents)
				lens[i] += (size_t)n;
		}
		react(&run, texts[0], terminal, pid);
	}
	r->out = texts[0];
	r->err = texts[1];
}

static void await_end(struct coopctl_result *r, pid_t pid)
{
	int how = 0;

	while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
		;
	r->status = WIFEXITED(how) ? WEXITSTATUS(how) : 256 + WTERMSIG(how);
}

static struct coopctl_result run_on_terminal(const struct coopctl_run *run, const char *const *args)
{
	struct coopctl_result r    = { 0 };
	struct winsize        size = { .ws_col = (unsigned short)(run->columns ? run->columns : WIDE), .ws_row = 50 };
	pid_t                 test = getpid();
	int                   fd   = -1;
	pid_t                 pid  = forkpty(&fd, NULL, NULL, &size);

	cr_assert_geq(pid, 0, "no terminal: %s", strerror(errno));
	if (pid == 0)
		become(run, args, test);
	if (run->typed)
		cr_assert_eq(write(fd, run->typed, strlen(run->typed)), (ssize_t)strlen(run->typed));

	int fds[2] = { fd, -1 };

	read_all(fds, &r, run, pid);
	close(fd);
	await_end(&r, pid);
	return r;
}

struct coopctl_result coopctl_args(const struct coopctl_run *run, const char *const *args)
{
	struct coopctl_result r    = { 0 };
	pid_t                 test = getpid();
	int                   out[2], err[2];

	cr_assert_not_null(getenv("COOPCTL_BIN"));
	data_folder(); /* made by the test's process, which removes it */
	fflush(NULL);
	if (run->on_terminal)
		return run_on_terminal(run, args);
	cr_assert(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);

	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		dup2(null, 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		become(run, args, test);
	}
	close(out[1]);
	close(err[1]);

	int fds[2] = { out[0], err[0] };

	read_all(fds, &r, run, pid);
	close(out[0]);
	close(err[0]);
	await_end(&r, pid);
	return r;
}

void coopctl_freep(struct coopctl_result *r)
{
	free(r->out);
	free(r->err);
	r->out = r->err = NULL;
}
