/*
 * Sockets of the test's own, never waited on longer than said. All are non-blocking and closed on exec, so that a
 * server started later does not inherit them.
 */
#ifndef TESTS_DIAL_H
#define TESTS_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a test waits for what has to come; long, because a passing test never waits it out. */
#define DIAL_PATIENCE_MS 20000

/* The machine's monotonic clock, which no test moves. */
int64_t real_now_ms(void);
void    real_sleep_ms(int ms);

/* Connected to 127.0.0.1:port; -1 when nobody listens. rcvbuf_bytes 0: the system's receive buffer. */
int dial_tcp(int port, int rcvbuf_bytes);

/* The same from another address of this machine, "127.0.0.2": for limits that count by address. */
int dial_tcp_from(const char *from, int port, int rcvbuf_bytes);

/* To another address than 127.0.0.1; from may be NULL. */
int dial_tcp_to(const char *to, int port, const char *from, int rcvbuf_bytes);

/* A UDP socket bound to this address ("0.0.0.0": any) and port (0: a free one); -1 when they are not to be had. */
int dial_udp(const char *at, int port);

/* -1 when nobody listens there. */
int dial_unix(const char *path);

/* Waits until the other side takes all of it. False when it does not within patience_ms, or is gone. */
bool dial_send(int fd, const void *data, size_t len, int patience_ms);

/*
 * Reads what is there, waiting for the first byte until deadline_ms (of real_now_ms; one in the past only looks).
 * The number of bytes; 0 at the end; DIAL_LATE at the deadline; DIAL_RESET when the other side threw it away.
 */
#define DIAL_LATE  (-1)
#define DIAL_RESET (-2)
ssize_t dial_read(int fd, void *buf, size_t cap, int64_t deadline_ms);

/* Closes so that the other side sees a reset, as when a machine or its program dies. */
void dial_abort(int fd);

#endif
