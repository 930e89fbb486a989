/*
 * Packages: their bytes, ranges and tags, what happens when a file changes while it is sent, and names that lead to what is
 * none.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/release.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#define PACKAGE  "/update/" RELEASE_FIRST
#define ASKED    "coopd_update_packages_total"
#define LARGE    ((size_t)32 << 20) /* more than fits into the buffers between server and client */
#define QUICK_MS 5000               /* nothing here waits for anybody */

static void expect_field(const struct http_result *r, const char *name, const char *want)
{
	char value[200];

	cr_expect_str_eq(http_result_header(r, name, value, sizeof(value)), want, "%s: %s", name, value);
}

/* The package's tag, as the server gives it. */
static void get_etag(const struct server *s, const char *path, char out[100])
{
	struct http_result r = release_ask(s, "HEAD", path, "");

	cr_assert_eq(r.status, 200);
	http_result_header(&r, "ETag", out, 100);
	cr_assert(strlen(out) > 10 && out[0] == '"' && out[strlen(out) - 1] == '"', "%s", out);
	http_result_free(&r);
}

/* --- Bytes --- */

Test(update_package, it_comes_whole_with_its_tag)
{
	struct server        *s = release_start(true);
	size_t                len;
	AUTO(auto_free) char *bytes = release_numbers(1, 20000, &len);

	release_put(s, RELEASE_FIRST, bytes, len);
	for (int i = 0; i < 2; i++) {
		struct http_result r = release_ask(s, i ? "HEAD" : "GET", PACKAGE, "");

		cr_expect_eq(r.status, 200);
		expect_field(&r, "Content-Type", "application/octet-stream");
		expect_field(&r, "Cache-Control", "no-cache");
		expect_field(&r, "Accept-Ranges", "bytes");
		expect_field(&r, "Content-Length", "108894");
		if (i == 0)
			cr_expect(r.body_len == len && memcmp(r.body, bytes, len) == 0);
		else
			cr_expect_eq(r.body_len, 0);
		http_result_free(&r);
	}
	cr_expect_eq((int)server_metric(s, ASKED, ""), 2);
	server_finish(s);
}

Test(update_package, any_size_and_name_is_served)
{
	static const size_t sizes[] = { 0, 1, 65399, 65400, 65401, 300000 };
	struct server      *s       = release_start(false);
	char                name[140], path[160];

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		AUTO(auto_free) char *bytes = malloc(sizes[i] + 1);

		for (size_t at = 0; at < sizes[i]; at++)
			bytes[at] = (char)(at * 13 + at / 251);
		release_put(s, "a~(b)=c,d@e.bin", bytes, sizes[i]);

		struct http_result r = release_ask(s, "GET", "/update/a~(b)=c,d@e.bin", "");

		cr_expect_eq(r.status, 200, "%zu", sizes[i]);
		cr_expect(r.body_len == sizes[i] && memcmp(r.body, bytes, sizes[i]) == 0, "%zu", sizes[i]);
		http_result_free(&r);
	}
	for (int len = 127; len <= 128; len++) {
		(void)snprintf(name, sizeof(name), "%0*d", len, 1);
		(void)snprintf(path, sizeof(path), "/update/%s", name);
		release_put_text(s, name, "x");
		release_expect_status(s, path, len == 127 ? 200 : 404);
	}
	server_finish(s);
}

Test(update_package, who_has_it_already_is_told_so)
{
	static const char *const before[] = { "If-None-Match: ", "If-None-Match: W/", "If-None-Match: \"x\", ",
		                              "If-None-Match: \"x\"\r\nIf-None-Match: ", "If-None-Match: *, " };
	struct server           *s        = release_start(false);
	char                     etag[100], fields[400];
	int                      fds = server_fd_count(s);

	release_put_numbers(s, RELEASE_FIRST, 1, 20000);
	get_etag(s, PACKAGE, etag);

	for (size_t i = 0; i < COUNT_OF(before); i++) {
		(void)snprintf(fields, sizeof(fields), "%s%s\r\n", before[i], etag);

		struct http_result r = release_ask(s, "GET", PACKAGE, fields);

		cr_expect_eq(r.status, 304, "%s", fields);
		cr_expect_eq(r.body_len, 0);
		expect_field(&r, "ETag", etag);
		expect_field(&r, "Cache-Control", "no-cache");
		http_result_free(&r);
	}
	release_put_numbers(s, RELEASE_FIRST, 2, 30000);
	(void)snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n", etag);

	struct http_result r = release_ask(s, "GET", PACKAGE, fields);

	cr_expect_eq(r.status, 200);
	http_result_free(&r);
	await_fds(s, fds); /* what was opened to be compared is closed */
	server_finish(s);
}

