/*
 * The status page of a running server.
 */
#include "support/await.h"
#include "support/http_client.h"
#include "support/rooms_path.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/version.h"
#include "crypt/hash.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "NPWR00001_00"

static struct server *s;

static void start_with(const char *const *sets)
{
	s = server_prepare(sets);
	server_set(s, "rooms.status_listen=127.0.0.1:0");
	server_launch(s);
	server_await_ready(s);
}

static void start(void)
{
	static const char *const relay[] = { "rooms.relay=yes", NULL };

	start_with(relay);
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(rooms_status, .init = start, .fini = stop, .timeout = 300);

/* As it is now: what was shown within the last second is shown again. */
static struct http_result get(const char *path)
{
	server_advance(s, 1000);
	return http_get(s->rooms_status_port, path);
}

/* For free(). */
static char *stats(void)
{
	struct http_result r    = get("/api/stats");
	char              *body = NULL;

	cr_assert_eq(r.status, 200, "%d", r.status);
	body = strdup(r.body);
	http_result_free(&r);
	return body;
}

static void expect_header(const struct http_result *r, const char *name, const char *value)
{
	char got[512];

	cr_expect_str_eq(http_result_header(r, name, got, sizeof(got)), value, "%s", name);
}

static bool says(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

static int64_t figure(const char *key)
{
	AUTO(auto_free) char         *text  = stats();
	AUTO(json_freep) struct json *j     = NULL;
	int64_t                       value = -1;

	cr_assert_eq(json_parse_lenient(&j, text, strlen(text), 16), ERR_OK, "%s", text);
	cr_assert_eq(json_get_int(&value, j, key), ERR_OK, "%s in %s", key, text);
	return value;
}

/* --- What it shows --- */

Test(rooms_status, an_idle_server_shows_empty_arrays)
{
	struct http_result r = http_get(s->rooms_status_port, "/api/stats");

	cr_assert_eq(r.status, 200);
	expect_header(&r, "Content-Type", "application/json");
	cr_expect(says(r.body,
	               "\"clients\":0,\"connections_total\":0,\"rooms\":[],\"boards\":[],\"version\":\"" COOPD_VERSION
	               "\",\"relay\":true,\"relayed_bytes\":0,\"tcp_refused\":0,\"udp_dropped\":0,"
	               "\"streams_open\":0,\"limits\":{"),
	          "%s", r.body);
	http_result_free(&r);
}

Test(rooms_status, rooms_are_shown_by_id_with_names_in_join_order)
{
	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "Bob");
	struct gamer *carol = gamer_new(s, "NPWR00002_00", "carol"), *mute;
	uint64_t      first = gamer_create(alice, 4, NOTHING)->room_id;
	char          want[512];

	server_advance(s, 65000);
	uint64_t second = gamer_create(carol, 255, NOTHING)->room_id;

	gamer_join(bob, first, NOTHING);
	mute = gamer_dial(s);
	server_await_metric(s, "coopd_rooms_connections", NULL, 4, DIAL_PATIENCE_MS);

	AUTO(auto_free) char *text = stats();

	snprintf(want, sizeof(want),
	         "\"clients\":4,\"connections_total\":4,\"rooms\":["
	         "{\"id\":%d,\"title\":\"NPWR00001_00\",\"members\":[\"alice\",\"Bob\"],\"max\":4,\"age\":\"1m6s\"},"
	         "{\"id\":%d,\"title\":\"NPWR00002_00\",\"members\":[\"carol\"],\"max\":255,\"age\":\"1s\"}],",
	         (int)first, (int)second);
	/* The real clock goes on, too; it is seldom that slow. */
	if (says(text, "\"age\":\"1m6s\"") && says(text, "\"age\":\"1s\""))
		cr_expect(says(text, want), "%s\nin\n%s", want, text);
	gamer_leave(alice, first);

	AUTO(auto_free) char *later = stats();

	cr_expect(says(later, "\"members\":[\"Bob\"]"), "%s", later);
	gamer_free(alice);
	gamer_free(bob);
	gamer_free(carol);
	gamer_free(mute);
	server_await_metric(s, "coopd_rooms_connections", NULL, 0, DIAL_PATIENCE_MS);

	AUTO(auto_free) char *empty = stats();

	cr_expect(says(empty, "\"clients\":0,\"connections_total\":4,\"rooms\":[],"), "%s", empty);
}

Test(rooms_status, boards_are_shown_by_title_then_number)
{
	struct gamer *homer = gamer_new(s, "NPWR00002_00", "Homer"), *marge = gamer_new(s, TITLE, "Marge");

	gamer_score(homer, 7, 0, 50, NOTHING);
	gamer_score(homer, 3, 1, -50, NOTHING);
	gamer_score(marge, 4294967295, 1, 9, NOTHING);
	gamer_hello(marge, TITLE, "Bart", 3658);
	gamer_score(marge, 4294967295, 1, 8, NOTHING);

	AUTO(auto_free) char *text = stats();

	cr_expect(says(text,
	               "\"boards\":["
	               "{\"title\":\"NPWR00001_00\",\"board\":4294967295,\"entries\":2,\"leader\":\"Bart\",\"best\":8},"
	               "{\"title\":\"NPWR00002_00\",\"board\":3,\"entries\":1,\"leader\":\"Homer\",\"best\":-50},"
	               "{\"title\":\"NPWR00002_00\",\"board\":7,\"entries\":1,\"leader\":\"Homer\",\"best\":50}],"),
	          "%s", text);
	gamer_free(homer);
	gamer_free(marge);
}

Test(rooms_status, legs_are_connections_and_no_clients_and_streams_are_counted)
{
	struct gamer     *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t          room = gamer_create(alice, 4, NOTHING)->room_id;
	struct gamer_leg *a, *b;

	gamer_join(bob, room, NOTHING);
	gamer_expect_push(bob, PUSH_ROUTE);
	gamer_stream(&a, &b, alice, bob, 1);
	gamer_leg_send(a, TEXT("0123456789"));
	gamer_leg_expect(b, TEXT("0123456789"));

	AUTO(auto_free) char *text = stats();

	cr_expect(says(text, "\"clients\":2,\"connections_total\":4,"), "%s", text);
	cr_expect(says(text, "\"relayed_bytes\":10,\"tcp_refused\":0,\"udp_dropped\":0,\"streams_open\":1,"), "%s",
	          text);
	gamer_open_udp(alice, 0);
	gamer_send_udp(alice, "PSNR", 4);
	gamer_probe(alice);
	cr_expect_eq(figure("udp_dropped"), 1);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_status, refused_connections_and_limits_are_shown)
{
	static const char *const one[] = { "limits.rooms_connections=1", "limits.rooms_udp_rate=0", NULL };

	stop();
	start_with(one);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *other = gamer_dial(s);

	gamer_expect_end(other);

	AUTO(auto_free) char *text = stats();

	cr_expect(says(text, "\"relay\":false,\"relayed_bytes\":0,\"tcp_refused\":1,"), "%s", text);
	cr_expect(says(text, "\"limits\":{\"connections\":1,"), "%s", text);
	cr_expect(says(text, "\"udp_rate\":0,"), "%s", text);
	gamer_free(alice);
	gamer_free(other);
}

/* Whatever a peer can write that is shown anywhere. */
Test(rooms_status, text_of_peers_is_cleaned_for_people)
{
	struct gamer *eve = gamer_new(s, "<b>\xff\xe2\x80\x8f", "<script>a&\"'\x1b");

	gamer_create(eve, 4, TEXT("<i>external"));
	gamer_score(eve, 1, 0, 1, TEXT("<i>comment"));

	AUTO(auto_free) char *text = stats();
	struct http_result    page = get("/");

	cr_expect(says(text, "\"title\":\"<b>\xef\xbf\xbd\xef\xbf\xbd\",\"members\":[\"<script>a&\\\"'\xef\xbf\xbd\"]"),
	          "%s", text);
	cr_expect(says(text, "\"title\":\"<b>\xef\xbf\xbd\xef\xbf\xbd\",\"board\":1,\"entries\":1,\"leader\":\"<script>"
	                     "a&\\\"'\xef\xbf\xbd\""),
	          "%s", text);
	cr_expect(says(page.body, "<td>&lt;b&gt;\xef\xbf\xbd\xef\xbf\xbd<td>1 of "
	                          "4<td>&lt;script&gt;a&amp;&quot;&#39;\xef\xbf\xbd<td>"),
	          "%s", page.body);
	cr_expect(says(page.body, "<td>&lt;b&gt;\xef\xbf\xbd\xef\xbf\xbd<td>1<td>1<td>&lt;script&gt;a&amp;&quot;&#39;"
	                          "\xef\xbf\xbd<td>1"),
	          "%s", page.body);
	cr_expect_not(says(page.body, "<script"));
	cr_expect_not(says(page.body, "<i>"));
	cr_expect_not(says(text, "<i>"));
	http_result_free(&page);
	gamer_free(eve);
}

/* --- How it is served --- */

/* The page's own style sheet is the only thing that its rules let in. */
Test(rooms_status, the_page_reloads_itself_and_may_load_nothing)
{
	struct http_result page = get("/");
	uint8_t            digest[HASH_SHA256_BYTES];
	char               text[BASE64_BYTES(HASH_SHA256_BYTES)], want[256];
	const char        *style, *end;

	cr_assert_eq(page.status, 200);
	expect_header(&page, "Content-Type", "text/html; charset=utf-8");
	expect_header(&page, "X-Content-Type-Options", "nosniff");
	expect_header(&page, "Cache-Control", "no-store");
	cr_expect(says(page.body, "<meta http-equiv=\"refresh\" content=\"5\">"));
	style = strstr(page.body, "<style>");
	end   = strstr(page.body, "</style>");
	cr_assert(style && end);
	style += strlen("<style>");
	hash_sha256(digest, style, (size_t)(end - style));
	base64_encode(text, digest, sizeof(digest));
	snprintf(want, sizeof(want),
	         "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors "
	         "'none'",
	         text);
	expect_header(&page, "Content-Security-Policy", want);
	http_result_free(&page);
}

Test(rooms_status, other_paths_and_methods_are_refused)
{
	static const struct {
		const char *request;
		int         status;
	} cases[] = {
		{ "GET /api HTTP/1.1\r\nHost: a\r\n\r\n", 404 },
		{ "GET /api/stats/ HTTP/1.1\r\nHost: a\r\n\r\n", 404 },
		{ "GET /index.html HTTP/1.1\r\nHost: a\r\n\r\n", 404 },
		{ "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 404 },
		{ "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 404 },
		{ "POST /api/stats HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405 },
		{ "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", 405 },
		{ "HEAD /api/stats HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct http_result r = http_exchange(s->rooms_status_port, cases[i].request, strlen(cases[i].request),
		                                     DIAL_PATIENCE_MS);

		cr_expect_eq(r.status, cases[i].status, "%s %d", cases[i].request, r.status);
		http_result_free(&r);
	}
}

Test(rooms_status, it_is_made_at_most_once_a_second)
{
	struct gamer *alice = gamer_new(s, TITLE, "alice");

	cr_expect_eq(figure("clients"), 1);

	struct gamer      *bob   = gamer_new(s, TITLE, "bob");
	int64_t            at_ms = real_now_ms();
	struct http_result r     = http_get(s->rooms_status_port, "/api/stats");

	if (real_now_ms() - at_ms < 300) /* a slow machine is no error */
		cr_expect(says(r.body, "\"clients\":1,"), "%s", r.body);
	http_result_free(&r);
	cr_expect_eq(figure("clients"), 2);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_status, there_is_none_unless_it_is_asked_for)
{
	stop();
	s = server_start(NULL);
	cr_expect_eq(s->rooms_status_port, 0);
	cr_expect_not(server_log_contains(s, "part=rooms-status"));
}

/* The page waits for the loop, and the end of the loop for nobody. */
Test(rooms_status, a_server_that_stops_does_not_wait_for_its_page)
{
	int64_t at_ms;

	for (int i = 0; i < 5; i++)
		cr_expect_geq(figure("clients"), 0);
	at_ms = real_now_ms();
	server_stop(s);
	cr_expect_lt(real_now_ms() - at_ms, SERVER_STOP_MS);
}

Test(rooms_status, everything_a_thousand_rooms_say_is_shown)
{
	enum { PLAYERS = 32, ROOMS = 32 };
	static const char *const many[] = { "limits.rooms_rooms_per_player=64", NULL };
	struct gamer            *players[PLAYERS];
	char                     name[32];
	uint64_t                 id    = 0;
	size_t                   names = 0;

	stop();
	start_with(many);
	for (int p = 0; p < PLAYERS; p++) {
		snprintf(name, sizeof(name), "player%d", p);
		players[p] = gamer_new(s, TITLE, name);
		for (int i = 0; i < ROOMS && p * ROOMS + i < 1000; i++)
			id = gamer_create(players[p], 8, NOTHING)->room_id;
	}
	cr_expect_eq(id, 1000);
	for (uint64_t i = 0; i < 1000; i++) /* each is in as many of the next one's */
		gamer_join(players[(i / ROOMS + 1) % PLAYERS], i + 1, NOTHING);

	AUTO(auto_free) char *text = stats();
	struct http_result    page = get("/");

	for (const char *at = text; (at = strstr(at, "\"player")); at++)
		names++;
	cr_expect_eq(names, 2000);
	cr_expect(says(text, "{\"id\":1000,"));
	cr_expect(says(page.body, "Rooms: 1000"));
	cr_expect(says(page.body, "<tr><td>1000<td>"));
	fprintf(stderr, "a thousand rooms: %zu bytes of JSON, %zu of HTML\n", strlen(text), page.body_len);
	http_result_free(&page);
	for (int p = 0; p < PLAYERS; p++)
		gamer_free(players[p]);
}
