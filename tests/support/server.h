/*
 * The whole server, started for one test: the program named by COOPD_BIN, on free loopback ports, over a data folder
 * of its own below /tmp, with a clock that the test moves.
 *
 *	struct server    *s    = server_start(NULL);
 *	struct ws_client *host = host_open(s->tunnel_port, "A", NULL);
 *
 *	server_advance(s, 5000);
 *	ws_client_free(host);
 *	server_finish(s);
 *
 * A server dies with the test's process. A test that ends with its server still running (because it failed) gets the
 * last lines of the server's log printed; the folder is removed either way, unless COOP_KEEP is set.
 */
#ifndef TESTS_SERVER_H
#define TESTS_SERVER_H

#include "support/http_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define SERVER_PATH_BYTES 80
#define SERVER_SETS_MAX   40
#define SERVER_SET_BYTES  160
#define SERVER_READY_MS   20000 /* a sanitizer build on a busy machine takes its time */
#define SERVER_STOP_MS    10000

#define SERVER_TURN_SECRET  "turn-secret-of-the-tests"
#define SERVER_SIGNAL_TOKEN "signal-token-of-the-tests"

struct server_clock {
	int64_t both_ms; /* added to the wall and the monotonic clock */
	int64_t wall_ms; /* added to the wall clock only */
};

/* What the next start gets from its service manager: sockets from 3 on, and where it tells how it is. */
#define SERVER_SOCKETS_MAX 16
struct server_manager {
	int         fds[SERVER_SOCKETS_MAX]; /* the test's */
	size_t      count;
	const char *names;  /* LISTEN_FDNAMES; NULL: none */
	const char *notify; /* NOTIFY_SOCKET; NULL: none */
	int         more;   /* so many more are announced than there are */
	int64_t     watchdog_ms;
};

struct server {
	pid_t                 pid;    /* 0 while it does not run */
	int                   status; /* how it last ended: its status, or 256 + a signal */
	int                   tunnel_port;
	int                   http_port;
	int                   https_port;                   /* 0 without tls.cert */
	int                   signal_port, signal_tls_port; /* the same */
	int                   rooms_port;                   /* TCP and UDP */
	int                   p2p_port, p2p_alt_port;       /* over UDP, on both addresses; 0 without p2p.listen1 */
	int                   rooms_status_port;            /* 0 without rooms.status_listen */
	int                   admin_port, admin_events_port;
	char                  root[SERVER_PATH_BYTES]; /* the folder of the test: data/, server.log, clock */
	char                  data[SERVER_PATH_BYTES];
	char                  admin_socket[SERVER_PATH_BYTES], admin_events_socket[SERVER_PATH_BYTES];
	char                  log_path[SERVER_PATH_BYTES];
	long                  log_from;  /* where this start's lines begin */
	int                   output_fd; /* what the next start gets as its output; 0: log_path, opened */
	struct server_clock  *clock;     /* mapped, shared with the server */
	char                  sets[SERVER_SETS_MAX][SERVER_SET_BYTES];
	size_t                set_count;
	struct server_manager manager;
	struct server        *next; /* those not yet finished */
};

/*
 * Makes the folder, starts the server and waits until it is ready; anything else ends the test. It has the secrets that a
 * server in production must be given, SERVER_TURN_SECRET and SERVER_SIGNAL_TOKEN.
 * sets: further settings "section.key=value", ended by NULL; NULL: none.
 */
struct server *server_start(const char *const *sets);

/*
 * server_stop when it runs; removes the folder and frees s. Free the clients first: the server gives those that are
 * still connected, and do not answer its close, some seconds.
 */
void server_finish(struct server *s);

/* The same in steps, for starts that have to fail, or must not be waited for. */
struct server *server_prepare(const char *const *sets);         /* folder and clock only */
void           server_set(struct server *s, const char *set);   /* one more setting, for the next start */
void           server_unset(struct server *s, const char *key); /* takes back those of this key, ours too */
void           server_launch(struct server *s);                 /* starts the program */
void           server_await_ready(struct server *s);
bool           server_await_start(struct server *s); /* true: it is ready; false: it ended before that */
int            server_await_exit(struct server *s, int patience_ms); /* its status, or 256 + a signal */

/*
 * A server that hands over starts its successor itself. Before: from here on processes that lose their parent are the test's, and the
 * log is read from here on. After: waits until the first one has ended with status 0 and this process id serves in its place.
 */
void server_expect_successor(struct server *s);
void server_adopt(struct server *s, pid_t pid);

/* SIGTERM; it has to end with status 0 within SERVER_STOP_MS. */
void server_stop(struct server *s);

/* SIGKILL, at once. */
void server_kill(struct server *s);

/* Stops it when it runs, then starts it over the same data folder and clock. The ports are new ones. */
void server_restart(struct server *s);

bool  server_is_running(struct server *s);
void  server_signal(struct server *s, int signal);
FILE *server_open_log(const struct server *s); /* of all starts, once the lines of up to now are in it; for fclose */
bool  server_log_contains(const struct server *s, const char *text);
void  server_print_log(const struct server *s); /* its end, on standard error */

/* Moves both clocks and has the server look at its timers. Does not wait for what it does then. */
void server_advance(struct server *s, int64_t ms);

/* Moves the wall clock alone, as an operator or a wrong time server does. */
void server_advance_wall(struct server *s, int64_t ms);

/*
 * Moves both clocks by total_ms in steps of at most step_ms, and calls each_step after every one: long waits would
 * otherwise look to the server as if every peer had been dead. It may return false to stop early.
 * Returns how far the clock was moved. each_step may be NULL.
 */
int64_t server_advance_steps(struct server *s, int64_t total_ms, int64_t step_ms, bool (*each_step)(void *context),
                             void *context);

/*
 * A figure of /metrics, asked over the admin socket: the sum of all lines of this name whose labels contain `labels`
 * ("" or NULL: any). A name that is not shown at all ends the test.
 */
double server_metric(struct server *s, const char *name, const char *labels);

/* Waits (really) until it is equal; at the end of patience_ms the test ends. */
void server_await_metric(struct server *s, const char *name, const char *labels, double value, int patience_ms);

size_t server_rss_bytes(const struct server *s);
int    server_fd_count(const struct server *s);

#endif
