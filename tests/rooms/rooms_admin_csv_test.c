/*
 * Boards as CSV out of a running server and back into it: nothing is changed on the way, all or nothing is taken, limits hold, and
 * scores that players record meanwhile are not lost.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/dial.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "NPWR00860_00"
#define BOARD "/admin/v1/boards/" TITLE "/7"
#define CSV   BOARD "/csv"
#define HEAD  "name,score,comment,recorded_at\r\n"
#define MIB   ((size_t)1024 * 1024)

static struct server *s;

static void start(void)
{
	s = server_start(NULL);
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(rooms_admin_csv, .init = start, .fini = stop, .timeout = 240);

static void score(const char *name, int64_t points, struct gamer_blob comment)
{
	struct gamer *c = gamer_new(s, TITLE, name);

	gamer_score(c, 7, 0, points, comment);
	gamer_free(c);
}

/* For free(). */
static char *exported(void)
{
	AUTO(rest_freep) struct http_result r = admin_get(s, CSV);
	char                               *text;

	admin_expect(&r, 200, NULL);
	text = strdup(r.body);
	cr_assert_not_null(text);
	cr_expect_eq(strlen(text), r.body_len, "there is no NUL in it");
	return text;
}

static struct http_result import(const char *text)
{
	return admin_ask(s, "POST", CSV, text);
}

static void expect_import(const char *text, int64_t imported, int64_t skipped)
{
	AUTO(rest_freep) struct http_result r = import(text);

	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "imported"), imported, "%s", r.body);
	cr_expect_eq(rest_int(&r, "skipped"), skipped, "%s", r.body);
}

static void expect_refused(const char *text, const char *why)
{
	AUTO(rest_freep) struct http_result r = import(text);

	admin_expect(&r, 422, "invalid");
	cr_expect_not_null(strstr(r.body, why), "%s in %s", why, r.body);
}

/* --- Out --- */

Test(rooms_admin_csv, a_board_is_exported_from_the_best_row)
{
	char type[100], file[200];

	score("bob", -5, NOTHING);
	score("alice", 9, TEXT("=1+1"));
	AUTO(rest_freep) struct http_result r = admin_get(s, CSV);

	admin_expect(&r, 200, NULL);
	cr_expect_str_eq(http_result_header(&r, "Content-Type", type, sizeof(type)), "text/csv; charset=utf-8");
	cr_expect_str_eq(http_result_header(&r, "Content-Disposition", file, sizeof(file)),
	                 "attachment; filename=\"board-NPWR00860_00-7.csv\"");
	cr_expect_eq(strncmp(r.body, HEAD "alice,9,'=1+1,20", strlen(HEAD "alice,9,'=1+1,20")), 0, "%s", r.body);
	cr_expect_not_null(strstr(r.body, "Z\r\nbob,-5,,20"), "a number is a number: %s", r.body);
}

/* Any title is a name of a file all the same. */
Test(rooms_admin_csv, a_hostile_title_is_no_field_of_the_head)
{
	struct gamer *c = gamer_new(s, "a\"\r\nX: y/..", "alice");
	char          file[200];

	gamer_score(c, 1, 0, 1, NOTHING);
	gamer_free(c);
	AUTO(rest_freep) struct http_result r = admin_get(s, "/admin/v1/boards/~61220d0a583a20792f2e2e/1/csv");

	admin_expect(&r, 200, NULL);
	cr_expect_str_eq(http_result_header(&r, "Content-Disposition", file, sizeof(file)),
	                 "attachment; filename=\"board-a___X__y___-1.csv\"");
}

/* More than one helping of the loop's. */
Test(rooms_admin_csv, a_large_board_is_exported_whole)
{
	AUTO(auto_free) char *csv = calloc(1, MIB), *out = NULL;
	size_t                len = (size_t)sprintf(csv, HEAD);

	score("p0", 1, NOTHING);
	for (int i = 0; i < 3000; i++)
		len += (size_t)sprintf(csv + len, "p%d,%d,c%d,2026-12-01T09:30:00Z\r\n", i, 3000 - i, i);
	expect_import(csv, 3000, 0);
	out = exported();
	cr_expect_str_eq(out, csv);
}

/* --- And back --- */

static const struct gamer_blob comments[] = { TEXT("=cmd|' /C calc'!A0"),
	                                      TEXT("a,\"b\""),
	                                      TEXT("line\r\nline"),
	                                      TEXT("nul\0behind"),
	                                      TEXT("\xff\xfe"),
	                                      TEXT("\xe2\x80\xae"
	                                           "evil"),
	                                      TEXT("'quoted"),
	                                      TEXT("~41"),
	                                      TEXT("\t tab") };
static const char *const       names[]    = {
		 "=A1", "a,\"b\"", "c\r\nd", "+e", "\xff\x80", "~636363", "'=x", "@SUM", "<b>&amp;"
};

