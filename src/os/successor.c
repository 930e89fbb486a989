/*
 * Between fork and exec only calls are made that a process with threads may make there: all that the new one needs is put together
 * before.
 */
#include "os/successor.h"

#include "base/text.h"
#include "os/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIPE_NAME      "COOPD_SUCCESSOR"
#define OF_NAME        "COOPD_SUCCESSOR_OF"
#define STANDS_BY      '\001' /* no text begins with it */
#define LOOK_MS        50     /* whether the wait is over */
#define PID_BYTES      24
#define NUMBER_BYTES   32
#define OWN_VARIABLES  6
#define NAMES_BYTES    (SERVICE_SOCKETS_MAX * (SERVICE_NAME_BYTES + 1) + NUMBER_BYTES)
#define FIRST_HELD     (SERVICE_FIRST_FD + SERVICE_SOCKETS_MAX + 1) /* above all that the new one gets */
#define SIGNALS_BEFORE 65

static struct {
	char   program[PATH_MAX];
	char **argv;
	int    pipe; /* -1: nobody waits for us */
	bool   is_successor;
	pid_t  of; /* 0: unknown */
} self = { .pipe = -1 };

/* --- How we were started --- */

/*
 * A name that was given as a path and leads here is the better one: it stays the same when a link is set to a new version, and has
 * no " (deleted)" behind it once the file was replaced.
 */
