/*
 * A table of what came in, and one of what goes on. A descriptor's number says nothing once it was closed, so what goes on is
 * known by the socket's inode too.
 */
#include "net/inherit.h"

#include "base/text.h"
#include "os/log.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define OWN "own-"

struct inherited {
	int         fd; /* -1: closed, nobody wanted it */
	char        name[SERVICE_NAME_BYTES];
	bool        is_own, is_taken, is_dual;
	int         type, family;
	struct addr bound;                    /* not of a unix socket */
	char        path[INHERIT_PATH_BYTES]; /* of a unix socket; it begins with @ when it lies in no folder */
};

struct kept {
	int   fd;
	ino_t inode;
	char  name[SERVICE_NAME_BYTES];
};

static struct {
	struct inherited all[INHERIT_MAX];
	size_t           count;
	struct kept      kept[INHERIT_MAX];
	size_t           kept_count;
} sockets;

static int option(int fd, int level, int name)
{
	int       value = -1;
	socklen_t len   = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) == 0 ? value : -1;
}

static void note_path(struct inherited *in, const struct sockaddr_un *sun, socklen_t len)
{
	size_t bytes = len > offsetof(struct sockaddr_un, sun_path) ? len - offsetof(struct sockaddr_un, sun_path) : 0;

	if (bytes > sizeof(sun->sun_path))
		bytes = sizeof(sun->sun_path);
	memcpy(in->path, sun->sun_path, bytes);
	in->path[bytes] = '\0';
	if (bytes > 0 && !in->path[0])
		in->path[0] = '@';
}

/* NULL: it is good for something. */
static const char *look_at(struct inherited *in)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_un      un;
	} at;
	socklen_t len = sizeof(at);

	in->type   = option(in->fd, SOL_SOCKET, SO_TYPE);
	in->family = option(in->fd, SOL_SOCKET, SO_DOMAIN);
	if (in->type < 0 || getsockname(in->fd, (struct sockaddr *)&at, &len) != 0)
		return "it is no socket";
	if (in->family != AF_INET && in->family != AF_INET6 && in->family != AF_UNIX)
		return "its family is none that coopd speaks";
	if (in->family == AF_UNIX)
		note_path(in, &at.un, len);
	else
		addr_of_sockaddr(&in->bound, (const struct sockaddr *)&at, len);
	if (in->type == SOCK_STREAM && option(in->fd, SOL_SOCKET, SO_ACCEPTCONN) != 1)
		return "it does not listen";
	if (in->type == SOCK_DGRAM && in->family != AF_INET)
		return "over UDP coopd speaks IPv4 only, so it has to be bound like 0.0.0.0:36100";
	if (in->type != SOCK_STREAM && in->type != SOCK_DGRAM)
		return "it is neither a stream nor for datagrams";
	in->is_dual = in->family == AF_INET6 && option(in->fd, IPPROTO_IPV6, IPV6_V6ONLY) == 0;
	return NULL;
}

/* For people: where it is. */
static const char *place_of(const struct inherited *in, char text[ADDR_TEXT_BYTES])
{
	if (in->family == AF_UNIX)
		return in->path;
	addr_text_port(text, &in->bound);
	return text;
}

static void drop(struct inherited *in, const char *why)
{
	char place[ADDR_TEXT_BYTES], name[2 * SERVICE_NAME_BYTES];

	text_escape(name, sizeof(name), in->name, strlen(in->name));
	log_warn("server", 0, "closes-inherited", "fd=%d name=\"%s\" address=\"%s\" over=%s: %s", in->fd, name,
	         place_of(in, place),
	         in->type == SOCK_DGRAM  ? "udp"
	         : in->family == AF_UNIX ? "unix"
	                                 : "tcp",
	         why);
	close(in->fd);
	in->fd = -1;
}

void inherit_begin(const struct service_socket *from, size_t count)
{
	sockets.count = 0;
	for (size_t i = 0; i < count && i < INHERIT_MAX; i++) {
		struct inherited *in = &sockets.all[sockets.count++];
		const char       *why;

		*in        = (struct inherited){ .fd = from[i].fd, .bound = { .family = ADDR_NONE } };
		in->is_own = strncmp(from[i].name, OWN, strlen(OWN)) == 0;
		text_copy(in->name, sizeof(in->name), from[i].name + (in->is_own ? strlen(OWN) : 0));
		fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) | O_NONBLOCK);
		why = look_at(in);
		if (why)
			drop(in, why);
	}
}

void inherit_put_back(const char *setting, int fd)
{
	struct inherited *in;

	for (size_t i = 0; i < sockets.count; i++) {
		if (sockets.all[i].fd == fd && sockets.all[i].is_taken) {
			sockets.all[i].is_taken = false;
			return;
		}
	}
	if (sockets.count == INHERIT_MAX) { /* then it is opened again */
		close(fd);
		return;
	}
	in  = &sockets.all[sockets.count++];
	*in = (struct inherited){ .fd = fd, .is_own = true, .bound = { .family = ADDR_NONE } };
	text_copy(in->name, sizeof(in->name), setting);
	look_at(in);
}

