/*
 * What the status page says of a moment, for programs and for people.
 */
#include "rooms/rooms_snapshot.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/version.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct limits         limits;
static struct rooms_snapshot shown;

static void set_up(void)
{
	limits_default(&limits);
	shown = (struct rooms_snapshot){ .limits = &limits };
}

TestSuite(rooms_page, .init = set_up);

static char *json(void)
{
	size_t len  = 0;
	char  *text = rooms_snapshot_json(&len, &shown);

	cr_assert_not_null(text);
	cr_expect_eq(len, strlen(text));
	return text;
}

static char *page(void)
{
	size_t len  = 0;
	char  *text = rooms_snapshot_page(&len, &shown);

	cr_assert_not_null(text);
	cr_expect_eq(len, strlen(text));
	return text;
}

/* Whether the text says so. */
static bool says(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

Test(rooms_page, an_idle_server_has_empty_arrays)
{
	AUTO(auto_free) char *text = json();

	cr_expect(says(text,
	               "{\"uptime\":\"0s\",\"clients\":0,\"connections_total\":0,\"rooms\":[],\"boards\":[],"
	               "\"version\":\"" COOPD_VERSION
	               "\",\"relay\":false,\"relayed_bytes\":0,\"tcp_refused\":0,\"udp_dropped\":0,\"streams_open\":0,"
	               "\"limits\":{"),
	          "%s", text);
}

Test(rooms_page, figures_rooms_and_boards_are_shown_in_order)
{
	struct rooms_shown_room rooms[] = {
		{ .id = 3, .title = "NPWR00001_00", .max = 4, .age_ms = 61999, .first = 0, .count = 2 },
		{ .id = 9, .title = "short", .max = 255, .age_ms = 7209000, .first = 2, .count = 1 },
	};
	uint8_t                  names[3][ROOMS_NAME_BYTES] = { "alice", "bob", "sixteen-letters_" };
	struct rooms_shown_board boards[]                   = {
				  { .title = "NPWR00001_00", .number = 4294967295u, .rows = 12, .leader = "Homer", .best = INT64_MIN },
				  { .title = "short", .number = 0, .rows = 0 },
	};

	shown.uptime_ms     = 42999;
	shown.relays        = true;
	shown.clients       = 5;
	shown.connections   = 17;
	shown.tcp_refused   = 2;
	shown.udp_dropped   = 3;
	shown.relayed_bytes = 5000000000;
	shown.streams       = 1;
	shown.rooms         = rooms;
	shown.room_count    = 2;
	shown.names         = names;
	shown.name_count    = 3;
	shown.boards        = boards;
	shown.board_count   = 2;

	AUTO(auto_free) char *text = json();

	cr_expect(says(text, "{\"uptime\":\"42s\",\"clients\":5,\"connections_total\":17,\"rooms\":["
	                     "{\"id\":3,\"title\":\"NPWR00001_00\",\"members\":[\"alice\",\"bob\"],\"max\":4,\"age\":"
	                     "\"1m1s\"},"
	                     "{\"id\":9,\"title\":\"short\",\"members\":[\"sixteen-letters_\"],\"max\":255,\"age\":"
	                     "\"2h0m9s\"}],"
	                     "\"boards\":["
	                     "{\"title\":\"NPWR00001_00\",\"board\":4294967295,\"entries\":12,\"leader\":\"Homer\","
	                     "\"best\":-9223372036854775808},"
	                     "{\"title\":\"short\",\"board\":0,\"entries\":0,\"leader\":\"\",\"best\":0}],"),
	          "%s", text);
	cr_expect(says(text, "\"relay\":true,\"relayed_bytes\":5000000000,\"tcp_refused\":2,\"udp_dropped\":3,"
	                     "\"streams_open\":1,"),
	          "%s", text);

	AUTO(auto_free) char *html = page();

	cr_expect(says(html, "<tr><td>3<td>NPWR00001_00<td>2 of 4<td>alice, bob<td>1m1s\n"), "%s", html);
	cr_expect(says(html, "<tr><td>NPWR00001_00<td>4294967295<td>12<td>Homer<td>-9223372036854775808\n"), "%s",
	          html);
	cr_expect(says(html, "<tr><th>bytes relayed<td>5000000000\n"), "%s", html);
}

Test(rooms_page, times_are_whole_seconds)
{
	static const struct {
		int64_t     ms;
		const char *text;
	} cases[] = { { 999, "0s" },     { 1000, "1s" },        { 59999, "59s" },      { 60000, "1m0s" },
		      { 65000, "1m5s" }, { 3599999, "59m59s" }, { 3600000, "1h0m0s" }, { 360061000, "100h1m1s" } };
	char key[64];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		shown.uptime_ms = cases[i].ms;

		AUTO(auto_free) char *text = json();

		snprintf(key, sizeof(key), "\"uptime\":\"%s\"", cases[i].text);
		cr_expect(says(text, key), "%s in %s", key, text);
	}
}

