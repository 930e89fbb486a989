/*
 * Whoever runs this process as a service: systemd, or anything else that speaks its protocols. Told when we are ready, reload, stop,
 * still live; asked for the sockets that it opened for us.
 *
 * Both protocols are a few lines of text and of environment (sd_notify(3), sd_listen_fds(3)), so that this is the same with and
 * without libsystemd. Without a service manager nothing here does anything.
 */
#ifndef OS_SERVICE_H
#define OS_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads what the manager left in the environment. Once, before any thread starts and before a file is opened: a descriptor that is
 * announced and missing would otherwise be the next one that is. NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID stay there, for a
 * process that takes over from this one; a relative or over-long path counts as none. LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES
 * are taken out.
 */
void service_begin(void);

/* Says in the log what of it was of no use: service_begin comes before there is one. */
void service_warn(void);

/*
 * Sends lines such as "READY=1" or "STATUS=...\nWATCHDOG=1". Never waits. False: nobody is to be told, or he takes nothing.
 * Any thread.
 */
bool service_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* RELOADING=1 with the time, which "READY=1" ends. */
bool service_tell_reloading(void);

/* How long it waits for the next WATCHDOG=1; 0: it does not, or means another process. */
int64_t service_watchdog_ms(void);

/* --- Sockets --- */

#define SERVICE_SOCKETS_MAX 64
#define SERVICE_NAME_BYTES  64
#define SERVICE_FIRST_FD    3

struct service_socket {
	int  fd;
	char name[SERVICE_NAME_BYTES]; /* of LISTEN_FDNAMES, "" when there is none; cut when longer */
};

/* Those that service_begin found, closed on exec. 0: there are none, or they are meant for another process. */
size_t service_sockets(struct service_socket out[SERVICE_SOCKETS_MAX]);

#endif
