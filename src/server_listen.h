/*
 * Sockets that the server has bound and that no part owns yet.
 */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include "conf/conf.h"
#include "net/addr.h"
#include "net/inherit.h"

#include <stdbool.h>
#include <stddef.h>

#define LISTENERS_MAX 16

struct listeners { /* all zeros: none */
	int         fds[LISTENERS_MAX];
	struct addr bound[LISTENERS_MAX];
	size_t      count;
};

/*
 * A socket that came with the start (net/inherit.h) is taken before one is opened. Listens on all of these addresses. False, after a sentence on standard error that names the setting, when one cannot be had.
 */
bool listeners_bind(struct listeners *out, const char *setting, const struct conf_list *words);

/*
 * The same for TCP and UDP on one port; port 0 is one that both have free. An IPv6 address is one for TCP alone.
 */
bool listeners_bind_both(struct listeners *tcp, struct listeners *udp, const char *setting,
                         const struct conf_list *words);

/* One unix socket. */
struct unix_listener { /* all zeros: none */
	int  fd;
	char path[INHERIT_PATH_BYTES]; /* where it is; not always what the setting says */
	bool is_ours;                  /* its file is to be removed at the end */
};

/* The same; under the data folder's lock. */
bool listeners_bind_unix(struct unix_listener *out, const char *setting, const char *path);

/* Says in the log where they are. */
void listeners_announce(const struct listeners *l, const char *part);

/* The next one, which is the caller's from here on; false: there is none left. */
bool listeners_take(struct listeners *l, int *fd, struct addr *bound);

void listeners_close(struct listeners *l);

#endif
