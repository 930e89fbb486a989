/*
 * Words for the service manager, and descriptors from it.
 */
#include "os/service.h"

#include "base/text.h"
#include "os/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINES_BYTES 512
#define SHOWN_BYTES 256 /* of a value of the environment, escaped */

static struct {
	int                fd; /* 0: nobody is told */
	struct sockaddr_un to;
	socklen_t          to_len;
	int64_t            watchdog_ms;
	bool               is_bad_place, is_bad_watchdog; /* what the environment says is of no use */

	struct service_socket sockets[SERVICE_SOCKETS_MAX];
	size_t                socket_count;
} manager;

/* A number of the environment from 0 on; -1: there is none, or something else. */
static int64_t number_of(const char *name)
{
	const char *text = getenv(name);
	char       *end;
	long long   value;

	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' ? value : -1;
}

/* "/a/path", or "@name" for one that lies in no folder. */
static bool name_manager(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len < 2 || (text[0] != '/' && text[0] != '@') || len >= sizeof(manager.to.sun_path))
		return false;
	manager.to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(manager.to.sun_path, text, len);
	if (text[0] == '@')
		manager.to.sun_path[0] = '\0';
	manager.to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (text[0] == '/'));
	return true;
}

static bool send_lines(const char *lines)
{
	size_t len = strlen(lines);

	return manager.fd > 0 && sendto(manager.fd, lines, len, MSG_NOSIGNAL | MSG_DONTWAIT,
	                                (const struct sockaddr *)&manager.to, manager.to_len) == (ssize_t)len;
}

bool service_tell(const char *format, ...)
{
	char    lines[LINES_BYTES];
	va_list args;
	bool    fits;

	va_start(args, format);
	fits = text_formatv(lines, sizeof(lines), format, args);
	va_end(args);
	return fits && send_lines(lines);
}

/* It compares this with its own clock, which no test moves. */
bool service_tell_reloading(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return service_tell("RELOADING=1\nMONOTONIC_USEC=%lld",
	                    (long long)now.tv_sec * 1000000 + (long long)now.tv_nsec / 1000);
}

int64_t service_watchdog_ms(void)
{
	return manager.fd > 0 ? manager.watchdog_ms : 0;
}

/* --- Sockets --- */

/* The at-th of the names, which have colons between them. */
static void copy_name(char out[SERVICE_NAME_BYTES], const char *names, size_t at)
{
	size_t len;

	out[0] = '\0';
	for (; names && at > 0; at--) {
		names = strchr(names, ':');
		names = names ? names + 1 : NULL;
	}
	if (!names)
		return;
	len = strcspn(names, ":");
	if (len >= SERVICE_NAME_BYTES)
		len = SERVICE_NAME_BYTES - 1;
	memcpy(out, names, len);
	out[len] = '\0';
}

static void find_sockets(void)
{
	int64_t fds = number_of("LISTEN_FDS");

	manager.socket_count = 0;
	if (fds > SERVICE_SOCKETS_MAX)
		fds = SERVICE_SOCKETS_MAX;
	if (number_of("LISTEN_PID") != getpid())
		fds = 0;
	for (int fd = SERVICE_FIRST_FD; fd < SERVICE_FIRST_FD + fds; fd++) {
		struct service_socket *s     = &manager.sockets[manager.socket_count];
		int                    flags = fcntl(fd, F_GETFD);

		if (flags < 0) /* announced, and not there */
			continue;
		fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
		s->fd = fd;
		copy_name(s->name, getenv("LISTEN_FDNAMES"), (size_t)(fd - SERVICE_FIRST_FD));
		manager.socket_count++;
	}
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
}

size_t service_sockets(struct service_socket out[SERVICE_SOCKETS_MAX])
{
	memcpy(out, manager.sockets, manager.socket_count * sizeof(*out));
	return manager.socket_count;
}

void service_begin(void)
{
	const char *place = getenv("NOTIFY_SOCKET");
	int64_t     usec = number_of("WATCHDOG_USEC"), pid = number_of("WATCHDOG_PID");

	find_sockets();
	if (manager.fd > 0)
		close(manager.fd);
	manager.fd           = 0;
	manager.watchdog_ms  = 0;
	manager.is_bad_place = manager.is_bad_watchdog = false;
	manager.is_bad_watchdog                        = getenv("WATCHDOG_USEC") && usec <= 0;
	if (!name_manager(place)) {
		manager.is_bad_place = place && *place;
		return;
	}
	manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (manager.fd < 0)
		manager.fd = 0;
	if (usec > 0 && (!getenv("WATCHDOG_PID") || pid == getpid()))
		manager.watchdog_ms = usec / 1000;
}

/* One in no folder is known only by who answers there. */
static bool is_there(void)
{
	struct stat st;

	return manager.fd <= 0 || !manager.to.sun_path[0] ||
	       (stat(manager.to.sun_path, &st) == 0 && S_ISSOCK(st.st_mode));
}

static void warn(const char *name, const char *what)
{
	const char *value = getenv(name);
	char        text[SHOWN_BYTES];

	text_escape(text, sizeof(text), value ? value : "", value ? strnlen(value, SHOWN_BYTES / 4) : 0);
	log_warn("server", 0, "service-manager", "%s=\"%s\" %s", name, text, what);
}

void service_warn(void)
{
	if (manager.is_bad_place)
		warn("NOTIFY_SOCKET",
		     "is no absolute path of a unix socket, or too long: the service manager hears nothing");
	else if (!is_there())
		warn("NOTIFY_SOCKET", "is no socket that is there: the service manager hears nothing");
	if (manager.is_bad_watchdog)
		warn("WATCHDOG_USEC", "is no number of microseconds: there is no watchdog");
}