Test(update_package, the_rest_of_it_can_be_fetched)
{
	static const struct {
		const char *range;
		int         status;
		size_t      first, len;
		const char *content_range;
	} rows[] = {
		{ "bytes=0-", 206, 0, 108894, "bytes 0-108893/108894" },
		{ "bytes=100000-", 206, 100000, 8894, "bytes 100000-108893/108894" },
		{ "bytes=10-19", 206, 10, 10, "bytes 10-19/108894" },
		{ "bytes=-4", 206, 108890, 4, "bytes 108890-108893/108894" },
		{ "bytes=108893-999999", 206, 108893, 1, "bytes 108893-108893/108894" },
		{ "bytes=108894-", 416, 0, 0, "bytes */108894" },
		{ "bytes=1-2,5-6", 200, 0, 108894, "" },
		{ "lines=1-2", 200, 0, 108894, "" },
	};
	struct server        *s = release_start(false);
	size_t                len;
	AUTO(auto_free) char *bytes = release_numbers(1, 20000, &len);
	char                  etag[100], fields[400];

	release_put(s, RELEASE_FIRST, bytes, len);
	get_etag(s, PACKAGE, etag);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		(void)snprintf(fields, sizeof(fields), "Range: %s\r\nIf-Range: %s\r\n", rows[i].range, etag);

		struct http_result r = release_ask(s, "GET", PACKAGE, fields);

		cr_expect_eq(r.status, rows[i].status, "%s: %d", rows[i].range, r.status);
		expect_field(&r, "Content-Range", rows[i].content_range);
		if (r.status != 416)
			cr_expect(r.body_len == rows[i].len && memcmp(r.body, bytes + rows[i].first, rows[i].len) == 0,
			          "%s", rows[i].range);
		http_result_free(&r);
	}
	(void)snprintf(fields, sizeof(fields), "Range: bytes=5-\r\nIf-Range: \"other\"\r\n");

	struct http_result r = release_ask(s, "GET", PACKAGE, fields);

	cr_expect(r.status == 200 && r.body_len == len);
	http_result_free(&r);
	server_finish(s);
}

/* --- Changes --- */

struct publisher {
	const struct server *s;
	atomic_bool          stop;
	atomic_int           rounds;
};

static void *publish(void *arg)
{
	struct publisher *p = arg;

	for (int i = 0; !atomic_load(&p->stop); i++) {
		release_put_numbers(p->s, RELEASE_FIRST, i % 2 ? 2 : 1, i % 2 ? 30000 : 20000);
		atomic_store(&p->rounds, i + 1);
	}
	return NULL;
}

Test(update_package, while_it_is_replaced_every_answer_is_one_of_both_whole)
{
	struct server        *s = release_start(true);
	size_t                len[2], seen[2] = { 0, 0 };
	AUTO(auto_free) char *first    = release_numbers(1, 20000, &len[0]);
	AUTO(auto_free) char *next     = release_numbers(2, 30000, &len[1]);
	const char           *bytes[2] = { first, next };
	struct publisher      p        = { .s = s };
	pthread_t             thread;

	release_put(s, RELEASE_FIRST, first, len[0]);
	cr_assert_eq(pthread_create(&thread, NULL, publish, &p), 0);
	for (int i = 0; i < 200 || atomic_load(&p.rounds) < 50; i++) {
		struct http_result r     = release_ask(s, "GET", PACKAGE, "");
		bool               known = false;

		for (int v = 0; v < 2; v++) {
			if (r.body_len == len[v] && memcmp(r.body, bytes[v], len[v]) == 0) {
				seen[v]++;
				known = true;
			}
		}
		cr_expect(r.status == 200 && known, "%d, %zu bytes", r.status, r.body_len);
		http_result_free(&r);
	}
	atomic_store(&p.stop, true);
	pthread_join(thread, NULL);
	cr_expect(seen[0] > 0 && seen[1] > 0, "%zu of the first, %zu of the next", seen[0], seen[1]);
	server_finish(s);
}

static void put_large(const struct server *s)
{
	AUTO(auto_free) char *bytes = calloc(1, LARGE);

	cr_assert_not_null(bytes);
	release_put(s, RELEASE_FIRST, bytes, LARGE);
}

