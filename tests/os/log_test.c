/*
 * The log, with standard error turned into a pipe or a file of the test. Each test has a process of its own.
 */
#include "os/log.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX 100000

static int  saved_stderr;
static char file_path[] = "/tmp/coopd-log-XXXXXX";

static char  *content; /* what was written, cut into lines */
static char  *lines[LINES_MAX];
static size_t lines_len;

static void to_fd(int fd)
{
	saved_stderr = dup(STDERR_FILENO);
	cr_assert_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
}

static void to_file(void)
{
	signal(SIGPIPE, SIG_IGN);
	unsetenv("JOURNAL_STREAM");
	to_fd(mkstemp(file_path));
}

static void back(void)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
}

static void cut_lines(char *text)
{
	content = text;
	for (char *end; (end = strchr(text, '\n')); text = end + 1) {
		*end = '\0';
		cr_assert_lt(lines_len, (size_t)LINES_MAX);
		lines[lines_len++] = text;
	}
	cr_expect_eq(*text, '\0', "the last line is whole too");
}

static void read_file(void)
{
	FILE  *f    = fopen(file_path, "r");
	char  *text = NULL;
	size_t cap  = 0;

	back();
	cr_assert_not_null(f);
	unlink(file_path);
	if (getdelim(&text, &cap, '\0', f) < 0)
		text[0] = '\0';
	fclose(f);
	cut_lines(text);
}

static void free_content(void)
{
	free(content);
}

TestSuite(log, .fini = free_content);

/* The line without its time, which is checked for its form; NULL when that is wrong. */
static const char *after_time(const char *line)
{
	struct tm tm = { 0 };
	int       ms, used = 0;

	if (sscanf(line, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	           &tm.tm_min, &tm.tm_sec, &ms, &used) != 7)
		return NULL;
	if (used != 25)
		return NULL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	int64_t age_ms = clock_wall_ms() - ((int64_t)timegm(&tm) * 1000 + ms);
	return age_ms >= 0 && age_ms < 60000 ? line + used : NULL;
}

static void expect_line(size_t i, const char *expected)
{
	cr_assert_lt(i, lines_len);
	const char *rest = after_time(lines[i]);
	cr_assert_not_null(rest, "%s", lines[i]);
	cr_expect_str_eq(rest, expected);
}

Test(log, lines_go_out_at_once_before_the_start)
{
	to_file();
	log_info("main", 0, "starts", "version=%d", 1);
	read_file();
	cr_expect_eq(lines_len, 1);
	expect_line(0, "info main: starts version=1");
}

Test(log, a_line_has_time_level_module_connection_verb_and_text)
{
	to_file();
	log_start(LOG_DEBUG, LOG_TEXT);
	log_info("tunnel", 17, "opens", "code=%u friends=%zu", 123456u, (size_t)2);
	log_warn("store", 0, "slow", "ms=%d", 900);
	log_error("store", 0, "fails", "%s", "disk");
	log_debug("ws", UINT64_C(1) << 60, "pings", "%s", "");
	log_stop();
	read_file();
	cr_expect_eq(lines_len, 4);
	expect_line(0, "info tunnel[17]: opens code=123456 friends=2");
	expect_line(1, "warn store: slow ms=900");
	expect_line(2, "error store: fails disk");
	expect_line(3, "debug ws[1152921504606846976]: pings");
}

Test(log, under_journald_the_level_stands_in_front_as_a_number)
{
	to_file();
	setenv("JOURNAL_STREAM", "8:12345", 1);
	log_warn("main", 0, "early", "n=%d", 0);
	log_start(LOG_DEBUG, LOG_TEXT);
	log_error("a", 0, "v", "n=%d", 1);
	log_warn("a", 1, "v", "n=%d", 2);
	log_info("a", 2, "v", "n=%d", 3);
	log_debug("a", 3, "v", "n=%d", 4);
	log_stop();
	read_file();
	cr_assert_eq(lines_len, 5);
	cr_expect_str_eq(lines[0], "<4>main: early n=0");
	cr_expect_str_eq(lines[1], "<3>a: v n=1");
	cr_expect_str_eq(lines[2], "<4>a[1]: v n=2");
	cr_expect_str_eq(lines[3], "<6>a[2]: v n=3");
	cr_expect_str_eq(lines[4], "<7>a[3]: v n=4");
}

static const char *member(const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ? text : "(none)";
}

