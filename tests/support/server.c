#include "support/server.h"

#include "base/auto.h"
#include "support/dial.h"
#include "support/temp_folder.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_TAIL_BYTES 6000
#define LOOK_EVERY_MS  5
#define LOG_SETTLE_MS  20

/* Servers of this process that were prepared and not finished. */
static struct server *servers;

/*
 * What the server's log says about itself. The one place that knows the text:
 *
 *	... net: listens part=tunnel address=127.0.0.1:40123
 *	... server: ready ...
 */
/* Where the log's "listens part=..." goes. A part is known by how it begins; of two that fit the first counts. */
static const struct {
	const char *part;
	size_t      at;
} listeners[] = {
	{ "signal-tls ", offsetof(struct server, signal_tls_port) },
	{ "signal ", offsetof(struct server, signal_port) },
	{ "rooms-status ", offsetof(struct server, rooms_status_port) },
	{ "rooms ", offsetof(struct server, rooms_port) },
	{ "p2p-alt ", offsetof(struct server, p2p_alt_port) },
	{ "p2p ", offsetof(struct server, p2p_port) },
	{ "tunnel", offsetof(struct server, tunnel_port) },
	{ "http-tls ", offsetof(struct server, https_port) },
	{ "http ", offsetof(struct server, http_port) },
	{ "admin-events ", offsetof(struct server, admin_events_port) },
	{ "admin ", offsetof(struct server, admin_port) },
};

/* Of several listeners of a part the first counts. */
static void note_port(struct server *s, const char *part, int port)
{
	for (size_t i = 0; i < COUNT_OF(listeners); i++) {
		int *at = (int *)(void *)((char *)s + listeners[i].at);

		if (strncmp(part, listeners[i].part, strlen(listeners[i].part)) != 0)
			continue;
		if (!*at)
			*at = port;
		return;
	}
}

static void note_listener(struct server *s, const char *line)
{
	const char *part    = strstr(line, ": listens part=");
	const char *address = strstr(line, " address=");

	if (!part || !address)
		return;

	size_t      len   = strcspn(address + 1, " \n");
	const char *colon = memrchr(address + 1, ':', len);

	if (colon && colon[1] != '/') /* a path has no port */
		note_port(s, part + strlen(": listens part="), atoi(colon + 1));
}

/* Reads this start's part of the log. True once it says ready. */
static bool read_log(struct server *s)
{
	FILE *log = fopen(s->log_path, "re");
	char  line[2048];
	bool  ready = false;

	if (!log)
		return false;
	fseek(log, s->log_from, SEEK_SET);
	while (fgets(line, sizeof(line), log)) {
		note_listener(s, line);
		ready = ready || strstr(line, ": ready");
	}
	fclose(log);
	return ready;
}

void server_print_log(const struct server *s)
{
	FILE *log = fopen(s->log_path, "re");
	char  tail[LOG_TAIL_BYTES + 1];

	if (!log)
		return;
	fseek(log, 0, SEEK_END);
	long size = ftell(log);

	fseek(log, size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0, SEEK_SET);
	tail[fread(tail, 1, LOG_TAIL_BYTES, log)] = '\0';
	fclose(log);
	fprintf(stderr, "--- end of the server's log ---\n%s--- end ---\n", tail);
}

FILE *server_open_log(const struct server *s)
{
	/* Its writer gathers lines for some milliseconds. */
	usleep(LOG_SETTLE_MS * 1000);

	FILE *log = fopen(s->log_path, "re");

	cr_assert(log, "cannot read %s", s->log_path);
	return log;
}