/* A download of which only the first bytes are read. */
static int begin_download(const struct server *s, const char *fields)
{
	char request[500], head[100];
	int  len = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", PACKAGE, fields);
	int  fd  = dial_tcp(s->http_port, 65536);

	cr_assert(fd >= 0 && dial_send(fd, request, (size_t)len, DIAL_PATIENCE_MS));
	cr_assert_eq(dial_read(fd, head, sizeof(head), real_now_ms() + DIAL_PATIENCE_MS), (ssize_t)sizeof(head));
	cr_assert(strncmp(head, "HTTP/1.1 200 ", 13) == 0, "%.100s", head);
	return fd;
}

/* Reads until the end; how much came. */
static size_t read_rest(int fd)
{
	static char buf[65536];
	size_t      all      = 0;
	int64_t     until_ms = real_now_ms() + DIAL_PATIENCE_MS;

	for (ssize_t n; (n = dial_read(fd, buf, sizeof(buf), until_ms)) != 0 && n != DIAL_RESET;) {
		cr_assert(n > 0, "the connection neither ends nor goes on");
		all += (size_t)n;
	}
	close(fd);
	return all;
}

static void cut(const struct server *s)
{
	cr_assert_eq(truncate(release_path(s, RELEASE_FIRST), (off_t)LARGE / 2), 0);
}

static void grow(const struct server *s)
{
	cr_assert_eq(truncate(release_path(s, RELEASE_FIRST), (off_t)LARGE + 1), 0);
}

static void write_into(const struct server *s)
{
	int fd = open(release_path(s, RELEASE_FIRST), O_WRONLY | O_CLOEXEC);

	cr_assert(fd >= 0 && pwrite(fd, "x", 1, (off_t)LARGE - 1) == 1 && close(fd) == 0);
}

Test(update_package, one_that_changes_while_it_is_sent_breaks_the_connection)
{
	static void (*const changes[])(const struct server *s) = { cut, grow, write_into };
	struct server *s                                       = release_start(false);

	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		put_large(s);

		int fd = begin_download(s, "");

		changes[i](s);
		cr_expect_lt(read_rest(fd), LARGE, "%zu", i);
	}
	server_finish(s);
}

Test(update_package, one_that_is_replaced_or_removed_while_it_is_sent_comes_whole)
{
	struct server *s = release_start(false);

	for (int i = 0; i < 2; i++) {
		put_large(s);

		int fd = begin_download(s, "Connection: close\r\n");

		if (i == 0)
			release_put_text(s, RELEASE_FIRST, "other");
		else
			cr_assert_eq(unlink(release_path(s, RELEASE_FIRST)), 0);
		cr_expect_geq(read_rest(fd), LARGE);
	}
	server_finish(s);
}

Test(update_package, it_counts_as_a_transfer_and_a_manifest_does_not)
{
	struct server *s         = release_prepare(false);
	const char    *forwarded = "X-Forwarded-For: 192.0.2.7\r\n";
	int            before    = 0;

	server_set(s, "limits.http_transfers_per_address=1");
	server_launch(s);
	server_await_ready(s);
	put_large(s);
	release_put_text(s, "update.txt", "manifest");
	before = server_fd_count(s);

	int                fd = begin_download(s, forwarded);
	struct http_result r  = release_ask(s, "GET", PACKAGE, forwarded);

	cr_expect_eq(r.status, 429, "%d", r.status);
	http_result_free(&r);
	r = release_ask(s, "GET", "/update/update.txt", forwarded);
	cr_expect_eq(r.status, 200, "%d", r.status);
	http_result_free(&r);
	dial_abort(fd);
	await_fds(s, before); /* the file too */
	r = release_ask(s, "GET", PACKAGE, forwarded);
	cr_expect(r.status == 200 && r.body_len == LARGE, "%d", r.status);
	http_result_free(&r);
	server_finish(s);
}

/* --- Names that lead elsewhere --- */

static void make_socket(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int                fd   = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0 && strlen(path) < sizeof(name.sun_path));
	memcpy(name.sun_path, path, strlen(path) + 1);
	cr_assert_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
}

