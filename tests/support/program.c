#include "support/program.h"

#include "support/data_folder.h"
#include "support/dial.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_BYTES_MAX ((size_t)256 * 1024)
#define LOOK_EVERY_MS    5
#define PORT_TRIES       100

static const char admin_folders[] = "/usr/local/sbin:/usr/sbin:/sbin";

/* Those of this process that were started and not stopped. */
static struct program *programs;

/* --- Where they are --- */

static bool find_program(char out[PATH_MAX], const char *name)
{
	const char *path = getenv("PATH");
	char        all[4096];
	char       *rest = all;

	snprintf(all, sizeof(all), "%s:%s", path ? path : "/usr/bin:/bin", admin_folders);
	for (char *folder = strsep(&rest, ":"); folder; folder = strsep(&rest, ":")) {
		snprintf(out, PATH_MAX, "%s/%s", folder, name);
		if (access(out, X_OK) == 0)
			return true;
	}
	return false;
}

bool program_is_here(const char *name)
{
	char path[PATH_MAX];

	return find_program(path, name);
}

bool program_or_skip(const char *name)
{
	if (program_is_here(name))
		return true;
	fprintf(stderr, "skipped: there is no %s here (tools/setup test installs it)\n", name);
	return false;
}

static int bound(int type, int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int                fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int program_free_port(void)
{
	for (int i = 0; i < PORT_TRIES; i++) {
		struct sockaddr_in at  = { 0 };
		socklen_t          len = sizeof(at);
		int                tcp = bound(SOCK_STREAM, 0);

		cr_assert(tcp >= 0 && getsockname(tcp, (struct sockaddr *)&at, &len) == 0, "no port: %s",
		          strerror(errno));
		int udp = bound(SOCK_DGRAM, ntohs(at.sin_port));

		close(tcp);
		if (udp >= 0) {
			close(udp);
			return ntohs(at.sin_port);
		}
	}
	cr_assert(false, "no port is free for TCP and UDP");
	return 0;
}

/* --- Their output --- */

char *program_output(const struct program *p)
{
	char  *out = calloc(1, OUTPUT_BYTES_MAX + 1);
	FILE  *log = fopen(p->log_path, "re");
	size_t len = 0;

	cr_assert(out && log, "cannot read %s", p->log_path);
	len      = fread(out, 1, OUTPUT_BYTES_MAX, log);
	out[len] = '\0';
	fclose(log);
	return out;
}

void program_print_output(const struct program *p)
{
	enum { TAIL = 6000 };

	char  *all = program_output(p);
	size_t len = strlen(all);

	fprintf(stderr, "--- what %s said ---\n%s--- end ---\n", p->name, len > TAIL ? all + len - TAIL : all);
	free(all);
}

/* --- Start and end --- */

/* In the child, between fork and exec. */
static void become_program(int log, pid_t test, const char *path, const char *const *args)
{
	int      null = open("/dev/null", O_RDONLY);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != test)
		_exit(125);
	if (null < 0 || chdir(data_folder()) != 0)
		_exit(126);
	setenv("HOME", data_folder(), 1);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("XDG_DATA_HOME");
	unsetenv("XDG_CONFIG_HOME");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	close_range(3, ~0U, 0);
	execv(path, (char *const *)(uintptr_t)args);
	_exit(127);
}

/* Only reached with a program in the list when a test ended early. */
static void stop_all(void)
{
	while (programs) {
		if (program_is_running(programs))
			program_print_output(programs);
		program_stop(programs);
	}
}

struct program *program_start(const char *const *args)
{
	static unsigned count;
	static bool     prepared;
	pid_t           test = getpid();
	struct program *p    = calloc(1, sizeof(*p));
	char            path[PATH_MAX], name[32];

	cr_assert_not_null(p);
	p->name = args[0];
	cr_assert(find_program(path, args[0]), "there is no %s", args[0]);
	snprintf(name, sizeof(name), "program-%u.log", ++count);
	snprintf(p->log_path, sizeof(p->log_path), "%s", data_path(name));
	if (!prepared)
		atexit(stop_all);
	prepared = true;
	int log  = open(p->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	cr_assert_geq(log, 0, "cannot write %s: %s", p->log_path, strerror(errno));
	p->pid = fork();
	cr_assert_geq(p->pid, 0, "no process: %s", strerror(errno));
	if (p->pid == 0)
		become_program(log, test, path, args);
	close(log);
	p->next  = programs;
	programs = p;
	return p;
}

bool program_is_running(struct program *p)
{
	int how;

	if (p->pid && waitpid(p->pid, &how, WNOHANG) == p->pid) {
		p->pid    = 0;
		p->status = WIFEXITED(how) ? WEXITSTATUS(how) : 256 + WTERMSIG(how);
	}
	return p->pid != 0;
}

static void forget(struct program *p)
{
	for (struct program **at = &programs; *at; at = &(*at)->next) {
		if (*at == p) {
			*at = p->next;
			break;
		}
	}
}

static bool has_ended_by(struct program *p, int64_t deadline_ms)
{
	while (program_is_running(p)) {
		if (real_now_ms() > deadline_ms)
			return false;
		real_sleep_ms(LOOK_EVERY_MS);
	}
	return true;
}

int program_await_end(struct program *p, int patience_ms)
{
	cr_assert(has_ended_by(p, real_now_ms() + patience_ms), "%s has not ended after %d ms", p->name, patience_ms);
	return p->status;
}

void program_stop(struct program *p)
{
	if (program_is_running(p)) {
		kill(p->pid, SIGTERM);
		if (!has_ended_by(p, real_now_ms() + PROGRAM_STOP_MS)) {
			kill(p->pid, SIGKILL);
			while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
	}
	forget(p);
	free(p);
}
