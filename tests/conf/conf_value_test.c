/* Single values: what each type takes, how it is written back, and what a refused one is told. */
#include "conf/conf_value.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <string.h>

/* Room for a value of any type. */
union any {
	char            *text;
	bool             flag;
	int64_t          number;
	struct conf_list list;
};

/* A row of a type alone, for types that the table has only with a limit or not at all. */
static const struct conf_row plain_text   = { .section = "x", .name = "text", .type = CONF_TYPE_TEXT, .unit = "" };
static const struct conf_row plain_list   = { .section = "x", .name = "list", .type = CONF_TYPE_LIST, .unit = "" };
static const struct conf_row plain_number = {
	.section = "limits", .name = "n", .type = CONF_TYPE_LIMIT, .min = 2, .max = 40, .unit = "friends"
};
static const struct conf_row plain_bytes = {
	.section = "limits", .name = "b", .type = CONF_TYPE_LIMIT, .min = 1, .max = 1L << 50, .unit = "bytes"
};
static const struct conf_row plain_rate = {
	.section = "limits", .name = "r", .type = CONF_TYPE_LIMIT, .min = 1, .max = 1L << 50, .unit = "bytes/s"
};
static const struct conf_row plain_time = {
	.section = "limits", .name = "t", .type = CONF_TYPE_LIMIT, .min = 1, .max = 1L << 50, .unit = "ms"
};
static const struct conf_row secret = {
	.section = "x", .name = "secret", .type = CONF_TYPE_TEXT, .flags = SECRET, .unit = ""
};

static const struct conf_row *const word     = &conf_rows[CONF_ROW_turn_uri];
static const struct conf_row *const hidden   = &conf_rows[CONF_ROW_signal_token];
static const struct conf_row *const build    = &conf_rows[CONF_ROW_latest_proto];
static const struct conf_row *const flag     = &conf_rows[CONF_ROW_server_production];
static const struct conf_row *const host     = &conf_rows[CONF_ROW_server_public_host];
static const struct conf_row *const path     = &conf_rows[CONF_ROW_server_data];
static const struct conf_row *const level    = &conf_rows[CONF_ROW_log_level];
static const struct conf_row *const format   = &conf_rows[CONF_ROW_log_format];
static const struct conf_row *const scale    = &conf_rows[CONF_ROW_log_addresses];
static const struct conf_row *const listens  = &conf_rows[CONF_ROW_http_listen];
static const struct conf_row *const networks = &conf_rows[CONF_ROW_http_trusted_proxies];
static const struct conf_row *const header   = &conf_rows[CONF_ROW_http_client_address_header];
static const struct conf_row *const origins  = &conf_rows[CONF_ROW_http_allowed_origins];