static void note_program(const char *given)
{
	struct stat a, b;
	ssize_t     len;

	if (strchr(given, '/') && stat(given, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino && text_copy(self.program, sizeof(self.program), given))
		return;
	len                             = readlink("/proc/self/exe", self.program, sizeof(self.program) - 1);
	self.program[len > 0 ? len : 0] = '\0';
}

static char **copy_argv(char **argv)
{
	size_t count = 0;
	char **copy;

	while (argv[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++)
		copy[i] = argv[i];
	return copy;
}

void successor_begin(char **argv)
{
	const char *text = getenv(PIPE_NAME);
	const char *of   = getenv(OF_NAME);
	int64_t     fd, pid;

	note_program(argv[0]);
	self.argv = copy_argv(argv); /* getopt changes the order of the other */
	if (text && text_to_int(&fd, text, SERVICE_FIRST_FD, INT_MAX) == ERR_OK && fcntl((int)fd, F_GETFD) >= 0) {
		self.pipe         = (int)fd;
		self.is_successor = true;
		fcntl(self.pipe, F_SETFD, FD_CLOEXEC);
	}
	if (of && text_to_int(&pid, of, 1, INT_MAX) == ERR_OK)
		self.of = (pid_t)pid;
	unsetenv(PIPE_NAME);
	unsetenv(OF_NAME);
}

/* --- What it gets --- */

struct plan {
	char **argv, **env;
	char   listen_pid[PID_BYTES], watchdog_pid[PID_BYTES]; /* filled in by who has that id */
	char   listen_fds[NUMBER_BYTES], pipe[NUMBER_BYTES], of[NUMBER_BYTES + PID_BYTES];
	char   names[NAMES_BYTES];
	int    fds[SERVICE_SOCKETS_MAX];
	size_t count;
	int    say; /* the pipe's end; -1: none */
};

/* What is told anew, or is not for it. */
static bool is_replaced(const char *variable)
{
	static const char        pipe_is[] = PIPE_NAME "=", of_is[] = OF_NAME "=";
	static const char *const names[] = { "LISTEN_FDS=",   "LISTEN_PID=", "LISTEN_FDNAMES=",
		                             "WATCHDOG_PID=", pipe_is,       of_is };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

static void name_sockets(struct plan *p, const struct successor *s)
{
	size_t used = strlen("LISTEN_FDNAMES=");

	memcpy(p->names, "LISTEN_FDNAMES=", used + 1);
	for (size_t i = 0; i < s->count; i++) {
		text_format(p->names + used, sizeof(p->names) - used, "%s%s", i > 0 ? ":" : "", s->sockets[i].name);
		used += strlen(p->names + used);
	}
}

static bool make_env(struct plan *p)
{
	size_t count = 0, at = 0;

	while (environ[count])
		count++;
	p->env = calloc(count + OWN_VARIABLES + 1, sizeof(*p->env));
	if (!p->env)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_replaced(environ[i]))
			p->env[at++] = environ[i];
	}
	p->env[at++] = p->listen_fds;
	p->env[at++] = p->listen_pid;
	p->env[at++] = p->names;
	if (getenv("WATCHDOG_PID"))
		p->env[at++] = p->watchdog_pid;
	if (p->say >= 0) {
		p->env[at++] = p->pipe;
		p->env[at++] = p->of;
	}
	return true;
}

/* Holds nothing but the array of the environment. */
static bool make_plan(struct plan *p, const struct successor *s, int say)
{
	*p = (struct plan){ .argv = self.argv, .count = s->count, .say = say };
	for (size_t i = 0; i < s->count; i++)
		p->fds[i] = s->sockets[i].fd;
	text_format(p->listen_fds, sizeof(p->listen_fds), "LISTEN_FDS=%zu", s->count);
	text_format(p->pipe, sizeof(p->pipe), PIPE_NAME "=%zu", SERVICE_FIRST_FD + s->count);
	text_format(p->of, sizeof(p->of), OF_NAME "=%ld", (long)getpid());
	name_sockets(p, s);
	return self.argv && self.program[0] && make_env(p);
}

static void write_pid(char out[PID_BYTES], const char *name, pid_t pid)
{
	char   digits[PID_BYTES];
	size_t count = 0, at = strlen(name);

	memcpy(out, name, at);
	for (long left = pid; left > 0; left /= 10)
		digits[count++] = (char)('0' + left % 10);
	while (count > 0)
		out[at++] = digits[--count];
	out[at] = '\0';
}

/* What a process with threads may do after a fork, and nothing else. Returns with errno when it cannot be. */
static void execute(struct plan *p)
{
	sigset_t held;
	int      fd = SERVICE_FIRST_FD;

	write_pid(p->listen_pid, "LISTEN_PID=", getpid());
	write_pid(p->watchdog_pid, "WATCHDOG_PID=", getpid());
	for (size_t i = 0; i < p->count; i++)
		dup2(p->fds[i], fd++); /* those lie above, so none is lost */
	if (p->say >= 0)
		dup2(p->say, fd++);
	close_range((unsigned)fd, ~0U, CLOSE_RANGE_CLOEXEC);
	for (int i = 1; i < SIGNALS_BEFORE; i++)
		signal(i, SIG_DFL);
	signals_held(
		&held); /* it does so itself, and releases them; until it gets there they are to end it as little */
	sigprocmask(SIG_SETMASK, &held, NULL);
	execve(self.program, p->argv, p->env);
}

/* --- The one that is there --- */

static enum err fail(struct successor *s, char text[SUCCESSOR_TEXT_BYTES], const char *what)
{
	text_format(text, SUCCESSOR_TEXT_BYTES, "%s: %s", what, strerror(errno));
	successor_give_up(s);
	return ERR_IO;
}

/* Descriptors of our own, above those that the new one will have. */
static bool hold_sockets(struct successor *s, const struct service_socket *sockets, size_t count)
{
	for (size_t i = 0; i < count && i < SERVICE_SOCKETS_MAX; i++) {
		s->sockets[i]    = sockets[i];
		s->sockets[i].fd = fcntl(sockets[i].fd, F_DUPFD_CLOEXEC, FIRST_HELD);
		if (s->sockets[i].fd < 0)
			return false;
		s->count = i + 1;
	}
	return true;
}

static void say_why(int to)
{
	const char *why = strerrordesc_np(errno);

	if (write(to, "it cannot be run: ", strlen("it cannot be run: ")) < 0 || !why ||
	    write(to, why, strlen(why)) < 0)
		_exit(126);
}

/* All signals wait meanwhile, so that none of ours is taken by a handler in the copy of us. */
static pid_t fork_it(struct plan *p)
{
	sigset_t all, before;
	pid_t    pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0) {
		execute(p);
		say_why(p->say);
		_exit(127);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

enum err successor_start(struct successor *s, const struct service_socket *sockets, size_t count,
                         char text[SUCCESSOR_TEXT_BYTES])
{
	struct plan *p = malloc(sizeof(*p));
	int          ends[2], say;

	*s = (struct successor){ .pipe = -1 };
	if (!p)
		return ERR_NOMEM;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		free(p);
		return fail(s, text, "no pipe");
	}
	s->pipe = ends[0];
	say     = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_HELD);
	close(ends[1]);
	if (say >= 0 && hold_sockets(s, sockets, count) && make_plan(p, s, say)) {
		s->pid = fork_it(p);
		free(p->env);
	}
	if (say >= 0)
		close(say);
	free(p);
	if (s->pid > 0)
		return ERR_OK;
	s->pid = 0;
	return fail(s, text, "no process");
}

