/*
 * The verified manifest without a server around it: changes that come faster than the clock of the file system ticks.
 */
#include "update/update_manifest.h"

#include "base/auto.h"
#include "base/metric.h"
#include "os/log.h"
#include "support/data_folder.h"
#include "support/release.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct update_folder   folder;
static struct update_manifest m;
static struct p256_key       *key;

static void open_it(void)
{
	size_t                len;
	AUTO(auto_free) char *pem = release_vector("key.pem", &len);

	log_set_level(LOG_ERROR);
	cr_assert_eq(mkdir(data_path("files"), 0755), 0);
	cr_assert_eq(update_folder_open(&folder, data_path("files")), ERR_OK);
	cr_assert_eq(p256_key_new(&key, pem, len), ERR_OK);
	update_manifest_init(&m, &folder, key);
}

static void close_it(void)
{
	update_manifest_fini(&m);
	p256_key_free(key);
	update_folder_close(&folder);
}

TestSuite(update_manifest, .init = open_it, .fini = close_it);

/* Over what is there, in the same file and length. */
static void write_over(const char *name, const char *bytes, size_t len)
{
	int fd = open(data_path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert(fd >= 0 && pwrite(fd, bytes, len, 0) == (ssize_t)len && close(fd) == 0);
}

static void expect_served(const char *bytes, size_t len)
{
	char   got[MANIFEST_BYTES_MAX];
	size_t got_len = 0;

	cr_assert_eq(update_manifest_get(got, &got_len, &m), ERR_OK);
	cr_assert(got_len == len && memcmp(got, bytes, len) == 0);
	cr_assert_eq(metric_get(M_UPDATE_MANIFEST_GOOD), 1);
}

static void expect_refused(void)
{
	char   got[MANIFEST_BYTES_MAX];
	size_t len;

	cr_assert_eq(update_manifest_get(got, &len, &m), ERR_NOT_FOUND);
	cr_assert_eq(metric_get(M_UPDATE_MANIFEST_GOOD), 0);
}

/* Some file systems have clocks so coarse that a file looks as it did before; the others are made to. */
static void hide_change(void)
{
	struct update_file file;

	cr_assert_eq(update_file_open(&file, &folder, MANIFEST_NAME), ERR_OK);
	m.mark = file.mark;
	update_file_close(&file);
}

Test(update_manifest, a_change_that_leaves_inode_size_and_times_as_they_were_is_seen)
{
	size_t                len;
	AUTO(auto_free) char *text = release_vector("first.txt", &len);
	char                 *spot = strstr(text, "0.6.2");

	for (int i = 0; i < 100; i++) {
		*spot = '0';
		write_over("files/update.txt", text, len);
		hide_change();
		expect_served(text, len);
		*spot = '9';
		write_over("files/update.txt", text, len);
		hide_change();
		expect_refused();
	}
}

Test(update_manifest, each_manifest_has_its_own_package)
{
	static atomic_bool    stopping;
	size_t                len, package_len;
	AUTO(auto_free) char *first   = release_vector("first.txt", &len);
	AUTO(auto_free) char *package = release_numbers(1, 20000, &package_len);

	write_over("files/update.txt", first, len);
	write_over("files/" RELEASE_FIRST, package, package_len);
	update_manifest_look(&m);
	cr_expect_eq(m.state, UPDATE_GOOD);
	cr_expect_eq(m.package, PACKAGE_UNKNOWN); /* its size is right; the rest takes longer */
	atomic_store(&stopping, true);
	update_manifest_check(&m, &stopping); /* gives up */
	cr_expect_eq(m.package, PACKAGE_UNKNOWN);
	atomic_store(&stopping, false);
	update_manifest_check(&m, &stopping);
	cr_expect_eq(m.package, PACKAGE_GOOD);
	cr_expect(m.is_hashed);
	cr_assert_eq(unlink(data_path("files/update.txt")), 0);
	write_over("files/update.txt", first, len);
	update_manifest_look(&m);
	cr_expect_eq(m.package, PACKAGE_UNKNOWN); /* another manifest, even if it says the same */

	size_t                next_len;
	AUTO(auto_free) char *next = release_vector("next.txt", &next_len);

	cr_assert_eq(unlink(data_path("files/update.txt")), 0);
	expect_refused();
	write_over("files/update.txt", next, next_len);
	expect_served(next, next_len);
	cr_expect_eq(m.package, PACKAGE_MISSING);
	cr_assert_eq(unlink(data_path("files/update.txt")), 0);
	write_over("files/update.txt", first, len);
	update_manifest_check(&m, &stopping);
	cr_expect_eq(m.package, PACKAGE_GOOD);
}