/* What players see of each row, bytes and all. */
static void expect_as_it_was(const struct gamer_message *was, const struct gamer_message *is)
{
	cr_assert_eq(was->count, is->count);
	for (size_t i = 0; i < was->count; i++) {
		cr_expect_eq(was->rows[i].rank, is->rows[i].rank);
		cr_expect_str_eq(was->rows[i].name, is->rows[i].name);
		cr_expect_eq(was->rows[i].score, is->rows[i].score);
		cr_expect_eq(was->rows[i].recorded, is->rows[i].recorded);
		cr_expect(gamer_blob_is(was->rows[i].comment, is->rows[i].comment), "row %zu", i);
	}
}

Test(rooms_admin_csv, export_and_import_is_the_identity)
{
	struct gamer *c;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		score(names[i], i % 2 ? 5 : -(int64_t)i, comments[i]);
		server_advance(s, 61000);
	}
	c                               = gamer_new(s, TITLE, "looker");
	const struct gamer_message *was = gamer_ranking(c, 7, 1, 100);
	AUTO(auto_free) char       *csv = exported(), *again = NULL, *later = NULL;

	/* Onto itself: nothing is changed. */
	expect_import(csv, 0, COUNT_OF(names));
	expect_as_it_was(was, gamer_ranking(c, 7, 1, 100));

	/* Into an empty board, and from there. */
	AUTO(rest_freep) struct http_result reset = admin_ask(s, "DELETE", BOARD, NULL);

	admin_expect(&reset, 200, NULL);
	expect_import(csv, COUNT_OF(names), 0);
	expect_as_it_was(was, gamer_ranking(c, 7, 1, 100));
	again = exported();
	cr_expect_str_eq(again, csv);
	gamer_free(c);
	server_kill(s);
	server_restart(s);
	later = exported();
	cr_expect_str_eq(later, csv);
}

Test(rooms_admin_csv, rows_replace_those_of_the_same_name_and_others_stay)
{
	AUTO(auto_free) char *out = NULL;

	score("alice", 100, TEXT("cheated"));
	score("bob", 50, NOTHING);
	expect_import(HEAD "ALICE,10,honest,2026-12-01T09:30:00Z\r\ncarol,20,,\r\n", 2, 0);
	out = exported();
	cr_expect_not_null(strstr(out, "bob,50,,20"), "%s", out);
	cr_expect_not_null(strstr(out, "Z\r\ncarol,20,,\r\nALICE,10,honest,2026-12-01T09:30:00Z\r\n"), "%s", out);
	/* What he records now is compared with that. */
	score("alice", 11, NOTHING);
	AUTO(auto_free) char *later = exported();
	cr_expect_not_null(strstr(later, "\r\nalice,11,,"), "%s", later);
}

Test(rooms_admin_csv, a_wrong_line_is_named_and_nothing_is_taken)
{
	AUTO(auto_free) char *before = NULL, *after = NULL;

	score("alice", 1, NOTHING);
	before = exported();
	expect_refused(HEAD "bob,2,,\r\ncarol,x,,\r\n", "line 3 has no score");
	expect_refused(HEAD "bob,2,,\r\nBOB,3,,\r\n", "line 3 has a name that is there twice");
	expect_refused(HEAD "bob,2,,2026-13-01T00:00:00Z\r\n", "line 2 has no time");
	expect_refused("name;score\r\n", "line 1 is not the head line");
	expect_refused("", "line 1 is not the head line");
	expect_refused(HEAD "\"bob,2,,\r\n", "line 2 has a quote that is never closed");
	after = exported();
	cr_expect_str_eq(after, before);
}

Test(rooms_admin_csv, a_dry_run_says_what_it_would_do)
{
	AUTO(auto_free) char *before = NULL, *after = NULL;

	score("alice", 1, NOTHING);
	before = exported();

	char *longer = calloc(1, strlen(before) + 40);
	sprintf(longer, "%sbob,2,,\r\n", before);
	AUTO(rest_freep) struct http_result r = admin_ask(s, "POST", CSV "?dry_run=true", longer);

	free(longer);
	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "imported"), 1);
	cr_expect_eq(rest_int(&r, "skipped"), 1);
	cr_expect(rest_bool(&r, "dry_run"));
	AUTO(rest_freep) struct http_result bad = admin_ask(s, "POST", CSV "?dry_run=true", HEAD "a,b,c,d\r\n");
	admin_expect(&bad, 422, "invalid");
	AUTO(rest_freep) struct http_result none = admin_ask(s, "POST", BOARD "0/csv?dry_run=true", HEAD);
	admin_expect(&none, 404, "not_found");
	after = exported();
	cr_expect_str_eq(after, before);
}

/* --- Limits --- */

