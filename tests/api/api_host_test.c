/*
 * Under which names, and from which pages, the operator's surface may be asked.
 */
#include "api/api.h"
#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

static char  one[] = "coop.example.org", two[] = "admin.example.org:8443";
static char *own[] = { one, two };

Test(api_host, loopback_and_the_operators_own_names_are_ours)
{
	static const char *const good[] = {
		"localhost",
		"LocalHost",
		"localhost:1",
		"127.0.0.1",
		"127.0.0.1:10002",
		"127.255.255.254:80",
		"[::1]",
		"[::1]:80",
		"coop.example.org",
		"COOP.example.ORG:443",
		"admin.example.org:8443",
		"[::ffff:127.0.0.1]",
	};
	static const char *const bad[] = {
		"",
		":80",
		"evil.example",
		"localhost.evil.example",
		"localhost.",
		"127.0.0.1.nip.io",
		"127.1",
		"127.0.0.01x",
		"128.0.0.1",
		"0.0.0.0",
		"2130706433",
		"0x7f.0.0.1",
		"::1",
		"[::1",
		"[::1]x",
		"[::2]",
		"[::]",
		"localhost:",
		"localhost:x",
		"localhost:-1",
		"localhost:65536",
		"localhost:1:2",
		"localhost/x",
		"localhost@evil.example",
		"x.coop.example.org",
		"coop.example.org.evil.example",
		"admin.example.org",
		"admin.example.org:1",
		" localhost",
	};
	struct conf conf = { .admin_hosts = { .words = own, .count = COUNT_OF(own) } };
	char        longest[400];

	for (size_t i = 0; i < COUNT_OF(good); i++)
		cr_expect(api_host_is_ours(&conf, good[i]), "%s", good[i]);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		cr_expect_not(api_host_is_ours(&conf, bad[i]), "%s", bad[i]);
	cr_expect_not(api_host_is_ours(&conf, NULL));
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	cr_expect_not(api_host_is_ours(&conf, longest));
}

Test(api_host, an_origin_is_own_with_the_very_host_behind_it)
{
	static const struct {
		const char *origin, *host;
		bool        own;
	} rows[] = {
		{ "http://127.0.0.1:10002", "127.0.0.1:10002", true },
		{ "https://coop.example.org", "Coop.example.org", true },
		{ "http://[::1]:1", "[::1]:1", true },
		{ "http://127.0.0.1:10003", "127.0.0.1:10002", false },
		{ "http://localhost:10002", "127.0.0.1:10002", false },
		{ "http://127.0.0.1:10002/", "127.0.0.1:10002", false },
		{ "ftp://127.0.0.1", "127.0.0.1", false },
		{ "127.0.0.1", "127.0.0.1", false },
		{ "null", "null", false },
		{ "http://", "", false },
		{ "", "", false },
		{ NULL, "a", false },
		{ "http://a", NULL, false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(api_origin_is_own(rows[i].origin, rows[i].host), rows[i].own, "%s %s", rows[i].origin,
		             rows[i].host);
}
