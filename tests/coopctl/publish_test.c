/* coopctl publish: what is good goes in, in the right order, and nothing else does. */
#include "base/auto.h"
#include "coopctl/publish.h"
#include "os/file.h"
#include "support/canned_api.h"
#include "support/coopctl.h"
#include "support/data_folder.h"
#include "support/program.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKAGE(version) "Crysis-Coop-v" version "-update.bin"

/* As README.md has it: a package of so many lines, and its manifest in NAME.txt, signed with NAME's key. */
static const char script[] =
	"set -eu\n"
	"make_key() { openssl ecparam -name prime256v1 -genkey -noout -out $1.pem 2>/dev/null\n"
	"	openssl ec -in $1.pem -pubout -out $1.public.pem 2>/dev/null; }\n"
	"make() {\n" /* key version file */
	"	PACKAGE=Crysis-Coop-v$2-update.bin\n"
	"	echo \"the package of $2\" > $PACKAGE\n"
	"	printf 'Crysis Coop update\\nversion %s\\npackage %s\\nsize %s\\nsha256 %s\\n' \"$2\" \"$PACKAGE\" "
	"\"$(stat -c %s \"$PACKAGE\")\" \"$(sha256sum \"$PACKAGE\" | cut -d' ' -f1)\" > $3\n"
	"	openssl dgst -sha256 -sign $1.pem $3 > sig\n"
	"	openssl asn1parse -inform DER -in sig | awk -F: '/INTEGER/ { while (length($NF) < 64) $NF = \"0\" $NF; "
	"printf \"%s\", $NF }' > hex\n"
	"	printf 'signature %s\\n' \"$(cat hex)\" >> $3\n"
	"}\n"
	"mkdir update\n"
	"make_key own; make_key other\n"
	"for v in 0.6.2 0.6.9 0.6.10 0.7 0.8; do make own $v $v.txt; done\n"
	"make other 0.9 forged.txt\n"
	"make own 0.9 0.9.txt; echo more >> Crysis-Coop-v0.9-update.bin\n"
	"echo hello > nothing.txt\n";

static void begin(void)
{
	cr_assert_eq(file_write(data_path("make.sh"), script, strlen(script), 0600), ERR_OK);

	struct program *p = program_start((const char *const[]){ "bash", "make.sh", NULL });

	cr_assert_eq(program_await_end(p, 60000), 0);
	program_stop(p);
}

TestSuite(coopctl_publish, .init = begin, .timeout = 120);

/* In the test's folder, with its key and folder of updates. */
static void expect(const char *words, int status, const char *says)
{
	const struct coopctl_run run = { .socket = "/nowhere" };
	char                     all[400];

	snprintf(all, sizeof(all), "publish --dir update --key own.public.pem %s", words);

	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&run, all);

	cr_expect_eq(r.status, status, "%s: %d %s%s", words, r.status, r.out, r.err);
	cr_expect(strstr(r.out, says) || strstr(r.err, says), "%s: %s%s", words, r.out, r.err);
}

static bool is_there(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "update/%s", name);
	return access(data_path(path), F_OK) == 0;
}

/* The manifest that is published is this file. */
static void expect_published(const char *file)
{
	AUTO(auto_free) char *is     = NULL;
	AUTO(auto_free) char *want   = NULL;
	size_t                is_len = 0, want_len = 0;

	cr_expect_eq(file_read(&want, &want_len, data_path(file), 8192), ERR_OK);
	cr_expect_eq(file_read(&is, &is_len, data_path("update/update.txt"), 8192), ERR_OK);
	cr_expect(is && want && is_len == want_len && memcmp(is, want, want_len) == 0, "%s is not published", file);
}

Test(coopctl_publish, what_is_good_goes_in_and_three_are_kept)
{
	expect("0.6.2.txt " PACKAGE("0.6.2"), 0, "Published");
	expect_published("0.6.2.txt");
	expect(PACKAGE("0.6.9") " 0.6.9.txt", 0, "0.6.2");
	expect("0.6.10.txt " PACKAGE("0.6.10"), 0, "Published");
	cr_expect(is_there(PACKAGE("0.6.2")));
	expect("0.7.txt " PACKAGE("0.7"), 0, "Removed " PACKAGE("0.6.2"));
	cr_expect_not(is_there(PACKAGE("0.6.2")));
	cr_expect(is_there(PACKAGE("0.6.9")) && is_there(PACKAGE("0.6.10")) && is_there(PACKAGE("0.7")));
	expect("0.8.txt " PACKAGE("0.8") " --json", 0, "\"removed\": [\n    \"" PACKAGE("0.6.9") "\"");
	expect_published("0.8.txt");

	/* Once more, with the package that is there; others' files are nobody's business. */
	cr_assert_eq(file_write(data_path("update/" PACKAGE("beta")), "x", 1, 0644), ERR_OK);
	expect("0.8.txt", 0, "Published");
	cr_expect(is_there(PACKAGE("beta")));
	cr_expect_eq(data_count_files("update", "."), 0, "something hidden is left");
}