Test(rooms_admin_csv, a_board_is_filled_and_not_one_row_more)
{
	server_set(s, "limits.rooms_rows_per_board=5");
	server_restart(s);
	score("alice", 1, NOTHING);
	score("bob", 2, NOTHING);
	expect_refused(HEAD "bob,3,,\r\nc,1,,\r\nd,1,,\r\ne,1,,\r\n\r\nf,1,,\r\n", "line 7 would be a row more");
	expect_refused(HEAD "a,1,,\r\nb,1,,\r\nc,1,,\r\nd,1,,\r\ne,1,,\r\nf,1,,\r\n", "line 7 is one row more");
	expect_import(HEAD "bob,3,,\r\nc,1,,\r\nd,1,,\r\ne,1,,\r\n", 4, 0);
	cr_expect_eq(server_metric(s, "coopd_rooms_rows", NULL), 5);
	expect_import(HEAD "alice,9,,\r\n", 1, 0);
	expect_refused(HEAD "z,9,,\r\n", "limits.rooms_rows_per_board");
}

Test(rooms_admin_csv, all_boards_are_filled_and_not_one_row_more)
{
	struct gamer *c;

	server_set(s, "limits.rooms_rows=5");
	server_restart(s);
	c = gamer_new(s, TITLE, "alice");
	gamer_score(c, 8, 0, 1, NOTHING);
	gamer_score(c, 7, 0, 1, NOTHING);
	expect_refused(HEAD "b,1,,\r\nc,1,,\r\nd,1,,\r\ne,1,,\r\n",
	               "line 5 would be a row more than limits.rooms_rows ");
	expect_import(HEAD "b,1,,\r\nc,1,,\r\nd,1,,\r\n", 3, 0);
	gamer_expect_error(c, gamer_ask_score(c, 9, 0, 1, NOTHING), SAYS_LIMIT);
	gamer_free(c);
}

Test(rooms_admin_csv, four_mib_are_taken_and_not_one_byte_more)
{
	size_t                most = 4 * MIB;
	AUTO(auto_free) char *text = malloc(most + 2);

	score("alice", 1, NOTHING);
	memset(text, '\n', most + 1);
	memcpy(text, HEAD "bob,2,,", strlen(HEAD "bob,2,,"));
	text[most] = '\0';
	expect_import(text, 1, 0);
	text[most]                            = '\n';
	text[most + 1]                        = '\0';
	AUTO(rest_freep) struct http_result r = import(text);
	cr_expect_eq(r.status, 413);
}

/* --- At the same time --- */

#define CROWD 20000

struct importer {
	pthread_t          thread;
	int                fd; /* connected, whatever becomes of the server */
	char              *csv;
	struct http_result result;
};

static void *run_import(void *arg)
{
	struct importer *i = arg;

	char  *request = malloc(2 * MIB + 1000);
	size_t len;

	if (!request)
		return NULL;
	len       = (size_t)sprintf(request,
	                            "POST " CSV " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	                                  "Content-Length: %zu\r\n\r\n%s",
	                            strlen(i->csv), i->csv);
	i->result = http_exchange_on(i->fd, request, len, ADMIN_PATIENCE_MS);
	free(request);
	return NULL;
}

/* player-0 to player-19999, each with 1000. */
static void begin_import(struct importer *i)
{
	size_t len;

	i->csv = malloc(2 * MIB);
	cr_assert_not_null(i->csv);
	len = (size_t)sprintf(i->csv, HEAD);
	for (int n = 0; n < CROWD; n++)
		len += (size_t)sprintf(i->csv + len, "player-%d,1000,imported,\r\n", n);
	i->fd = dial_unix(s->admin_socket);
	cr_assert_geq(i->fd, 0);
	cr_assert_eq(pthread_create(&i->thread, NULL, run_import, i), 0);
}

static bool has_row(const char *csv, const char *name, int64_t points)
{
	char want[100];

	snprintf(want, sizeof(want), "\r\n%s,%lld,", name, (long long)points);
	return strstr(csv, want) != NULL;
}

static void expect_row(const char *csv, const char *name, int64_t points)
{
	cr_expect(has_row(csv, name, points), "no %s,%lld", name, (long long)points);
}

/*
 * Some who play all the time are in the file, some are not: nobody else's row is touched, and memory and disk agree. Which score
 * comes when, to the moment, is rooms_change_test's.
 */
