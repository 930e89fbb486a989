/*
 * The file of secrets.
 */
#include "store/secrets.h"

#include "os/file.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *text)
{
	cr_assert_eq(file_write(data_path("secrets"), text, strlen(text), 0600), ERR_OK);
}

static char *read_text(void)
{
	char  *text = NULL;
	size_t len;

	cr_assert_eq(file_read(&text, &len, data_path("secrets"), 4096), ERR_OK);
	return text;
}

static enum err load(uint8_t *out, const char *name, char *said, size_t said_cap)
{
	FILE    *report = fmemopen(said, said_cap, "w");
	enum err e      = secret_load(out, 4, data_path("secrets"), name, report);

	fclose(report);
	return e;
}

Test(secrets, one_that_is_missing_is_made_and_stays)
{
	uint8_t     first[4], again[4], other[4];
	char        said[256] = "";
	struct stat st;

	cr_assert_eq(load(first, "a", said, sizeof(said)), ERR_OK);
	cr_assert_eq(load(other, "b", said, sizeof(said)), ERR_OK);
	cr_assert_eq(load(again, "a", said, sizeof(said)), ERR_OK);
	cr_expect_arr_eq(first, again, 4);
	cr_expect_arr_neq(first, other, 4);
	cr_assert_eq(stat(data_path("secrets"), &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
}

/* With all that an editor leaves, down to a last line without an end. */
Test(secrets, other_lines_stay_as_they_are)
{
	static const char by_hand[] = "# by hand\nab = 11111111\n\na2=22222222 \n  a = 01fF0203  \nlast = x";
	uint8_t           out[4];
	char              said[256] = "";

	write_file(by_hand);
	cr_assert_eq(load(out, "a", said, sizeof(said)), ERR_OK);
	cr_expect_arr_eq(out, ((const uint8_t[]){ 1, 255, 2, 3 }), 4);
	cr_assert_eq(load(out, "a2", said, sizeof(said)), ERR_OK);
	cr_expect_eq(out[0], 0x22);

	cr_assert_eq(load(out, "new", said, sizeof(said)), ERR_OK);
	char *text = read_text();
	cr_expect_eq(strncmp(text, by_hand, strlen(by_hand)), 0, "%s", text);
	cr_expect_eq(strncmp(text + strlen(by_hand), "\nnew = ", 7), 0, "%s", text);
	free(text);
}

Test(secrets, a_damaged_one_is_named_and_not_replaced)
{
	static const char *const lines[] = { "a = 0102030\n", "a = 0102030405\n", "a = 0102030g\n", "a =\n" };

	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		uint8_t out[4];
		char    said[256] = "";

		write_file(lines[i]);
		cr_expect_eq(load(out, "a", said, sizeof(said)), ERR_MALFORMED, "%s", lines[i]);
		cr_expect_not_null(strstr(said, "must be 8 hex digits"), "%s", said);
		char *text = read_text();
		cr_expect_str_eq(text, lines[i]);
		free(text);
	}
}

Test(secrets, a_folder_that_cannot_be_written_is_reported)
{
	uint8_t out[4];
	char    said[256] = "";
	FILE   *report    = fmemopen(said, sizeof(said), "w");

	cr_expect_eq(secret_load(out, 4, data_path("missing/secrets"), "a", report), ERR_IO);
	fclose(report);
	cr_expect_not_null(strstr(said, "No such file"), "%s", said);
}
