/*
 * Listening sockets: what can go wrong is said in words that tell the operator what to change.
 */
#include "net/listen.h"

#include "base/text.h"
#include "os/file.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* libwebsockets keeps a table with a place for each descriptor the process may have. */
#define FILES_MAX 131072

#define UDP_BUFFER_BYTES (4 * 1024 * 1024)

#define SOCKET_MODE 0660
#define FOLDER_MODE 0750
#define TRY_SUFFIX  ".XXXXXX"

/* Closes the socket of a listener that did not come about; errno stays, for the caller. */
static void drop(int fd)
{
	int why = errno;

	if (fd >= 0)
		close(fd);
	errno = why;
}

/* Says why binding text failed; errno tells. over is "" or " over UDP", for a port that both have. */
static enum err explain(const char *text, const char *over, FILE *report)
{
	int why = errno;

	if (why == EADDRINUSE)
		fprintf(report, "%s%s is in use by another program; stop it or choose another port\n", text, over);
	else if (why == EACCES)
		fprintf(report,
		        "%s%s is not allowed for this user; choose a port above 1023 or grant CAP_NET_BIND_SERVICE\n",
		        text, over);
	else if (why == EADDRNOTAVAIL)
		fprintf(report, "%s%s is not an address of this machine; choose one that \"ip address\" shows\n", text,
		        over);
	else if (why == EAFNOSUPPORT)
		fprintf(report, "%s%s cannot be used, this machine has no IPv6; take it out of the setting\n", text,
		        over);
	else
		fprintf(report, "%s%s cannot be listened on: %s\n", text, over, strerror(why));
	errno = why;
	return why == EADDRINUSE ? ERR_HELD : ERR_IO;
}

static bool set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

static bool bind_at(int fd, const struct addr *a, struct addr *bound)
{
	struct sockaddr_storage sa;
	socklen_t               len;

	addr_to_sockaddr(&sa, &len, a);
	if (sa.ss_family == AF_INET6 && !set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1))
		return false;
	if (bind(fd, (struct sockaddr *)&sa, len) != 0)
		return false;
	len = sizeof(sa);
	if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0)
		return false;
	addr_of_sockaddr(bound, (struct sockaddr *)&sa, len);
	return true;
}

static bool begin_tcp(int fd, const struct addr *a, struct addr *bound)
{
	return set(fd, SOL_SOCKET, SO_REUSEADDR, 1) && bind_at(fd, a, bound) && listen(fd, SOMAXCONN) == 0;
}

/*
 * The system's own buffers hold some hundred datagrams, which is what comes while the loop does something else for a
 * millisecond. Its limit for them is passed by where the process may do that.
 */
void listen_tune_udp(int fd)
{
	if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, UDP_BUFFER_BYTES))
		set(fd, SOL_SOCKET, SO_RCVBUF, UDP_BUFFER_BYTES);
	if (!set(fd, SOL_SOCKET, SO_SNDBUFFORCE, UDP_BUFFER_BYTES))
		set(fd, SOL_SOCKET, SO_SNDBUF, UDP_BUFFER_BYTES);
}

/* A port is not shared (SO_REUSEADDR): for UDP that would let another program take what is ours. */
static bool begin_udp(int fd, const struct addr *a, struct addr *bound)
{
	listen_tune_udp(fd);
	return bind_at(fd, a, bound);
}

static enum err parse(struct addr *out, const char *text, FILE *report)
{
	if (addr_parse(out, text, strlen(text), true) == ERR_OK)
		return ERR_OK;
	fprintf(report, "%s is no address with a port; write it like 127.0.0.1:80 or [::1]:80\n", text);
	errno = EINVAL;
	return ERR_MALFORMED;
}

enum err listen_tcp(int *fd, struct addr *bound, const char *text, FILE *report)
{
	struct addr a;

	if (parse(&a, text, report) != ERR_OK)
		return ERR_MALFORMED;

	int s = socket(a.family == ADDR_IPV6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s < 0 || !begin_tcp(s, &a, bound)) {
		enum err e = explain(text, "", report);
		drop(s);
		return e;
	}
	*fd = s;
	return ERR_OK;
}

enum err listen_udp(int *fd, struct addr *bound, const char *text, uint16_t port, FILE *report)
{
	struct addr a;

	if (parse(&a, text, report) != ERR_OK)
		return ERR_MALFORMED;
	if (a.family != ADDR_IPV4) {
		fprintf(report, "%s over UDP cannot be used, only IPv4 can; write it like 127.0.0.1:80\n", text);
		errno = EINVAL;
		return ERR_MALFORMED;
	}
	if (a.port == 0)
		a.port = port;