bool server_log_contains(const struct server *s, const char *text)
{
	FILE  *log   = server_open_log(s);
	char  *line  = NULL;
	size_t cap   = 0;
	bool   found = false;

	while (!found && getline(&line, &cap, log) > 0)
		found = strstr(line, text) != NULL;
	free(line);
	fclose(log);
	return found;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

static void forget(struct server *s)
{
	for (struct server **at = &servers; *at; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	munmap(s->clock, sizeof(*s->clock));
	if (!getenv("COOP_KEEP"))
		nftw(s->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(s);
}

static void reap(struct server *s)
{
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
}

/* Successors that nobody adopted. */
static void reap_children(void)
{
	FILE *list = fopen("/proc/thread-self/children", "re");
	long  pid;
	char  word[24];

	while (list && fscanf(list, "%23s", word) == 1) {
		pid = strtol(word, NULL, 10);
		kill((pid_t)pid, SIGKILL);
		waitpid((pid_t)pid, NULL, 0);
	}
	if (list)
		fclose(list);
}

/* Only reached with a server in the list when a test ended early. */
static void clean_up_at_exit(void)
{
	if (servers)
		reap_children();
	while (servers) {
		struct server *s = servers;

		server_print_log(s);
		if (s->pid)
			reap(s);
		forget(s);
	}
}

/* The clock's file, which the server maps too. */
static void make_clock(struct server *s)
{
	char path[SERVER_PATH_BYTES + 8];

	snprintf(path, sizeof(path), "%s/clock", s->root);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && ftruncate(fd, sizeof(*s->clock)) == 0, "cannot make %s: %s", path, strerror(errno));
	s->clock = mmap(NULL, sizeof(*s->clock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	cr_assert(s->clock != MAP_FAILED, "cannot map %s: %s", path, strerror(errno));
}

void server_set(struct server *s, const char *set)
{
	cr_assert_lt(s->set_count, SERVER_SETS_MAX, "more settings than a server of the tests takes");
	snprintf(s->sets[s->set_count++], SERVER_SET_BYTES, "%s", set);
}

void server_unset(struct server *s, const char *key)
{
	size_t len = strlen(key), kept = 0;

	for (size_t i = 0; i < s->set_count; i++) {
		if (strncmp(s->sets[i], key, len) != 0 || s->sets[i][len] != '=')
			memmove(s->sets[kept++], s->sets[i], SERVER_SET_BYTES);
	}
	s->set_count = kept;
}

struct server *server_prepare(const char *const *sets)
{
	struct server *s = calloc(1, sizeof(*s));
	char           admin[SERVER_SET_BYTES];

	cr_assert_not_null(s, "memory for a server");
	temp_folder(s->root, "coopd-test-");
	snprintf(s->data, sizeof(s->data), "%.47s/data", s->root);
	snprintf(s->admin_socket, sizeof(s->admin_socket), "%.47s/data/admin.sock", s->root);
	snprintf(s->admin_events_socket, sizeof(s->admin_events_socket), "%.47s/data/events.sock", s->root);
	snprintf(s->log_path, sizeof(s->log_path), "%.47s/server.log", s->root);
	mkdir(s->data, 0700);
	make_clock(s);

	if (!servers)
		atexit(clean_up_at_exit);
	s->next = servers;
	servers = s;

	snprintf(admin, sizeof(admin), "admin.socket=%s", s->admin_socket);
	server_set(s, "tunnel.listen=127.0.0.1:0");
	server_set(s, "http.listen=127.0.0.1:0");
	server_set(s, "signal.listen=127.0.0.1:0");
	server_set(s, "signal.tls_listen=127.0.0.1:0");
	server_set(s, "http.tls_listen=127.0.0.1:0");
	server_set(s, "rooms.listen=127.0.0.1:0");
	server_set(s, "p2p.port=0");
	server_set(s, "p2p.alt_port=0");
	server_set(s, admin);
	snprintf(admin, sizeof(admin), "admin.events_socket=%s", s->admin_events_socket);
	server_set(s, admin);
	server_set(s, "admin.listen=127.0.0.1:0");
	server_set(s, "admin.events_listen=127.0.0.1:0");
	server_set(s, "turn.secret=" SERVER_TURN_SECRET);
	server_set(s, "signal.token=" SERVER_SIGNAL_TOKEN);
	for (; sets && *sets; sets++)
		server_set(s, *sets);
	return s;
}

/* In the child. What it opens itself comes behind. */
static int take_sockets(const struct server_manager *m)
{
	char text[32];
	int  next = 3;

	for (size_t i = 0; i < m->count; i++) /* first out of the way of the others */
		if (dup2(m->fds[i], 100 + (int)i) < 0)
			_exit(124);
	for (size_t i = 0; i < m->count; i++)
		dup2(100 + (int)i, next++);
	if (m->count > 0 || m->more > 0) {
		snprintf(text, sizeof(text), "%zu", m->count + (size_t)m->more);
		setenv("LISTEN_FDS", text, 1);
		snprintf(text, sizeof(text), "%d", (int)getpid());
		setenv("LISTEN_PID", text, 1);
	}
	if (m->names)
		setenv("LISTEN_FDNAMES", m->names, 1);
	if (m->notify)
		setenv("NOTIFY_SOCKET", m->notify, 1);
	if (m->watchdog_ms > 0) {
		snprintf(text, sizeof(text), "%lld", (long long)m->watchdog_ms * 1000);
		setenv("WATCHDOG_USEC", text, 1);
		snprintf(text, sizeof(text), "%d", (int)getpid());
		setenv("WATCHDOG_PID", text, 1);
	}
	return next;
}

/* In the child, between fork and exec. */
static void become_server(struct server *s, pid_t test, const char *program)
{
	const char *args[2 * SERVER_SETS_MAX + 8] = { program, "--data", s->data };
	int         count                         = 3;
	char        clock[SERVER_PATH_BYTES + 8];
	sigset_t    none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != test)
		_exit(125);
	for (size_t i = 0; i < s->set_count; i++) {
		args[count++] = "--set";
		args[count++] = s->sets[i];
	}
	snprintf(clock, sizeof(clock), "%s/clock", s->root);
	setenv("COOP_TEST_CLOCK", clock, 1);
	unsetenv("NOTIFY_SOCKET");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	int log  = s->output_fd > 0 ? s->output_fd : open(s->log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	int null = open("/dev/null", O_RDONLY);

	if (log < 0 || null < 0)
		_exit(126);
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	close_range((unsigned)take_sockets(&s->manager), ~0U, 0);
	execv(program, (char *const *)(uintptr_t)args);
	_exit(127);
}

void server_launch(struct server *s)
{
	const char *program = getenv("COOPD_BIN");
	pid_t       test    = getpid();
	struct stat log;

	cr_assert_not_null(program, "COOPD_BIN must name the server to test");
	cr_assert_eq(s->pid, 0, "the server runs already");
	s->tunnel_port = 0;
	s->http_port   = 0;
	s->https_port  = 0;
	s->signal_port = s->signal_tls_port = 0;
	s->rooms_port = s->rooms_status_port = 0;
	s->p2p_port = s->p2p_alt_port = 0;
	s->admin_port = s->admin_events_port = 0;
	s->log_from                          = stat(s->log_path, &log) == 0 ? log.st_size : 0;
	s->pid                               = fork();
	cr_assert_geq(s->pid, 0, "no process: %s", strerror(errno));
	if (s->pid == 0)
		become_server(s, test, program);
}

bool server_is_running(struct server *s)
{
	int how;

	if (s->pid && waitpid(s->pid, &how, WNOHANG) == s->pid) {
		s->pid    = 0;
		s->status = WIFEXITED(how) ? WEXITSTATUS(how) : 256 + WTERMSIG(how);
	}
	return s->pid != 0;
}

bool server_await_start(struct server *s)
{
	int64_t deadline_ms = real_now_ms() + SERVER_READY_MS;

	while (!read_log(s)) {
		if (!server_is_running(s))
			return false;
		if (real_now_ms() > deadline_ms)
			cr_assert_fail("the server is not ready after %d ms", SERVER_READY_MS);
		real_sleep_ms(LOOK_EVERY_MS);
	}
	return true;
}

void server_await_ready(struct server *s)
{
	cr_assert(server_await_start(s), "the server ended at its start with status %d", s->status);
	cr_assert(s->tunnel_port && s->http_port, "the server is ready and did not say where it listens");
}

struct server *server_start(const char *const *sets)
{
	struct server *s = server_prepare(sets);

	server_launch(s);
	server_await_ready(s);
	return s;
}

int server_await_exit(struct server *s, int patience_ms)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;

	while (server_is_running(s)) {
		if (real_now_ms() > deadline_ms)
			cr_assert_fail("the server has not ended after %d ms", patience_ms);
		real_sleep_ms(LOOK_EVERY_MS);
	}
	return s->status;
}

void server_signal(struct server *s, int signal)
{
	cr_assert(server_is_running(s), "the server has died");
	kill(s->pid, signal);
}

void server_expect_successor(struct server *s)
{
	struct stat log;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	usleep(LOG_SETTLE_MS * 1000);
	s->log_from = stat(s->log_path, &log) == 0 ? log.st_size : 0;
}

void server_adopt(struct server *s, pid_t pid)
{
	int status = server_await_exit(s, SERVER_READY_MS);

	cr_assert_eq(status, 0, "the server ended with status %d after it handed over", status);
	s->pid = pid;
	server_await_ready(s);
}

void server_stop(struct server *s)
{
	server_signal(s, SIGTERM);
	int status = server_await_exit(s, SERVER_STOP_MS);

	cr_assert_eq(status, 0, "the server ended with status %d after SIGTERM", status);
}

void server_kill(struct server *s)
{
	cr_assert(server_is_running(s), "the server has died before it was to be killed");
	reap(s);
}

void server_restart(struct server *s)
{
	if (s->pid)
		server_stop(s);
	server_launch(s);
	server_await_ready(s);
}

void server_finish(struct server *s)
{
	if (s->pid)
		server_stop(s);
	forget(s);
}

void server_advance(struct server *s, int64_t ms)
{
	__atomic_add_fetch(&s->clock->both_ms, ms, __ATOMIC_SEQ_CST);
	if (s->pid)
		server_signal(s, SIGUSR2);
}

void server_advance_wall(struct server *s, int64_t ms)
{
	__atomic_add_fetch(&s->clock->wall_ms, ms, __ATOMIC_SEQ_CST);
	if (s->pid)
		server_signal(s, SIGUSR2);
}

int64_t server_advance_steps(struct server *s, int64_t total_ms, int64_t step_ms, bool (*each_step)(void *context),
                             void *context)
{
	int64_t moved_ms = 0;

	while (moved_ms < total_ms) {
		int64_t ms = total_ms - moved_ms < step_ms ? total_ms - moved_ms : step_ms;

		server_advance(s, ms);
		moved_ms += ms;
		if (each_step && !each_step(context))
			break;
	}
	return moved_ms;
}

/* Adds up the lines of the text that are of this name and labels; false when the name is nowhere. */
static bool sum_metric(double *out, const char *text, const char *name, const char *labels)
{
	size_t name_len = strlen(name);
	bool   known    = false;

	*out = 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, name_len) != 0 || (line[name_len] != ' ' && line[name_len] != '{'))
			continue;
		known = true;

		const char *end   = line + strcspn(line, "\n");
		const char *value = memrchr(line, ' ', (size_t)(end - line));

		if (value &&
		    (!labels || memmem(line + name_len, (size_t)(value - line) - name_len, labels, strlen(labels))))
			*out += strtod(value, NULL);
	}
	return known;
}

