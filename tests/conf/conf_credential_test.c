/* Secrets and certificates that come as files of a folder, as systemd and containers hand them over. */
#include "conf/conf.h"

#include "base/auto.h"
#include "conf/conf_value.h"
#include "conf/report.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = P_tmpdir "/coopd-conf-XXXXXX";

static const char *const names[] = { "turn.secret", "signal.token", "tls.cert", "tls.key", "log.level", "own.conf" };

/* Each test runs in a process of its own, in an empty folder of its own. */
static void enter_folder(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void leave_folder(void)
{
	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlink(names[i]);
	(void)rmdir(folder);
}

TestSuite(conf_credential, .init = enter_folder, .fini = leave_folder);

static void write_bytes(const char *name, const char *bytes, size_t len)
{
	FILE *file = fopen(name, "w");

	cr_assert_not_null(file);
	cr_assert_eq(fwrite(bytes, 1, len, file), len);
	cr_assert_eq(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static enum err load(struct conf *c, const char *file, const char *env, const char *expected)
{
	char              variable[80];
	struct report     report;
	const char *const both[] = { variable, env, NULL };

	snprintf(variable, sizeof(variable), "CREDENTIALS_DIRECTORY=%s", folder);

	const struct conf_args args = { .file = file, .env = environment(both) };
	enum err               e    = conf_load(c, &args, report_open(&report));

	cr_expect_str_eq(report_text(&report), expected);
	report_free(&report);
	return e;
}

Test(conf_credential, secrets_are_read_and_certificates_are_paths)
{
	struct conf c;
	char        cert[80];

	write_text("turn.secret", "a secret with blanks\n");
	write_text("signal.token", "token\r\n");
	write_text("tls.cert", "not looked into");
	write_text("tls.key", "neither");
	snprintf(cert, sizeof(cert), "%s/tls.cert", folder);
	cr_assert_eq(load(&c, NULL, NULL, ""), ERR_OK);
	cr_expect_str_eq(c.turn_secret, "a secret with blanks");
	cr_expect_str_eq(c.signal_token, "token");
	cr_expect_str_eq(c.tls_cert, cert);
	conf_fini(&c);
}

Test(conf_credential, whoever_writes_a_setting_down_wins)
{
	struct conf c;

	write_text("turn.secret", "handed over");
	write_text("signal.token", "handed-over");
	write_text("own.conf", "[turn]\nsecret = written down\n");
	cr_assert_eq(load(&c, "own.conf", "COOP_SIGNAL_TOKEN=said", ""), ERR_OK);
	cr_expect_str_eq(c.turn_secret, "written down");
	cr_expect_str_eq(c.signal_token, "said");
	conf_fini(&c);
}

Test(conf_credential, only_secrets_and_certificates_come_this_way)
{
	struct conf c;

	write_text("log.level", "debug");
	cr_assert_eq(load(&c, NULL, NULL, ""), ERR_OK);
	cr_expect_eq(c.log_level, CONF_LEVEL_info);
	conf_fini(&c);
}

Test(conf_credential, what_is_no_secret_is_refused_by_its_name)
{
	struct conf c;
	char        long_one[4000];
	char        expected[200];

	write_text("signal.token", "two words");
	cr_expect_eq(load(&c, NULL, NULL,
	                  "credential signal.token: signal.token: \"***\" has a character that is no plain letter, "
	                  "digit or "
	                  "sign; blanks do not belong here either\n"),
	             ERR_MALFORMED);
	cr_assert_eq(unlink("signal.token"), 0);

	write_bytes("turn.secret", "a\0b", 3);
	snprintf(expected, sizeof(expected),
	         "credential turn.secret: %s/turn.secret has a zero byte; a secret is a text\n", folder);
	cr_expect_eq(load(&c, NULL, NULL, expected), ERR_MALFORMED);

	memset(long_one, 'x', sizeof(long_one));
	write_bytes("turn.secret", long_one, sizeof(long_one));
	snprintf(expected, sizeof(expected), "credential turn.secret: %s/turn.secret is longer than %d bytes\n", folder,
	         CONF_VALUE_BYTES_MAX);
	cr_expect_eq(load(&c, NULL, NULL, expected), ERR_MALFORMED);
}

/* Nobody may wait for a pipe's other end. */
Test(conf_credential, what_is_no_file_is_refused_by_its_name)
{
	struct conf c;
	char        expected[200];

	cr_assert_eq(mkfifo("turn.secret", 0600), 0);
	snprintf(expected, sizeof(expected),
	         "credential turn.secret: %s/turn.secret is no file; a credential is a file with the secret in it\n",
	         folder);
	cr_expect_eq(load(&c, NULL, NULL, expected), ERR_MALFORMED);
	cr_assert_eq(unlink("turn.secret"), 0);
	cr_assert_eq(mkdir("turn.secret", 0700), 0);
	snprintf(expected, sizeof(expected), "credential turn.secret: %s/turn.secret cannot be read: Is a directory\n",
	         folder);
	cr_expect_eq(load(&c, NULL, NULL, expected), ERR_MALFORMED);
	cr_assert_eq(rmdir("turn.secret"), 0);
}
