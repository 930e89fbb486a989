/*
 * Rooms of the whole server, over real sockets: who comes and goes, how P2P starts, what is said of pairs.
 */
#include "support/p2p_peer.h"

#include "base/auto.h"
#include "base/base64.h"
#include "p2p/p2p_sync_wire.h"
#include "support/dial.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEOPLE 6

/* Pings come once only, unless the test lets a minute pass. */
#define NO_PINGS "limits.p2p_ping_ms=60000", "limits.p2p_silence_ms=600000", "limits.ws_ping_ms=3600000"

static struct server         *s;
static struct p2p_peer        people[PEOPLE];
static char                   room[16];  /* its name */
static char                   named[32]; /* ,"room":"..." */
static struct p2p_peer *const ann = &people[0], *const ben = &people[1], *const cid = &people[2];

static void start(void)
{
	s = server_start((const char *const[]){ NO_PINGS, NULL });
}

/* Where limits per address count, and are small. */
static void start_strict(void)
{
	s = server_start((const char *const[]){ NO_PINGS, "server.production=yes", "p2p.listen1=127.0.0.1",
	                                        "limits.p2p_rooms_per_address=2", "limits.p2p_failed_joins=3", NULL });
}

static void start_few_joins(void)
{
	s = server_start((const char *const[]){ NO_PINGS, "server.production=yes", "p2p.listen1=127.0.0.1",
	                                        "limits.p2p_joins_per_minute=3", NULL });
}

static void start_small(void)
{
	s = server_start((const char *const[]){ NO_PINGS, "limits.p2p_rooms=2", "limits.p2p_members=3", NULL });
}

static void start_pinging(void)
{
	s = server_start((const char *const[]){ "limits.ws_ping_ms=3600000", NULL });
}

static void stop(void)
{
	for (size_t i = 0; i < PEOPLE; i++) {
		if (people[i].ws)
			p2p_peer_free(&people[i]);
	}
	server_finish(s);
}

TestSuite(rooms_p2p, .init = start, .fini = stop, .timeout = 120);

/* --- Words --- */

#define expect_part(p, part) cr_expect(strstr((p)->text, part), "%s: %s", part, (p)->text)

static void ask(struct p2p_peer *p, const char *op, const char *members, const char *part)
{
	p2p_peer_ask(p, op, members);
	cr_expect(strstr(p->text, part), "%s%s is not %s: %s", op, members, part, p->text);
}

#define OK         "\"ok\":true"
#define ERROR(e)   "\"ok\":false,\"error\":\"" e "\""
#define METRIC     "coopd_p2p_"
#define rooms()    server_metric(s, METRIC "rooms", "")
#define sessions() server_metric(s, METRIC "sessions", "")

static void open_some(size_t count)
{
	for (size_t i = 0; i < count; i++)
		p2p_peer_open(&people[i], s, (int)i + 1);
}

/* The first makes a room, and its name is the one of the test. */
static void create(struct p2p_peer *p, const char *members)
{
	ask(p, "p2p.create", members, OK);
	p2p_peer_string(room, sizeof(room), p, "room");
	snprintf(named, sizeof(named), ",\"room\":\"%s\"", room);
}

/* So many are in one room, on the seats 0 and up, and have read what was said of the others. */
static void gather(size_t count)
{
	open_some(count);
	create(ann, "");
	for (size_t i = 1; i < count; i++)
		ask(&people[i], "p2p.join", named, OK);
	for (size_t i = 0; i < count; i++)
		ask(&people[i], "p2p.join", named, OK);
}

/* The very next text. */
static void expect_next(struct p2p_peer *p, const char *text)
{
	p2p_peer_await(p, "");
	cr_expect_str_eq(p->text, text);
}

/* Nothing is on its way to it: the server answers a question, and that comes first. */
static void expect_quiet(struct p2p_peer *p)
{
	static const char question[] = "{\"op\":\"nat.get\",\"id\":7777}";

	ws_client_send_frame(p->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, question, strlen(question));
	p2p_peer_await(p, "");
	expect_part(p, "\"id\":7777");
}

