/*
 * The manifest as players' launchers get it, before, while and after it is changed.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/release.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST  "/update/update.txt"
#define CHECK_MS  30000
#define LOG_GOOD  "update: manifest-good"
#define LOG_BAD   "update: manifest-bad"
#define GOOD_NAME "coopd_update_manifest_good"

static void expect_bytes(const struct server *s, const char *path, const void *bytes, size_t len)
{
	struct http_result r = release_ask(s, "GET", path, "");
	char               value[100];

	cr_expect_eq(r.status, 200, "%s: %d", path, r.status);
	cr_expect(r.body_len == len && memcmp(r.body, bytes, len) == 0, "%s: %zu bytes instead of %zu", path,
	          r.body_len, len);
	cr_expect_str_eq(http_result_header(&r, "Cache-Control", value, sizeof(value)), "no-cache");
	http_result_free(&r);
}

static void expect_vector(const struct server *s, const char *file)
{
	size_t                len;
	AUTO(auto_free) char *text = release_vector(file, &len);

	expect_bytes(s, MANIFEST, text, len);
}

static void expect_good(struct server *s, int good)
{
	cr_expect_eq((int)server_metric(s, GOOD_NAME, ""), good);
}

/* --- Without a folder, without a key --- */

Test(update_serve, without_a_folder_there_is_nothing)
{
	struct server *s = server_start(NULL);

	release_expect_status(s, MANIFEST, 404);
	release_expect_status(s, "/update/" RELEASE_FIRST, 404);
	release_expect_status(s, "/update/", 404);
	server_finish(s);
}

Test(update_serve, a_part_that_is_off_serves_nothing)
{
	struct server *s = release_prepare(false);

	server_set(s, "update.enable=no");
	release_put_text(s, "update.txt", "x");
	server_launch(s);
	server_await_ready(s);
	release_expect_status(s, MANIFEST, 404);
	server_finish(s);
}

Test(update_serve, without_a_key_it_is_served_byte_for_byte_whatever_it_is)
{
	static const char     binary[] = "Crysis Coop update\r\nversion 1\r\n\0\xff\x80\n\n";
	static const size_t   sizes[]  = { 0, 1, 4095, 4096, 4097, 200000 };
	struct server        *s        = release_start(false);
	AUTO(auto_free) char *large    = malloc(200000);

	for (size_t i = 0; i < 200000; i++)
		large[i] = (char)(i * 7 + i / 256);
	release_expect_status(s, MANIFEST, 404);
	release_put(s, "update.txt", binary, sizeof(binary));
	expect_bytes(s, MANIFEST, binary, sizeof(binary));
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		release_put(s, "update.txt", large, sizes[i]);
		expect_bytes(s, MANIFEST, large, sizes[i]);
	}
	server_advance(s, CHECK_MS);
	await_log(s, "update: manifest-unchecked");
	expect_good(s, 1);
	cr_assert_eq(unlink(release_path(s, "update.txt")), 0);
	release_expect_status(s, MANIFEST, 404);
	server_advance(s, CHECK_MS);
	server_await_metric(s, GOOD_NAME, "", 0, DIAL_PATIENCE_MS);
	server_finish(s);
}

Test(update_serve, a_head_is_the_answer_without_its_body)
{
	struct server     *s = release_prepare(true);
	struct http_result r;
	char               value[100], want[100];
	size_t             len;

	free(release_vector("first.txt", &len));
	(void)snprintf(want, sizeof(want), "%zu", len);
	release_put_vector(s, "update.txt", "first.txt");
	server_launch(s);
	server_await_ready(s);
	r = release_ask(s, "HEAD", MANIFEST, "");
	cr_expect_eq(r.status, 200);
	cr_expect_eq(r.body_len, 0);
	cr_expect_str_eq(http_result_header(&r, "Content-Length", value, sizeof(value)), want);
	cr_expect_str_eq(http_result_header(&r, "Content-Type", value, sizeof(value)), "text/plain");
	http_result_free(&r);
	r = release_ask(s, "POST", MANIFEST, "Content-Length: 0\r\n");
	cr_expect(r.status == 405 || r.status == 404, "%d", r.status);
	http_result_free(&r);
	server_finish(s);
}

/* --- With a key --- */

