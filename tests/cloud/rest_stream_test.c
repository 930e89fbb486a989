/*
 * Bytes on their way: large ones in little memory, slow readers, broken connections, and files that are damaged. The
 * whole server; memory and speed are measured on the program that people run.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/rest_client.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAMPAIGN "00112233445566aa"
#define BELOW    "/v1/campaigns/" CAMPAIGN
#define META     "Coop-Meta: {}\r\n"
#define MIB      ((size_t)1024 * 1024)

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;

static void stop(void)
{
	server_finish(s);
}

TestSuite(rest_stream, .fini = stop);

static const char *const no_interval[] = { "limits.cloud_interval_ms=0", NULL };

/* --- Memory and speed --- */

static void store_and_load(const char *bytes, size_t len)
{
	ANSWER put = rest_put(s, "A", CAMPAIGN, "", META, bytes, len);
	ANSWER get = rest_get(s, "A", BELOW "/checkpoint");

	rest_expect(&put, 201, NULL);
	cr_assert_eq(get.body_len, len);
	cr_expect(memcmp(get.body, bytes, len) == 0);
}

Test(rest_stream, a_large_checkpoint_takes_little_memory)
{
	AUTO(auto_free) char *bytes = rest_bytes(16 * MIB, 1);

	use_plain_server();
	s = server_start(no_interval);
	store_and_load(bytes, MIB); /* whatever is needed once */
	size_t before = server_rss_bytes(s);
	store_and_load(bytes, 16 * MIB);
	size_t after = server_rss_bytes(s);
	cr_expect_lt(after, before + MIB, "from %zu to %zu bytes", before, after);
}

#define READERS 64

/* Asks for the checkpoint and reads only its beginning. */
static int begin_to_read(size_t i)
{
	char   head[600], some[4096];
	int    small = 4096;
	int    fd    = dial_tcp(s->http_port, 0);
	size_t len;

	cr_assert_geq(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	len = rest_head(head, sizeof(head), "A", "GET", BELOW "/checkpoint", "");
	cr_assert(dial_send(fd, head, len, DIAL_PATIENCE_MS));
	cr_assert_gt(dial_read(fd, some, sizeof(some), real_now_ms() + DIAL_PATIENCE_MS), 0, "reader %zu", i);
	return fd;
}

Test(rest_stream, slow_readers_hold_little_and_delay_nobody)
{
	AUTO(auto_free) char *bytes = rest_bytes(16 * MIB, 1);
	int                   fds[READERS];
	int64_t               slowest_ms = 0;

	use_plain_server();
	s = server_start(no_interval);
	store_and_load(bytes, 16 * MIB);
	size_t before = server_rss_bytes(s);
	for (size_t i = 0; i < READERS; i++)
		fds[i] = begin_to_read(i);
	for (size_t i = 0; i < 20; i++) {
		int64_t from = real_now_ms();
		ANSWER  r    = http_get(s->http_port, "/healthz");

		cr_assert_eq(r.status, 200);
		if (real_now_ms() - from > slowest_ms)
			slowest_ms = real_now_ms() - from;
	}
	size_t during = server_rss_bytes(s);
	cr_expect_lt(during, before + 20 * MIB, "from %zu to %zu bytes", before, during);
	cr_expect_lt(slowest_ms, 1000, "an answer took %lld ms", (long long)slowest_ms);
	ANSWER more = rest_get(s, "A", BELOW "/checkpoint");
	rest_expect(&more, 503, "transfers");
	char after[20];
	cr_expect_str_eq(http_result_header(&more, "Retry-After", after, sizeof(after)), "30");
	cr_expect_not(server_log_contains(s, "error=TRANSFERS"), "counted, and no line for each");
	for (size_t i = 0; i < READERS; i++)
		close(fds[i]);
}

/* --- Broken off --- */

Test(rest_stream, a_broken_upload_leaves_nothing)
{
	char                  head[700], path[200];
	AUTO(auto_free) char *bytes = rest_bytes(MIB, 1);
	size_t                len;
	int64_t               until = real_now_ms() + DIAL_PATIENCE_MS;
	size_t                left  = 1;

	s      = server_start(no_interval);
	len    = rest_head(head, sizeof(head), "A", "PUT", BELOW "/checkpoint", META "Content-Length: 2000000\r\n");
	int fd = dial_tcp(s->http_port, 0);
	cr_assert(dial_send(fd, head, len, DIAL_PATIENCE_MS));
	cr_assert(dial_send(fd, bytes, MIB, DIAL_PATIENCE_MS));
	close(fd);
	snprintf(path, sizeof(path), "%s/blobs/.tmp", s->data);
	while (left > 0 && real_now_ms() < until) {
		DIR *dir = opendir(path);

		cr_assert_not_null(dir, "%s", path);
		left = 0;
		for (struct dirent *e = readdir(dir); e; e = readdir(dir))
			left += e->d_name[0] != '.';
		closedir(dir);
	}
	server_await_metric(s, "coopd_http_transfers", "", 0, DIAL_PATIENCE_MS);
	cr_expect_eq(left, 0, "a temporary file is left");
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_count(&list, "campaigns"), 0);
}

/* --- Use --- */

