/*
 * Files below a folder that is held open.
 */
#include "update/update_folder.h"

#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct update_folder f;

static void put(const char *name, const char *text)
{
	FILE *file = fopen(data_path(name), "w");

	cr_assert_not_null(file);
	(void)fputs(text, file);
	cr_assert_eq(fclose(file), 0);
}

static void open_it(void)
{
	cr_assert_eq(mkdir(data_path("files"), 0755), 0);
	cr_assert_eq(update_folder_open(&f, data_path("files")), ERR_OK);
}

static void close_it(void)
{
	update_folder_close(&f);
}

TestSuite(update_folder, .init = open_it, .fini = close_it);

static void expect_none(const char *name)
{
	struct update_file file;

	cr_expect_eq(update_file_open(&file, &f, name), ERR_NOT_FOUND, "%s", name);
}

/* What HTTP refuses before does not get through here either. */
Test(update_folder, names_that_lead_elsewhere_are_none)
{
	put("secret", "x");
	put("files/.hidden", "x");
	put("files/good", "x");
	cr_assert_eq(mkdir(data_path("files/sub"), 0755), 0);
	put("files/sub/inside", "x");
	expect_none("");
	expect_none(".");
	expect_none("..");
	expect_none(".hidden");
	expect_none("../secret");
	expect_none("sub/inside");
	expect_none("./good");
	expect_none("good/");
	expect_none("/etc/passwd");
	expect_none("sub");
	expect_none("nothing");
}

Test(update_folder, a_folder_that_may_not_be_listed_can_be_entered)
{
	struct update_folder closed;
	struct update_file   file;

	cr_assert_eq(mkdir(data_path("closed"), 0755), 0);
	put("closed/good", "x");
	cr_assert_eq(chmod(data_path("closed"), 0111), 0);
	cr_assert_eq(update_folder_open(&closed, data_path("closed")), ERR_OK);
	cr_assert_eq(update_file_open(&file, &closed, "good"), ERR_OK);
	update_file_close(&file);
	update_folder_close(&closed);
	cr_assert_eq(chmod(data_path("closed"), 0755), 0);
}

Test(update_folder, it_is_renewed_when_another_is_in_its_place)
{
	struct update_file file;
	enum err           e;

	put("files/old", "x");
	cr_expect(!update_folder_renew(&e, &f));
	cr_expect_eq(e, ERR_OK);
	cr_assert_eq(rename(data_path("files"), data_path("before")), 0);
	cr_expect(!update_folder_renew(&e, &f));
	cr_expect_eq(e, ERR_IO);
	cr_expect_eq(errno, ENOENT);
	cr_assert_eq(update_file_open(&file, &f, "old"), ERR_OK);
	update_file_close(&file);
	cr_assert_eq(mkdir(data_path("files"), 0755), 0);
	cr_expect(update_folder_renew(&e, &f));
	cr_expect_eq(e, ERR_OK);
	expect_none("old");
	cr_expect(!update_folder_renew(&e, &f));
}

Test(update_folder, a_file_is_read_only_while_it_is_what_was_opened)
{
	struct update_file file;
	char               got[8];

	put("files/good", "0123456789");
	cr_assert_eq(update_file_open(&file, &f, "good"), ERR_OK);
	cr_expect_eq(file.mark.bytes, 10);
	cr_expect_eq(update_file_read(&file, 2, got, 8), 8);
	cr_expect_eq(memcmp(got, "23456789", 8), 0);
	cr_expect_eq(update_file_read(&file, 3, got, 8), -1); /* one too many */
	cr_expect_eq(update_file_read(&file, 10, got, 0), 0);

	/* Renaming it is no change; a byte more is, and so is another time. */
	cr_assert_eq(rename(data_path("files/good"), data_path("files/other")), 0);
	cr_expect_eq(update_file_read(&file, 0, got, 8), 8);
	cr_assert_eq(truncate(data_path("files/other"), 11), 0);
	cr_expect_eq(update_file_read(&file, 0, got, 8), -1);
	update_file_close(&file);

	struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	cr_assert_eq(update_file_open(&file, &f, "other"), ERR_OK);
	cr_expect_eq(update_file_read(&file, 0, got, 8), 8);
	cr_assert_eq(utimensat(AT_FDCWD, data_path("files/other"), times, 0), 0);
	cr_expect_eq(update_file_read(&file, 0, got, 8), -1);
	update_file_close(&file);
}