Test(update_serve, what_is_signed_is_served_and_said_at_the_start)
{
	struct server *s = release_prepare(true);

	release_put_vector(s, "update.txt", "first.txt");
	release_put_numbers(s, RELEASE_FIRST, 1, 20000);
	server_launch(s);
	server_await_ready(s);
	cr_expect(server_log_contains(s, LOG_GOOD " version=0.6.2 package=" RELEASE_FIRST " size=108894"));
	expect_vector(s, "first.txt");
	expect_good(s, 1);
	await_log(s, "update: package-good package=" RELEASE_FIRST);
	for (int i = 0; i < 20; i++)
		expect_vector(s, "first.txt");
	cr_expect_eq(release_count_log(s, LOG_GOOD), 1);
	server_finish(s);
}

Test(update_serve, a_bad_manifest_at_the_start_is_said_and_stops_nothing)
{
	struct server *s = release_prepare(true);

	release_put_text(s, "update.txt", "Crysis Coop update\r\n");
	server_launch(s);
	server_await_ready(s);
	cr_expect(server_log_contains(s, LOG_BAD " why=\"a line ends with CR LF"));
	release_expect_status(s, MANIFEST, 404);
	expect_good(s, 0);
	server_finish(s);
}

Test(update_serve, a_missing_manifest_is_said_once)
{
	struct server *s = release_start(true);

	for (int i = 0; i < 5; i++) {
		release_expect_status(s, MANIFEST, 404);
		server_advance(s, CHECK_MS);
	}
	release_put_vector(s, "update.txt", "first.txt");
	expect_vector(s, "first.txt");
	cr_expect_eq(release_count_log(s, "update: manifest-missing"), 1);
	cr_expect_eq(release_count_log(s, LOG_GOOD), 1);
	server_finish(s);
}

/* The forged one says another version under the signature of the first. */
static void put_forged(const struct server *s)
{
	size_t                len;
	AUTO(auto_free) char *text = release_vector("first.txt", &len);

	*(strstr(text, "0.6.2")) = '9';
	release_put(s, "update.txt", text, len);
}

Test(update_serve, one_that_goes_bad_is_refused_at_once_and_served_again_when_it_is_good)
{
	struct server *s = release_start(true);

	release_put_vector(s, "update.txt", "first.txt");
	expect_vector(s, "first.txt");
	for (int round = 1; round <= 3; round++) {
		put_forged(s);
		for (int i = 0; i < 10; i++)
			release_expect_status(s, MANIFEST, 404);
		expect_good(s, 0);
		cr_expect_eq(release_count_log(s, LOG_BAD " why=\"the signature"), (size_t)round);
		release_put_vector(s, "update.txt", round % 2 ? "next.txt" : "first.txt");
		for (int i = 0; i < 10; i++)
			expect_vector(s, round % 2 ? "next.txt" : "first.txt");
		expect_good(s, 1);
		cr_expect_eq(release_count_log(s, LOG_GOOD), (size_t)round + 1);
	}
	cr_expect(server_log_contains(s, LOG_GOOD " version=0.6.10 package=" RELEASE_NEXT));
	server_finish(s);
}

/* Without a rename: the inode is the same, and a quick writer may leave size and times as they were, too. */
Test(update_serve, a_byte_that_is_changed_in_the_file_is_seen_at_once)
{
	struct server        *s = release_start(true);
	size_t                len;
	AUTO(auto_free) char *text = release_vector("first.txt", &len);
	char                 *spot = strstr(text, "0.6.2");

	release_put(s, "update.txt", text, len);
	for (int i = 0; i < 50; i++) {
		expect_vector(s, "first.txt");
		*spot = '1';
		release_write_over(s, "update.txt", text, len);
		release_expect_status(s, MANIFEST, 404);
		*spot = '0';
		release_write_over(s, "update.txt", text, len);
	}
	server_finish(s);
}

Test(update_serve, one_of_over_4096_bytes_is_refused_under_a_key)
{
	struct server        *s = release_start(true);
	size_t                len;
	AUTO(auto_free) char *text = release_vector("first.txt", &len);
	char                  long_text[4097];

	memset(long_text, '\n', sizeof(long_text));
	memcpy(long_text, text, len);
	release_put(s, "update.txt", long_text, 4096);
	expect_bytes(s, MANIFEST, long_text, 4096);
	release_put(s, "update.txt", long_text, 4097);
	release_expect_status(s, MANIFEST, 404);
	release_expect_status(s, MANIFEST, 404);
	cr_expect_eq(release_count_log(s, LOG_BAD " why=\"it is longer than 4096 bytes"), 1);
	server_finish(s);
}