Test(log, json_lines_parse_whatever_is_in_them)
{
	static const char *texts[] = { "plain",
		                       "a \"quote\" and a \\",
		                       "line\nbreak\ttab\x01",
		                       "gr\xc3\xbc\xc3\x9f",
		                       "no utf8 \xff\xc3",
		                       "{\"not\":\"ours\"}" };
	static const char *shown[] = { "plain",      "a \"quote\" and a \\", "line break tab ", "gr\xc3\xbc\xc3\x9f",
		                       "no utf8 ??", "{\"not\":\"ours\"}" };
	char               longest[2 * LOG_LINE_BYTES_MAX];

	memset(longest, '"', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';

	to_file();
	log_start(LOG_INFO, LOG_JSON);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		log_info("tunnel", i, "opens", "%s", texts[i]);
	log_warn("tunnel", 0, "opens", "%s", longest);
	log_stop();
	read_file();

	cr_assert_eq(lines_len, COUNT_OF(texts) + 1);
	for (size_t i = 0; i < lines_len; i++) {
		json_t *line = json_loads(lines[i], JSON_REJECT_DUPLICATES, NULL);
		char    time[40];

		cr_assert_not_null(line, "%s", lines[i]);
		cr_expect_str_eq(member(line, "module"), "tunnel");
		cr_expect_str_eq(member(line, "event"), "opens");
		text_format(time, sizeof(time), "%s ", member(line, "time"));
		cr_expect_not_null(after_time(time), "%s", time);
		if (i < COUNT_OF(texts)) {
			cr_expect_str_eq(member(line, "level"), "info");
			cr_expect_str_eq(member(line, "text"), shown[i]);
			cr_expect_eq(json_integer_value(json_object_get(line, "conn")), (json_int_t)i);
			cr_expect_eq(json_object_get(line, "conn") != NULL, i != 0, "no connection, no member");
		} else {
			cr_expect_str_eq(member(line, "level"), "warn");
			cr_expect_eq(strlen(member(line, "text")), LOG_LINE_BYTES_MAX - 1);
		}
		json_decref(line);
	}
}

Test(log, text_is_one_line_and_cut_at_the_maximum)
{
	char longest[2 * LOG_LINE_BYTES_MAX];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	to_file();
	log_start(LOG_INFO, LOG_TEXT);
	log_info("m", 0, "v", "one\ntwo\r\nthree\x1b[31m");
	log_info("m", 0, "v", "%s", longest);
	log_stop();
	read_file();
	cr_assert_eq(lines_len, 2);
	expect_line(0, "info m: v one two  three [31m");
	cr_expect_eq(strspn(strchr(lines[1], 'x'), "x"), LOG_LINE_BYTES_MAX - 1);
}

Test(log, lines_below_the_level_are_not_written)
{
	to_file();
	log_start(LOG_WARN, LOG_TEXT);
	cr_expect(log_is_on(LOG_ERROR));
	cr_expect(log_is_on(LOG_WARN));
	cr_expect_not(log_is_on(LOG_INFO));
	log_info("m", 0, "v", "n=%d", 1);
	log_warn("m", 0, "v", "n=%d", 2);
	log_set_level(LOG_DEBUG);
	cr_expect(log_is_on(LOG_DEBUG));
	log_debug("m", 0, "v", "n=%d", 3);
	log_stop();
	read_file();
	cr_assert_eq(lines_len, 2);
	expect_line(0, "warn m: v n=2");
	expect_line(1, "debug m: v n=3");
}

Test(log, after_the_stop_lines_go_out_at_once_and_it_can_start_again)
{
	to_file();
	log_stop(); /* without a start: nothing */
	for (int round = 0; round < 3; round++) {
		log_start(LOG_INFO, LOG_TEXT);
		log_start(LOG_INFO, LOG_TEXT); /* once more: nothing but the level */
		log_info("m", 0, "inside", "n=%d", round);
		log_stop();
		log_info("m", 0, "outside", "n=%d", round);
	}
	read_file();
	cr_assert_eq(lines_len, 6);
	expect_line(4, "info m: inside n=2");
	expect_line(5, "info m: outside n=2");
}

Test(log, errno_is_the_caller_s)
{
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(p), 0);
	close(p[0]);
	to_fd(p[1]);
	errno = ENOSPC;
	log_info("m", 0, "v", "this cannot be written");
	int why = errno;
	back();
	cr_expect_eq(why, ENOSPC);
}

#define PRODUCERS         4
#define LINES_OF_PRODUCER 500

static void *produce(void *arg)
{
	int who = *(int *)arg;

	for (int i = 0; i < LINES_OF_PRODUCER; i++)
		log_info("m", 0, "v", "who=%d n=%d", who, i);
	return NULL;
}