	int s = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s < 0 || !begin_udp(s, &a, bound)) {
		enum err e = explain(text, " over UDP", report);
		drop(s);
		return e;
	}
	*fd = s;
	return ERR_OK;
}

static enum err make_folder_of(const char *path, FILE *report)
{
	char  folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	text_copy(folder, sizeof(folder), path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return ERR_OK;
	*slash = '\0';
	if (file_make_dirs(folder, FOLDER_MODE) == ERR_OK)
		return ERR_OK;

	int why = errno;
	fprintf(report, "the folder %s cannot be made: %s; make it, or set server.run to another\n", folder,
	        strerror(why));
	errno = why;
	return ERR_IO;
}

static int unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Only a refused connection says that nobody listens; a full queue, for one, says that somebody does. */
static bool is_answered(const struct sockaddr_un *sun)
{
	int  probe    = unix_socket();
	bool answered = connect(probe, (const struct sockaddr *)sun, sizeof(*sun)) == 0 || errno != ECONNREFUSED;

	drop(probe);
	return answered;
}

/*
 * Makes room at the path, or looks whether it could. Only a socket that nobody answers on is removed: anything else there is somebody's, be it a
 * file or the socket of a coopd with another data folder.
 */
static enum err clear_path(const struct sockaddr_un *sun, bool only_look, FILE *report)
{
	struct stat st;

	if (lstat(sun->sun_path, &st) != 0)
		return ERR_OK;
	if (!S_ISSOCK(st.st_mode)) {
		fprintf(report, "%s is there and is no socket; move it away or choose another path\n", sun->sun_path);
		errno = EEXIST;
		return ERR_IO;
	}
	if (is_answered(sun)) {
		fprintf(report, "%s is in use by another program; stop it or choose another path\n", sun->sun_path);
		errno = EADDRINUSE;
		return ERR_HELD;
	}
	if (!only_look)
		unlink(sun->sun_path);
	return ERR_OK;
}

/*
 * The mode is set before bind as well as after it: before, so that there is no moment at which more people than meant
 * can connect; after, because bind takes away what the umask says.
 */
static bool bind_unix(int fd, const struct sockaddr_un *sun)
{
	return fchmod(fd, SOCKET_MODE) == 0 && bind(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 &&
	       chmod(sun->sun_path, SOCKET_MODE) == 0 && listen(fd, SOMAXCONN) == 0;
}

/* Its folder is there and the path is free, or, with only_look, can be freed. */
static enum err prepare_path(struct sockaddr_un *sun, const char *path, bool only_look, FILE *report)
{
	enum err e;

	*sun = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!text_copy(sun->sun_path, sizeof(sun->sun_path), path)) {
		fprintf(report, "%s is too long for a unix socket, which may have %zu bytes; choose a shorter path\n",
		        path, sizeof(sun->sun_path) - 1);
		errno = ENAMETOOLONG;
		return ERR_IO;
	}
	e = make_folder_of(path, report);
	return e == ERR_OK ? clear_path(sun, only_look, report) : e;
}

enum err listen_unix(int *fd, const char *path, FILE *report)
{
	struct sockaddr_un sun;
	enum err           e = prepare_path(&sun, path, false, report);

	if (e != ERR_OK)
		return e;

	int s = unix_socket();
	if (s < 0 || !bind_unix(s, &sun)) {
		fprintf(report, "%s cannot be listened on: %s\n", path, strerror(errno));
		drop(s);
		return ERR_IO;
	}
	*fd = s;
	return ERR_OK;
}

enum err listen_unix_try(const char *path, FILE *report)
{
	struct sockaddr_un sun;
	char               beside[sizeof(sun.sun_path) + sizeof(TRY_SUFFIX)];
	enum err           e = prepare_path(&sun, path, true, report);
	int                fd;

	if (e != ERR_OK)
		return e;
	text_format(beside, sizeof(beside), "%s" TRY_SUFFIX, path);
	fd = mkstemp(beside); /* where a file can be made, a socket can */
	if (fd < 0) {
		fprintf(report, "%s cannot be listened on: %s\n", path, strerror(errno));
		return ERR_IO;
	}
	unlink(beside);
	close(fd);
	return ERR_OK;
}

long listen_raise_files(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return sysconf(_SC_OPEN_MAX);
	rl.rlim_cur = rl.rlim_max < FILES_MAX ? rl.rlim_max : FILES_MAX;
	setrlimit(RLIMIT_NOFILE, &rl);
	getrlimit(RLIMIT_NOFILE, &rl);
	return (long)rl.rlim_cur;
}
