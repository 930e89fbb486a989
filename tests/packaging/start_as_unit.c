/*
 * Starts a program as systemd starts a service of Type=notify with a socket unit, and looks at what it says.
 * tools/packaging/check compiles it and runs it in a fresh Debian, where no systemd runs.
 *
 *	start_as_unit -u USER [-s ADDRESS]... [-d ADDRESS]... [-r COMMAND] PROGRAM [ARGUMENT...]
 *
 * -s a TCP listener, -d a UDP socket, as ListenStream= and ListenDatagram= say them, of numeric addresses
 * -r run by the shell once the program is ready; its failure is ours
 *
 * The program must say READY=1, take the descriptors, keep the watchdog quiet, say STOPPING=1 after SIGTERM and end with 0.
 * Exit status 0 when it did all of that.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD      3
#define SOCKETS_MAX   32
#define READY_MS      120000
#define STOP_MS       60000
#define WATCHDOG_USEC "4000000"
#define WATCHDOG_MS   4000

struct place {
	struct sockaddr_storage at;
	socklen_t               len;
	const char             *text;
	int                     type, fd;
};

struct check {
	const char   *user, *command;
	struct place  places[SOCKETS_MAX];
	size_t        count;
	int           notify_fd;
	pid_t         child;
	bool          is_ready, is_stopping;
	unsigned long pings;
};

static void die(const char *what)
{
	fprintf(stderr, "start_as_unit: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* "127.0.0.1:80" or "[::1]:80" */
static bool read_place(struct place *p, const char *text)
{
	struct sockaddr_in  *four = (struct sockaddr_in *)&p->at;
	struct sockaddr_in6 *six  = (struct sockaddr_in6 *)&p->at;
	char                 host[64];
	const char          *colon = strrchr(text, ':');
	bool                 is_v6 = *text == '[';
	size_t               len;

	if (!colon || (is_v6 && colon[-1] != ']'))
		return false;
	len = (size_t)(colon - text) - (is_v6 ? 2 : 0);
	if (len >= sizeof(host))
		return false;
	memcpy(host, text + (is_v6 ? 1 : 0), len);
	host[len] = '\0';
	p->text   = text;
	if (is_v6) {
		six->sin6_family = AF_INET6;
		six->sin6_port   = htons((uint16_t)strtoul(colon + 1, NULL, 10));
		p->len           = sizeof(*six);
		return inet_pton(AF_INET6, host, &six->sin6_addr) == 1;
	}
	four->sin_family = AF_INET;
	four->sin_port   = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	p->len           = sizeof(*four);
	return inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

/* UDP without SO_REUSEADDR, with which two could have the same port. */
static int open_place(const struct place *p)
{
	int one = 1;
	int fd  = socket(p->at.ss_family, p->type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (p->type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (p->at.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&p->at, p->len) == 0 &&
	    (p->type != SOCK_STREAM || listen(fd, SOMAXCONN) == 0))
		return fd;
	close(fd);
	return -1;
}

static void add_place(struct check *k, int type, const char *text)
{
	struct place *p = &k->places[k->count];

	if (k->count == SOCKETS_MAX || !read_place(p, text)) {
		fprintf(stderr, "start_as_unit: \"%s\" is no address, or one too many\n", text);
		exit(2);
	}
	p->type = type;
	p->fd   = open_place(p);
	if (p->fd < 0)
		die(text);
	k->count++;
}

/* An abstract name, which the network namespace that the check runs in has for itself. */
static void open_notify(struct check *k)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char               name[64];
	int                len = snprintf(name, sizeof(name), "@start-as-unit-%d", (int)getpid());

	memcpy(sun.sun_path + 1, name + 1, (size_t)len - 1);
	k->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (k->notify_fd < 0 || bind(k->notify_fd, (const struct sockaddr *)&sun,
	                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len)) != 0)
		die("the socket for what it says");
	setenv("NOTIFY_SOCKET", name, 1);
}

/* Above all those of the unit first, so that none of them is overwritten on the way down. */
static void pass_places(struct check *k)
{
	for (size_t i = 0; i < k->count; i++) {
		k->places[i].fd = fcntl(k->places[i].fd, F_DUPFD, FIRST_FD + SOCKETS_MAX);
		if (k->places[i].fd < 0)
			die("a descriptor");
	}
	for (size_t i = 0; i < k->count; i++) {
		if (dup2(k->places[i].fd, FIRST_FD + (int)i) < 0)
			die("a descriptor");
		close(k->places[i].fd);
	}
}