static void expect_member(struct p2p_peer *p, const struct p2p_peer *of, int seat, const char *event)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"op\":\"p2p.member\",\"uid\":\"%s\",\"seat\":%d,\"event\":\"%s\"}", of->uid,
	         seat, event);
	expect_next(p, text);
}

/* The server closes; what still comes before that is not looked at. */
static void expect_closed(struct p2p_peer *p)
{
	struct ws_client_event e;

	do
		e = ws_client_receive(p->ws, DIAL_PATIENCE_MS);
	while (e.what == WS_PING || e.what == WS_MESSAGE);
	cr_expect_eq(e.what, WS_CLOSED);
}

/* --- Coming and going --- */

Test(rooms_p2p, whoever_creates_a_room_is_in_it_under_a_name_that_is_easily_read)
{
	char expected[160], last[16] = "";

	open_some(1);
	for (int i = 0; i < 5; i++) {
		create(ann, i % 2 ? ",\"max\":1" : ",\"max\":64");
		cr_expect_eq(strlen(room), 8);
		cr_expect_eq(strspn(room, "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"), 8, "%s", room);
		cr_expect_str_neq(room, last);
		snprintf(last, sizeof(last), "%s", room);
		snprintf(expected, sizeof(expected),
		         OK ",\"room\":\"%s\",\"seat\":0,\"members\":[{\"uid\":\"%s\",\"seat\":0}]}", room, ann->uid);
		expect_part(ann, expected);
	}
	cr_expect_eq(rooms(), 1, "he has left the others");
}

Test(rooms_p2p, what_is_wrong_in_create_and_join_has_its_word)
{
	static const struct {
		const char *op, *members, *part;
	} rows[] = {
		{ "p2p.create", ",\"max\":0", ERROR("bad_max") },
		{ "p2p.create", ",\"max\":65", ERROR("bad_max") },
		{ "p2p.create", ",\"max\":-1", ERROR("bad_max") },
		{ "p2p.create", ",\"max\":\"8\"", ERROR("bad_request") },
		{ "p2p.create", ",\"max\":2.5", ERROR("bad_request") },
		{ "p2p.join", "", ERROR("bad_request") },
		{ "p2p.join", ",\"room\":null", ERROR("bad_request") },
		{ "p2p.join", ",\"room\":7", ERROR("bad_request") },
		{ "p2p.join", ",\"room\":\"\"", ERROR("no_room") },
		{ "p2p.join", ",\"room\":\"QQQQQQQQ\"", ERROR("no_room") },
		{ "p2p.join", ",\"room\":\"QQQQQQQQQQQQQQQQQQQQ\"", ERROR("no_room") },
		{ "p2p.join", ",\"room\":\"game:123456\"", ERROR("no_room") },
		{ "p2p.leave", "", ERROR("not_in_room") },
		{ "p2p.start", "", ERROR("not_in_room") },
		{ "p2p.plan", ",\"uid\":\"x\"", ERROR("not_in_room") },
		{ "p2p.link", ",\"peer\":\"x\",\"state\":\"up\"", ERROR("not_in_room") },
		{ "p2p.ping_try_done", "", ERROR("not_in_room") },
	};

	open_some(1);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		ask(ann, rows[i].op, rows[i].members, rows[i].part);
	cr_expect_eq(rooms(), 0);
}

Test(rooms_p2p, all_hear_who_comes_and_who_leaves)
{
	char expected[256];

	open_some(3);
	create(ann, "");
	ask(ben, "p2p.join", named, OK);
	snprintf(expected, sizeof(expected),
	         "\"room\":\"%s\",\"seat\":1,\"members\":[{\"uid\":\"%s\",\"seat\":0},{\"uid\":\"%s\",\"seat\":1}]}",
	         room, ann->uid, ben->uid);
	expect_part(ben, expected);
	expect_member(ann, ben, 1, "joined");
	ask(ben, "p2p.join", named, expected);
	expect_quiet(ann);

	ask(ben, "p2p.leave", "", OK);
	expect_member(ann, ben, 1, "left");
	ask(ben, "p2p.leave", "", ERROR("not_in_room"));
	ask(cid, "p2p.join", named, "\"seat\":2,");
	expect_member(ann, cid, 2, "joined");
	ask(ben, "p2p.join", named, "\"seat\":3,");
	expect_member(cid, ben, 3, "joined");
	expect_quiet(ben);

	p2p_peer_free(cid);
	cid->ws = NULL;
	expect_member(ben, cid, 2, "left");
	ask(ann, "p2p.create", "", OK);
	expect_member(ben, ann, 0, "left");
	cr_expect_eq(rooms(), 2);
	ask(ben, "p2p.leave", "", OK);
	ask(ben, "p2p.join", named, ERROR("no_room"));
	cr_expect_eq(rooms(), 1);
}

