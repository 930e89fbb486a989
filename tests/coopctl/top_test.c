/* What coopctl top shows of what came, without a terminal. */
#include "coopctl/top.h"

#include "base/auto.h"
#include "coopctl/print.h"
#include "coopctl/stream.h"

#include <criterion/criterion.h>

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void message(struct top *t, const char *text)
{
	json_t *j = json_loads(text, 0, NULL);

	cr_assert_not_null(j, "%s", text);
	top_message(t, j);
	json_decref(j);
}

static void games(struct top *t, const char *text)
{
	json_t *j = json_loads(text, 0, NULL);

	cr_assert_not_null(j, "%s", text);
	top_games(t, j);
	json_decref(j);
}

#define THREE                                                                                                    \
	"[{\"code\":111111,\"state\":\"open\",\"friends\":1,\"rate_up\":5,\"rate_down\":5,\"host\":\"aa\"},"     \
	"{\"code\":222222,\"state\":\"playing\",\"friends\":3,\"rate_up\":2000,\"rate_down\":1,\"host\":\"bb\"," \
	"\"up\":{\"dropped\":4},\"down\":{\"dropped\":3}},"                                                      \
	"{\"code\":333333,\"state\":\"lost\",\"friends\":2,\"rate_up\":0,\"rate_down\":0,\"host\":null}]"

static struct top filled(void)
{
	struct top t;

	setlocale(LC_CTYPE, "C.UTF-8");
	top_init(&t);
	message(&t, "{\"op\":\"figures\",\"at\":\"2026-12-01T09:30:01.500Z\",\"games\":3,\"bytes_up_s\":2048,"
	            "\"datagrams_up_s\":7,\"datagrams_down_s\":8,\"drops_tunnel_s\":4,\"drops_ws_s\":5}");
	games(&t, THREE);
	message(&t, "{\"op\":\"event\",\"seq\":1,\"at\":\"2026-12-01T09:30:00.123Z\",\"kind\":\"lobby.announced\","
	            "\"name\":\"\\u001b[2Jhello\",\"from\":null}");
	return t;
}

/* All lines with a newline each, for free(). */
static char *shown(struct top *t, size_t columns, size_t rows)
{
	struct top_view view;
	char           *text = NULL;
	size_t          len  = 0;
	FILE           *out  = open_memstream(&text, &len);

	top_render(&view, t, columns, rows);
	for (size_t i = 0; i < view.count; i++)
		fprintf(out, "%s\n", view.lines[i].text);
	fclose(out);
	top_view_fini(&view);
	return text;
}

static void expect_in(struct top *t, const char *part, bool is_there)
{
	AUTO(auto_free) char *text = shown(t, 120, 40);

	cr_expect_eq(strstr(text, part) != NULL, is_there, "%s in\n%s", part, text);
}

/* The codes come in this order. */
static void expect_order(struct top *t, const char *a, const char *b, const char *c)
{
	AUTO(auto_free) char *text = shown(t, 120, 40);
	const char           *x = strstr(text, a), *y = strstr(text, b), *z = strstr(text, c);

	cr_expect(x && y && z && x < y && y < z, "%s %s %s in\n%s", a, b, c, text);
}

Test(coopctl_top, figures_games_and_events_are_on_one_screen)
{
	struct top t = filled();

	expect_in(&t, "2026-12-01 09:30:01 UTC", true);
	expect_in(&t, "2.0 KiB/s", true);
	expect_in(&t, "15/s", true);
	expect_in(&t, "9/s", true);
	expect_in(&t, "222222", true);
	expect_in(&t, "lobby.announced  name \\x1b[2Jhello", true);
	expect_in(&t, "from", false);
	expect_in(&t, "q quit", true);
	message(&t, "{\"op\":\"lost\",\"events\":12,\"figures\":3}");
	expect_in(&t, "lost  events 12", true);
	top_note(&t, "the connection \033 ended");
	expect_in(&t, "the connection \\x1b ended", true);
	top_fini(&t);
}

Test(coopctl_top, games_are_sorted_by_the_column_of_choice)
{
	struct top t = filled();

	expect_order(&t, "222222", "111111", "333333");
	top_key(&t, 'r');
	expect_order(&t, "333333", "111111", "222222");
	top_key(&t, 's'); /* by code */
	expect_order(&t, "111111", "222222", "333333");
	top_key(&t, 's'); /* by state */
	expect_order(&t, "333333", "111111", "222222");
	top_key(&t, 's'); /* by friends */
	expect_order(&t, "222222", "333333", "111111");
	games(&t, THREE);
	expect_order(&t, "222222", "333333", "111111");
	top_key(&t, 'S');
	top_key(&t, 'S');
	top_key(&t, 'S');
	expect_order(&t, "222222", "111111", "333333");
	top_key(&t, 'S'); /* from the first to the last: by host, none first */
	expect_order(&t, "333333", "111111", "222222");
	top_fini(&t);
}

Test(coopctl_top, paused_it_stands_still_and_keeps_what_comes)
{
	struct top t = filled();

	cr_expect(top_key(&t, 'p'));
	message(&t, "{\"op\":\"event\",\"seq\":2,\"at\":\"2026-12-01T09:30:02.000Z\",\"kind\":\"game.opened\"}");
	message(&t, "{\"op\":\"figures\",\"games\":77}");
	games(&t, "[]");
	expect_in(&t, "PAUSED", true);
	expect_in(&t, "game.opened", false);
	expect_in(&t, "77", false);
	expect_in(&t, "222222", true);
	cr_expect(top_key(&t, 'p'));
	expect_in(&t, "PAUSED", false);
	expect_in(&t, "game.opened", true);
	top_fini(&t);
}