double server_metric(struct server *s, const char *name, const char *labels)
{
	struct http_result r     = http_get_unix(s->admin_socket, "/metrics");
	double             value = 0;
	bool               known = r.status == 200 && sum_metric(&value, r.body, name, labels);

	cr_assert(known, "/metrics (status %d) does not show %s", r.status, name);
	http_result_free(&r);
	return value;
}

void server_await_metric(struct server *s, const char *name, const char *labels, double value, int patience_ms)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;

	for (;;) {
		double now = server_metric(s, name, labels);

		if (now >= value && now <= value)
			return;
		if (real_now_ms() > deadline_ms)
			cr_assert_fail("%s{%s} is %g, not %g", name, labels ? labels : "", now, value);
		real_sleep_ms(20);
	}
}

size_t server_rss_bytes(const struct server *s)
{
	char   path[64];
	size_t pages;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)s->pid);
	FILE *f = fopen(path, "re");

	cr_assert(f && fscanf(f, "%*u %zu", &pages) == 1, "cannot read %s", path);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int server_fd_count(const struct server *s)
{
	char path[64];
	int  count = -2; /* . and .. */

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)s->pid);
	DIR *fds = opendir(path);

	cr_assert_not_null(fds, "cannot read %s", path);
	while (readdir(fds))
		count++;
	closedir(fds);
	return count;
}
