/*
 * What a reload takes over, and what it says of the rest.
 */
#include "base/auto.h"
#include "conf/conf.h"
#include "conf/conf_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct conf running, fresh;
static char        report[4000], changed[4000];

static void load(struct conf *out, const char *text)
{
	cr_assert_eq(conf_load_text(out, text, strlen(text), stderr), ERR_OK);
}

static void take(const char *before, const char *after)
{
	FILE *r = fmemopen(report, sizeof(report), "w"), *c = fmemopen(changed, sizeof(changed), "w");

	report[0] = changed[0] = '\0';
	cr_assert(r && c);
	load(&running, before);
	load(&fresh, after);
	conf_reload(&running, &fresh, r, c);
	fclose(r);
	fclose(c);
}

static void tidy(void)
{
	conf_fini(&running);
	conf_fini(&fresh);
}

TestSuite(conf_reload, .fini = tidy);

Test(conf_reload, a_limit_that_is_read_anew_each_time_changes)
{
	take("", "[limits]\ntunnel_rate = 12345\ncloud_total = 3000000\n");
	cr_expect_eq(running.limits.tunnel_rate, 12345);
	cr_expect_eq(running.limits.cloud_total, 3000000);
	cr_expect_not_null(strstr(changed, "limits.tunnel_rate\n"));
	cr_expect_not_null(strstr(changed, "limits.cloud_total\n"));
	cr_expect_str_eq(report, "");
}

Test(conf_reload, a_limit_that_sizes_something_needs_a_restart)
{
	int64_t before = 0;

	take("", "[limits]\ntunnel_games = 77\n");
	limits_default(&fresh.limits);
	before = fresh.limits.tunnel_games;
	cr_expect_eq(running.limits.tunnel_games, before);
	cr_expect_str_eq(changed, "");
	cr_expect_not_null(strstr(report, "limits.tunnel_games has changed and needs a restart"), "%s", report);
}

Test(conf_reload, certificates_may_lie_elsewhere_but_do_not_come_or_go)
{
	take("[tls]\ncert = a.pem\nkey = a.key\n", "[tls]\ncert = b.pem\nkey = b.key\n");
	cr_expect_str_eq(running.tls_cert, "b.pem");
	cr_expect_str_eq(changed, "tls.cert\ntls.key\n");
	cr_expect_str_eq(report, "");
	tidy();
	take("", "[tls]\ncert = b.pem\nkey = b.key\n");
	cr_expect_str_eq(running.tls_cert, "");
	cr_expect_not_null(strstr(report, "tls.cert has changed and needs a restart"), "%s", report);
	tidy();
	take("[tls]\ncert = a.pem\nkey = a.key\n", "");
	cr_expect_str_eq(running.tls_cert, "a.pem");
	cr_expect_not_null(strstr(report, "tls.key has changed and needs a restart"), "%s", report);
}