Test(rooms_p2p, who_joins_another_room_leaves_the_first)
{
	gather(3);
	create(cid, "");
	expect_member(ann, cid, 2, "left");
	ask(ann, "p2p.join", named, "\"seat\":1,");
	expect_member(ben, cid, 2, "left");
	expect_member(ben, ann, 0, "left");
	expect_member(cid, ann, 1, "joined");
	expect_quiet(ann);
}

Test(rooms_p2p, who_is_refused_stays_where_he_is)
{
	gather(2);
	p2p_peer_open(cid, s, 3);
	create(cid, ",\"max\":1");
	ask(ann, "p2p.join", named, ERROR("room_full"));
	ask(ann, "p2p.join", ",\"room\":\"QQQQQQQQ\"", ERROR("no_room"));
	ask(ann, "p2p.create", ",\"max\":0", ERROR("bad_max"));
	expect_quiet(ben);
	ask(cid, "p2p.join", named, OK);
}

Test(rooms_p2p, who_is_silent_leaves, .init = start_pinging)
{
	gather(2);
	p2p_peer_pong(ann);
	server_advance(s, 5000);
	p2p_peer_expect_no_frame(ann); /* the ping has come, */
	p2p_peer_expect_no_frame(ann); /* and its pong is there */
	server_advance(s, 5000);
	p2p_peer_await(ann, "\"event\":\"left\"");
	expect_closed(ben);
	server_await_metric(s, METRIC "closed_total", "silent", 1, DIAL_PATIENCE_MS);
	cr_expect_eq(rooms(), 1);
}

Test(rooms_p2p, at_its_limits_the_server_makes_no_room_and_rooms_take_nobody, .init = start_small)
{
	open_some(4);
	ask(ben, "p2p.create", ",\"max\":4", ERROR("bad_max"));
	create(ben, "");
	create(ann, ",\"max\":3");
	ask(cid, "p2p.create", "", ERROR("room_limit"));
	ask(cid, "p2p.join", named, OK);
	ask(ben, "p2p.join", named, OK); /* his own room goes */
	ask(&people[3], "p2p.join", named, ERROR("room_full"));
	ask(ben, "p2p.join", named, OK);
	ask(&people[3], "p2p.create", "", OK);
	ask(ben, "p2p.leave", "", OK);
	ask(&people[3], "p2p.join", named, "\"seat\":3,");
}

/* Each takes a seat for good: without a limit one player could use up all of a room's. */
Test(rooms_p2p, an_address_joins_so_many_rooms_a_minute, .init = start_few_joins)
{
	open_some(2);
	create(ann, "");
	for (int i = 0; i < 3; i++) {
		ask(ben, "p2p.join", named, OK);
		ask(ben, "p2p.join", named, OK); /* he is there: no join */
		ask(ben, "p2p.leave", "", OK);
	}
	ask(ben, "p2p.join", named, ERROR("busy"));
	server_advance(s, 60000);
	ask(ben, "p2p.join", named, "\"seat\":4,");
}

/* --- The second session of a player --- */