static void fill_with_traps(const struct server *s)
{
	char outside[200];

	(void)snprintf(outside, sizeof(outside), "%s/secret", s->root);
	release_put_text(s, "good.bin", "good");
	cr_assert_eq(rename(release_path(s, "good.bin"), outside), 0);
	release_put_text(s, "good.bin", "good");
	release_put_text(s, ".hidden", "hidden");
	cr_assert_eq(mkdir(release_path(s, "folder"), 0755), 0);
	release_put_text(s, "folder/inside.bin", "inside");
	cr_assert_eq(symlink(outside, release_path(s, "link_out")), 0);
	cr_assert_eq(symlink("good.bin", release_path(s, "link_in")), 0);
	cr_assert_eq(symlink("../secret", release_path(s, "link_up")), 0);
	cr_assert_eq(symlink("folder", release_path(s, "link_folder")), 0);
	cr_assert_eq(symlink("/dev/zero", release_path(s, "link_device")), 0);
	cr_assert_eq(symlink("loop", release_path(s, "loop")), 0);
	cr_assert_eq(mkfifo(release_path(s, "fifo"), 0644), 0);
	make_socket(release_path(s, "socket"));
	if (mknod(release_path(s, "device"), S_IFCHR | 0666, makedev(1, 5)) != 0)
		cr_log_info("no device could be made here (%s); the rest is tested", strerror(errno));
}

Test(update_package, only_regular_files_directly_in_the_folder_are_served)
{
	static const char *const paths[] = {
		"/update/",
		"/update",
		"/update//good.bin",
		"//update/good.bin",
		"/update/./good.bin",
		"/update/../release/good.bin",
		"/update/..",
		"/update/.",
		"/update/../secret",
		"/update/..%2fsecret",
		"/update/..%2Fsecret",
		"/update/%2e%2e/secret",
		"/update/%2e%2e%2fsecret",
		"/update/..\\secret",
		"/update/..%5csecret",
		"/update/..%c0%afsecret",
		"/update/..;/secret",
		"/update/good.bin%00",
		"/update/good.bin%00.txt",
		"/update/good.bin/",
		"/update/good%2ebin",
		"/update/{package}",
		"/update/.hidden",
		"/update/%2ehidden",
		"/update/folder",
		"/update/folder/",
		"/update/folder/inside.bin",
		"/update/folder%2finside.bin",
		"/update/link_out",
		"/update/link_in",
		"/update/link_up",
		"/update/link_folder",
		"/update/link_folder/inside.bin",
		"/update/link_device",
		"/update/loop",
		"/update/fifo",
		"/update/socket",
		"/update/device",
		"/update/nothing.bin",
		"/UPDATE/good.bin",
	};
	struct server *s     = release_start(false);
	int64_t        begun = real_now_ms();
	int            fds   = server_fd_count(s);

	fill_with_traps(s);
	release_expect_status(s, "/update/good.bin", 200);
	release_expect_status(s, "/update/good.bin?x=/../y", 200);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		int64_t at = real_now_ms();

		release_expect_status(s, paths[i], 404);
		cr_expect_lt(real_now_ms() - at, QUICK_MS, "%s", paths[i]);
	}
	cr_expect_lt(real_now_ms() - begun, DIAL_PATIENCE_MS * 2);
	await_fds(s, fds); /* whatever was opened to be looked at is closed */
	server_finish(s);
}

/* A NUL in the head, as it is. */
Test(update_package, a_name_with_a_nul_is_refused)
{
	static const char  request[] = "GET /update/good.bin\0.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	struct server     *s         = release_start(false);
	struct http_result r;

	release_put_text(s, "good.bin", "good");
	r = http_exchange(s->http_port, request, sizeof(request) - 1, DIAL_PATIENCE_MS);
	cr_expect(r.status == 400 || r.status == 404, "%d", r.status);
	http_result_free(&r);
	server_finish(s);
}

Test(update_package, a_manifest_that_is_no_regular_file_is_none_and_nobody_waits)
{
	for (int with_key = 0; with_key < 2; with_key++) {
		struct server *s = release_prepare(with_key);

		cr_assert_eq(mkfifo(release_path(s, "update.txt"), 0644), 0);
		server_launch(s);
		server_await_ready(s);
		release_expect_status(s, "/update/update.txt", 404);
		cr_assert_eq(unlink(release_path(s, "update.txt")), 0);
		release_put_vector(s, "other.txt", "first.txt");
		cr_assert_eq(symlink("other.txt", release_path(s, "update.txt")), 0);
		release_expect_status(s, "/update/update.txt", 404);
		cr_assert_eq(rename(release_path(s, "other.txt"), release_path(s, "update.txt")), 0);
		release_expect_status(s, "/update/update.txt", 200);
		server_finish(s);
	}
}