Test(conf_value, good_values_are_kept_and_written_back)
{
	const struct {
		const struct conf_row *row;
		const char            *text;
		const char            *written;
	} cases[] = {
		{ flag, "yes", "yes" },
		{ flag, "TRUE", "yes" },
		{ flag, "on", "yes" },
		{ flag, "1", "yes" },
		{ flag, "no", "no" },
		{ flag, "False", "no" },
		{ flag, "off", "no" },
		{ flag, "0", "no" },
		{ level, "error", "error" },
		{ level, "warn", "warn" },
		{ level, "info", "info" },
		{ level, "Debug", "debug" },
		{ format, "text", "text" },
		{ format, "json", "json" },
		{ scale, "cut", "cut" },
		{ scale, "full", "full" },
		{ &plain_text, "", "" },
		{ &plain_text, "a b#c;d", "a b#c;d" },
		{ path, "/srv/coop data", "/srv/coop data" },
		{ word, "", "" },
		{ word, "turn:[2001:db8::1]:3478", "turn:[2001:db8::1]:3478" },
		{ hidden, "#!~", "#!~" },
		{ build, "0", "0" },
		{ build, "65535", "65535" },
		{ &plain_text, "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ path, "/srv/\xff", "/srv/\xff" },
		{ &secret, "\xff", "\xff" },
		{ host, "", "" },
		{ host, "coop.example.org", "coop.example.org" },
		{ host, "192.0.2.7", "192.0.2.7" },
		{ host, "2001:db8::1", "2001:db8::1" },
		{ header, "CF-Connecting-IP", "CF-Connecting-IP" },
		{ listens, "", "" },
		{ listens, "127.0.0.1:0", "127.0.0.1:0" },
		{ listens, " 0.0.0.0:10001 \t [::]:65535 ", "0.0.0.0:10001 [::]:65535" },
		{ networks, "", "none" },
		{ networks, "none", "none" },
		{ networks, "10.0.0.1 10.0.0.0/8 ::1 fd00::/8", "10.0.0.1 10.0.0.0/8 ::1 fd00::/8" },
		{ networks, "0.0.0.0/0 1.2.3.4/32 ::/0 ::1/128", "0.0.0.0/0 1.2.3.4/32 ::/0 ::1/128" },
		{ origins, "", "" },
		{ origins, "https://a.example http://localhost:3000", "https://a.example http://localhost:3000" },
		{ origins, "https://[2001:db8::1]:8443 https://[::1]", "https://[2001:db8::1]:8443 https://[::1]" },
		{ &plain_list, " one  two ", "one two" },
		{ &plain_number, "2", "2" },
		{ &plain_number, "40", "40" },
		{ &plain_number, "0000000000000000000000000000000000000000000040", "40" },
		{ &plain_bytes, "64k", "65536" },
		{ &plain_bytes, "1M", "1048576" },
		{ &plain_bytes, "2G", "2147483648" },
		{ &plain_rate, "3M", "3145728" },
		{ &plain_time, "250ms", "250" },
		{ &plain_time, "90s", "90000" },
		{ &plain_time, "5m", "300000" },
		{ &plain_time, "2h", "7200000" },
		{ &plain_time, "3d", "259200000" },
		{ &secret, "#a ;b", "#a ;b" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct conf_why why   = { "" };
		union any       field = { 0 };

		cr_expect(conf_value_parse(&field, cases[i].row, cases[i].text, &why), "%s: %s", cases[i].text,
		          why.text);
		AUTO(auto_free) char *written = conf_value_text(cases[i].row, &field);
		cr_expect_str_eq(written, cases[i].written);
		conf_value_fini(&field, cases[i].row);
	}
}

#define LISTEN_FORM "write 127.0.0.1:PORT, [::1]:PORT, or 0.0.0.0:PORT and [::]:PORT for every address"
#define ORIGIN_FORM "write https://host or https://host:port in lower case, and nothing behind"
#define WORD_FORM   "has a character that is no plain letter, digit or sign; blanks do not belong here either"
#define HOST_FORM   "write it without scheme, port and path: coop.example.org"
#define NET_FORM    "write 10.0.0.1, 10.0.0.0/8, fd00::/8, or only none"

Test(conf_value, bad_values_are_told_what_is_wrong_and_what_is_allowed)
{
	const struct {
		const struct conf_row *row;
		const char            *text;
		const char            *why;
	} cases[] = {
		{ flag, "maybe", "\"maybe\" is neither yes (true, on, 1) nor no (false, off, 0)" },
		{ flag, "", "\"\" is neither yes (true, on, 1) nor no (false, off, 0)" },
		{ level, "loud", "\"loud\" is none of: error, warn, info, debug" },
		{ format, "xml", "\"xml\" is none of: text, json" },
		{ scale, "half", "\"half\" is none of: cut, full" },
		{ path, "a\nb", "\"a\\x0ab\" has a control character" },
		{ path, "#data", "\"#data\" has a # or ; at its start or after a blank, which begins a comment" },
		{ path, "my ;data", "\"my ;data\" has a # or ; at its start or after a blank, which begins a comment" },
		{ word, "turn: h:3478", "\"turn: h:3478\" " WORD_FORM },
		{ word, "turn:\th", "\"turn:\\x09h\" " WORD_FORM },
		{ word, "turn:\xc3\xbc", "\"turn:\\xc3\\xbc\" " WORD_FORM },
		{ word, "a\x7f", "\"a\\x7f\" has a control character" },
		{ word, ";x", "\";x\" begins with # or ;, which begins a comment" },
		{ hidden, "one two", "\"***\" " WORD_FORM },
		{ build, "65536", "\"65536\" is not a number from 0 to 65535" },
		{ build, "-1", "\"-1\" is not a number from 0 to 65535" },
		{ build, "", "\"\" is not a number from 0 to 65535" },
		{ &plain_text, "a\xff", "\"a\\xff\" is not valid UTF-8" },
		{ host, "https://a.org/", "\"https://a.org/\" is no host name; " HOST_FORM },
		{ host, "a.org:80", "\"a.org:80\" is no host name; " HOST_FORM },
		{ host, "-a", "\"-a\" is no host name; " HOST_FORM },
		{ header, "", "\"\" is no name of a header field; write it without colon: X-Forwarded-For" },
		{ header, "X-A:", "\"X-A:\" is no name of a header field; write it without colon: X-Forwarded-For" },
		{ listens, "localhost:80", "\"localhost:80\" does not begin with a numeric address; " LISTEN_FORM },
		{ listens, "127.1:80", "\"127.1:80\" does not begin with a numeric address; " LISTEN_FORM },
		{ listens, ":80", "\":80\" does not begin with a numeric address; " LISTEN_FORM },
		{ listens, "[127.0.0.1]:80", "\"[127.0.0.1]:80\" does not begin with a numeric address; " LISTEN_FORM },
		{ listens, "127.0.0.1", "\"127.0.0.1\" has no port; " LISTEN_FORM },
		{ listens, "80", "\"80\" has no port; " LISTEN_FORM },
		{ listens, "[::1]", "\"[::1]\" has no port; " LISTEN_FORM },
		{ listens, "[::1", "\"[::1\" has no port; " LISTEN_FORM },
		{ listens, "[::1]x:80", "\"[::1]x:80\" has no port; " LISTEN_FORM },
		{ listens, "::1:80", "\"::1:80\" needs brackets around the IPv6 address; " LISTEN_FORM },
		{ listens, "0.0.0.0:65536",
		  "\"0.0.0.0:65536\" does not end with a port from 0 to 65535; " LISTEN_FORM },
		{ listens, "0.0.0.0:-1", "\"0.0.0.0:-1\" does not end with a port from 0 to 65535; " LISTEN_FORM },
		{ listens, "0.0.0.0:-0", "\"0.0.0.0:-0\" does not end with a port from 0 to 65535; " LISTEN_FORM },
		{ listens, "0.0.0.0:", "\"0.0.0.0:\" does not end with a port from 0 to 65535; " LISTEN_FORM },
		{ listens, "0.0.0.0:1 x", "\"x\" has no port; " LISTEN_FORM },
		{ listens, "0.0.0.0:1,", "\"0.0.0.0:1,\" does not end with a port from 0 to 65535; " LISTEN_FORM },
		{ listens, "0.0.0.0:1 0.0.0.0:1", "\"0.0.0.0:1\" stands there twice" },
		{ networks, "proxy", "\"proxy\" is no numeric address; " NET_FORM },
		{ networks, "10.0.0.0/33", "\"10.0.0.0/33\" does not end with a prefix from 0 to 32" },
		{ networks, "10.0.0.0/", "\"10.0.0.0/\" does not end with a prefix from 0 to 32" },
		{ networks, "::/129", "\"::/129\" does not end with a prefix from 0 to 128" },
		{ networks, "::1 none", "\"none\" stands alone or not at all" },
		{ origins, "*", "\"*\" is no web origin; " ORIGIN_FORM },
		{ origins, "a.org", "\"a.org\" is no web origin; " ORIGIN_FORM },
		{ origins, "https://", "\"https://\" is no web origin; " ORIGIN_FORM },
		{ origins, "https://A.org", "\"https://A.org\" is no web origin; " ORIGIN_FORM },
		{ origins, "https://a.org/", "\"https://a.org/\" is no web origin; " ORIGIN_FORM },
		{ origins, "https://a.org:", "\"https://a.org:\" is no web origin; " ORIGIN_FORM },
		{ origins, "https://a.org:70000", "\"https://a.org:70000\" is no web origin; " ORIGIN_FORM },
		{ origins, "https://[::1", "\"https://[::1\" is no web origin; " ORIGIN_FORM },
		{ origins, "https://[]", "\"https://[]\" is no web origin; " ORIGIN_FORM },
		{ &plain_list, "a #b", "\"#b\" begins with # or ;, which begins a comment" },
		{ &plain_number, "41", "\"41\" is out of range; allowed are 2 to 40 friends" },
		{ &plain_number, "1", "\"1\" is out of range; allowed are 2 to 40 friends" },
		{ &plain_number, "3K", "\"3K\" is not a number (digits); allowed are 2 to 40 friends" },
		{ &plain_number, "-3", "\"-3\" is not a number (digits); allowed are 2 to 40 friends" },
		{ &plain_number, "", "\"\" is not a number (digits); allowed are 2 to 40 friends" },
		{ &plain_number, "99999999999999999999999999999999999",
		  "\"99999999999999999999999999999999999\" is out of range; allowed are 2 to 40 friends" },
		{ &plain_bytes, "9000000000000G",
		  "\"9000000000000G\" is out of range; allowed are 1 to 1125899906842624 bytes" },
		{ &plain_bytes, "1.5M",
		  "\"1.5M\" is not a number (digits, or digits with K, M or G behind); "
		  "allowed are 1 to 1125899906842624 bytes" },
		{ &plain_time, "5 s",
		  "\"5 s\" is not a number (digits, or digits with ms, s, m, h or d behind); "
		  "allowed are 1 to 1125899906842624 ms" },
		{ &secret, "pass\x01word", "\"***\" has a control character" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct conf_why why   = { "" };
		union any       field = { 0 };

		cr_expect_not(conf_value_parse(&field, cases[i].row, cases[i].text, &why), "%s", cases[i].text);
		cr_expect_str_eq(why.text, cases[i].why);
		conf_value_fini(&field, cases[i].row);
	}
}

Test(conf_value, a_refused_value_leaves_the_old_one)
{
	struct conf_why  why;
	struct conf_list list = { 0 };

	cr_assert(conf_value_parse(&list, listens, "127.0.0.1:1", &why));
	cr_assert_not(conf_value_parse(&list, listens, "127.0.0.1:2 nonsense", &why));
	cr_expect_eq(list.count, 1);
	cr_expect_str_eq(list.words[0], "127.0.0.1:1");
	conf_value_fini(&list, listens);
	cr_expect_eq(list.count, 0);
}

Test(conf_value, the_longest_value_is_taken_and_one_byte_more_is_not)
{
	struct conf_why why;
	char           *kept = NULL;
	char            text[CONF_VALUE_BYTES_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[CONF_VALUE_BYTES_MAX + 1] = '\0';
	cr_expect_not(conf_value_parse(&kept, &plain_text, text, &why));
	cr_expect_not_null(strstr(why.text, "...\" is longer than 2048 bytes"));
	text[CONF_VALUE_BYTES_MAX] = '\0';
	cr_expect(conf_value_parse(&kept, &plain_text, text, &why));
	conf_value_fini(&kept, &plain_text);
}

Test(conf_value, a_word_is_as_long_as_players_programs_take_it)
{
	struct conf_why why;
	char           *kept = NULL;
	char            text[CONF_WORD_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[CONF_WORD_MAX + 1] = '\0';
	cr_expect_not(conf_value_parse(&kept, word, text, &why));
	cr_expect_not_null(strstr(why.text, "...\" is longer than 127 characters"), "%s", why.text);
	text[CONF_WORD_MAX] = '\0';
	cr_expect(conf_value_parse(&kept, word, text, &why));
	conf_value_fini(&kept, word);
}

static void expect_shown(const struct conf_row *row, const char *value, const char *shown)
{
	struct conf_why why;
	char           *kept       = NULL;
	char            buffer[64] = "";
	FILE           *out        = fmemopen(buffer, sizeof(buffer), "w");

	cr_assert(conf_value_parse(&kept, row, value, &why));
	conf_value_show(out, row, &kept);
	(void)fclose(out);
	cr_expect_str_eq(buffer, shown);
	conf_value_fini(&kept, row);
}

Test(conf_value, a_secret_is_masked_for_eyes)
{
	expect_shown(&secret, "hunter2", "***");
	expect_shown(&secret, "", "");
	expect_shown(&plain_text, "hunter2", "hunter2");
}