Test(rooms_p2p, a_second_session_takes_the_seat_over)
{
	struct p2p_peer *again = &people[3];
	char             expected[96], link[96];

	gather(3);
	snprintf(link, sizeof(link), ",\"peer\":\"%s\",\"state\":\"up\"", ben->uid);
	ask(ann, "p2p.link", link, OK);
	p2p_peer_open(again, s, 2);
	cr_expect_str_eq(again->uid, ben->uid);
	snprintf(expected, sizeof(expected), "\"keepalive_s\":15,\"room\":\"%s\",\"seat\":1}", room);
	expect_part(again, expected);
	expect_closed(ben);
	server_await_metric(s, METRIC "closed_total", "replaced", 1, DIAL_PATIENCE_MS);
	expect_quiet(ann);
	expect_quiet(cid);
	cr_expect_eq(sessions(), 3);

	ask(again, "p2p.join", named, "\"seat\":1,\"members\":[");
	p2p_peer_frame(ann, P2P_RELAY, 0, 1, "hi", 2);
	p2p_peer_await_frame(again);
	cr_expect_eq(again->frame.seat, 0);
	p2p_peer_free(again);
	again->ws = NULL;
	expect_member(ann, ben, 1, "left");
}

Test(rooms_p2p, alone_a_second_session_keeps_the_room)
{
	open_some(1);
	create(ann, "");
	p2p_peer_open(ben, s, 1);
	expect_closed(ann);
	ask(ben, "p2p.join", named, "\"seat\":0,");
	cr_expect_eq(rooms(), 1);
	cr_expect_eq(sessions(), 1);
	p2p_peer_ask(ben, "p2p.hello", ",\"player\":\"000000000000000000000000000000ff\"");
	cr_expect_null(strstr(ben->text, "\"room\""), "as somebody else he is in none: %s", ben->text);
	cr_expect_eq(rooms(), 0);
}

Test(rooms_p2p, who_takes_over_is_out_of_the_groups_and_all_are_told)
{
	struct p2p_peer *again = &people[3];

	gather(3);
	ask(ann, "p2p.links", ",\"max\":8", "\"gen\":1,");
	p2p_peer_await(cid, "\"gen\":1,");
	p2p_peer_open(again, s, 2);
	p2p_peer_await(cid, "\"op\":\"p2p.groups\",\"gen\":2,");
	cr_expect_null(strstr(cid->text, ben->uid), "%s", cid->text);
	ask(ann, "p2p.links", ",\"max\":8", ben->uid);
}

/* --- p2p.start --- */

static void await_kind(struct p2p_peer *p, uint8_t kind)
{
	p2p_peer_await_frame(p);
	cr_assert_eq(p->frame.kind, kind);
}

Test(rooms_p2p, what_is_wrong_in_a_start_has_its_word)
{
	static const char *const wrong[] = {
		",\"ver\":256",   ",\"ver\":-1",          ",\"ver\":\"1\"",         ",\"cmd\":65536",  ",\"cmd\":-1",
		",\"payload\":7", ",\"payload\":\"aGk\"", ",\"payload\":\"aG k=\"", ",\"room\":false",
	};

	gather(2);
	ask(ann, "p2p.start", "", ERROR("no_address"));
	p2p_peer_be_mapped(ben);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		ask(ann, "p2p.start", wrong[i], ERROR("bad_request"));
	ask(ann, "p2p.start", ",\"room\":\"QQQQQQQQ\"", ERROR("no_room"));
	p2p_peer_open(cid, s, 3);
	create(cid, "");
	ask(ann, "p2p.start", named, ERROR("not_in_room"));
}

Test(rooms_p2p, a_start_may_carry_a_kilobyte)
{
	static char          payload[BASE64_BYTES(1028)], text[2048];
	static const uint8_t bytes[1028];
	static const struct {
		size_t      len;
		const char *part;
	} rows[] = { { 1025, ERROR("too_large") }, { 1028, ERROR("too_large") }, { 1024, OK } };

	gather(1);
	p2p_peer_be_mapped(ann);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int len;

		base64_encode(payload, bytes, rows[i].len);
		len = snprintf(text, sizeof(text), "{\"op\":\"p2p.start\",\"id\":99,\"payload\":\"%s\"}", payload);
		ws_client_send_frame(ann->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, (size_t)len);
		p2p_peer_await(ann, "\"id\":99");
		cr_expect(strstr(ann->text, rows[i].part), "%zu: %s", rows[i].len, ann->text);
	}
	await_kind(ann, P2P_SYNC);
	p2p_peer_await(ann, "p2p.started");
	expect_part(ann, payload);
}