Test(update_serve, a_change_is_reported_without_anybody_asking)
{
	struct server *s = release_prepare(true);

	release_put_vector(s, "update.txt", "first.txt");
	server_launch(s);
	server_await_ready(s);
	server_await_metric(s, GOOD_NAME, "", 1, DIAL_PATIENCE_MS);
	await_log(s, "update: package-missing package=" RELEASE_FIRST);
	put_forged(s);
	server_advance(s, CHECK_MS + 200);
	await_log(s, LOG_BAD);
	server_await_metric(s, GOOD_NAME, "", 0, DIAL_PATIENCE_MS);
	release_put_vector(s, "update.txt", "next.txt");
	server_advance(s, CHECK_MS + 200);
	await_log(s, LOG_GOOD " version=0.6.10");
	server_finish(s);
}

/* Waits for this line to come once more, over as many checks as that may take. */
static void await_count(struct server *s, const char *text, size_t count)
{
	for (int i = 0; i < 400 && release_count_log(s, text) < count; i++) {
		if (i % 20 == 0)
			server_advance(s, CHECK_MS + 200);
		real_sleep_ms(20);
	}
	cr_expect_eq(release_count_log(s, text), count, "%s", text);
}

Test(update_serve, a_package_that_is_not_what_the_manifest_says_is_reported_once_per_change)
{
	struct server *s = release_prepare(true);

	release_put_vector(s, "update.txt", "first.txt");
	server_launch(s);
	server_await_ready(s);
	await_count(s, "update: package-missing package=" RELEASE_FIRST, 1);

	release_put_text(s, RELEASE_FIRST, "short");
	await_count(s, "update: package-differs package=" RELEASE_FIRST " size=5 manifest_size=108894", 1);

	size_t                len;
	AUTO(auto_free) char *bytes = release_numbers(1, 20000, &len);

	bytes[1000] ^= 1;
	release_put(s, RELEASE_FIRST, bytes, len);
	await_count(s, "why=\"its SHA-256 is not the manifest's\"", 1);
	bytes[1000] ^= 1;
	release_put(s, RELEASE_FIRST, bytes, len);
	await_count(s, "update: package-good package=" RELEASE_FIRST, 1);

	/* Other manifests under a good signature, beside the package that is right. */
	release_put_vector(s, "update.txt", "wrong_size.txt");
	await_count(s, "manifest_size=4 ", 1);
	expect_vector(s, "wrong_size.txt");
	release_put_vector(s, "update.txt", "wrong_hash.txt");
	await_count(s, "why=\"its SHA-256 is not the manifest's\"", 2);
	expect_vector(s, "wrong_hash.txt");
	for (int i = 0; i < 3; i++)
		server_advance(s, CHECK_MS + 200);
	server_stop(s);
	cr_expect_eq(release_count_log(s, "update: package-"), 6);
	server_finish(s);
}

/* --- Publishing while players read --- */

struct publisher {
	const struct server *s;
	atomic_bool          stop;
	atomic_int           rounds;
};

static void *publish(void *arg)
{
	struct publisher *p = arg;

	for (int i = 0; !atomic_load(&p->stop); i++) {
		release_put_vector(p->s, "update.txt", i % 2 ? "next.txt" : "first.txt");
		atomic_store(&p->rounds, i + 1);
	}
	return NULL;
}