/* The days between the moments at which the campaign was stored and last used; the server has stopped. */
static int64_t days_of_use(void)
{
	static const char sql[] = "SELECT (used_ms - stored_ms) / 86400000 FROM campaigns";
	char              path[200];
	sqlite3          *db;
	sqlite3_stmt     *q;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	cr_assert_eq(sqlite3_step(q), SQLITE_ROW);
	int64_t days = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return days;
}

Test(rest_stream, a_finished_download_counts_as_use)
{
	s          = server_start(no_interval);
	ANSWER put = rest_put(s, "A", CAMPAIGN, "", META, "bytes", 5);
	rest_expect(&put, 201, NULL);
	server_advance(s, (int64_t)3 * 86400000);
	ANSWER part = rest_ask(s, "A", "GET", BELOW "/checkpoint", "Range: bytes=0-1\r\n", NULL, 0);
	ANSWER head = rest_ask(s, "A", "HEAD", BELOW "/checkpoint", "", NULL, 0);
	cr_expect_eq(part.status, 206);
	cr_expect_eq(head.status, 200);
	server_stop(s);
	cr_expect_eq(days_of_use(), 0, "neither a part nor a look");
	server_restart(s);
	ANSWER get = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_eq(get.status, 200);
	server_stop(s);
	cr_expect_eq(days_of_use(), 3);
}

/* --- Damage --- */

/* The only blob's file. */
static void find_blob(char *out, size_t cap, const char *sha256)
{
	snprintf(out, cap, "%s/blobs/%.2s/%s", s->data, sha256, sha256 + 2);
}

static void start_with_blob(char *path, size_t cap)
{
	AUTO(auto_free) char *bytes = rest_bytes(MIB, 1);
	char                  sha256[80];

	s          = server_start(no_interval);
	ANSWER put = rest_put(s, "A", CAMPAIGN, "", META, bytes, MIB);
	rest_expect(&put, 201, NULL);
	find_blob(path, cap, rest_text(&put, "sha256", sha256, sizeof(sha256)));
}

static void flip_bit(const char *path, off_t at)
{
	uint8_t byte;

	chmod(path, 0600);
	int fd = open(path, O_RDWR);
	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

Test(rest_stream, a_flipped_bit_breaks_the_connection)
{
	char path[300];

	start_with_blob(path, sizeof(path));
	flip_bit(path, 500000);
	ANSWER r = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_eq(r.status, 200, "the head was sent before");
	cr_expect_lt(r.body_len, MIB, "it does not look whole");
	ANSWER part = rest_ask(s, "A", "GET", BELOW "/checkpoint", "Range: bytes=1000-1999\r\n", NULL, 0);
	cr_expect_lt(part.body_len, 1000, "nor does a part");
	server_await_metric(s, "coopd_blobs_damaged_total", "", 1, DIAL_PATIENCE_MS);
	ANSWER alive = rest_get(s, "A", BELOW);
	rest_expect(&alive, 200, NULL);
}

static void expect_no_part(const char *range)
{
	char field[80];

	snprintf(field, sizeof(field), "Range: bytes=%s\r\n", range);
	ANSWER r = rest_ask(s, "A", "GET", BELOW "/checkpoint", field, NULL, 0);
	cr_expect(r.status == 206 && r.body_len == 0, "%s: %d with %zu bytes", range, r.status, r.body_len);
}

/* MIB - 1 is the last byte. */
static void expect_no_parts(void)
{
	static const char *const ranges[] = { "0-99999", "0-1048574", "0-0", "1-1048574", "600000-600001", "-1", "0-" };

	for (size_t i = 0; i < COUNT_OF(ranges); i++)
		expect_no_part(ranges[i]);
}

Test(rest_stream, of_a_damaged_file_no_part_is_sent)
{
	char path[300];

	start_with_blob(path, sizeof(path));
	ANSWER right = rest_ask(s, "A", "GET", BELOW "/checkpoint", "Range: bytes=0-99999\r\n", NULL, 0);
	cr_expect(right.status == 206 && right.body_len == 100000);
	flip_bit(path, 500000);
	expect_no_parts();
	server_await_metric(s, "coopd_blobs_damaged_total", "", 1, DIAL_PATIENCE_MS);
	ANSWER whole = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_lt(whole.body_len, MIB);
	expect_no_parts();
	flip_bit(path, 500000);
	ANSWER again = rest_ask(s, "A", "GET", BELOW "/checkpoint", "Range: bytes=0-1048574\r\n", NULL, 0);
	cr_expect(again.status == 206 && again.body_len == MIB - 1, "put right by hand");
}

Test(rest_stream, a_truncated_file_is_an_error_before_anything_is_sent)
{
	char path[300];

	start_with_blob(path, sizeof(path));
	chmod(path, 0600);
	cr_assert_eq(truncate(path, 1000), 0);
	ANSWER r = rest_get(s, "A", BELOW "/checkpoint");
	rest_expect(&r, 500, "damaged");
	cr_expect_null(strstr(r.body, "blobs"), "no file name");
	server_await_metric(s, "coopd_blobs_damaged_total", "", 1, DIAL_PATIENCE_MS);
}

Test(rest_stream, a_missing_file_is_an_error_too)
{
	char path[300];

	start_with_blob(path, sizeof(path));
	cr_assert_eq(unlink(path), 0);
	ANSWER r = rest_get(s, "A", BELOW "/checkpoint");
	rest_expect(&r, 500, "damaged");
	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	rest_expect(&list, 200, NULL);
}