Test(coopctl_top, keys_help_and_quit)
{
	struct top t = filled();

	cr_expect(top_key(&t, 'h'));
	expect_in(&t, "sort the games", true);
	expect_in(&t, "222222", false);
	cr_expect(top_key(&t, '?'));
	expect_in(&t, "222222", true);
	cr_expect(top_key(&t, 0x1ff));
	cr_expect_not(top_key(&t, 'q'));
	top_fini(&t);
}

static struct top crowded(void)
{
	struct top t;
	json_t    *all = json_array();

	top_init(&t);
	for (int i = 0; i < 500; i++)
		json_array_append_new(all,
		                      json_pack("{s:i,s:s}", "code", 100000 + i, "host", "Zoë の家 with a long name"));
	top_games(&t, all);
	json_decref(all);
	for (int i = 0; i < 3 * TOP_EVENTS; i++)
		message(&t, "{\"op\":\"event\",\"at\":\"2026-12-01T09:30:02.000Z\",\"kind\":\"friend.joined\"}");
	cr_expect_eq(json_array_size(t.events), TOP_EVENTS);
	return t;
}

Test(coopctl_top, many_games_are_scrolled_through)
{
	struct top t = crowded();

	expect_in(&t, "100000", true);
	top_key(&t, TOP_KEY_DOWN);
	expect_in(&t, "100000", false);
	expect_in(&t, "100001", true);
	top_key(&t, TOP_KEY_PAGE_DOWN);
	expect_in(&t, "100010", false);
	top_key(&t, TOP_KEY_PAGE_UP);
	top_key(&t, TOP_KEY_UP);
	top_key(&t, TOP_KEY_UP);
	expect_in(&t, "100000", true);
	for (int i = 0; i < 100; i++)
		top_key(&t, TOP_KEY_PAGE_DOWN);
	expect_in(&t, "100499", true);
	top_key(&t, TOP_KEY_UP);
	expect_in(&t, "100499", false);
	top_key(&t, TOP_KEY_HOME);
	expect_in(&t, "100000", true);
	top_fini(&t);
}

/* Whatever size a terminal has, and whatever came or did not come. */
Test(coopctl_top, a_screen_has_its_rows_and_no_line_is_wider)
{
	struct top tops[] = { filled(), crowded(), { 0 } };

	top_init(&tops[2]);
	for (size_t i = 0; i < COUNT_OF(tops); i++)
		for (size_t rows = 1; rows < 60; rows += rows < 10 ? 1 : 7)
			for (size_t columns = 1; columns < 250; columns += columns < 30 ? 1 : 23) {
				struct top_view view;

				tops[i].helps = (rows + columns) % 5 == 0;
				top_render(&view, &tops[i], columns, rows);
				cr_assert_eq(view.count, rows, "%zu x %zu: %zu", columns, rows, view.count);
				for (size_t k = 0; k < view.count; k++)
					cr_assert_leq(print_width(view.lines[k].text), columns, "%zu x %zu: %s",
					              columns, rows, view.lines[k].text);
				top_view_fini(&view);
			}
	for (size_t i = 0; i < COUNT_OF(tops); i++)
		top_fini(&tops[i]);
}

Test(coopctl_top, programs_get_one_object)
{
	struct top  t    = filled();
	json_t     *all  = top_json(&t);
	json_int_t  seen = 0;
	const char *kind = NULL;

	cr_expect_eq(json_unpack(all, "{s:{s:I},s:[{s:s}]}", "figures", "games", &seen, "events", "kind", &kind), 0);
	cr_expect_eq(seen, 3);
	cr_expect_str_eq(kind, "lobby.announced");
	json_decref(all);
	top_fini(&t);
}

/* --- Where the events are --- */

Test(coopctl_stream, the_place_follows_from_the_url_and_the_listeners)
{
	static const struct {
		const char *url, *address, *host;
		int         port;
		bool        is_tls;
	} cases[] = {
		{ "http://127.0.0.1:10002", "127.0.0.1:64191", "127.0.0.1", 64191, false },
		{ "http://localhost:10002", "127.0.0.1:64191", "localhost", 64191, false },
		{ "http://[::1]:10002", "[::1]:64191", "::1", 64191, false },
		{ "http://127.0.0.1:10002", "0.0.0.0:7", "127.0.0.1", 7, false },
		{ "http://127.0.0.1:10002", "[::]:7", "127.0.0.1", 7, false },
		{ "http://127.0.0.1:10002", "192.0.2.1:7", NULL, 0, false },
		{ "http://127.0.0.1:10002", "unix:/run/events.sock", NULL, 0, false },
		{ "http://127.0.0.1:10002", NULL, NULL, 0, false },
		{ "https://admin.example.org", NULL, "admin.example.org", 443, true },
		{ "https://admin.example.org:8443/x", "127.0.0.1:1", "admin.example.org", 8443, true },
		{ "http://", "127.0.0.1:1", NULL, 0, false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct stream_place place;
		json_t             *listeners = json_pack("[{s:s,s:s}]", "part", "tunnel", "address", "127.0.0.1:1");
		const char         *why;

		if (cases[i].address)
			json_array_append_new(listeners, json_pack("{s:s,s:s}", "part", "admin-events", "address",
			                                           cases[i].address));
		why = stream_place_of(&place, cases[i].url, listeners);
		cr_expect_eq(why == NULL, cases[i].host != NULL, "%s %s: %s", cases[i].url, cases[i].address, why);
		if (!why && cases[i].host) {
			cr_expect_str_eq(place.host, cases[i].host);
			cr_expect_eq(place.port, cases[i].port, "%s: %d", cases[i].url, place.port);
			cr_expect_eq(place.is_tls, cases[i].is_tls);
		}
		json_decref(listeners);
	}
}