/* What SYNC says of the members, "uid:number of addresses" each. */
static void note_user(void *arg, const struct p2p_sync_user *u)
{
	char *text = arg;

	snprintf(text + strlen(text), 256 - strlen(text), "%.*s:%zu ", (int)u->id_len, u->id, u->address_count);
}

static const char *users_of(const struct p2p_peer *p)
{
	static char              text[256];
	AUTO(auto_free) uint8_t *scratch = malloc(p->frame.content_len);

	text[0] = '\0';
	cr_assert_eq(p2p_sync_parse(p->frame.content, p->frame.content_len, scratch, note_user, text), P2P_SYNC_FINE);
	return text;
}

Test(rooms_p2p, a_start_gives_everybody_the_same_keys_and_addresses)
{
	uint8_t keys[P2P_SYNC_KEYS_BYTES], first[512];
	size_t  len = 0;
	char    expected[256];

	gather(3);
	p2p_peer_be_mapped(ann);
	p2p_peer_be_mapped(cid);
	snprintf(expected, sizeof(expected), "%s,\"ver\":1,\"cmd\":300,\"payload\":\"aGk=\"", named);
	ask(ben, "p2p.start", expected, OK ",\"epoch\":1,\"members\":3}");
	for (size_t i = 0; i < 3; i++) {
		struct p2p_peer *p = &people[i];

		await_kind(p, P2P_SYNC);
		cr_expect_eq(p->frame.ver, 1);
		cr_expect_eq(p->frame.cmd, 300);
		cr_expect_eq(p->frame.seat, 1, "the starter's");
		cr_expect_eq(p->frame.number, 1);
		if (i == 0) {
			len = p->frame.content_len;
			cr_assert_leq(len, sizeof(first));
			memcpy(first, p->frame.content, len);
		}
		cr_assert_eq(p->frame.content_len, len);
		cr_expect_arr_eq(p->frame.content, first, len);
		snprintf(expected, sizeof(expected), "%s:1 %s:0 %s:1 ", ann->uid, ben->uid, cid->uid);
		cr_expect_str_eq(users_of(p), expected);
		p2p_peer_await(p, "");
		snprintf(expected, sizeof(expected),
		         "{\"op\":\"p2p.started\",\"epoch\":1,\"by\":\"%s\",\"payload\":\"aGk=\",\"peers\":[",
		         ben->uid);
		expect_part(p, expected);
	}
	memcpy(keys, first, sizeof(keys));

	ask(ann, "p2p.start", "", ERROR("busy"));
	server_advance(s, 1990);
	ask(ann, "p2p.start", "", ERROR("busy"));
	server_advance(s, 10);
	ask(ann, "p2p.start", "", OK ",\"epoch\":2,\"members\":3}");
	await_kind(ann, P2P_SYNC);
	cr_expect_eq(ann->frame.number, 2);
	cr_expect_eq(ann->frame.ver, 0);
	cr_expect_eq(ann->frame.cmd, 0);
	cr_expect_arr_neq(ann->frame.content, keys, sizeof(keys));
	cr_expect_eq(server_metric(s, METRIC "starts_total", ""), 2);
	cr_expect_eq(server_metric(s, METRIC "pairs_total", "relay"), 4);
	cr_expect_eq(server_metric(s, METRIC "pairs_total", "punch"), 2);
}

/* What p is told to do with another. */
static void expect_peer(struct p2p_peer *p, const struct p2p_peer *other, int seat, const char *plan, const char *role,
                        bool lan)
{
	char expected[160];

	snprintf(expected, sizeof(expected), "{\"uid\":\"%s\",\"seat\":%d,\"plan\":\"%s\",\"role\":\"%s\",\"lan\":%s}",
	         other->uid, seat, plan, role, lan ? "true" : "false");
	expect_part(p, expected);
}