Test(coopctl_publish, what_is_wrong_changes_nothing)
{
	expect("0.6.2.txt " PACKAGE("0.6.2"), 0, "Published");
	expect("forged.txt " PACKAGE("0.9"), 1, "signature");
	expect("0.9.txt " PACKAGE("0.9"), 1, "is not the package");
	expect("0.7.txt", 1, "cannot be opened");
	expect("0.7.txt 0.8.txt", 2, "more than one");
	expect("nothing.txt", 2, "none of these files");
	expect("nowhere.txt", 1, "cannot be opened");
	expect("--key nothing.txt 0.7.txt", 2, "given twice");
	expect_published("0.6.2.txt");
	cr_expect_not(is_there(PACKAGE("0.9")) || is_there(PACKAGE("0.7")));
}

Test(coopctl_publish, an_older_version_is_asked_about)
{
	expect("0.6.10.txt " PACKAGE("0.6.10"), 0, "Published");
	expect("0.6.9.txt " PACKAGE("0.6.9"), 6, "--yes");
	expect_published("0.6.10.txt");
	cr_expect_not(is_there(PACKAGE("0.6.9")));
	expect("0.6.9.txt " PACKAGE("0.6.9") " --yes", 0, "Published");
	expect_published("0.6.9.txt");
	expect("0.6.9.txt", 0, "Published");
}

Test(coopctl_publish, a_dry_run_only_checks)
{
	expect("0.6.2.txt " PACKAGE("0.6.2") " --dry-run", 0, "would be published");
	cr_expect_not(is_there("update.txt") || is_there(PACKAGE("0.6.2")));
	expect("forged.txt " PACKAGE("0.9") " --dry-run", 1, "signature");
	expect("0.6.2.txt " PACKAGE("0.6.2"), 0, "Published");
	expect("0.6.9.txt " PACKAGE("0.6.9"), 0, "Published");
	expect("0.6.10.txt " PACKAGE("0.6.10"), 0, "Published");
	expect("0.7.txt " PACKAGE("0.7") " -n", 0, "would remove " PACKAGE("0.6.2"));
	cr_expect(is_there(PACKAGE("0.6.2")));
	expect_published("0.6.10.txt");
}

/* The one that cannot be put keeps the next one out, and not the one before. */
Test(coopctl_publish, the_package_is_first_and_the_manifest_last)
{
	expect("0.6.2.txt " PACKAGE("0.6.2"), 0, "Published");
	cr_assert_eq(mkdir(data_path("update/" PACKAGE("0.7")), 0755), 0);
	cr_assert_eq(file_write(data_path("update/" PACKAGE("0.7") "/x"), "x", 1, 0644), ERR_OK);
	expect("0.7.txt " PACKAGE("0.7"), 1, "package cannot be put");
	expect_published("0.6.2.txt");

	cr_assert_eq(unlink(data_path("update/update.txt")), 0);
	cr_assert_eq(mkdir(data_path("update/update.txt"), 0755), 0);
	expect("0.8.txt " PACKAGE("0.8"), 1, "manifest cannot be put");
	cr_expect(is_there(PACKAGE("0.8")));
	cr_expect_eq(data_count_files("update", "."), 0, "something hidden is left");
}

/* Folder and key are the server's when they are not said. */
Test(coopctl_publish, the_server_says_where_and_with_which_key)
{
	struct canned_api       *api = canned_start();
	const struct coopctl_run run = { .socket = canned_socket(api) };
	char                     answer[1000];

	AUTO(coopctl_freep) struct coopctl_result unset = coopctl(&run, "publish 0.6.2.txt " PACKAGE("0.6.2"));

	cr_expect_eq(unset.status, 2, "%s", unset.err);
	cr_expect_not_null(strstr(unset.err, "update.dir"), "%s", unset.err);
	snprintf(answer, sizeof(answer),
	         "{\"items\":[{\"key\":\"update.dir\",\"value\":\"%s\"},{\"key\":\"update.key\",\"value\":\"%s\"},"
	         "{\"key\":\"update.public_url\",\"value\":\"https://example.org/update\"}],\"next\":null}",
	         data_path("update"), data_path("own.public.pem"));
	canned_put(api, "GET /admin/v1/settings?limit=1000", 200, answer);

	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&run, "publish 0.6.2.txt " PACKAGE("0.6.2"));

	cr_expect_eq(r.status, 0, "%s", r.err);
	cr_expect_not_null(strstr(r.out, "https://example.org/update"), "%s", r.out);
	expect_published("0.6.2.txt");

	/* doctor finds it good, until the package is another. */
	AUTO(coopctl_freep) struct coopctl_result good = coopctl(&run, "doctor --json");

	cr_expect_not_null(strstr(good.out, "manifest is signed"), "%s", good.out);
	cr_assert_eq(file_write(data_path("update/" PACKAGE("0.6.2")), "x", 1, 0644), ERR_OK);
	AUTO(coopctl_freep) struct coopctl_result bad = coopctl(&run, "doctor --json");

	cr_expect_not_null(strstr(bad.out, "has another size"), "%s", bad.out);
	canned_stop(api);
}

Test(coopctl_publish, versions_are_compared_number_by_number)
{
	cr_expect_lt(publish_compare("0.6.9", "0.6.10"), 0);
	cr_expect_gt(publish_compare("1", "0.9.9"), 0);
	cr_expect_eq(publish_compare("0.6", "0.6.0"), 0);
}