Test(update_serve, while_it_is_published_every_answer_is_one_of_both_whole)
{
	struct server        *s = release_start(true);
	size_t                len[2], seen[2] = { 0, 0 };
	AUTO(auto_free) char *first    = release_vector("first.txt", &len[0]);
	AUTO(auto_free) char *next     = release_vector("next.txt", &len[1]);
	const char           *texts[2] = { first, next };
	struct publisher      p        = { .s = s };
	pthread_t             thread;

	release_put_vector(s, "update.txt", "first.txt");
	cr_assert_eq(pthread_create(&thread, NULL, publish, &p), 0);
	for (int i = 0; i < 300 || atomic_load(&p.rounds) < 100; i++) {
		struct http_result r     = release_ask(s, "GET", MANIFEST, "");
		bool               known = false;

		for (int v = 0; v < 2; v++) {
			if (r.body_len == len[v] && memcmp(r.body, texts[v], len[v]) == 0) {
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
	cr_expect_eq(release_count_log(s, LOG_BAD), 0);
	server_finish(s);
}

/* --- Folders --- */

Test(update_serve, another_folder_in_its_place_is_taken_at_the_next_check)
{
	struct server *s = server_prepare(NULL);
	char           link_path[120], new_link[120], set[SERVER_SET_BYTES];

	/* update.dir is a link to release/1 and then to release/2, turned as a deployment does it. */
	(void)snprintf(link_path, sizeof(link_path), "%s/current", s->root);
	(void)snprintf(new_link, sizeof(new_link), "%s/.current", s->root);
	(void)snprintf(set, sizeof(set), "%s/release", s->root);
	cr_assert_eq(mkdir(set, 0755), 0);
	for (int i = 1; i <= 2; i++) {
		(void)snprintf(set, sizeof(set), "%s/release/%d", s->root, i);
		cr_assert_eq(mkdir(set, 0755), 0);
	}
	release_put_text(s, "1/update.txt", "one");
	release_put_text(s, "2/update.txt", "two");
	cr_assert_eq(symlink("release/1", link_path), 0);
	(void)snprintf(set, sizeof(set), "update.dir=%s", link_path);
	server_set(s, set);
	server_launch(s);
	server_await_ready(s);
	expect_bytes(s, MANIFEST, "one", 3);
	cr_assert(symlink("release/2", new_link) == 0 && rename(new_link, link_path) == 0);
	expect_bytes(s, MANIFEST, "one", 3);
	await_count(s, "update: folder-changed", 1);
	expect_bytes(s, MANIFEST, "two", 3);
	cr_assert_eq(unlink(link_path), 0);
	await_count(s, "update: folder-gone", 1);
	expect_bytes(s, MANIFEST, "two", 3);
	server_finish(s);
}

static void expect_no_start(const char *dir, const char *key, const char *says)
{
	struct server *s = server_prepare(NULL);
	char           set[SERVER_SET_BYTES];

	(void)snprintf(set, sizeof(set), "update.dir=%s", *dir ? dir : s->root);
	server_set(s, set);
	(void)snprintf(set, sizeof(set), "update.key=%s", *key ? key : s->log_path);
	server_set(s, set);
	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
	cr_expect(server_log_contains(s, says), "%s", says);
	server_finish(s);
}

Test(update_serve, a_folder_or_key_that_is_none_stops_the_start)
{
	expect_no_start("/nowhere/at/all", "", "update.dir: /nowhere/at/all cannot be opened");
	expect_no_start("/dev/null", "", "update.dir: /dev/null cannot be opened");
	expect_no_start("", "/nowhere/key.pem", "update.key: /nowhere/key.pem cannot be read");
	expect_no_start("", "", "is no public key on P-256");
	expect_no_start("", "/dev/zero", "update.key: /dev/zero cannot be read: it is too long");
}

/* coopd --check-config with these; what it says is in said. */
static int check_config(const char *dir, const char *key, const char *more, char said[1024])
{
	char command[1600];

	(void)snprintf(command, sizeof(command),
	               "'%s' --check-config --set 'update.dir=%s' --set 'update.key=%s' --set '%s' 2>&1",
	               getenv("COOPD_BIN"), dir, key, more);
	FILE *out = popen(command, "r");

	cr_assert_not_null(out);
	said[fread(said, 1, 1023, out)] = '\0';
	return WEXITSTATUS(pclose(out));
}

Test(update_serve, a_check_of_the_configuration_finds_what_would_stop_the_start)
{
	static const char yes[] = "update.enable=yes";
	char              said[1024], key[400], text[400];

	(void)snprintf(key, sizeof(key), "%s/vectors/manifest/key.pem", getenv("TESTS_DIR"));
	(void)snprintf(text, sizeof(text), "%s/vectors/manifest/first.txt", getenv("TESTS_DIR"));
	cr_expect_eq(check_config("/tmp", key, yes, said), 0, "%s", said);
	cr_expect_eq(check_config("/tmp", "", yes, said), 0, "%s", said);
	cr_expect_eq(check_config("/tmp", text, yes, said), 1);
	cr_expect(strstr(said, "is no public key on P-256"), "%s", said);
	cr_expect(!strstr(said, "good"), "%s", said);
	cr_expect_eq(check_config(text, "/nowhere/key.pem", yes, said), 1);
	cr_expect(strstr(said, "cannot be opened as a folder"), "%s", said);
	cr_expect(strstr(said, "update.key: /nowhere/key.pem cannot be read"), "all mistakes at once: %s", said);
	cr_expect_eq(check_config(text, "/nowhere/key.pem", "update.enable=no", said), 0, "%s", said);
}
