/*
 * Listening sockets that this process did not open itself: from the service manager (socket activation), or from the coopd that it
 * takes over from. And what is handed on to the next one.
 *
 * A listener of a setting looks here before it opens a socket of its own:
 *
 *	exact	bound to just the address that the setting says, over the same protocol
 *	named	called like the setting ("http.listen"), wherever it is bound: the service manager's word counts more then
 *
 * One of an earlier coopd is called "own-" and the setting. It is taken only where it fits exactly, or where the setting lets the
 * system choose the port: settings may have changed since.
 *
 * Descriptors are looked at and taken while the server is built, on one thread.
 */
#ifndef NET_INHERIT_H
#define NET_INHERIT_H

#include "net/addr.h"
#include "os/service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define INHERIT_MAX        SERVICE_SOCKETS_MAX
#define INHERIT_PATH_BYTES 109 /* of a unix socket */

enum inherit_how { INHERIT_EXACT, INHERIT_NAMED };

/* From here on these are to be had. Those that cannot be used, since they do not listen for one, are closed; the log says so. */
void inherit_begin(const struct service_socket *from, size_t count);

/*
 * One for this address of this setting; type is SOCK_STREAM or SOCK_DGRAM. It is the caller's from here on, non-blocking and closed on
 * exec. False: there is none.
 */
bool inherit_inet(int *fd, struct addr *bound, const char *setting, int type, const struct addr *want,
                  enum inherit_how how);

/* Whether one that was taken serves this address too: [::] without IPV6_V6ONLY takes what comes to 0.0.0.0. */
bool inherit_covers(int type, const struct addr *want);

/* The same for a unix socket. place: where it really is. *is_ours: its file is ours to remove at the end, as an earlier coopd made it. */
bool inherit_unix(int *fd, char place[INHERIT_PATH_BYTES], bool *is_ours, const char *setting, const char *path);

/*
 * Who took or opened this one for this setting only wanted to know that he can have it: from here on it is to be had again, as one of
 * an earlier coopd when it did not come with the start.
 */
void inherit_put_back(const char *setting, int fd);

/* Closes those that nobody took, each with a warning that names it. */
void inherit_finish(void);

/* --- Handing on --- */

/* This listening socket serves this setting: a process that takes over gets it. When it is closed later, it is left out. */
void inherit_keep(const char *setting, int fd);

struct inherit_kept {
	int  fd;
	char name[SERVICE_NAME_BYTES]; /* under which it goes on */
};

/* All that are still open; returns how many. While no listener is opened or closed. */
size_t inherit_kept(struct inherit_kept out[INHERIT_MAX]);

#endif
