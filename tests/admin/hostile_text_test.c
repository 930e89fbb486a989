/*
 * Text that is meant to be more than text, in every field that a peer can write in rooms, on boards and in lobbies, and what people
 * are shown of it: by the operator's API, the rooms' status page, and the views of the database.
 */
#include "base/auto.h"
#include "base/text.h"
#include "support/admin_client.h"
#include "support/lobby_client.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "203.0.113.7"

/* As bytes and as JSON; short enough for a title. */
static const struct {
	const char *bytes, *json;
} texts[] = {
	{ "=1+1", "=1+1" },
	{ "@SUM(A1)", "@SUM(A1)" },
	{ "<b>&\"'", "<b>&\\\"'" },
	{ "a\r\nb\t", "a\\r\\nb\\t" },
	{ "\x1b[31mred", "\\u001b[31mred" },
	{ "\xe2\x80\xae"
	  "evil\xe2\x80\xac",
	  "\\u202eevil\\u202c" },
	{ "a\xe2\x80\x8b\xef\xbb\xbf"
	  "b",
	  "a\\u200b\\ufeffb" },
	{ "\xc2\x9b"
	  "1m\xc2\x85",
	  "\\u009b1m\\u0085" },
	{ "\x7f%s%n", "\\u007f%s%n" },
	{ "\xe2\x81\xa6x\xe2\x81\xa9\xe2\x80\xa8", "\\u2066x\\u2069\\u2028" },
	{ "bad\xff\xc3", "bad\xef\xbf\xbd" },
	{ "\xed\xa0\x80", "\xef\xbf\xbd" },
};

static struct server *s;