/* ann's router is open, of ben's and cid's nothing is known, and dee wants no address shown. */
Test(rooms_p2p, each_is_told_what_to_do_with_the_others)
{
	struct p2p_peer *dee = &people[3];
	char             text[160];

	gather(4);
	for (size_t i = 0; i < 4; i++)
		p2p_peer_be_mapped(&people[i]);
	p2p_peer_be_open(ann);
	ask(dee, "p2p.hello", ",\"player\":\"00000000000000000000000000000004\",\"relay_only\":true", OK);
	expect_part(dee, "\"seat\":3}");
	ask(cid, "p2p.start", "", OK);
	for (size_t i = 0; i < 4; i++) {
		await_kind(&people[i], P2P_SYNC);
		snprintf(text, sizeof(text), "%s:1 %s:1 %s:1 %s:0 ", ann->uid, ben->uid, cid->uid, dee->uid);
		cr_expect_str_eq(users_of(&people[i]), text);
		p2p_peer_await(&people[i], "p2p.started");
		if (i != 3)
			expect_peer(&people[i], dee, 3, "relay", "none", false);
	}
	expect_peer(ann, ben, 1, "direct", "accept", true);
	expect_peer(ann, cid, 2, "direct", "accept", true);
	expect_peer(ben, ann, 0, "direct", "connect", true);
	expect_peer(ben, cid, 2, "punch", "both", true);
	expect_peer(dee, ben, 1, "relay", "none", false);
	cr_expect_null(strstr(ben->text, "\"seat\":1,"), "oneself is no peer: %s", ben->text);

	snprintf(text, sizeof(text), ",\"uid\":\"%s\"", ben->uid);
	ask(ann, "p2p.plan", text,
	    OK ",\"plan\":\"direct\",\"role\":\"accept\",\"lan\":true,\"type\":1,\"peer_type\":0}");
	ask(ben, "p2p.plan", text, ERROR("no_member"));
	ask(ben, "p2p.plan", ",\"uid\":\"ffff\"", ERROR("no_member"));
	ask(ben, "p2p.plan", "", ERROR("bad_request"));
	snprintf(text, sizeof(text), ",\"uid\":\"%s\"", ann->uid);
	ask(ben, "p2p.plan", text, "\"role\":\"connect\",\"lan\":true,\"type\":0,\"peer_type\":1}");
}

/* --- Pairs --- */

static void begin(size_t count)
{
	gather(count);
	p2p_peer_be_mapped(ann);
	ask(ann, "p2p.start", "", OK);
	for (size_t i = 0; i < count; i++) {
		await_kind(&people[i], P2P_SYNC);
		p2p_peer_await(&people[i], "p2p.started");
	}
}

Test(rooms_p2p, a_link_is_answered_when_it_is_asked_to_be)
{
	char text[128];

	begin(2);
	snprintf(text, sizeof(text), "{\"op\":\"p2p.link\",\"peer\":\"%s\",\"state\":\"failed\"}", ben->uid);
	ws_client_send_frame(ann->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, strlen(text));
	expect_quiet(ann);
	snprintf(text, sizeof(text), ",\"peer\":\"%s\",\"state\":\"up\",\"rtt\":24", ben->uid);
	ask(ann, "p2p.link", text, OK);
	snprintf(text, sizeof(text), ",\"peer\":\"%s\",\"state\":\"unsaid\"", ben->uid);
	ask(ann, "p2p.link", text, ERROR("bad_request"));
	snprintf(text, sizeof(text), ",\"peer\":\"%s\"", ben->uid);
	ask(ann, "p2p.link", text, ERROR("bad_request"));
	ask(ann, "p2p.link", ",\"state\":\"up\"", ERROR("bad_request"));
	ask(ann, "p2p.link", ",\"peer\":\"ffff\",\"state\":\"up\"", ERROR("no_member"));
	snprintf(text, sizeof(text), ",\"peer\":\"%s\",\"state\":\"up\"", ann->uid);
	ask(ann, "p2p.link", text, ERROR("no_member"));
	cr_expect_eq(server_metric(s, METRIC "punches_total", "up"), 1);
	cr_expect_eq(server_metric(s, METRIC "punches_total", "failed"), 1);
}