Test(rooms_admin_csv, scores_recorded_during_an_import_are_not_lost)
{
	struct importer       i = { 0 };
	struct gamer         *players[20], *others[20];
	char                  name[32];
	AUTO(auto_free) char *before = NULL, *after = NULL;
	int64_t               imported;

	server_set(s, "limits.rooms_score_burst=100000");
	server_restart(s);
	score("starter", 1, NOTHING);
	for (int n = 0; n < 20; n++) {
		snprintf(name, sizeof(name), "player-%d", n * 1000);
		players[n] = gamer_new(s, TITLE, name);
		snprintf(name, sizeof(name), "other-%d", n);
		others[n] = gamer_new(s, TITLE, name);
	}
	begin_import(&i);
	for (int round = 0; round < 40; round++) {
		for (int n = 0; n < 20; n++) {
			gamer_score(players[n], 7, 0, round < 39 ? round : 2000 + n, NOTHING);
			gamer_score(others[n], 7, 0, round + n, NOTHING);
		}
	}
	pthread_join(i.thread, NULL);
	admin_expect(&i.result, 200, NULL);
	imported = rest_int(&i.result, "imported");
	cr_expect_eq(imported + rest_int(&i.result, "skipped"), CROWD);
	cr_expect_geq(imported, CROWD - 20);
	before = exported();
	for (int n = 0; n < 20; n++) {
		snprintf(name, sizeof(name), "player-%d", n * 1000);
		/* His last score was better than what is in the file, and came before it or after. */
		cr_expect(has_row(before, name, 2000 + n) || has_row(before, name, 1000), "%s has another row", name);
		snprintf(name, sizeof(name), "other-%d", n);
		expect_row(before, name, 39 + n);
		gamer_free(players[n]);
		gamer_free(others[n]);
	}
	expect_row(before, "player-19999", 1000);
	/* What is on disk is what players saw. */
	server_restart(s);
	after = exported();
	cr_expect_str_eq(after, before);
	http_result_free(&i.result);
	free(i.csv);
}

/* Somebody who plays while his row goes has a new one, or none; in memory and on disk it is the same. */
Test(rooms_admin_csv, scores_recorded_while_rows_are_removed_are_kept_as_they_are_seen)
{
	struct gamer *alice;

	server_set(s, "limits.rooms_score_burst=100000");
	server_restart(s);
	alice = gamer_new(s, TITLE, "alice");
	for (int n = 0; n < 30; n++) {
		uint32_t req;

		gamer_score(alice, 7, 0, n, NOTHING);
		req = gamer_ask_score(alice, 7, 0, n + 1000, NOTHING);
		AUTO(rest_freep)
		struct http_result r = admin_ask(s, "DELETE", n % 2 ? BOARD : BOARD "/scores/alice", NULL);

		admin_expect(&r, 200, NULL);
		gamer_answer(alice, req);
	}
	gamer_score(alice, 7, 0, 5000, NOTHING);

	AUTO(auto_free) char *before = exported(), *after = NULL;

	expect_row(before, "alice", 5000);
	gamer_free(alice);
	server_restart(s);
	after = exported();
	cr_expect_str_eq(after, before);
}

Test(rooms_admin_csv, changes_of_several_operators_come_one_after_the_other)
{
	struct importer i[3] = { 0 };

	score("starter", 1, NOTHING);
	for (size_t n = 0; n < COUNT_OF(i); n++)
		begin_import(&i[n]);
	for (size_t n = 0; n < COUNT_OF(i); n++) {
		pthread_join(i[n].thread, NULL);
		admin_expect(&i[n].result, 200, NULL);
		cr_expect_eq(rest_int(&i[n].result, "imported") + rest_int(&i[n].result, "skipped"), CROWD);
		http_result_free(&i[n].result);
		free(i[n].csv);
	}
	cr_expect_eq(server_metric(s, "coopd_rooms_rows", NULL), CROWD + 1);
}

/* A stop while it is under way ends in time, and keeps all or nothing. */
Test(rooms_admin_csv, a_stop_during_an_import_takes_all_or_nothing)
{
	struct importer i = { 0 };
	double          rows;

	score("starter", 1, NOTHING);
	begin_import(&i);
	server_stop(s);
	pthread_join(i.thread, NULL);
	server_restart(s);
	rows = server_metric(s, "coopd_rooms_rows", NULL);
	cr_expect(rows == 1 || rows == CROWD + 1, "%g rows", rows);
	http_result_free(&i.result);
	free(i.csv);
}

Test(rooms_admin_csv, a_crash_during_an_import_takes_all_or_nothing)
{
	struct importer i = { 0 };
	double          rows;

	score("starter", 1, NOTHING);
	server_advance(s, 1000);
	server_await_metric(s, "coopd_rooms_scores_waiting", NULL, 0, DIAL_PATIENCE_MS);
	begin_import(&i);
	server_await_metric(s, "coopd_rooms_boards", NULL, 1, DIAL_PATIENCE_MS);
	server_kill(s);
	pthread_join(i.thread, NULL);
	server_restart(s);
	rows = server_metric(s, "coopd_rooms_rows", NULL);
	cr_expect(rows == 1 || rows == CROWD + 1, "%g rows", rows);
	http_result_free(&i.result);
	free(i.csv);
}