/* Its end is waited for: who said nothing else may have had no time to. */
static void describe_end(struct successor *s, char text[SUCCESSOR_TEXT_BYTES])
{
	int how = 0;

	if (text[0])
		return;
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, &how, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	if (WIFEXITED(how))
		text_format(text, SUCCESSOR_TEXT_BYTES,
		            "it ended with status %d and did not say why; the log may, if it is a coopd",
		            WEXITSTATUS(how));
	else
		text_format(text, SUCCESSOR_TEXT_BYTES, "it was ended by signal %d", WTERMSIG(how));
}

static int64_t real_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ERR_OK: stands by; ERR_BUSY: nothing new; ERR_CLOSED: it says no more. */
static enum err hear(struct successor *s, char text[SUCCESSOR_TEXT_BYTES], size_t *len)
{
	struct pollfd p = { .fd = s->pipe, .events = POLLIN };
	ssize_t       n;

	if (poll(&p, 1, LOOK_MS) <= 0)
		return ERR_BUSY;
	n = read(s->pipe, text + *len, SUCCESSOR_TEXT_BYTES - 1 - *len);
	if (n < 0 && errno == EINTR)
		return ERR_BUSY;
	if (n <= 0)
		return ERR_CLOSED;
	if (*len == 0 && text[0] == STANDS_BY)
		return ERR_OK;
	*len += (size_t)n;
	text[*len] = '\0';
	return *len == SUCCESSOR_TEXT_BYTES - 1 ? ERR_CLOSED : ERR_BUSY;
}

enum err successor_await(struct successor *s, int64_t patience_ms, const atomic_bool *is_over,
                         char text[SUCCESSOR_TEXT_BYTES])
{
	int64_t  until = real_ms() + patience_ms;
	size_t   len   = 0;
	enum err e     = ERR_BUSY;

	text[0] = '\0';
	while (e == ERR_BUSY && real_ms() < until && !atomic_load(is_over))
		e = hear(s, text, &len);
	if (e == ERR_OK) {
		text[0] = '\0';
		return ERR_OK;
	}
	if (e == ERR_BUSY)
		text_format(text, SUCCESSOR_TEXT_BYTES, "%s",
		            atomic_load(is_over) ? "this server stops"
		                                 : "it did not say within the time of limits.handover_check_ms "
		                                   "whether it can start");
	else
		describe_end(s, text);
	return ERR_INVALID;
}

bool successor_is_alive(struct successor *s)
{
	if (s->pid > 0 && waitpid(s->pid, NULL, WNOHANG) != 0)
		s->pid = 0;
	return s->pid > 0;
}

void successor_let_go(struct successor *s)
{
	for (size_t i = 0; i < s->count; i++)
		close(s->sockets[i].fd);
	if (s->pipe >= 0)
		close(s->pipe);
	s->count = 0;
	s->pipe  = -1;
}

void successor_give_up(struct successor *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	s->pid = 0;
	successor_let_go(s);
}

void successor_become(struct successor *s)
{
	struct plan *p = malloc(sizeof(*p));

	if (!p)
		return;
	if (make_plan(p, s, -1)) {
		execute(p);
		free(p->env);
	}
	free(p);
}

/* --- The new one --- */

bool successor_is_this(void)
{
	return self.is_successor;
}

pid_t successor_of(void)
{
	return self.of;
}

static void say(const char *text, size_t len)
{
	while (self.pipe >= 0 && len > 0) {
		ssize_t n = write(self.pipe, text, len);

		if (n < 0 && errno != EINTR)
			break;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	if (self.pipe >= 0)
		close(self.pipe);
	self.pipe = -1;
}

void successor_stand_by(void)
{
	static const char word[] = { STANDS_BY };

	say(word, sizeof(word));
}

void successor_refuse(const char *text)
{
	say(text, strlen(text));
}
