/*
 * The ring of events, read as a viewer reads it.
 */
#include "base/event.h"

#include "base/auto.h"
#include "base/json.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define KEPT 10

static int64_t now_ms;

static int64_t wall_ms(void)
{
	return now_ms;
}

static void start(void)
{
	now_ms = INT64_C(1796117400123); /* 2026-12-01T09:30:00.123Z */
	cr_assert_eq(event_start(KEPT, wall_ms), ERR_OK);
}

static void stop(void)
{
	event_stop();
}

TestSuite(event, .init = start, .fini = stop);

static char            line[EVENT_LINE_BYTES + EVENT_HEAD_BYTES];
static enum event_kind kind;
static uint64_t        oldest;

static enum err read_event(uint64_t seq)
{
	size_t   len = 0;
	enum err e   = event_read(line, &len, &kind, &oldest, seq);

	if (e == ERR_OK)
		cr_assert_eq(strlen(line), len);
	return e;
}

static const char *text_of(const struct json *j, const char *name)
{
	const char *text = "";

	cr_assert_eq(json_get_text(&text, j, name), ERR_OK, "%s", line);
	return text;
}

Test(event, is_one_line_of_json_with_its_fields)
{
	static const uint8_t id[8] = { 0, 1, 2, 3, 0xfc, 0xfd, 0xfe, 0xff };

	event_emit(E_GAME_OPENED, event_int("code", 123456), event_int("version", 2), event_id("host", id),
	           event_copy("from", "203.0.113.0"));
	cr_assert_eq(read_event(1), ERR_OK);
	cr_expect_str_eq(line,
	                 "{\"op\":\"event\",\"seq\":1,\"at\":\"2026-12-01T09:30:00.123Z\",\"kind\":\"game.opened\","
	                 "\"code\":123456,\"version\":2,\"host\":\"00010203fcfdfeff\",\"from\":\"203.0.113.0\"}");
	cr_expect_eq(kind, E_GAME_OPENED);
	cr_expect_eq(event_newest(), 1);
	cr_expect_eq(read_event(2), ERR_NOT_FOUND);
}

Test(event, shows_null_for_what_there_is_not)
{
	event_emit(E_FRIEND_JOINED, event_null("a"), event_id("b", NULL), event_word("c", NULL),
	           event_bool("d", false));
	cr_assert_eq(read_event(1), ERR_OK);
	cr_expect(strstr(line, "\"a\":null,\"b\":null,\"c\":null,\"d\":false}"), "%s", line);
}

Test(event, makes_any_text_of_a_peer_valid_json)
{
	uint8_t bytes[256];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t from = 0; from < sizeof(bytes); from += 32) {
		AUTO(json_freep) struct json *j   = NULL;
		uint64_t                      seq = event_newest() + 1;

		event_emit(E_LOBBY_ANNOUNCED, event_text("name", bytes + from, 32), event_word("word", "\"\\\n\x80"));
		cr_assert_eq(read_event(seq), ERR_OK);
		cr_assert_eq(json_parse(&j, line, strlen(line)), ERR_OK, "%s", line);
		cr_expect_str_eq(text_of(j, "word"), "\"\\ ?");
	}
}

Test(event, cuts_a_long_text_of_a_peer)
{
	char                          long_text[1000];
	AUTO(json_freep) struct json *j = NULL;

	memset(long_text, '"', sizeof(long_text));
	event_emit(E_SCORE_RECORDED, event_text("title", long_text, sizeof(long_text)),
	           event_text("board", long_text, sizeof(long_text)), event_text("name", long_text, sizeof(long_text)));
	cr_assert_eq(read_event(1), ERR_OK);
	cr_assert_eq(json_parse(&j, line, strlen(line)), ERR_OK);
	cr_expect_eq(strlen(text_of(j, "name")), EVENT_TEXT_CHARS);
}

Test(event, keeps_the_last_so_many)
{
	for (int i = 0; i < KEPT + 3; i++)
		event_emit(E_GAME_CLOSED, event_int("code", i));
	cr_expect_eq(event_newest(), KEPT + 3);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		cr_expect_eq(read_event(seq), ERR_GONE);
		cr_expect_eq(oldest, 4);
	}
	for (uint64_t seq = 4; seq <= KEPT + 3; seq++) {
		char code[32];

		cr_assert_eq(read_event(seq), ERR_OK);
		snprintf(code, sizeof(code), "\"code\":%d}", (int)seq - 1);
		cr_expect(strstr(line, code), "%s", line);
	}
}

Test(event, of_a_kind_with_a_pace_says_how_many_were_skipped)
{
	for (int i = 0; i < 13; i++)
		event_emit(E_CHECKPOINT_REFUSED, event_int("n", i));
	cr_expect_eq(event_newest(), 10, "ten a second");
	cr_assert_eq(read_event(10), ERR_OK);
	cr_expect(strstr(line, "\"n\":9,\"skipped\":0}"), "%s", line);
	now_ms += 1000;
	event_emit(E_CHECKPOINT_REFUSED, event_int("n", 13));
	cr_assert_eq(read_event(11), ERR_OK);
	cr_expect(strstr(line, "\"n\":13,\"skipped\":3}"), "%s", line);
}

static void count(void *arg)
{
	++*(int *)arg;
}

Test(event, wakes_who_listens)
{
	int woken = 0;

	event_on_new(count, &woken);
	event_emit(E_GAME_CLOSED, event_int("code", 1));
	event_emit(E_GAME_CLOSED, event_int("code", 2));
	cr_expect_eq(woken, 2);
	event_on_new(NULL, NULL);
	event_emit(E_GAME_CLOSED, event_int("code", 3));
	cr_expect_eq(woken, 2);
}

Test(event, patterns_are_kinds_or_their_beginnings)
{
	cr_expect(event_matches(E_GAME_OPENED, "game.opened"));
	cr_expect(event_matches(E_GAME_OPENED, "game.*"));
	cr_expect(event_matches(E_GAME_OPENED, "*"));
	cr_expect_not(event_matches(E_GAME_OPENED, "game"));
	cr_expect_not(event_matches(E_GAME_OPENED, "gam*"));
	cr_expect_not(event_matches(E_GAME_OPENED, "game.o*"));
	cr_expect_not(event_matches(E_GAME_OPENED, ".*"));
	cr_expect_not(event_matches(E_GAME_OPENED, ""));
	cr_expect_not(event_matches(E_P2P_ROOM_MADE, "room.*"));
	cr_expect(event_is_pattern("p2p.*"));
	cr_expect_not(event_is_pattern("q2p.*"));
}

/* Which is what each emit of a server without operators costs. */
Test(event, is_nothing_before_the_start)
{
	event_stop();
	event_emit(E_GAME_CLOSED, event_int("code", 1));
	cr_expect_eq(event_newest(), 0);
	cr_expect_eq(read_event(1), ERR_NOT_FOUND);
	cr_assert_eq(event_start(KEPT, wall_ms), ERR_OK);
}

Test(event, a_text_in_all_that_is_kept_becomes_another)
{
	static const uint8_t id[8] = { 0xab, 1, 2, 3, 4, 5, 6, 7 };

	event_emit(E_CAMPAIGN_MADE, event_id("campaign", id), event_id("player", id));
	event_replace("ab01020304050607", "0000000000000000");
	cr_assert_eq(read_event(event_newest()), ERR_OK);
	cr_expect_null(strstr(line, "ab01"), "%s", line);
	cr_expect_not_null(strstr(line, "\"player\":\"0000000000000000\""), "%s", line);
}