Test(rooms_page, the_limits_in_force_are_shown_without_those_of_other_parts)
{
	limits.rooms_rooms    = 7;
	limits.rooms_udp_rate = 0;

	AUTO(auto_free) char         *text = json();
	AUTO(json_freep) struct json *all = NULL, *shown_limits = NULL;
	int64_t                       value = -1;

	cr_assert_eq(json_parse(&all, text, strlen(text)), ERR_OK);
	shown_limits = json_member_object(all, "limits");
	cr_assert_not_null(shown_limits);
	cr_expect_eq(json_get_int(&value, shown_limits, "rooms"), ERR_OK);
	cr_expect_eq(value, 7);
	cr_expect_eq(json_get_int(&value, shown_limits, "udp_rate"), ERR_OK);
	cr_expect_eq(value, 0);
	cr_expect_eq(json_get_int(&value, shown_limits, "connections"), ERR_OK);
	cr_expect_eq(value, 4096);
	cr_expect_eq(json_get_int(&value, shown_limits, "ws_connections"), ERR_NOT_FOUND);
	cr_expect_eq(json_get_int(&value, shown_limits, "rooms_rooms"), ERR_NOT_FOUND);
}

/* In every field that a peer can write. */
static void plant(const char *text, struct rooms_shown_room *room, uint8_t name[ROOMS_NAME_BYTES],
                  struct rooms_shown_board *board)
{
	size_t len = strlen(text);

	cr_assert_leq(len, ROOMS_TITLE_BYTES);
	*room  = (struct rooms_shown_room){ .id = 1, .max = 1, .count = 1 };
	*board = (struct rooms_shown_board){ .rows = 1 };
	memset(name, 0, ROOMS_NAME_BYTES);
	memcpy(name, text, len);
	memcpy(room->title, text, len);
	memcpy(board->title, text, len);
	memcpy(board->leader, text, len);
	shown.rooms       = room;
	shown.room_count  = 1;
	shown.names       = (uint8_t(*)[ROOMS_NAME_BYTES])name;
	shown.name_count  = 1;
	shown.boards      = board;
	shown.board_count = 1;
}

#define BAD "\xef\xbf\xbd"

/* And two that differ by what nobody sees do not look the same. */
Test(rooms_page, text_of_peers_is_cleaned_and_stands_in_text_nodes)
{
	static const struct {
		const char *in, *json, *html;
	} cases[] = {
		{ "<script>", "<script>", "&lt;script&gt;" },
		{ "a&b\"'<>", "a&b\\\"'<>", "a&amp;b&quot;&#39;&lt;&gt;" },
		{ "\xff\xc3(", "\xef\xbf\xbd\xef\xbf\xbd(", "\xef\xbf\xbd\xef\xbf\xbd(" },
		{ "M\xc3\xbcller", "M\xc3\xbcller", "M\xc3\xbcller" },
		{ "a\t\x1b[1m\x7f", "a" BAD BAD "[1m" BAD, "a" BAD BAD "[1m" BAD },
		{ "\xe2\x80\x8folleh", BAD "olleh", BAD "olleh" },
		{ "\xef\xbb\xbf\xe2\x80\x8bx", BAD BAD "x", BAD BAD "x" },
	};
	struct rooms_shown_room  room;
	struct rooms_shown_board board;
	uint8_t                  name[ROOMS_NAME_BYTES];
	char                     want[256];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		plant(cases[i].in, &room, name, &board);

		AUTO(auto_free) char *text = json(), *html = page();

		snprintf(want, sizeof(want), "{\"id\":1,\"title\":\"%s\",\"members\":[\"%s\"],", cases[i].json,
		         cases[i].json);
		cr_expect(says(text, want), "%s in %s", want, text);
		snprintf(want, sizeof(want), "\"entries\":1,\"leader\":\"%s\",", cases[i].json);
		cr_expect(says(text, want), "%s in %s", want, text);
		snprintf(want, sizeof(want), "<tr><td>1<td>%s<td>1 of 1<td>%s<td>0s\n", cases[i].html, cases[i].html);
		cr_expect(says(html, want), "%s in %s", want, html);
		snprintf(want, sizeof(want), "<tr><td>%s<td>0<td>1<td>%s<td>0\n", cases[i].html, cases[i].html);
		cr_expect(says(html, want), "%s in %s", want, html);
		cr_expect_not(says(html, "<script"));
	}
}

Test(rooms_page, what_stands_behind_a_nul_is_not_shown)
{
	static uint8_t                 names[1][ROOMS_NAME_BYTES] = { { 'b', 'o', 'b', 0, 'x', 'x' } };
	static struct rooms_shown_room room = { .id = 1, .title = { 'a', 0, 'y', 'y' }, .max = 1, .count = 1 };

	shown.rooms      = &room;
	shown.room_count = 1;
	shown.names      = names;
	shown.name_count = 1;

	AUTO(auto_free) char *text = json();

	cr_expect(says(text, "\"title\":\"a\",\"members\":[\"bob\"]"), "%s", text);
}

Test(rooms_page, the_page_reloads_itself_and_has_no_script)
{
	AUTO(auto_free) char *html = page();

	cr_expect(says(html, "<meta http-equiv=\"refresh\" content=\"5\">"));
	cr_expect(says(html, rooms_page_style));
	cr_expect_not(says(html, "<script"));
	cr_expect_not(says(html, "http://"));
	cr_expect_not(says(html, "style="));
}