static bool is_same(const struct addr *a, const struct addr *b)
{
	return a->family == b->family && a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static bool is_wildcard(const struct addr *a, enum addr_family family)
{
	static const uint8_t zeros[sizeof(a->ip)];

	return a->family == family && memcmp(a->ip, zeros, sizeof(zeros)) == 0;
}

/* [::] takes IPv4 too, unless it was told not to. */
static bool covers(const struct inherited *in, const struct addr *want)
{
	return in->is_dual && is_wildcard(&in->bound, ADDR_IPV6) && is_wildcard(want, ADDR_IPV4) &&
	       in->bound.port == want->port;
}

/* The setting says any port, and this is the one that it had before. */
static bool was_chosen(const struct inherited *in, const char *setting, const struct addr *want)
{
	struct addr same = *want;

	same.port = in->bound.port;
	return in->is_own && want->port == 0 && strcmp(in->name, setting) == 0 && is_same(&same, &in->bound);
}

static bool fits(const struct inherited *in, const char *setting, const struct addr *want, enum inherit_how how)
{
	if (in->family == AF_UNIX)
		return false;
	if (how == INHERIT_NAMED)
		return (!in->is_own && strcmp(in->name, setting) == 0) || covers(in, want);
	return is_same(&in->bound, want) || was_chosen(in, setting, want);
}

bool inherit_inet(int *fd, struct addr *bound, const char *setting, int type, const struct addr *want,
                  enum inherit_how how)
{
	for (size_t i = 0; i < sockets.count; i++) {
		struct inherited *in = &sockets.all[i];

		if (in->fd < 0 || in->is_taken || in->type != type || !fits(in, setting, want, how))
			continue;
		in->is_taken = true;
		*fd          = in->fd;
		*bound       = in->bound;
		return true;
	}
	return false;
}

bool inherit_covers(int type, const struct addr *want)
{
	for (size_t i = 0; i < sockets.count; i++) {
		const struct inherited *in = &sockets.all[i];

		if (in->fd >= 0 && in->is_taken && in->type == type && in->family != AF_UNIX && covers(in, want))
			return true;
	}
	return false;
}

static struct inherited *find_unix(const char *setting, const char *path, enum inherit_how how)
{
	for (size_t i = 0; i < sockets.count; i++) {
		struct inherited *in = &sockets.all[i];

		if (in->fd < 0 || in->is_taken || in->type != SOCK_STREAM || in->family != AF_UNIX)
			continue;
		if (how == INHERIT_EXACT ? strcmp(in->path, path) == 0 : !in->is_own && strcmp(in->name, setting) == 0)
			return in;
	}
	return NULL;
}

bool inherit_unix(int *fd, char place[INHERIT_PATH_BYTES], bool *is_ours, const char *setting, const char *path)
{
	struct inherited *in = find_unix(setting, path, INHERIT_EXACT);

	if (!in)
		in = find_unix(setting, path, INHERIT_NAMED);
	if (!in)
		return false;
	in->is_taken = true;
	*fd          = in->fd;
	*is_ours     = in->is_own;
	text_copy(place, INHERIT_PATH_BYTES, in->path);
	return true;
}

void inherit_finish(void)
{
	for (size_t i = 0; i < sockets.count; i++) {
		if (sockets.all[i].fd >= 0 && !sockets.all[i].is_taken)
			drop(&sockets.all[i], "no setting listens there");
	}
}

/* --- Handing on --- */

static bool is_of_manager(int fd)
{
	for (size_t i = 0; i < sockets.count; i++) {
		if (sockets.all[i].fd == fd && sockets.all[i].is_taken)
			return !sockets.all[i].is_own;
	}
	return false;
}

/* What stood there under this number before is closed, or is the same. */
static struct kept *place_for(int fd)
{
	for (size_t i = 0; i < sockets.kept_count; i++) {
		if (sockets.kept[i].fd == fd)
			return &sockets.kept[i];
	}
	return sockets.kept_count < INHERIT_MAX ? &sockets.kept[sockets.kept_count++] : NULL;
}

void inherit_keep(const char *setting, int fd)
{
	struct kept *k;
	struct stat  st;

	if (fstat(fd, &st) != 0)
		return;
	k = place_for(fd);
	if (!k)
		return;
	k->fd    = fd;
	k->inode = st.st_ino;
	text_format(k->name, sizeof(k->name), "%s%s", is_of_manager(fd) ? "" : OWN, setting);
}

size_t inherit_kept(struct inherit_kept out[INHERIT_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < sockets.kept_count; i++) {
		const struct kept *k = &sockets.kept[i];
		struct stat        st;

		if (fstat(k->fd, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_ino != k->inode)
			continue;
		out[count].fd = k->fd;
		text_copy(out[count++].name, SERVICE_NAME_BYTES, k->name);
	}
	return count;
}
