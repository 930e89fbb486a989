/*
 * Producers format their text on their own stack and copy it into a ring under a short mutex; the writer takes lines out
 * under the same mutex and writes without it. So whoever reads the output decides how many lines are kept, never how
 * long a producer waits.
 *
 *	log_line --> ring --> writer: take, form, collect up to PIPE_BUF bytes --> poll, write
 *
 * A write is never longer than PIPE_BUF: a pipe that poll calls writable takes that much without blocking.
 */
#include "os/log.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/metric.h"
#include "base/ring.h"
#include "base/text.h"
#include "os/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* About 3,000 lines of usual length: a restart of everybody's connections at once. */
#define RING_BYTES      (512 * 1024)
#define FORM_BYTES      PIPE_BUF
#define WAIT_MS         100
#define STOP_WAITS      15   /* of WAIT_MS, in all, for a full output once the log is to stop */
#define STOP_MS         2000 /* after this the writer hangs in the kernel and is left behind */
#define DIRECT_WAIT_MS  100
#define GATHER_NS       2000000 /* lines that come so close behind others leave with one write */
#define MODULE_BYTES    24
#define VERB_BYTES      40
#define TIME_TEXT_BYTES 32

/* What goes through the ring, without the unused end of text. */
struct line {
	int64_t        wall_ms;
	uint64_t       conn;
	uint64_t       lost_before; /* lines that did not fit just before this one */
	enum log_level level;
	char           module[MODULE_BYTES];
	char           verb[VERB_BYTES];
	char           text[LOG_LINE_BYTES_MAX];
};

/* Lines of one write. */
struct batch {
	char   bytes[PIPE_BUF];
	size_t len;
	size_t lines;
};

enum writer_phase { WRITER_NONE, WRITER_RUNS, WRITER_STOPS, WRITER_LEFT_BEHIND };

