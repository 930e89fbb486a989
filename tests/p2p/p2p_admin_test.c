/*
 * Sessions and rooms of peer to peer, for operators.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/dial.h"
#include "support/p2p_peer.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define PEOPLE 8

static struct server         *s;
static struct p2p_peer        people[PEOPLE];
static struct p2p_peer *const ann = &people[0], *const ben = &people[1], *const cid = &people[2];
static char room[16], named[40];

static void start(void)
{
	s = server_start((const char *const[]){ "limits.p2p_ping_ms=60000", "limits.p2p_silence_ms=600000",
	                                        "limits.ws_ping_ms=3600000", "p2p.listen1=127.0.0.1",
	                                        "p2p.listen2=127.0.0.2", "p2p.allow_loopback=yes", NULL });
}

static void stop(void)
{
	for (size_t i = 0; i < PEOPLE; i++) {
		if (people[i].ws)
			p2p_peer_free(&people[i]);
	}
	server_finish(s);
}

TestSuite(p2p_admin, .init = start, .fini = stop, .timeout = 120);

/* --- Words --- */

static const char *path_of(const char *kind, const char *name, const char *more)
{
	static char paths[4][100];
	static int  next;
	char       *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "/admin/v1/p2p/%s/%s%s", kind, name, more);
	return path;
}

static void expect_path(const char *method, const char *path, int status, const char *code)
{
	ANSWER r = admin_ask(s, method, path, NULL);

	admin_expect(&r, status, code);
}

static void expect_text(const struct http_result *r, const char *way, const char *want)
{
	char text[100];

	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), want, "%s: %s", way, r->body);
}

static void gather(size_t count)
{
	for (size_t i = 0; i < count; i++)
		p2p_peer_open(&people[i], s, (int)i + 1);
	p2p_peer_ask(ann, "p2p.create", "");
	p2p_peer_string(room, sizeof(room), ann, "room");
	snprintf(named, sizeof(named), ",\"room\":\"%s\"", room);
	for (size_t i = 1; i < count; i++)
		p2p_peer_ask(&people[i], "p2p.join", named);
}

/* It is there still, and gets answers. */
static void expect_alive(struct p2p_peer *p)
{
	p2p_peer_ask(p, "nat.get", "");
	cr_expect_not_null(strstr(p->text, "\"ok\":true"), "%s", p->text);
}

/* --- What is seen --- */

Test(p2p_admin, a_session_is_seen_with_room_seat_nat_and_addresses)
{
	char mapped[40];

	p2p_peer_open(ann, s, 1);
	ANSWER alone = admin_get(s, "/admin/v1/p2p/sessions");
	admin_expect(&alone, 200, NULL);
	cr_expect_eq(rest_count(&alone, "items"), 1);
	expect_text(&alone, "items.0.player", ann->uid);
	expect_text(&alone, "items.0.address", "127.0.0.1");
	cr_expect_not_null(strstr(alone.body,
	                          "\"room\":null,\"seat\":null,\"nat\":null,\"mapped\":null,\"latency_ms\":null"),
	                   "%s", alone.body);
	p2p_peer_be_mapped(ann);
	p2p_peer_string(mapped, sizeof(mapped), ann, "mapped");
	p2p_peer_be_open(ann);
	p2p_peer_ask(ann, "p2p.create", "");
	p2p_peer_string(room, sizeof(room), ann, "room");
	p2p_peer_pong(ann);
	expect_alive(ann);

	ANSWER r = admin_get(s, "/admin/v1/p2p/sessions");
	admin_expect(&r, 200, NULL);
	expect_text(&r, "items.0.room", room);
	cr_expect_eq(rest_int(&r, "items.0.seat"), 0);
	expect_text(&r, "items.0.nat", "open");
	expect_text(&r, "items.0.mapped", mapped);
	cr_expect_geq(rest_int(&r, "items.0.latency_ms"), 0);
	cr_expect_null(strstr(r.body, "\"since_at\":null"));
}