Test(rooms_p2p, when_nobody_needs_to_punch_any_more_all_are_told_once)
{
	gather(3);
	ask(ann, "p2p.ping_try_done", "", OK ",\"changed\":false}");
	p2p_peer_be_mapped(ann);
	ask(ann, "p2p.start", "", OK);
	for (size_t i = 0; i < 3; i++) {
		await_kind(&people[i], P2P_SYNC);
		p2p_peer_await(&people[i], "p2p.started");
	}
	ask(ann, "p2p.ping_try_done", "", OK ",\"changed\":true}");
	ask(ann, "p2p.ping_try_done", "", OK ",\"changed\":false}");
	ask(ben, "p2p.ping_try_done", "", OK ",\"changed\":true}");
	expect_quiet(ann);
	ask(cid, "p2p.ping_try_done", "", OK ",\"changed\":true}");
	for (size_t i = 0; i < 3; i++)
		expect_next(&people[i], "{\"op\":\"p2p.settled\",\"epoch\":1}");
	ask(cid, "p2p.ping_try_done", "", OK ",\"changed\":false}");
	expect_quiet(ann);

	/* The next start, in which the one who is late leaves. */
	server_advance(s, 2000);
	ask(ann, "p2p.start", "", OK ",\"epoch\":2,");
	await_kind(ann, P2P_SYNC);
	await_kind(ben, P2P_SYNC);
	ask(ann, "p2p.ping_try_done", "", OK ",\"changed\":true}");
	ask(ben, "p2p.ping_try_done", "", OK ",\"changed\":true}");
	expect_quiet(ann);
	p2p_peer_free(cid);
	cid->ws = NULL;
	expect_member(ann, cid, 2, "left");
	expect_next(ann, "{\"op\":\"p2p.settled\",\"epoch\":2}");
	p2p_peer_await(ben, "{\"op\":\"p2p.settled\",\"epoch\":2}");
}

Test(rooms_p2p, a_new_outside_address_is_told_while_p2p_runs)
{
	char text[96];

	gather(2);
	p2p_peer_be_mapped(ann);
	expect_quiet(ben);
	ask(ann, "p2p.start", "", OK);
	for (size_t i = 0; i < 2; i++) {
		await_kind(&people[i], P2P_SYNC);
		p2p_peer_await(&people[i], "p2p.started");
	}
	p2p_peer_be_mapped(ann); /* from a socket of its own each time */
	p2p_peer_await(ben, "");
	snprintf(text, sizeof(text), "{\"op\":\"p2p.addr\",\"uid\":\"%s\",\"addr\":\"127.0.0.1:", ann->uid);
	expect_part(ben, text);
	ask(ben, "p2p.hello", ",\"player\":\"00000000000000000000000000000002\",\"relay_only\":true", OK);
	expect_quiet(ann);
}

/* --- What an address may have --- */

Test(rooms_p2p, an_address_may_make_so_many_rooms, .init = start_strict)
{
	open_some(3);
	create(ann, "");
	create(ben, "");
	ask(cid, "p2p.create", "", ERROR("room_limit"));
	ask(ann, "p2p.leave", "", OK);
	create(cid, "");
	ask(ann, "p2p.join", named, OK);
	ask(ann, "p2p.create", "", ERROR("room_limit"));
	ask(cid, "p2p.leave", "", OK); /* the room that he made is still there */
	ask(cid, "p2p.create", "", ERROR("room_limit"));
	ask(ann, "p2p.leave", "", OK);
	ask(cid, "p2p.create", "", OK);
}

Test(rooms_p2p, names_cannot_be_guessed_for_long, .init = start_strict)
{
	char mine[32];

	open_some(2);
	create(ben, "");
	snprintf(mine, sizeof(mine), "%s", named);
	create(ann, "");
	ask(ann, "p2p.join", ",\"room\":\"QQQQQQQQ\"", ERROR("no_room"));
	ask(ann, "p2p.start", ",\"room\":\"QQQQQQQR\"", ERROR("no_room"));
	ask(ben, "p2p.links", ",\"room\":\"game:123456\"", ERROR("no_room"));
	ask(ann, "p2p.join", mine, ERROR("busy"));
	ask(ann, "p2p.start", mine, ERROR("busy"));
	ask(ann, "p2p.links", "", OK);
	ask(ann, "p2p.start", named, ERROR("no_address"));
	server_advance(s, 59000);
	ask(ann, "p2p.join", mine, ERROR("busy"));
	server_advance(s, 2000);
	ask(ann, "p2p.start", mine, ERROR("not_in_room"));
	ask(ann, "p2p.join", mine, OK);
}

