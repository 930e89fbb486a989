#include "support/faulty_server.h"

#include "support/dial.h"
#include "support/preload.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLD_MS      600000 /* longer than any test */
#define PUMP_WAIT_MS 20

static const char *path_of(const struct faulty_server *f, const char *name)
{
	static char   paths[4][SERVER_PATH_BYTES + 32];
	static size_t turn;
	char         *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", f->server->root, name);
	return path;
}

static struct disk_fault *make_control(const char *path)
{
	int   fd  = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *mem = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct disk_fault)) == 0)
		mem = mmap(NULL, sizeof(struct disk_fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(mem, MAP_FAILED, "cannot map %s: %s", path, strerror(errno));
	close(fd);
	return mem;
}

/* In this process's own environment: each test has a process to itself, and all that it starts is the server. */
void faulty_prepare(struct faulty_server *f, const char *match, const char *const *sets)
{
	f->server = server_prepare(sets);
	f->disk   = make_control(path_of(f, "fault"));
	f->mark   = 0;
	preload_library("disk_fault.so");
	setenv("COOP_FAULT_DIR", f->server->root, 1);
	setenv("COOP_FAULT_CONTROL", path_of(f, "fault"), 1);
	setenv("COOP_FAULT_LOG", path_of(f, "calls"), 1);
	if (match)
		setenv("COOP_FAULT_MATCH", match, 1);
}

void faulty_start(struct faulty_server *f)
{
	server_launch(f->server);
	server_await_ready(f->server);
}

void faulty_hold_disk(struct faulty_server *f)
{
	f->disk->delay_ms = HOLD_MS;
}

void faulty_let_go(struct faulty_server *f)
{
	f->disk->delay_ms = 0;
}

/* The trace */

static FILE *open_trace(const struct faulty_server *f)
{
	FILE *file = fopen(path_of(f, "calls"), "re");

	cr_assert_not_null(file, "the server has not written a trace");
	return file;
}

void faulty_mark(struct faulty_server *f)
{
	FILE *file = open_trace(f);

	fseek(file, 0, SEEK_END);
	f->mark = ftell(file);
	fclose(file);
}

char *faulty_trace(const struct faulty_server *f)
{
	FILE *file = open_trace(f);

	fseek(file, 0, SEEK_END);
	size_t len  = (size_t)(ftell(file) - f->mark);
	char  *text = malloc(len + 1);

	cr_assert_not_null(text, "memory for a trace");
	fseek(file, f->mark, SEEK_SET);
	text[fread(text, 1, len, file)] = '\0';
	fclose(file);
	return text;
}

char *faulty_await_trace(const struct faulty_server *f, const char *text)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	for (;;) {
		char *trace = faulty_trace(f);

		if (strstr(trace, text))
			return trace;
		cr_assert_lt(real_now_ms(), deadline_ms, "no %s in:\n%s", text, trace);
		free(trace);
		real_sleep_ms(1);
	}
}

/* How it is */

static void expect_answer(const char *where, struct http_result r, int64_t asked_ms, int status, const char *contains)
{
	int64_t took_ms = real_now_ms() - asked_ms;

	cr_assert(r.status == status && strstr(r.body, contains), "%s: status %d (not %d), no %s in: %s", where,
	          r.status, status, contains, r.body);
	cr_assert_leq(took_ms, FAULTY_PROMPT_MS, "%s: took %lld ms", where, (long long)took_ms);
	http_result_free(&r);
}

void faulty_expect_health_at(const char *file, int line, const struct faulty_server *f, const char *store)
{
	const struct server *s       = f->server;
	bool                 failing = store && strcmp(store, "failing") == 0;
	char                 says[32], where[128];

	snprintf(says, sizeof(says), "\"store\":\"%s%s", store ? store : "", store ? "\"" : "");
	snprintf(where, sizeof(where), "%s:%d", file, line);

	int64_t now_ms = real_now_ms();
	expect_answer(where, http_get(s->http_port, "/healthz"), now_ms, 200, says);
	now_ms = real_now_ms();
	expect_answer(where, http_get(s->http_port, "/readyz"), now_ms, failing ? 503 : 200, "\"state\":");
	now_ms = real_now_ms();
	expect_answer(where, http_get_unix(s->admin_socket, "/metrics"), now_ms, 200, "coopd_store_queue ");
}

void faulty_expect_log_at(const char *file, int line, const struct faulty_server *f, const char *text)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (!server_log_contains(f->server, text)) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%s:%d: the log does not say: %s", file, line, text);
		real_sleep_ms(5);
	}
}

/* The output */

static struct {
	int         read_fd, write_fd; /* of the pipe; the second only to look at it */
	int         log_fd;
	atomic_bool stop;
	pthread_t   thread;
} pump;

static void *pump_output(void *arg)
{
	struct pollfd ready = { .fd = pump.read_fd, .events = POLLIN };
	char          bytes[4096];

	(void)arg;
	while (!atomic_load(&pump.stop)) {
		if (poll(&ready, 1, PUMP_WAIT_MS) <= 0)
			continue;
		ssize_t n = read(pump.read_fd, bytes, sizeof(bytes));
		if (n <= 0 || write(pump.log_fd, bytes, (size_t)n) != n)
			break;
	}
	return NULL;
}

void faulty_pipe_output(struct faulty_server *f)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[1], F_SETPIPE_SZ, 4096);
	pump.read_fd         = fds[0];
	pump.write_fd        = fds[1];
	pump.log_fd          = open(f->server->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	f->server->output_fd = fds[1];
	cr_assert_geq(pump.log_fd, 0);
	cr_assert_eq(pthread_create(&pump.thread, NULL, pump_output, NULL), 0);
}

void faulty_stop_reading(struct faulty_server *f)
{
	(void)f;
	atomic_store(&pump.stop, true);
	pthread_join(pump.thread, NULL);
}

bool faulty_is_output_full(const struct faulty_server *f)
{
	struct pollfd room = { .fd = pump.write_fd, .events = POLLOUT };

	(void)f;
	return poll(&room, 1, 0) == 0;
}