static void start(void)
{
	s = server_prepare((const char *[]){ LOBBY_PROMPT, "rooms.status_listen=127.0.0.1:0",
	                                     "limits.lobby_creates=1000", "limits.lobby_per_address=100", NULL });
	server_launch(s);
	server_await_ready(s);
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(hostile_text, .init = start, .fini = stop, .timeout = 120);

/* --- Looking at what people are shown --- */

/* Controls, characters that nobody sees, and such that turn the direction of writing. */
static bool is_bad(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

static void expect_clean(const char *what, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		uint32_t code = 0;
		size_t   size = text_char(&code, text + at, len - at);

		cr_assert_gt(size, 0, "%s is no UTF-8 at %zu: %s", what, at, text);
		cr_assert_not(is_bad(code), "%s has U+%04X at %zu: %s", what, (unsigned)code, at, text);
		at += size;
	}
}

/* Of JSON: the same when it is read, where an escape is the character. */
static void expect_clean_json(const char *what, const struct http_result *r)
{
	cr_assert_eq(r->status, 200, "%s", what);
	expect_clean(what, r->body, r->body_len);
	for (const char *at = r->body; (at = strchr(at, '\\')); at += 2)
		cr_expect_not_null(strchr("\"\\/", at[1]), "%s has \\%c: %s", what, at[1], r->body);
}

static void expect_clean_answer(const char *path)
{
	AUTO(rest_freep) struct http_result r = admin_get(s, path);

	expect_clean_json(path, &r);
	cr_expect_eq(rest_has(&r, "items"), true);
}

/* The text cells of a view, whatever it has. */
static void expect_clean_view(sqlite3 *db, const char *view)
{
	sqlite3_stmt *rows = NULL;
	char          sql[100];
	size_t        count = 0;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", view);
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &rows, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	for (; sqlite3_step(rows) == SQLITE_ROW; count++) {
		for (int i = 0; i < sqlite3_column_count(rows); i++) {
			cr_assert_neq(sqlite3_column_type(rows, i), SQLITE_BLOB, "%s", view);
			if (sqlite3_column_type(rows, i) == SQLITE_TEXT)
				expect_clean(view, (const char *)sqlite3_column_text(rows, i),
				             (size_t)sqlite3_column_bytes(rows, i));
		}
	}
	sqlite3_finalize(rows);
	cr_expect_geq(count, COUNT_OF(texts), "%s has %zu rows", view, count);
}

static void expect_clean_views(void)
{
	char     path[SERVER_PATH_BYTES + 20];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	expect_clean_view(db, "leaderboard");
	expect_clean_view(db, "lobby_list");
	sqlite3_close(db);
}

/* Nothing of theirs is markup. */
static void expect_clean_page(void)
{
	server_advance(s, 1000);
	AUTO(rest_freep) struct http_result r     = http_get(s->rooms_status_port, "/");
	AUTO(rest_freep) struct http_result stats = http_get(s->rooms_status_port, "/api/stats");

	cr_assert_eq(r.status, 200);
	for (char *line = strtok(r.body, "\n"); line; line = strtok(NULL, "\n")) {
		expect_clean("the page", line, strlen(line));
		cr_expect_null(strstr(line, "<b>"), "%s", line);
	}
	expect_clean_json("the page's JSON", &stats);
}

/* No cell is a formula, which begins at the beginning of a cell, in quotes or not. The numbers here are not negative. */
static void expect_clean_csv(const char *path)
{
	AUTO(rest_freep) struct http_result r       = admin_get(s, path);
	bool                                in_text = false, begins = true;
	size_t                              cells = 0;

	cr_assert_eq(r.status, 200);
	for (size_t i = 0; i < r.body_len; i++) {
		char c = r.body[i];

		if (begins && c != '"')
			cr_expect_null(strchr("=+-@\t", c), "a cell begins with %c: %s", c, r.body + i);
		in_text ^= c == '"';
		begins = (begins && c == '"') || (!in_text && (c == ',' || c == '\n'));
		cells += !in_text && c == ',';
		cr_expect(c == '\r' || c == '\n' || c == '\t' || (unsigned char)c >= ' ');
	}
	cr_expect_eq(cells, 3 * (COUNT_OF(texts) + 1));
	cr_expect(text_is_utf8(r.body, r.body_len));
}

/* --- Planting it --- */

/* In a title, a name, a comment, data of rooms and members, and a message. */
static struct gamer *plant_in_rooms(size_t i)
{
	struct gamer_blob bytes = BYTES(texts[i].bytes, strlen(texts[i].bytes));
	struct gamer     *c     = gamer_new(s, "NPWR00860_00", texts[i].bytes);
	struct gamer_plan plan  = { .max = 4, .external = bytes, .internal = bytes, .data = bytes };
	uint64_t          room  = gamer_plan(c, &plan)->room_id;

	gamer_say(c, room, 0, bytes);
	gamer_score(c, 7, 0, (int64_t)i, bytes);
	return c;
}

static struct gamer *plant_in_title(size_t i)
{
	char          name[GAMER_NAME_BYTES];
	struct gamer *c;

	text_format(name, sizeof(name), "player %zu", i);
	c = gamer_new(s, texts[i].bytes, name);
	gamer_create(c, 4, NOTHING);
	gamer_score(c, 1, 0, 1, NOTHING);
	return c;
}

static void plant_in_lobbies(size_t i)
{
	static const char *const fields[] = { "name", "world", "version", "build_sha", "build_key", "build_sig" };
	struct master_host       h;
	char                     members[600];
	size_t                   len = 0;

	for (size_t f = 0; f < COUNT_OF(fields); f++)
		len += (size_t)snprintf(members + len, sizeof(members) - len, "%s\"%s\":\"%s\"", f ? "," : "",
		                        fields[f], texts[i].json);
	master_open(&h, s, HOST, members);
}

Test(hostile_text, of_rooms_boards_and_lobbies_stays_text_wherever_people_look)
{
	struct gamer *players[COUNT_OF(texts)], *titled[COUNT_OF(texts)];

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		players[i] = plant_in_rooms(i);
		titled[i]  = plant_in_title(i);
		plant_in_lobbies(i);
	}
	server_await_metric(s, "coopd_rooms_scores_waiting", NULL, 0, DIAL_PATIENCE_MS);
	expect_clean_answer("/admin/v1/rooms");
	expect_clean_answer("/admin/v1/rooms/players");
	expect_clean_answer("/admin/v1/boards");
	expect_clean_answer("/admin/v1/boards/NPWR00860_00/7");
	expect_clean_answer("/admin/v1/lobbies");
	expect_clean_csv("/admin/v1/boards/NPWR00860_00/7/csv");
	expect_clean_page();
	expect_clean_views();
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		gamer_free(players[i]);
		gamer_free(titled[i]);
	}
}
