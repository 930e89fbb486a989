/*
 * What the service manager is told, and what it hands out.
 */
#include "os/service.h"

#include "base/auto.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int  manager = -1;
static char path[60];

/* name: "@..." or a path. */
static void listen_at(const char *name)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t             len = strlen(name);

	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(sun.sun_path, name, len);
	if (name[0] == '@')
		sun.sun_path[0] = '\0';
	cr_assert_eq(bind(manager, (struct sockaddr *)&sun,
	                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] != '@'))),
	             0);
	setenv("NOTIFY_SOCKET", name, 1);
}

static void forget(void)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	snprintf(path, sizeof(path), "/tmp/coopd-service-%d", (int)getpid());
}

static void tidy(void)
{
	unlink(path);
}

TestSuite(service, .init = forget, .fini = tidy);

static const char *heard(void)
{
	static char text[600];
	ssize_t     n = recv(manager, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

Test(service, tells_the_manager_at_its_path)
{
	listen_at(path);
	service_begin();
	cr_assert(service_tell("READY=1\nMAINPID=%d", 7));
	cr_expect_str_eq(heard(), "READY=1\nMAINPID=7");
	cr_expect_str_eq(heard(), "", "one message is one datagram");
}

Test(service, tells_the_manager_that_lies_in_no_folder)
{
	char name[60];

	snprintf(name, sizeof(name), "@coopd-service-%d", (int)getpid());
	listen_at(name);
	service_begin();
	cr_assert(service_tell("STOPPING=1"));
	cr_expect_str_eq(heard(), "STOPPING=1");
}

Test(service, tells_nobody_when_nobody_asked)
{
	static const char *const bad[] = { "", "/", "relative/path", "vsock:2:1", "@" };
	char                     longer[200];

	service_begin();
	cr_expect_not(service_tell("READY=1"));
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		setenv("NOTIFY_SOCKET", bad[i], 1);
		service_begin();
		cr_expect_not(service_tell("READY=1"), "\"%s\"", bad[i]);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	longer[0]                  = '/';
	longer[sizeof(longer) - 1] = '\0';
	setenv("NOTIFY_SOCKET", longer, 1);
	service_begin();
	cr_expect_not(service_tell("READY=1"));
}

Test(service, never_waits_for_a_manager_that_does_not_read)
{
	int told = 0;

	listen_at(path);
	service_begin();
	while (told < 100000 && service_tell("WATCHDOG=1"))
		told++;
	cr_expect_lt(told, 100000, "the manager's queue is full some time");
}

Test(service, says_since_when_it_reloads)
{
	struct timespec now;
	long long       usec = 0;

	listen_at(path);
	service_begin();
	cr_assert(service_tell_reloading());

	const char *text = heard();
	const char *at   = strstr(text, "\nMONOTONIC_USEC=");

	clock_gettime(CLOCK_MONOTONIC, &now);
	cr_assert_eq(strncmp(text, "RELOADING=1\n", 12), 0, "%s", text);
	cr_assert_not_null(at);
	usec = strtoll(at + 16, NULL, 10);

	long long now_usec = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;

	cr_expect(usec <= now_usec && usec > now_usec - 60000000, "%lld is not about %lld", usec, now_usec);
}

Test(service, feeds_its_own_watchdog_only)
{
	char pid[20];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_USEC", "30000000", 1);
	service_begin();
	cr_expect_eq(service_watchdog_ms(), 0, "there is no manager");
	listen_at(path);
	service_begin();
	cr_expect_eq(service_watchdog_ms(), 30000, "without an id it means everybody");
	setenv("WATCHDOG_PID", pid, 1);
	service_begin();
	cr_expect_eq(service_watchdog_ms(), 30000);
	setenv("WATCHDOG_PID", "1", 1);
	service_begin();
	cr_expect_eq(service_watchdog_ms(), 0, "it means another process");
	unsetenv("WATCHDOG_PID");
	setenv("WATCHDOG_USEC", "soon", 1);
	service_begin();
	cr_expect_eq(service_watchdog_ms(), 0);
}

/* --- Sockets: in a process of their own, since they have fixed numbers --- */

struct announced {
	const char *count, *pid, *names; /* pid NULL: its own */
	int         opened;              /* so many are there */
};

/* The child's view as text: "3=name 4=" and so on. */
static void look(const struct announced *a, int out)
{
	struct service_socket sockets[SERVICE_SOCKETS_MAX];
	char                  pid[20], text[400] = "";
	size_t                count;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_FDS", a->count, 1);
	setenv("LISTEN_PID", a->pid ? a->pid : pid, 1);
	unsetenv("LISTEN_FDNAMES");
	if (a->names)
		setenv("LISTEN_FDNAMES", a->names, 1);
	dup2(out, 90);
	for (int i = 0; i < a->opened; i++)
		dup2(90, SERVICE_FIRST_FD + i);
	for (int fd = SERVICE_FIRST_FD + a->opened; fd < 90; fd++)
		close(fd);
	service_begin();
	count = service_sockets(sockets);
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%d=%s%s ", sockets[i].fd, sockets[i].name,
		         fcntl(sockets[i].fd, F_GETFD) & FD_CLOEXEC ? "" : " stays open");
	}
	if (getenv("LISTEN_FDS") || getenv("LISTEN_PID") || getenv("LISTEN_FDNAMES"))
		strcat(text, "environment");
	_exit(write(90, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : 1);
}

static void expect_sockets(const struct announced *a, const char *want)
{
	char    text[400] = "";
	int     ends[2], status = 1;
	pid_t   pid;
	ssize_t n;

	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		look(a, ends[1]);
	close(ends[1]);
	while ((n = read(ends[0], text + strlen(text), sizeof(text) - 1 - strlen(text))) > 0)
		;
	close(ends[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
	cr_expect_str_eq(text, want, "%s fds for %s: \"%s\"", a->count, a->pid ? a->pid : "us", text);
}

Test(service, takes_the_sockets_that_are_meant_for_it)
{
	expect_sockets(&(struct announced){ "2", NULL, "http.listen:coopd.socket", 2 },
	               "3=http.listen 4=coopd.socket ");
	expect_sockets(&(struct announced){ "2", NULL, "one", 2 }, "3=one 4= ");
	expect_sockets(&(struct announced){ "2", NULL, NULL, 2 }, "3= 4= ");
	expect_sockets(&(struct announced){ "0", NULL, "one", 2 }, "");
	expect_sockets(&(struct announced){ "2", "1", "one:two", 2 }, "");
	expect_sockets(&(struct announced){ "2", "", "one:two", 2 }, "");
	expect_sockets(&(struct announced){ "-1", NULL, NULL, 2 }, "");
	expect_sockets(&(struct announced){ "2x", NULL, NULL, 2 }, "");
	expect_sockets(&(struct announced){ "99999999999999999999", NULL, NULL, 1 }, "");
}

Test(service, leaves_out_sockets_that_are_announced_and_missing)
{
	expect_sockets(&(struct announced){ "4", NULL, "a:b:c:d", 2 }, "3=a 4=b ");
	expect_sockets(&(struct announced){ "2", NULL, ":b", 2 }, "3= 4=b ");
}