Test(log, several_producers_lose_nothing_and_keep_their_order)
{
	pthread_t threads[PRODUCERS];
	int       who[PRODUCERS], next[PRODUCERS] = { 0 };

	to_file();
	log_start(LOG_INFO, LOG_TEXT);
	for (int i = 0; i < PRODUCERS; i++) {
		who[i] = i;
		cr_assert_eq(pthread_create(&threads[i], NULL, produce, &who[i]), 0);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	log_stop();
	read_file();

	cr_expect_eq(lines_len, PRODUCERS * LINES_OF_PRODUCER);
	for (size_t i = 0; i < lines_len; i++) {
		int w, n;

		cr_assert_eq(sscanf(strstr(lines[i], "who="), "who=%d n=%d", &w, &n), 2);
		cr_expect_eq(n, next[w]++);
	}
	cr_expect_eq(metric_get(M_LOG_LOST), 0);
}

/* Standard error becomes a pipe without room: the end to read from. */
static int to_full_pipe(void)
{
	static const char filler[4096] = "";
	int               p[2];

	signal(SIGPIPE, SIG_IGN);
	unsetenv("JOURNAL_STREAM");
	cr_assert_eq(pipe(p), 0);
	fcntl(p[1], F_SETPIPE_SZ, 4096);
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	while (write(p[1], filler, sizeof(filler)) > 0)
		;
	fcntl(p[1], F_SETFL, 0);
	to_fd(p[1]);
	return p[0];
}

static char *drained; /* all that came through the pipe, NULs of the filler left out */

static void *drain(void *arg)
{
	FILE   *out;
	size_t  len;
	char    buf[4096];
	ssize_t n;

	out = open_memstream(&drained, &len);
	while ((n = read(*(int *)arg, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i])
				fputc(buf[i], out);
		}
	}
	fclose(out);
	return NULL;
}

/* Lines with rising numbers: none but lost ones may be missing, and each gap is announced with its exact size. */
static void expect_gaps_announced(int64_t sent)
{
	int64_t next = 0, n;

	for (size_t i = 0; i < lines_len; i++) {
		if (sscanf(lines[i] + 25, "warn log: lost lines=%" SCNd64, &n) == 1) {
			next += n;
			continue;
		}
		cr_assert_eq(sscanf(lines[i] + 25, "info m: v n=%" SCNd64, &n), 1, "%s", lines[i]);
		cr_assert_eq(n, next);
		next++;
	}
	cr_expect_eq(next, sent);
}

Test(log, a_full_output_costs_lines_that_are_counted_and_never_blocks_producers, .timeout = 60)
{
	pthread_t reader;
	int       from = to_full_pipe();
	int64_t   sent = 0, lost;

	/* Nobody reads: a producer that waited for the output would wait for ever. */
	log_start(LOG_INFO, LOG_TEXT);
	while (metric_get(M_LOG_LOST) < 1000)
		log_info("m", 0, "v", "n=%" PRId64, sent++);
	cr_expect_gt(sent, 2000, "%" PRId64, sent);

	/* Somebody reads again: from some line on they get through. */
	cr_assert_eq(pthread_create(&reader, NULL, drain, &from), 0);
	do {
		lost = metric_get(M_LOG_LOST);
		log_info("m", 0, "v", "n=%" PRId64, sent++);
		sched_yield();
	} while (metric_get(M_LOG_LOST) != lost);
	log_stop();
	back();
	pthread_join(reader, NULL);
	close(from);

	cut_lines(drained);
	expect_gaps_announced(sent);
	cr_expect_geq(metric_get(M_LOG_LOST), 1000);
	cr_expect_str_eq(strstr(lines[lines_len - 2], "log: lost") ? "announced" : lines[lines_len - 2], "announced");
}

Test(log, an_output_that_stays_full_delays_the_stop_by_two_seconds_at_most, .timeout = 60)
{
	int     from      = to_full_pipe();
	int64_t before_ms = clock_mono_ms();

	log_start(LOG_INFO, LOG_TEXT);
	for (int i = 0; i < 100; i++)
		log_info("m", 0, "v", "n=%d", i);
	log_stop();
	int64_t took_ms = clock_mono_ms() - before_ms;
	back();
	close(from);
	cr_expect_lt(took_ms, 4000, "2 s and what a busy machine adds: %" PRId64, took_ms);
	cr_expect_geq(metric_get(M_LOG_LOST), 100);
}

Test(log, a_closed_output_loses_lines_and_nothing_else)
{
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(p), 0);
	close(p[0]);
	to_fd(p[1]);
	log_info("m", 0, "direct", "n=%d", 1);
	cr_expect_eq(metric_get(M_LOG_LOST), 1);
	log_start(LOG_INFO, LOG_TEXT);
	log_info("m", 0, "queued", "n=%d", 2);
	log_info("m", 0, "queued", "n=%d", 3);
	log_stop();
	back();
	cr_expect_geq(metric_get(M_LOG_LOST), 3);
}

Test(log, no_output_at_all_is_the_same)
{
	saved_stderr = dup(STDERR_FILENO);
	close(STDERR_FILENO);
	log_info("m", 0, "direct", "n=%d", 1);
	log_start(LOG_INFO, LOG_JSON);
	log_info("m", 0, "queued", "n=%d", 2);
	log_stop();
	back();
	cr_expect_geq(metric_get(M_LOG_LOST), 2);
}