static struct {
	pthread_mutex_t   mutex; /* guards phase, lost and ring; never held while writing */
	pthread_cond_t    wake;
	enum writer_phase phase;
	uint64_t          lost;
	struct ring       ring;
	pthread_t         thread;
	int               ended_fd; /* an eventfd: the writer is at its end */
} writer = { .mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

static uint8_t        ring_mem[RING_BYTES];
static _Atomic int    level_now  = LOG_INFO;
static _Atomic int    format_now = LOG_TEXT;
static pthread_once_t env_once   = PTHREAD_ONCE_INIT;
static bool           to_journal;

static const struct {
	const char *name, *journal;
} levels[] = {
	[LOG_ERROR] = { "error", "<3>" },
	[LOG_WARN]  = { "warn", "<4>" },
	[LOG_INFO]  = { "info", "<6>" },
	[LOG_DEBUG] = { "debug", "<7>" },
};

static void read_env(void)
{
	to_journal = getenv("JOURNAL_STREAM") != NULL;
}

/* --- the three forms of a line --- */

static void form_time(char out[TIME_TEXT_BYTES], int64_t wall_ms)
{
	time_t    seconds = (time_t)(wall_ms / 1000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	size_t len = strftime(out, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	text_format(out + len, TIME_TEXT_BYTES - len, ".%03dZ", (int)(wall_ms % 1000));
}

static bool form_text(char *out, size_t cap, const struct line *l)
{
	char prefix[TIME_TEXT_BYTES + 8], conn[24] = "";

	if (to_journal) {
		text_copy(prefix, sizeof(prefix), levels[l->level].journal);
	} else {
		char time[TIME_TEXT_BYTES];

		form_time(time, l->wall_ms);
		text_format(prefix, sizeof(prefix), "%s %s ", time, levels[l->level].name);
	}
	if (l->conn)
		text_format(conn, sizeof(conn), "[%llu]", (unsigned long long)l->conn);
	return text_format(out, cap, "%s%s%s: %s%s%s\n", prefix, l->module, conn, l->verb, l->text[0] ? " " : "",
	                   l->text);
}

static bool form_json(char *out, size_t cap, const struct line *l)
{
	AUTO(json_freep) struct json *j = json_object_new();
	char                          time[TIME_TEXT_BYTES];

	if (!j)
		return false;
	form_time(time, l->wall_ms);
	json_put_text(j, "time", time);
	json_put_text(j, "level", levels[l->level].name);
	json_put_text(j, "module", l->module);
	if (l->conn)
		json_put_int(j, "conn", (int64_t)l->conn);
	json_put_text(j, "event", l->verb);
	json_put_text(j, "text", l->text);

	AUTO(auto_free) char *text = json_text(j);
	return text && text_format(out, cap, "%s\n", text);
}

/* False when there was no memory for it. */
static bool form(char *out, size_t cap, const struct line *l)
{
	return format_now == LOG_JSON ? form_json(out, cap, l) : form_text(out, cap, l);
}

/* --- output --- */

static bool is_writable(int wait_ms)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* A closed output counts as writable: write says what is wrong with it. */
	return poll(&p, 1, wait_ms) > 0;
}

/* Waits as long as it takes, but once the log is to stop for STOP_WAITS in all. Only the writer calls this. */
static bool wait_writable(void)
{
	static int waits_left = STOP_WAITS;

	while (!is_writable(WAIT_MS)) {
		pthread_mutex_lock(&writer.mutex);
		bool runs = writer.phase == WRITER_RUNS;
		pthread_mutex_unlock(&writer.mutex);
		waits_left = runs ? STOP_WAITS : waits_left - 1;
		if (waits_left < 0)
			return false;
	}
	return true;
}

/* False when the output is closed, broken, or full for too long: what is left of the text is lost then. */
static bool write_text(const char *text, size_t len, bool (*wait)(void))
{
	while (len > 0) {
		if (!wait())
			return false;
		ssize_t n = write(STDERR_FILENO, text, len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return true;
}

static bool wait_shortly(void)
{
	return is_writable(DIRECT_WAIT_MS);
}

/* Without a writer thread; a full output costs the line after a short wait. */
static void write_direct(const struct line *l)
{
	char text[FORM_BYTES];

	if (!form(text, sizeof(text), l) || !write_text(text, strlen(text), wait_shortly))
		metric_inc(M_LOG_LOST);
}

/* --- the writer thread --- */

static void count_lost(uint64_t lines)
{
	pthread_mutex_lock(&writer.mutex);
	writer.lost += lines;
	pthread_mutex_unlock(&writer.mutex);
	metric_add(M_LOG_LOST, (int64_t)lines);
}

/* The oldest line. False when there is none now, or, with wait, when there will be none any more. */
static bool take_line(struct line *l, bool wait)
{
	size_t len;

	pthread_mutex_lock(&writer.mutex);
	bool got = ring_take(&writer.ring, l, sizeof(*l), &len);
	while (!got && wait && writer.phase == WRITER_RUNS) {
		pthread_cond_wait(&writer.wake, &writer.mutex);
		got = ring_take(&writer.ring, l, sizeof(*l), &len);
	}
	/* In the same breath as the last look: a line after this one goes out directly. */
	if (!got && wait && writer.phase == WRITER_STOPS)
		writer.phase = WRITER_NONE;
	pthread_mutex_unlock(&writer.mutex);
	return got;
}

static void flush(struct batch *b)
{
	if (b->len > 0 && !write_text(b->bytes, b->len, wait_writable))
		count_lost(b->lines);
	b->len = b->lines = 0;
}

static void add_line(struct batch *b, const struct line *l)
{
	char text[FORM_BYTES];

	if (!form(text, sizeof(text), l)) {
		count_lost(1);
		return;
	}
	size_t len = strlen(text);
	if (b->len + len > sizeof(b->bytes))
		flush(b);
	memcpy(b->bytes + b->len, text, len);
	b->len += len;
	b->lines++;
}

static struct line lost_line(uint64_t lost, int64_t wall_ms)
{
	struct line l = { .wall_ms = wall_ms, .level = LOG_WARN, .module = "log", .verb = "lost" };

	text_format(l.text, sizeof(l.text), "lines=%llu", (unsigned long long)lost);
	return l;
}

/*
 * Who has just written looks again a little later, and takes what came meanwhile at once: nobody who logs pays for waking a
 * thread more than some hundred times a second.
 */
static void rest(void)
{
	static const struct timespec gather = { .tv_nsec = GATHER_NS };

	nanosleep(&gather, NULL);
}

static void *writer_main(void *arg)
{
	struct batch b = { .len = 0 };
	struct line  l;

	(void)arg;
	for (;;) {
		bool got = take_line(&l, b.len == 0);

		if (!got && b.len == 0)
			break;
		if (!got) {
			flush(&b);
			rest();
			continue;
		}
		if (l.lost_before > 0) {
			struct line lost = lost_line(l.lost_before, l.wall_ms);

			add_line(&b, &lost);
		}
		add_line(&b, &l);
	}
	eventfd_write(writer.ended_fd, 1);
	return NULL;
}

/* Signals are for the threads that expect them. */
static int start_thread(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&writer.thread, NULL, writer_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void log_start(enum log_level level, enum log_format format)
{
	log_set_level(level);
	format_now = format;
	pthread_once(&env_once, read_env);

	pthread_mutex_lock(&writer.mutex);
	bool starts = writer.phase == WRITER_NONE;
	if (starts) {
		ring_init(&writer.ring, ring_mem, sizeof(ring_mem));
		writer.ended_fd = eventfd(0, EFD_CLOEXEC);
		if (writer.ended_fd >= 0 && start_thread() == 0)
			writer.phase = WRITER_RUNS;
	}
	bool runs = writer.phase == WRITER_RUNS;
	pthread_mutex_unlock(&writer.mutex);

	if (starts && !runs)
		log_warn("log", 0, "starts", "without a thread of its own, lines go out at once");
}

/* The last word about lines that were lost with no line after them. */
static void tell_lost(void)
{
	pthread_mutex_lock(&writer.mutex);
	uint64_t lost = writer.lost;
	writer.lost   = 0;
	pthread_mutex_unlock(&writer.mutex);

	if (lost > 0) {
		struct line l = lost_line(lost, clock_wall_ms());

		write_direct(&l);
	}
}

void log_stop(void)
{
	pthread_mutex_lock(&writer.mutex);
	bool stops = writer.phase == WRITER_RUNS;
	if (stops)
		writer.phase = WRITER_STOPS;
	pthread_cond_signal(&writer.wake);
	pthread_mutex_unlock(&writer.mutex);
	if (!stops)
		return;

	struct pollfd p = { .fd = writer.ended_fd, .events = POLLIN };
	if (poll(&p, 1, STOP_MS) > 0) {
		pthread_join(writer.thread, NULL);
		close(writer.ended_fd);
		tell_lost();
		return;
	}
	pthread_mutex_lock(&writer.mutex);
	writer.phase = WRITER_LEFT_BEHIND;
	pthread_mutex_unlock(&writer.mutex);
	pthread_detach(writer.thread);
}

/* --- producers --- */

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

bool log_is_on(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&level_now, memory_order_relaxed);
}

/* One event stays one line, and no terminal or JSON reader is hurt by what slipped through. */
static void clean(char *text)
{
	for (char *at = text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	}
	text_make_utf8(text);
}

/* False when no writer takes lines; then it is the caller's. */
static bool queue_line(struct line *l)
{
	size_t len = offsetof(struct line, text) + strlen(l->text) + 1;

	pthread_mutex_lock(&writer.mutex);
	bool runs = writer.phase == WRITER_RUNS || writer.phase == WRITER_STOPS;
	if (runs) {
		l->lost_before = writer.lost;
		if (ring_put(&writer.ring, l, len)) {
			writer.lost = 0;
		} else {
			writer.lost++;
			metric_inc(M_LOG_LOST);
		}
		pthread_cond_signal(&writer.wake);
	}
	pthread_mutex_unlock(&writer.mutex);
	return runs;
}

void log_line(enum log_level level, const char *module, uint64_t conn, const char *verb, const char *format, ...)
{
	if (!log_is_on(level))
		return;

	int         why = errno; /* the caller may want to look at it after he logged it */
	struct line l   = { .level = level, .conn = conn, .wall_ms = clock_wall_ms() };
	va_list     args;

	va_start(args, format);
	text_formatv(l.text, sizeof(l.text), format, args);
	va_end(args);
	text_copy(l.module, sizeof(l.module), module);
	text_copy(l.verb, sizeof(l.verb), verb);
	clean(l.text);

	pthread_once(&env_once, read_env);
	if (!queue_line(&l))
		write_direct(&l);
	errno = why;
}
