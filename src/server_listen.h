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
#include <stdio.h>

#define LISTENERS_MAX 16

struct listeners { /* all zeros: none */
	int         fds[LISTENERS_MAX];
	struct addr bound[LISTENERS_MAX];
	size_t      count;
};

/*
 * A socket that came with the start (net/inherit.h) is taken before one is opened. Listens on all of these addresses. False, after a
 * sentence in report that names the setting, when one cannot be had.
 */
bool listeners_bind(struct listeners *out, const char *setting, const struct conf_list *words, FILE *report);

/*
 * The same for TCP and UDP on one port; port 0 is one that both have free. An IPv6 address is one for TCP alone.
 */
bool listeners_bind_both(struct listeners *tcp, struct listeners *udp, const char *setting,
                         const struct conf_list *words, FILE *report);

/* One unix socket. */
struct unix_listener { /* all zeros: none */
	int  fd;
	char path[INHERIT_PATH_BYTES]; /* where it is; not always what the setting says */
	bool is_ours;                  /* its file is to be removed at the end */
};

/* The same; under the data folder's lock. */
bool listeners_bind_unix(struct unix_listener *out, const char *setting, const char *path);

/* Whether that can be had, without that lock: nothing is bound. False, after a sentence in report that names the setting. */
bool listeners_try_unix(const char *setting, const char *path, FILE *report);

/* Says in the log where they are. */
void listeners_announce(const struct listeners *l, const char *part);

/* The next one, which is the caller's from here on; false: there is none left. */
bool listeners_take(struct listeners *l, int *fd, struct addr *bound);

void listeners_close(struct listeners *l);

/* Those of this setting, which were bound to see whether that works, are for listeners_bind to have. */
void listeners_put_back(struct listeners *l, const char *setting);

#endif