Test(p2p_admin, a_room_is_seen_with_its_members_and_groups)
{
	gather(3);
	ANSWER list = admin_get(s, "/admin/v1/p2p/rooms");
	admin_expect(&list, 200, NULL);
	cr_expect_eq(rest_count(&list, "items"), 1);
	expect_text(&list, "items.0.room", room);
	expect_text(&list, "items.0.room_key", room);
	cr_expect_eq(rest_int(&list, "items.0.members"), 3);
	cr_expect_eq(rest_int(&list, "items.0.epoch"), 0);
	cr_expect_eq(rest_int(&list, "items.0.groups"), 0);
	cr_expect_not_null(strstr(list.body, "\"game\":null"));
	for (size_t i = 0; i < 3; i++)
		p2p_peer_be_mapped(&people[i]);
	p2p_peer_ask(ann, "p2p.start", "");
	p2p_peer_await_frame(ann);
	p2p_peer_ask(ann, "p2p.links", ",\"max\":2");

	ANSWER one = admin_get(s, path_of("rooms", room, ""));
	admin_expect(&one, 200, NULL);
	cr_expect_eq(rest_int(&one, "epoch"), 1);
	cr_expect_eq(rest_int(&one, "groups"), 2);
	cr_expect_eq(rest_count(&one, "member_list"), 3);
	for (size_t i = 0; i < 3; i++) {
		char way[40];

		snprintf(way, sizeof(way), "member_list.%zu.player", i);
		expect_text(&one, way, people[i].uid);
		snprintf(way, sizeof(way), "member_list.%zu.seat", i);
		cr_expect_eq(rest_int(&one, way), (int)i);
		snprintf(way, sizeof(way), "member_list.%zu.group", i);
		cr_expect_leq(rest_int(&one, way), 1);
	}
}

Test(p2p_admin, the_room_of_a_game_says_its_code_and_ends_with_the_game)
{
	char              key[33], members[40], key_path[100];
	uint8_t           player[KEY_BYTES] = { 0 };
	uint32_t          code;
	struct ws_client *host;

	p2p_peer_open(ann, s, 1);
	/* The tunnel's player of the same key. */
	player[KEY_BYTES - 1] = 1;
	for (size_t i = 0; i < KEY_BYTES; i++)
		snprintf(key + 2 * i, 3, "%02x", player[i]);
	host = host_open(s->tunnel_port, key, &code);
	snprintf(members, sizeof(members), ",\"room\":\"game:%u\"", (unsigned)code);
	p2p_peer_ask(ann, "p2p.join", members);
	cr_assert_not_null(strstr(ann->text, "\"ok\":true"), "%s", ann->text);

	ANSWER list = admin_get(s, "/admin/v1/p2p/rooms");
	cr_expect_eq(rest_int(&list, "items.0.game"), code);
	rest_text(&list, "items.0.room_key", members, sizeof(members));
	snprintf(key_path, sizeof(key_path), "/admin/v1/p2p/rooms/%s", members);
	expect_path("GET", key_path, 200, NULL);
	snprintf(key_path, sizeof(key_path), "/admin/v1/games/%u", (unsigned)code);
	expect_path("DELETE", key_path, 200, NULL);
	p2p_peer_await(ann, "\"event\":\"left\"");
	ANSWER none = admin_get(s, "/admin/v1/p2p/rooms");
	cr_expect_eq(rest_count(&none, "items"), 0);
	expect_alive(ann);
	ws_expect_closed(host);
	ws_client_free(host);
}

/* --- Ends --- */

Test(p2p_admin, a_disconnected_player_leaves_his_room_and_may_come_back)
{
	gather(2);
	ANSWER tried = admin_ask(s, "DELETE", path_of("sessions", ben->uid, "?dry_run=true"), NULL);
	admin_expect(&tried, 200, NULL);
	cr_expect(rest_bool(&tried, "dry_run"));
	expect_alive(ben);
	expect_path("DELETE", path_of("sessions", ben->uid, ""), 200, NULL);
	p2p_peer_await(ann, "\"event\":\"left\"");
	cr_expect_not_null(strstr(ann->text, ben->uid));
	expect_path("DELETE", path_of("sessions", ben->uid, ""), 404, "not_found");
	cr_expect_eq(server_metric(s, "coopd_p2p_closed_total", "reason=\"operator\""), 1);
	server_await_metric(s, "coopd_p2p_sessions", NULL, 1, DIAL_PATIENCE_MS);
	p2p_peer_free(ben);
	p2p_peer_open(ben, s, 2);
	p2p_peer_ask(ben, "p2p.join", named);
	cr_expect_not_null(strstr(ben->text, "\"ok\":true"), "%s", ben->text);
}

Test(p2p_admin, a_closed_room_is_left_by_all_who_stay_connected)
{
	gather(3);
	ANSWER tried = admin_ask(s, "DELETE", path_of("rooms", room, "?dry_run=true"), NULL);
	admin_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "members"), 3);
	expect_path("GET", path_of("rooms", room, ""), 200, NULL);

	ANSWER r = admin_ask(s, "DELETE", path_of("rooms", room, ""), NULL);
	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "members"), 3);
	for (size_t i = 0; i < 3; i++) {
		char own[60];

		snprintf(own, sizeof(own), "\"uid\":\"%s\",\"seat\":%zu,\"event\":\"left\"", people[i].uid, i);
		p2p_peer_await(&people[i], own);
		expect_alive(&people[i]);
	}
	expect_path("GET", path_of("rooms", room, ""), 404, "not_found");
	expect_path("DELETE", path_of("rooms", room, ""), 404, "not_found");
	cr_expect_eq(server_metric(s, "coopd_p2p_rooms", NULL), 0);
	p2p_peer_ask(cid, "p2p.join", named);
	cr_expect_not_null(strstr(cid->text, "no_room"), "%s", cid->text);
}

