/* What stands on a terminal: nothing that acts on it, nothing wider than it, colours only where they are wanted. */
#include "coopctl/print.h"
#include "coopctl/value.h"

#include "base/auto.h"
#include "support/canned_api.h"
#include "support/coopctl.h"

#include <criterion/criterion.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const char *const tables[] = { "status",
	                              "games",
	                              "games show 123456",
	                              "players",
	                              "players show 123456",
	                              "campaigns",
	                              "campaigns --trash only",
	                              "campaigns show ada",
	                              "quota players",
	                              "lobbies",
	                              "signal",
	                              "rooms",
	                              "rooms show 7",
	                              "boards",
	                              "boards show racer laps",
	                              "p2p",
	                              "bans",
	                              "tokens",
	                              "audit",
	                              "settings" };

/* Calls check for each line of text, which is changed. */
static void each_line(char *text, size_t limit, const char *words, void (*check)(const char *, size_t, const char *))
{
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		check(line, limit, words);
	}
}

static void is_no_wider(const char *line, size_t limit, const char *words)
{
	cr_expect_leq(print_width(line), limit, "%s: %zu columns: %s", words, print_width(line), line);
}

Test(coopctl_table, no_table_is_wider_than_the_terminal)
{
	static const int   widths[] = { 10, 40, 80, 120 };
	struct canned_api *api      = canned_start();
	struct coopctl_run run      = { .socket = canned_socket(api) };

	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		for (size_t k = 0; k < COUNT_OF(widths); k++) {
			run.columns = widths[k];

			AUTO(coopctl_freep) struct coopctl_result r = coopctl(&run, tables[i]);

			cr_expect_eq(r.status, 0, "%s", r.err);
			each_line(r.out, (size_t)widths[k], tables[i], is_no_wider);
		}
	}
	canned_stop(api);
}

/* A terminal says how wide it is, without COLUMNS. */
Test(coopctl_table, a_terminals_own_width_counts)
{
	struct canned_api       *api          = canned_start();
	struct coopctl_run       run          = { .socket = canned_socket(api), .on_terminal = true, .columns = 60 };
	static const char *const no_columns[] = { "COLUMNS=", NULL };

	setlocale(LC_CTYPE, "C.UTF-8");
	run.env = no_columns;

	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&run, "campaigns --no-color");

	cr_expect_eq(r.status, 0, "%s", r.out);
	cr_expect_not_null(strstr(r.out, "…"), "%s", r.out);
	each_line(r.out, 60, "campaigns", is_no_wider);
	canned_stop(api);
}

/* --- Colours --- */

static bool is_coloured(const struct coopctl_run *run, const char *words)
{
	AUTO(coopctl_freep) struct coopctl_result r = coopctl(run, words);

	cr_expect_eq(r.status, 0, "%s: %s %s", words, r.out, r.err);
	return strchr(r.out, '\033') != NULL;
}

Test(coopctl_table, colours_are_for_terminals_whose_owner_wants_them)
{
	struct canned_api       *api    = canned_start();
	struct coopctl_run       run    = { .socket = canned_socket(api), .on_terminal = true };
	static const char *const no[]   = { "NO_COLOR=1", NULL };
	static const char *const any[]  = { "NO_COLOR=", NULL };
	static const char *const dumb[] = { "TERM=dumb", NULL };

	cr_expect(is_coloured(&run, "games"));
	cr_expect_not(is_coloured(&run, "games --no-color"));
	cr_expect_not(is_coloured(&run, "games --json"));
	run.env = no;
	cr_expect_not(is_coloured(&run, "games"));
	run.env = any;
	cr_expect(is_coloured(&run, "games"), "an empty one means nothing");
	run.env = dumb;
	cr_expect_not(is_coloured(&run, "games"));
	run = (struct coopctl_run){ .socket = canned_socket(api) };
	cr_expect_not(is_coloured(&run, "games"));
	canned_stop(api);
}

/* --- Hostile text --- */

/* Controls (C0 but the line's end, DEL, C1), marks of direction, and what nobody sees. */
static void acts_on_nothing(const char *said, const char *words)
{
	static const char bad[][4] = { { '\xc2', '\x9b' }, { '\xe2', '\x80', '\xae' }, { '\xe2', '\x80', '\x8b' } };

	for (const char *at = said; *at; at++)
		cr_expect((unsigned char)*at >= 0x20 || *at == '\n', "%s: control %d", words, *at);
	cr_expect_null(strchr(said, 0x7f));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		cr_expect_null(strstr(said, bad[i]), "%s: %s", words, said);
}