static void set_environment(const struct check *k)
{
	char number[24];

	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("WATCHDOG_PID", number, 1);
	setenv("WATCHDOG_USEC", WATCHDOG_USEC, 1);
	if (k->count == 0)
		return;
	setenv("LISTEN_PID", number, 1);
	snprintf(number, sizeof(number), "%zu", k->count);
	setenv("LISTEN_FDS", number, 1);
	/* As systemd names those of a socket unit without FileDescriptorName=. */
	char   names[SOCKETS_MAX * 16] = "";
	size_t used                    = 0;

	for (size_t i = 0; i < k->count; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%scoopd.socket", i ? ":" : "");
	setenv("LISTEN_FDNAMES", names, 1);
}

static void run_child(struct check *k, char **argv)
{
	const struct passwd *pw = getpwnam(k->user);

	if (!pw || initgroups(k->user, pw->pw_gid) != 0 || setgid(pw->pw_gid) != 0 || setuid(pw->pw_uid) != 0)
		die(k->user);
	pass_places(k);
	set_environment(k);
	execv(argv[0], argv);
	die(argv[0]);
}

static void hear_line(struct check *k, const char *line)
{
	if (strcmp(line, "WATCHDOG=1") == 0) {
		k->pings++;
		return;
	}
	printf("it says %s\n", line);
	k->is_ready    = k->is_ready || strcmp(line, "READY=1") == 0;
	k->is_stopping = k->is_stopping || strcmp(line, "STOPPING=1") == 0;
}

/* One message, if one comes in time. */
static void hear(struct check *k, int patience_ms)
{
	struct pollfd p = { .fd = k->notify_fd, .events = POLLIN };
	char          text[4096];
	char         *rest = NULL;

	if (poll(&p, 1, patience_ms) != 1)
		return;
	ssize_t len = recv(k->notify_fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	if (len <= 0)
		return;
	text[len] = '\0';
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		hear_line(k, line);
}

/* Its exit status, or -1 while it runs. */
static int ended(struct check *k)
{
	int status;

	if (k->child == 0 || waitpid(k->child, &status, WNOHANG) != k->child)
		return -1;
	k->child = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool fail(const char *what)
{
	printf("FAILED: %s\n", what);
	return false;
}

static bool await_ready(struct check *k)
{
	int64_t until = now_ms() + READY_MS;

	while (!k->is_ready && now_ms() < until) {
		hear(k, 100);
		if (ended(k) >= 0)
			return fail("it ended before it was ready");
	}
	return k->is_ready || fail("it never said READY=1");
}

/* Ours are closed by now: somebody answers, or has the port, only if the program kept what it was given. */
static bool is_kept(const struct place *p)
{
	int  fd = p->type == SOCK_STREAM ? socket(p->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0) : open_place(p);
	bool is = p->type == SOCK_STREAM ? fd >= 0 && connect(fd, (const struct sockaddr *)&p->at, p->len) == 0
	                                 : fd < 0 && errno == EADDRINUSE;

	if (fd >= 0)
		close(fd);
	if (!is)
		printf("FAILED: nobody has %s (%s)\n", p->text, p->type == SOCK_STREAM ? "TCP" : "UDP");
	return is;
}

static bool is_quiet(struct check *k)
{
	unsigned long before = k->pings;
	int64_t       until  = now_ms() + 2 * WATCHDOG_MS;

	while (k->pings < before + 2 && now_ms() < until)
		hear(k, 100);
	return k->pings >= before + 2 || fail("it does not keep the watchdog quiet (WATCHDOG=1)");
}

static bool stop(struct check *k)
{
	int64_t until  = now_ms() + STOP_MS;
	int     status = -1;

	kill(k->child, SIGTERM);
	while (status < 0 && now_ms() < until) {
		hear(k, 50);
		status = ended(k);
	}
	for (int i = 0; i < 16 && !k->is_stopping; i++)
		hear(k, 0);
	if (status < 0)
		return fail("it does not stop");
	if (status != 0)
		printf("FAILED: it ended with status %d\n", status);
	return (k->is_stopping || fail("it never said STOPPING=1")) && status == 0;
}

static bool look(struct check *k)
{
	bool ok = await_ready(k);

	for (size_t i = 0; ok && i < k->count; i++)
		ok = is_kept(&k->places[i]);
	ok = ok && is_quiet(k);
	if (ok && k->command && system(k->command) != 0)
		ok = fail(k->command);
	if (k->child != 0)
		ok = stop(k) && ok;
	return ok;
}

int main(int argc, char **argv)
{
	struct check k = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int option; (option = getopt(argc, argv, "+u:s:d:r:")) != -1;) {
		if (option == 'u')
			k.user = optarg;
		else if (option == 'r')
			k.command = optarg;
		else if (option == 's' || option == 'd')
			add_place(&k, option == 's' ? SOCK_STREAM : SOCK_DGRAM, optarg);
		else
			return 2;
	}
	if (!k.user || optind == argc) {
		fputs("usage: start_as_unit -u USER [-s ADDRESS]... [-d ADDRESS]... [-r COMMAND] PROGRAM...\n", stderr);
		return 2;
	}
	open_notify(&k);
	k.child = fork();
	if (k.child < 0)
		die("fork");
	if (k.child == 0)
		run_child(&k, argv + optind);
	for (size_t i = 0; i < k.count; i++)
		close(k.places[i].fd);
	return look(&k) ? 0 : 1;
}