/* --- Rooms of games --- */

#define KEY_OF(n) "0000000000000000000000000000000" n /* as p2p_peer_open makes it */

Test(rooms_p2p, a_game_has_a_room_for_its_host_and_friends_until_it_ends)
{
	uint32_t          code;
	struct ws_client *host = host_open(s->tunnel_port, KEY_OF("1"), &code);
	struct ws_client *friend;
	char game[32], expected[64];

	open_some(3);
	snprintf(game, sizeof(game), ",\"room\":\"game:%u\"", (unsigned)code);
	ask(ben, "p2p.join", game, ERROR("not_allowed"));
	cr_expect_eq(rooms(), 0, "it is there for nobody");
	friend = friend_join(s->tunnel_port, code, "t1", KEY_OF("2"));
	ask(ben, "p2p.join", game, OK);
	snprintf(expected, sizeof(expected), "\"room\":\"game:%u\",\"seat\":0,", (unsigned)code);
	expect_part(ben, expected);
	ask(ann, "p2p.join", game, "\"seat\":1,");
	ask(cid, "p2p.join", game, ERROR("not_allowed"));
	expect_member(ben, ann, 1, "joined");
	snprintf(game, sizeof(game), ",\"room\":\"game:%u\"", (unsigned)(code == 999999 ? 100000 : code + 1));
	ask(cid, "p2p.join", game, ERROR("no_room"));

	/* Without them the game stays for 45 s. */
	ws_client_free(host);
	ws_client_free(friend);
	server_await_metric(s, "coopd_tunnel_hosts", "", 0, DIAL_PATIENCE_MS);
	server_await_metric(s, "coopd_tunnel_friends", "", 0, DIAL_PATIENCE_MS);
	server_advance(s, 44000);
	expect_quiet(ann);
	server_advance(s, 5000);
	expect_member(ann, ann, 1, "left");
	expect_member(ben, ann, 1, "left");
	expect_member(ben, ben, 0, "left");
	expect_quiet(ann);
	cr_expect_eq(rooms(), 0);
	snprintf(game, sizeof(game), ",\"room\":\"game:%u\"", (unsigned)code);
	ask(ann, "p2p.join", game, ERROR("no_room"));
	ask(ann, "p2p.leave", "", ERROR("not_in_room"));
}

Test(rooms_p2p, games_of_protocol_1_and_codes_in_other_forms_have_none)
{
	struct tunnel_ticket ticket;
	struct ws_client    *host_1 = host_open_1(s->tunnel_port, NULL, &ticket);
	uint32_t             code;
	struct ws_client    *host = host_open(s->tunnel_port, KEY_OF("1"), &code);
	char                 game[32];

	open_some(1);
	snprintf(game, sizeof(game), ",\"room\":\"game:%06u\"", ticket.code);
	ask(ann, "p2p.join", game, ERROR("no_room"));
	snprintf(game, sizeof(game), ",\"room\":\"game:%u\"", ticket.code);
	ask(ann, "p2p.join", game, ERROR("no_room"));
	snprintf(game, sizeof(game), ",\"room\":\"GAME:%u\"", (unsigned)code);
	ask(ann, "p2p.join", game, ERROR("no_room"));
	snprintf(game, sizeof(game), ",\"room\":\"game: %u\"", (unsigned)code);
	ask(ann, "p2p.join", game, ERROR("no_room"));
	snprintf(game, sizeof(game), ",\"room\":\"game:%u\"", (unsigned)code);
	ask(ann, "p2p.join", game, OK);
	ws_client_free(host);
	ws_client_free(host_1);
}
