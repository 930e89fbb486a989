/*
 * Listening sockets, from settings.
 */
#ifndef NET_LISTEN_H
#define NET_LISTEN_H

#include "base/err.h"
#include "net/addr.h"

#include <stdio.h>
#include <sys/types.h>

/*
 * A bound, listening, non-blocking, close-on-exec TCP socket for "1.2.3.4:80" or "[::1]:80" (IPv6 only). *bound has the
 * port that the kernel chose for port 0. ERR_HELD: in use; ERR_MALFORMED: text is no such thing; ERR_IO: errno says
 * why. On any of these one clear sentence, which begins with text, was written to report, and *fd is untouched.
 */
enum err listen_tcp(int *fd, struct addr *bound, const char *text, FILE *report);

/*
 * A bound, non-blocking, close-on-exec UDP socket for "1.2.3.4:80" (IPv4 only), with receive and send buffers of some MiB as far
 * as the system lets it; like listen_tcp otherwise. port: what is used instead when the text says 0, to have TCP and UDP on one
 * (ERR_HELD: try with another one); 0: none.
 */
enum err listen_udp(int *fd, struct addr *bound, const char *text, uint16_t port, FILE *report);

/* Those buffers, for a UDP socket that was opened by somebody else. */
void listen_tune_udp(int fd);

/*
 * The same for a unix socket; its folder is made (0750) when missing, a stale socket is removed (call it only under the
 * data folder's lock), the socket gets mode 0660.
 */
enum err listen_unix(int *fd, const char *path, FILE *report);

/* Whether that would work now; only the folder is made. Needs no lock. */
enum err listen_unix_try(const char *path, FILE *report);

/*
 * Says in the log that a part listens there ("127.0.0.1:80", "unix:/run/x"), and remembers it for listen_places. more: what the
 * log says behind it, or "". Any thread.
 */
void listen_announce(const char *part, const char *address, const char *more);

#define LISTEN_PLACE_BYTES 128
#define LISTEN_PLACES_MAX  96
struct listen_place {
	char part[24];
	char address[LISTEN_PLACE_BYTES]; /* cut when longer */
};
/* All that were announced, in that order; returns how many. Any thread. */
size_t listen_places(struct listen_place out[LISTEN_PLACES_MAX]);

/*
 * Sets the process's limit of open files to what it may be, at most 131072 (libwebsockets keeps a table with a place
 * for each); returns it.
 */
long listen_raise_files(void);

#endif
