/*
 * The whole server over a disk that the test makes slow, full or faulty, with a trace of what the server does there and
 * sends to its clients, and with an output that somebody may stop reading.
 *
 *	struct faulty_server f;
 *
 *	faulty_prepare(&f, "-wal", NULL);
 *	faulty_start(&f);
 *	f.disk->fail_syncs = 1;
 *	faulty_expect_health(&f, "failing");
 *	server_finish(f.server);
 *
 * Everything below the test's folder lies on that disk, the server's log too. The disk is good until the test says
 * otherwise; restarts keep what it said. One such server in a test's process.
 */
#ifndef TESTS_FAULTY_SERVER_H
#define TESTS_FAULTY_SERVER_H

#include "fake/disk_fault.h"
#include "support/server.h"

#include <stdbool.h>

/* How long an answer may take that has nothing to do with the disk: long for a busy machine, short beside the disk. */
#define FAULTY_PROMPT_MS 1000

/* Of the trace: the log of the database reaches the disk, and how long the two answers are that promise something. */
#define FAULTY_LOG_WRITTEN "write data/coop.db-wal = "
#define FAULTY_LOG_SYNCED  "sync data/coop.db-wal = 0\n"
#define FAULTY_HOST_OPENED "send = 15\n"
#define FAULTY_FRIEND_IS   "send = 13\n"
#define FAULTY_JOINED      "send = 4\n"

struct faulty_server {
	struct server     *server;
	struct disk_fault *disk; /* shared with the server */
	long               mark; /* where in the trace the test looks */
};

/* match: the end of the names of the files that errors are for; NULL: all. sets: as for server_start. */
void faulty_prepare(struct faulty_server *f, const char *match, const char *const *sets);

/* Launches it and waits until it is ready. */
void faulty_start(struct faulty_server *f);

/* From now on nothing on the disk ends; until faulty_let_go. */
void faulty_hold_disk(struct faulty_server *f);
void faulty_let_go(struct faulty_server *f);

/*
 * The trace from now on is what faulty_trace returns, for free(). A call stands in it a moment after it was made: the
 * second waits until one with this text does.
 */
void  faulty_mark(struct faulty_server *f);
char *faulty_trace(const struct faulty_server *f);
char *faulty_await_trace(const struct faulty_server *f, const char *text);

/*
 * /healthz is 200 and says this of the store (NULL: anything); /readyz is 503 when that is failing, else 200; /metrics is
 * 200: each within FAULTY_PROMPT_MS.
 */
#define faulty_expect_health(f, store) faulty_expect_health_at(__FILE__, __LINE__, f, store)
void faulty_expect_health_at(const char *file, int line, const struct faulty_server *f, const char *store);

/* The server's log says this, or does so soon: its lines are written behind. */
#define faulty_expect_log(f, text) faulty_expect_log_at(__FILE__, __LINE__, f, text)
void faulty_expect_log_at(const char *file, int line, const struct faulty_server *f, const char *text);

/*
 * The server's output goes through a small pipe, which this process reads (into the server's log file) until
 * faulty_stop_reading. Before faulty_start.
 */
void faulty_pipe_output(struct faulty_server *f);
void faulty_stop_reading(struct faulty_server *f);
bool faulty_is_output_full(const struct faulty_server *f);

#endif