Test(coopctl_table, what_players_wrote_does_nothing_to_a_terminal)
{
	static const char        hostile[] = "\\u001b[2J\\u0007\\u009b31m\\u202eexe\\u200b\\r\\n\\u007f";
	static const char *const words[]   = { "campaigns",
		                               "campaigns --json",
		                               "campaigns show 0123456789abcdef",
		                               "campaigns revoke x --yes",
		                               "campaigns revoke x --dry-run",
		                               "campaigns revoke x",
		                               "status",
		                               "status --json" };
	struct canned_api       *api       = canned_start();
	struct coopctl_run       run       = { .socket = canned_socket(api) };
	char                     row[400], list[500], error[300];

	snprintf(row, sizeof(row),
	         "{\"id\":\"0123456789abcdef\",\"name\":\"%s\",\"level\":\"%s\",\"owner\":\"%s\",\"%s\":1}", hostile,
	         hostile, hostile, hostile);
	snprintf(list, sizeof(list), "{\"items\":[%s],\"next\":null}", row);
	snprintf(error, sizeof(error), "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}", hostile, hostile);
	canned_put(api, "GET /admin/v1/campaigns?limit=1000", 200, list);
	canned_put(api, "GET /admin/v1/campaigns?q=x&trash=no&limit=1000", 200, list);
	canned_put(api, "GET /admin/v1/campaigns/0123456789abcdef", 200, row);
	canned_put(api, "GET /admin/v1/status", 503, error);
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		AUTO(coopctl_freep) struct coopctl_result r = coopctl(&run, words[i]);

		acts_on_nothing(r.out, words[i]);
		acts_on_nothing(r.err, words[i]);
		cr_expect(strlen(r.out) + strlen(r.err) > 0);
	}
	canned_stop(api);
}

/* --- Pieces --- */

static void expect_escaped(const char *text, const char *as)
{
	AUTO(auto_free) char *is = print_escape(text);

	cr_expect_str_eq(is, as);
}

Test(coopctl_table, text_is_escaped_where_it_would_do_something)
{
	expect_escaped("Ada's island", "Ada's island");
	expect_escaped("Café 東京 🌊", "Café 東京 🌊");
	expect_escaped("\033[31mred", "\\x1b[31mred");
	expect_escaped("a\tb\nc", "a\\x09b\\x0ac");
	expect_escaped("\x7f", "\\x7f");
	expect_escaped("\xc2\x9b", "\\u{9b}");
	expect_escaped((const char[]){ '\xe2', '\x80', '\xae', '\0' }, "\\u{202e}");
	expect_escaped("\xff\xc0", "\\xff\\xc0");
	expect_escaped("", "");
}

static void expect_cut(const char *text, size_t columns, const char *as)
{
	AUTO(auto_free) char *is = print_cut(text, columns);

	cr_expect_str_eq(is, as, "%s at %zu: %s", text, columns, is);
	cr_expect_leq(print_width(is), columns);
}

Test(coopctl_table, text_is_cut_by_columns_and_not_by_bytes)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	cr_expect_eq(print_width("Café"), 4);
	cr_expect_eq(print_width("東京"), 4);
	cr_expect_eq(print_width("e\xcc\x81"), 1, "a combining accent takes no column");
	expect_cut("Café", 4, "Café");
	expect_cut("Café", 3, "Ca…");
	expect_cut("東京都", 5, "東京…");
	expect_cut("東京都", 4, "東…");
	expect_cut("東京都", 1, "…");
	expect_cut("東京都", 0, "");
}

Test(coopctl_table, sizes_and_times_are_short)
{
	static const struct {
		int64_t     n;
		const char *bytes, *seconds;
	} cases[] = {
		{ 0, "0 B", "0s" },
		{ 59, "59 B", "59s" },
		{ 60, "60 B", "1m 0s" },
		{ 1023, "1023 B", "17m 3s" },
		{ 1024, "1.0 KiB", "17m 4s" },
		{ 3599, "3.5 KiB", "59m 59s" },
		{ 3600, "3.5 KiB", "1h 0m" },
		{ 86399, "84.4 KiB", "23h 59m" },
		{ 86400, "84.4 KiB", "1d 0h" },
		{ 1048575, "1.0 MiB", "12d 3h" },
		{ INT64_C(1) << 40, "1.0 TiB", "12725829d 0h" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[40];

		print_bytes(text, sizeof(text), cases[i].n);
		cr_expect_str_eq(text, cases[i].bytes);
		print_duration(text, sizeof(text), cases[i].n);
		if (i + 1 < COUNT_OF(cases))
			cr_expect_str_eq(text, cases[i].seconds);
	}
}

Test(coopctl_table, values_of_the_command_line_are_read)
{
	int64_t n = 0;
	char    moment[VALUE_TIME_BYTES];

	cr_expect(value_bytes(&n, "64M") && n == 64 * 1024 * 1024);
	cr_expect(value_bytes(&n, "1GiB") && n == 1024 * 1024 * 1024);
	cr_expect(value_bytes(&n, "512") && n == 512);
	cr_expect_not(value_bytes(&n, "9999999999G"));
	cr_expect_not(value_bytes(&n, "-1"));
	cr_expect(value_seconds(&n, "2w") && n == 14 * 86400);
	cr_expect_not(value_seconds(&n, "2y"));
	cr_expect_not(value_seconds(&n, ""));
	cr_expect(value_days(&n, "30d") && n == 30);
	cr_expect(value_days(&n, "30") && n == 30);
	cr_expect_not(value_days(&n, "30h"));
	setenv("COOPCTL_NOW", "2026-12-01T12:00:00Z", 1);
	cr_expect(value_moment(moment, "2h") && strcmp(moment, "2026-12-01T10:00:00Z") == 0, "%s", moment);
	cr_expect(value_moment(moment, "2026-11-30") && strcmp(moment, "2026-11-30T00:00:00Z") == 0, "%s", moment);
	cr_expect(value_moment(moment, "2026-11-30T01:02:03.999Z") && strcmp(moment, "2026-11-30T01:02:03Z") == 0, "%s",
	          moment);
	cr_expect_not(value_moment(moment, "2026-11-30T01:02:03"));
	cr_expect_not(value_moment(moment, "9999999999w"));
}