/* --- Pages --- */

/* Walks all pages of two; after the first, does something. Things in order, each once; how many. */
static size_t walk(const char *list, const char *member, void (*between)(const char *last))
{
	char   cursor[260] = "", path[320], way[40], text[80], last[80] = "";
	size_t count = 0, pages = 0;

	do {
		snprintf(path, sizeof(path), "/admin/v1/p2p/%s?limit=2%s%s", list, *cursor ? "&cursor=" : "", cursor);
		ANSWER r = admin_get(s, path);
		admin_expect(&r, 200, NULL);
		for (size_t k = 0; k < rest_count(&r, "items"); k++, count++) {
			snprintf(way, sizeof(way), "items.%zu.%s", k, member);
			rest_text(&r, way, text, sizeof(text));
			cr_expect_gt(strcmp(text, last), 0, "in order");
			snprintf(last, sizeof(last), "%s", text);
		}
		*cursor = '\0';
		if (!strstr(r.body, "\"next\":null"))
			rest_text(&r, "next", cursor, sizeof(cursor));
		if (pages++ == 0)
			between(last);
	} while (*cursor && pages < 10);
	cr_expect_geq(pages, 3);
	return count;
}

static void disconnect(const char *uid)
{
	expect_path("DELETE", path_of("sessions", uid, ""), 200, NULL);
}

Test(p2p_admin, pages_of_sessions_hold_while_they_come_and_go)
{
	for (size_t i = 0; i < 6; i++)
		p2p_peer_open(&people[i], s, (int)i + 1);
	cr_expect_eq(walk("sessions", "player", disconnect), 6);
}

static void close_room(const char *name)
{
	expect_path("DELETE", path_of("rooms", name, ""), 200, NULL);
}

Test(p2p_admin, pages_of_rooms_hold_while_they_come_and_go)
{
	for (size_t i = 0; i < 6; i++) {
		p2p_peer_open(&people[i], s, (int)i + 1);
		p2p_peer_ask(&people[i], "p2p.create", "");
	}
	cr_expect_eq(walk("rooms", "room", close_room), 6);
}

/* --- Refused --- */

Test(p2p_admin, what_is_not_there_is_not_found)
{
	static const char *const ids[]   = { "0011223344556677", "001122334455667", "00112233445566AA", "x" };
	static const char *const rooms[] = { "ABCDEFGH",  "game:123456", "~",    "~4",
		                             "~zz",       "~41424344",   "~00",  "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		                             "~e280ae41", "~c0af",       "a%00b" };

	p2p_peer_open(ann, s, 1);
	for (size_t i = 0; i < COUNT_OF(ids); i++)
		expect_path("DELETE", path_of("sessions", ids[i], ""), 404, "not_found");
	for (size_t i = 0; i < COUNT_OF(rooms); i++) {
		expect_path("GET", path_of("rooms", rooms[i], ""), 404, "not_found");
		expect_path("DELETE", path_of("rooms", rooms[i], ""), 404, "not_found");
	}
	expect_path("GET", "/admin/v1/p2p/sessions?limit=1001", 422, "invalid");
	expect_path("GET", "/admin/v1/p2p/rooms?cursor=q", 400, "malformed");
	expect_path("GET", "/admin/v1/p2p/rooms?cursor=00", 200, NULL);
	expect_path("GET", "/admin/v1/p2p/sessions?cursor=00", 200, NULL);
	expect_path("GET", "/admin/v1/p2p/sessions?room=1", 400, "malformed");
	expect_path("POST", "/admin/v1/p2p/rooms", 405, "method");
	expect_alive(ann);
}

/* --- Switched off --- */

TestSuite(p2p_admin_off, .timeout = 60);

Test(p2p_admin_off, a_part_that_is_off_says_so)
{
	static const char *const sets[] = { "p2p.enable=no", NULL };

	s = server_start(sets);
	expect_path("GET", "/admin/v1/p2p/sessions", 404, "part_off");
	expect_path("DELETE", "/admin/v1/p2p/rooms/ABCDEFGH", 404, "part_off");
	expect_path("GET", "/admin/v1/games", 200, NULL);
	server_finish(s);
}
