/*
 * Groups and relays of the whole server, over real sockets: what is measured, what leaves, who is told.
 */
#include "support/p2p_peer.h"

#include "base/auto.h"
#include "base/hex.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES  "coopd_p2p_link_frames_total"
#define DROPPED "coopd_p2p_frames_dropped_total"
#define PEOPLE  7

/* Pings come once only, unless the test lets a minute pass. */
#define NO_PINGS "limits.p2p_ping_ms=60000", "limits.p2p_silence_ms=600000", "limits.ws_ping_ms=3600000"

static struct server  *s;
static struct p2p_peer people[PEOPLE];
static char            room[32];

enum { ANN, BEN, CID, DEE, EVE, FAY, GUS };

static void start_with(const char *const *sets)
{
	s = server_start(sets);
}

static void start(void)
{
	start_with((const char *const[]){ NO_PINGS, NULL });
}

static void stop(void)
{
	for (size_t i = 0; i < PEOPLE; i++) {
		if (people[i].ws)
			p2p_peer_free(&people[i]);
	}
	server_finish(s);
}

/* The first so many of them are in one room, on the seats 0 and up. */
static void gather(size_t count)
{
	char name[16], members[64];

	for (size_t i = 0; i < count; i++) {
		p2p_peer_open(&people[i], s, (int)i + 1);
		if (i == 0) {
			p2p_peer_ask(&people[0], "p2p.create", "");
			p2p_peer_string(name, sizeof(name), &people[0], "room");
			snprintf(room, sizeof(room), ",\"room\":\"%s\"", name);
			continue;
		}
		snprintf(members, sizeof(members), "%s", room);
		p2p_peer_ask(&people[i], "p2p.join", members);
		cr_assert(strstr(people[i].text, "\"ok\":true"), "%s", people[i].text);
	}
}

static void begin(void)
{
	p2p_peer_be_mapped(&people[0]);
	p2p_peer_ask(&people[0], "p2p.start", ",\"ver\":1,\"cmd\":300");
	cr_assert(strstr(people[0].text, "\"ok\":true"), "%s", people[0].text);
	for (size_t i = 0; i < PEOPLE && people[i].ws; i++) {
		p2p_peer_await_frame(&people[i]);
		cr_assert_eq(people[i].frame.kind, P2P_SYNC);
	}
}

/* One after the other answers its ping, five seconds apart: so they are in this order from the first to the last. */
static void measure(const int *order, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		p2p_peer_expect_no_frame(&people[order[i]]); /* the ping has come */
		p2p_peer_pong(&people[order[i]]);
		p2p_peer_expect_no_frame(&people[order[i]]); /* the server has taken it */
		server_advance(s, 5000);
	}
}

static void say(int who, int of, const char *state)
{
	char members[96];

	snprintf(members, sizeof(members), ",\"peer\":\"%s\",\"state\":\"%s\"", people[of].uid, state);
	p2p_peer_ask(&people[who], "p2p.link", members);
}

static void link_up(int a, int b)
{
	say(a, b, "up");
	say(b, a, "up");
}

/* The seven of the document, in its groups of three: fay ben* cid, gus* ann eve, dee. */
static void make_the_seven(void)
{
	static const int order[] = { FAY, BEN, CID, GUS, ANN, EVE };
	char             expected[1024];

	gather(PEOPLE);
	begin();
	measure(order, COUNT_OF(order));
	p2p_peer_be_mapped(&people[BEN]);
	p2p_peer_be_open(&people[BEN]);
	p2p_peer_be_mapped(&people[GUS]);
	p2p_peer_be_open(&people[GUS]);
	link_up(BEN, FAY);
	link_up(BEN, CID);
	link_up(GUS, ANN);
	link_up(GUS, EVE);
	p2p_peer_ask(&people[ANN], "p2p.links", ",\"max\":3");
	snprintf(expected, sizeof(expected),
	         "\"gen\":1,\"ids\":[[\"%s\",\"%s\",\"%s\"],[\"%s\",\"%s\",\"%s\"],[\"%s\"]],", people[FAY].uid,
	         people[BEN].uid, people[CID].uid, people[GUS].uid, people[ANN].uid, people[EVE].uid, people[DEE].uid);
	cr_assert(strstr(people[ANN].text, expected), "%s", people[ANN].text);
	snprintf(expected, sizeof(expected), "\"leaders\":[\"%s\",\"%s\",null]}", people[BEN].uid, people[GUS].uid);
	cr_assert(strstr(people[ANN].text, expected), "%s", people[ANN].text);
	for (int i = 0; i < PEOPLE; i++)
		p2p_peer_await(&people[i], "\"op\":\"p2p.groups\",\"gen\":1,");
}

#define send_link(who, flags, text) p2p_peer_frame(&people[who], P2P_LINK, flags, P2P_SEAT_ALL, text, strlen(text))

/* The next frame for it: flags, seat of the sender, and the content in hex. */
static void expect_frame(int who, unsigned flags, unsigned seat, const char *hex)
{
	struct p2p_peer *p = &people[who];
	char             got[256];

	p2p_peer_await_frame(p);
	cr_assert_leq(p->frame.content_len, (sizeof(got) - 1) / 2);
	hex_encode(got, p->frame.content, p->frame.content_len);
	cr_expect_eq(p->frame.flags, flags, "%d: flags %u", who, p->frame.flags);
	cr_expect_eq(p->frame.seat, seat, "%d", who);
	cr_expect_eq(p->frame.ver, 1);
	cr_expect_eq(p->frame.cmd, 300);
	cr_expect_str_eq(got, hex, "%d: %s", who, got);
}

static void expect_no_frames(void)
{
	for (size_t i = 0; i < PEOPLE; i++)
		p2p_peer_expect_no_frame(&people[i]);
}

TestSuite(links, .timeout = 120);

/* Groups */

Test(links, who_answers_pings_later_stands_further_back, .init = start, .fini = stop)
{
	static const int order[] = { CID, ANN };
	char             expected[256];

	gather(3);
	measure(order, COUNT_OF(order));
	p2p_peer_ask(&people[BEN], "p2p.links", room);
	snprintf(expected, sizeof(expected), "\"ids\":[[\"%s\",\"%s\",\"%s\"]],", people[CID].uid, people[ANN].uid,
	         people[BEN].uid);
	cr_expect(strstr(people[BEN].text, expected), "%s", people[BEN].text);
	snprintf(expected, sizeof(expected), "{\"uid\":\"%s\",\"seat\":1,\"latency\":null,\"nat\":0}", people[BEN].uid);
	cr_expect(strstr(people[BEN].text, expected), "%s", people[BEN].text);
	cr_expect(strstr(people[BEN].text, "\"leaders\":[null]"), "%s", people[BEN].text);

	/* The next ping: ann answers at once, cid so late that he falls behind her. */
	people[CID].holds_pong = true;
	server_advance(s, 50000);
	for (int i = 0; i < 1000 && !people[CID].has_ping; i++)
		p2p_peer_expect_no_frame(&people[CID]);
	cr_assert(people[CID].has_ping);
	p2p_peer_expect_no_frame(&people[ANN]); /* pings leave together: it was there, */
	p2p_peer_expect_no_frame(&people[ANN]); /* and the server has its pong */
	server_advance(s, 40000);
	p2p_peer_pong(&people[CID]);
	p2p_peer_ask(&people[CID], "p2p.links", "");
	snprintf(expected, sizeof(expected), "\"gen\":2,\"ids\":[[\"%s\",\"%s\",\"%s\"]],", people[ANN].uid,
	         people[CID].uid, people[BEN].uid);
	cr_expect(strstr(people[CID].text, expected), "%s", people[CID].text);
}

Test(links, a_request_for_groups_is_refused_with_empty_lists, .init = start, .fini = stop)
{
	static const struct {
		const char *members, *error;
	} rows[] = {
		{ ",\"max\":0", "bad_max" },
		{ ",\"max\":-1", "bad_max" },
		{ ",\"max\":65", "bad_max" },
		{ ",\"max\":\"8\"", "bad_request" },
		{ ",\"max\":1.5", "bad_request" },
		{ ",\"room\":7", "bad_request" },
		{ ",\"room\":\"QQQQQQQQ\"", "no_room" },
	};
	char expected[64];

	gather(2);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		p2p_peer_ask(&people[0], "p2p.links", rows[i].members);
		snprintf(expected, sizeof(expected), "\"ok\":false,\"error\":\"%s\"", rows[i].error);
		cr_expect(strstr(people[0].text, expected), "%s: %s", rows[i].members, people[0].text);
		cr_expect(strstr(people[0].text, "\"ids\":[],\"users\":[]"), "%s", people[0].text);
	}
	p2p_peer_open(&people[2], s, 3);
	p2p_peer_ask(&people[2], "p2p.links", room);
	cr_expect(strstr(people[2].text, "\"error\":\"not_in_room\""), "%s", people[2].text);
	p2p_peer_ask(&people[0], "p2p.links", ",\"max\":64");
	cr_expect(strstr(people[0].text, "\"ok\":true,\"gen\":1,"), "%s", people[0].text);
	p2p_peer_ask(&people[0], "p2p.links", ",\"max\":1");
	cr_expect(strstr(people[0].text, "\"leaders\":[null,null]"), "%s", people[0].text);
}

/* Link messages */

Test(links, three_frames_leave_for_six_receivers, .init = start, .fini = stop)
{
	make_the_seven();
	send_link(EVE, P2P_FLAG_RELIABLE, "hi");
	expect_frame(BEN, P2P_FLAG_RELIABLE | P2P_FLAG_PASS_ON, EVE, "02000500026869");
	expect_frame(GUS, P2P_FLAG_RELIABLE | P2P_FLAG_PASS_ON, EVE, "0100006869");
	expect_frame(DEE, P2P_FLAG_RELIABLE, EVE, "6869");
	p2p_peer_await(&people[EVE], "\"op\":\"link.sent\"");
	cr_expect_str_eq(people[EVE].text, "{\"op\":\"link.sent\",\"ref\":9,\"ok\":true,\"msg\":1,\"leaders\":2,"
	                                   "\"straight\":1,\"receivers\":6}");
	expect_no_frames();
	cr_expect_eq(server_metric(s, FRAMES, "leader"), 2);
	cr_expect_eq(server_metric(s, FRAMES, "straight"), 1);
	cr_expect_eq(server_metric(s, "coopd_p2p_link_messages_total", ""), 1);

	send_link(GUS, 0, "yo");
	expect_frame(GUS, P2P_FLAG_PASS_ON | P2P_FLAG_YOURS, GUS, "0200000004796f");
	expect_frame(BEN, P2P_FLAG_PASS_ON, GUS, "0200050002796f");
	expect_frame(DEE, 0, GUS, "796f");
	p2p_peer_await(&people[GUS], "\"msg\":2,\"leaders\":2,\"straight\":1,\"receivers\":6}");
	expect_no_frames();
	cr_expect_eq(server_metric(s, FRAMES, "leader"), 4);
	cr_expect_eq(server_metric(s, FRAMES, "straight"), 2);
}

Test(links, what_is_not_confirmed_comes_again_and_the_sender_hears_who_never_did, .init = start, .fini = stop)
{
	char expected[96];

	make_the_seven();
	send_link(EVE, P2P_FLAG_RELIABLE, "hi");
	p2p_peer_await_frame(&people[BEN]);
	p2p_peer_await_frame(&people[GUS]);
	p2p_peer_await_frame(&people[DEE]);
	p2p_peer_await(&people[EVE], "\"op\":\"link.sent\"");
	p2p_peer_ack(&people[BEN], 1);
	p2p_peer_ack(&people[GUS], 1);
	p2p_peer_ack(&people[DEE], 1);
	p2p_peer_ack(&people[ANN], 1);
	expect_no_frames();

	server_advance(s, 2000);
	expect_frame(FAY, P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN, EVE, "6869");
	expect_frame(CID, P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN, EVE, "6869");
	p2p_peer_ack(&people[CID], 1);
	expect_no_frames();
	server_advance(s, 3000);
	p2p_peer_await(&people[EVE], "link.done");
	snprintf(expected, sizeof(expected), "{\"op\":\"link.done\",\"msg\":1,\"missing\":[\"%s\"]}", people[FAY].uid);
	cr_expect_str_eq(people[EVE].text, expected);
	cr_expect_eq(server_metric(s, FRAMES, "again"), 2);
	cr_expect_eq(server_metric(s, "coopd_p2p_link_missing_total", ""), 1);
}

Test(links, when_a_leader_goes_its_messages_come_straight_and_all_hear_of_the_next, .init = start, .fini = stop)
{
	char expected[64];

	make_the_seven();
	p2p_peer_be_mapped(&people[CID]);
	p2p_peer_be_open(&people[CID]);
	send_link(EVE, P2P_FLAG_RELIABLE, "hi");
	p2p_peer_await_frame(&people[BEN]);
	p2p_peer_free(&people[BEN]);
	people[BEN].ws = NULL;
	expect_frame(FAY, P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN, EVE, "6869");
	expect_frame(CID, P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN, EVE, "6869");
	p2p_peer_await(&people[CID], "\"op\":\"p2p.groups\",\"gen\":2,");
	snprintf(expected, sizeof(expected), "\"leaders\":[\"%s\",\"%s\",null]", people[CID].uid, people[GUS].uid);
	cr_expect(strstr(people[CID].text, expected), "%s", people[CID].text);
	p2p_peer_await(&people[EVE], "\"op\":\"p2p.groups\",\"gen\":2,");
	for (int i = 0; i < PEOPLE; i++) {
		if (i != BEN && i != EVE)
			p2p_peer_ack(&people[i], 1);
	}
	p2p_peer_await(&people[EVE], "{\"op\":\"link.done\",\"msg\":1,\"missing\":[]}");
}

Test(links, a_leader_without_links_is_replaced_and_its_messages_come_straight, .init = start, .fini = stop)
{
	make_the_seven();
	send_link(EVE, P2P_FLAG_RELIABLE, "hi");
	p2p_peer_await_frame(&people[BEN]);
	say(BEN, FAY, "down");
	say(BEN, CID, "failed");
	expect_frame(FAY, P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN, EVE, "6869");
	p2p_peer_await(&people[FAY], "\"op\":\"p2p.groups\",\"gen\":2,");
	cr_expect(strstr(people[FAY].text, "\"leaders\":[null,"), "%s", people[FAY].text);
}

Test(links, messages_that_cannot_go_are_refused_with_a_word, .init = start, .fini = stop)
{
	static char text[P2P_SEAT_MAX];

	p2p_peer_open(&people[0], s, 1);
	send_link(0, 0, "hi");
	p2p_peer_await(&people[0], "{\"op\":\"link.sent\",\"ref\":9,\"ok\":false,\"error\":\"not_in_room\",");
	p2p_peer_free(&people[0]);

	gather(2);
	send_link(0, 0, "hi");
	p2p_peer_await(&people[0], "\"ok\":false,\"error\":\"p2p_off\",");
	begin();
	p2p_peer_frame(&people[0], P2P_LINK, 0, 1, "hi", 2);
	p2p_peer_await(&people[0], "\"ok\":false,\"error\":\"bad_request\",");
	p2p_peer_frame(&people[0], P2P_LINK, 0, P2P_SEAT_ALL, text, 16385);
	p2p_peer_await(&people[0], "\"ok\":false,\"error\":\"too_large\",");
	p2p_peer_expect_no_frame(&people[1]);
	p2p_peer_frame(&people[0], P2P_LINK, 0, P2P_SEAT_ALL, text, 16384);
	p2p_peer_await(&people[0], "\"ok\":true,\"msg\":1,\"leaders\":0,\"straight\":1,\"receivers\":1}");
	p2p_peer_await_frame(&people[1]);
	cr_expect_eq(people[1].frame.content_len, 16384);
}

Test(links, alone_a_message_is_sent_and_done, .init = start, .fini = stop)
{
	gather(1);
	begin();
	send_link(0, P2P_FLAG_RELIABLE, "hi");
	p2p_peer_await(&people[0], "\"ok\":true,\"msg\":1,\"leaders\":0,\"straight\":0,\"receivers\":0}");
	p2p_peer_await(&people[0], "{\"op\":\"link.done\",\"msg\":1,\"missing\":[]}");
}

/* RELAY */

Test(links, a_relay_frame_goes_to_its_seat_with_the_sender_s, .init = start, .fini = stop)
{
	static char text[16385];

	gather(3);
	p2p_peer_frame(&people[2], P2P_RELAY, 0xF1, 1, "hi", 2);
	expect_frame(1, 0xF1, 2, "6869");
	cr_expect_eq(people[1].frame.number, 9);
	p2p_peer_frame(&people[2], P2P_RELAY, 0, 1, text, 16384);
	p2p_peer_await_frame(&people[1]);
	cr_expect_eq(people[1].frame.content_len, 16384);
	p2p_peer_frame(&people[2], P2P_RELAY, 0, 1, text, 16385);
	p2p_peer_frame(&people[2], P2P_RELAY, P2P_FLAG_RELIABLE, 1, text, 16385);
	p2p_peer_await(&people[2], "{\"op\":\"relay.sent\",\"ref\":9,\"ok\":false,\"error\":\"too_large\",");
	p2p_peer_expect_no_frame(&people[0]);
	p2p_peer_expect_no_frame(&people[1]);
	cr_expect_eq(server_metric(s, "coopd_p2p_relayed_total", ""), 2);
}

Test(links, relay_frames_to_nobody_are_dropped, .init = start, .fini = stop)
{
	gather(2);
	p2p_peer_frame(&people[0], P2P_RELAY, 0, 7, "hi", 2);
	p2p_peer_frame(&people[0], P2P_RELAY, 0, P2P_SEAT_ALL, "hi", 2);
	p2p_peer_frame(&people[0], P2P_RELAY, P2P_FLAG_RELIABLE, 7, "hi", 2);
	p2p_peer_await(&people[0], "{\"op\":\"relay.sent\",\"ref\":9,\"ok\":false,\"error\":\"no_member\",");
	cr_expect_eq(server_metric(s, DROPPED, "gone"), 3);
	p2p_peer_ask(&people[0], "p2p.leave", "");
	p2p_peer_frame(&people[0], P2P_RELAY, P2P_FLAG_RELIABLE, 1, "hi", 2);
	p2p_peer_await(&people[0], "\"error\":\"not_in_room\",");
	p2p_peer_expect_no_frame(&people[1]);
}

/* Limits */

static void start_slow(void)
{
	start_with((const char *const[]){ NO_PINGS, "limits.p2p_out_rate=1000", "limits.p2p_out_burst=1100000", NULL });
}

Test(links, what_one_makes_the_server_send_is_bounded, .init = start_slow, .fini = stop)
{
	static char text[16384];

	gather(3);
	begin();
	for (int i = 0; i < 67; i++) { /* of 16,396 bytes each */
		p2p_peer_frame(&people[0], P2P_RELAY, P2P_FLAG_RELIABLE, 1, text, sizeof(text));
		p2p_peer_await_frame(&people[1]);
	}
	p2p_peer_frame(&people[0], P2P_RELAY, 0, 1, text, sizeof(text));
	p2p_peer_frame(&people[0], P2P_RELAY, P2P_FLAG_RELIABLE, 1, text, sizeof(text));
	p2p_peer_await(&people[0], "{\"op\":\"relay.sent\",\"ref\":9,\"ok\":false,\"error\":\"busy\",");
	p2p_peer_frame(&people[0], P2P_LINK, 0, P2P_SEAT_ALL, text, sizeof(text));
	p2p_peer_await(&people[0], "{\"op\":\"link.sent\",\"ref\":9,\"ok\":false,\"error\":\"busy\",");
	p2p_peer_expect_no_frame(&people[1]);
	cr_expect_eq(server_metric(s, DROPPED, "rate"), 3);

	/* Others are not touched, and each receiver counts: 33 go to both of them. */
	for (int i = 0; i < 33; i++) {
		p2p_peer_frame(&people[2], P2P_LINK, 0, P2P_SEAT_ALL, text, sizeof(text));
		p2p_peer_await(&people[2], "\"ok\":true,");
		p2p_peer_await_frame(&people[0]);
		p2p_peer_await_frame(&people[1]);
	}
	p2p_peer_frame(&people[2], P2P_LINK, 0, P2P_SEAT_ALL, text, sizeof(text));
	p2p_peer_await(&people[2], "\"ok\":false,\"error\":\"busy\",");
}

static void start_fast(void)
{
	start_with((const char *const[]){ NO_PINGS, "limits.p2p_out_burst=1000000000", "limits.p2p_out_rate=1000000000",
	                                  NULL });
}

/* ann and ben, and dee on seat 2, who reads nothing any more. */
static void gather_deaf(void)
{
	gather(2);
	p2p_peer_open_small(&people[DEE], s, 4);
	p2p_peer_ask(&people[DEE], "p2p.join", room);
	p2p_peer_await(&people[ANN], "\"event\":\"joined\"");
}

Test(links, who_reads_nothing_loses_what_is_unreliable_and_stays, .init = start_fast, .fini = stop)
{
	static char text[16384];
	int         sent = 0;
	double      dropped;

	gather_deaf();
	while (server_metric(s, DROPPED, "waiting") == 0) {
		cr_assert_lt(sent++, 2000, "nothing is dropped");
		for (int i = 0; i < 20; i++)
			p2p_peer_frame(&people[ANN], P2P_RELAY, 0, 2, text, sizeof(text));
		p2p_peer_expect_no_frame(&people[ANN]);
	}
	/* From here on all are dropped: more than fit into what may wait at all. */
	dropped = server_metric(s, DROPPED, "waiting");
	for (int i = 0; i < 100; i++)
		p2p_peer_frame(&people[ANN], P2P_RELAY, 0, 2, text, sizeof(text));
	p2p_peer_frame(&people[ANN], P2P_RELAY, 0, 1, "hi", 2);
	expect_frame(BEN, 0, ANN, "6869");
	cr_expect_eq(server_metric(s, DROPPED, "waiting"), dropped + 100);
	cr_expect_eq(server_metric(s, "coopd_p2p_sessions", ""), 3);
}

Test(links, who_reads_nothing_is_closed_by_what_is_reliable, .init = start_fast, .fini = stop)
{
	static char text[16384];
	int         sent = 0;

	gather_deaf();
	while (server_metric(s, "coopd_p2p_sessions", "") == 3) {
		cr_assert_lt(sent++, 2000, "it is not closed");
		for (int i = 0; i < 20; i++)
			p2p_peer_frame(&people[ANN], P2P_RELAY, 0x01, 2, text, sizeof(text));
		real_sleep_ms(1);
	}
	p2p_peer_await(&people[BEN], "\"event\":\"left\"");
	cr_expect_eq(server_metric(s, "coopd_p2p_closed_total", "waiting"), 1);
}

static void start_strict(void)
{
	start_with((const char *const[]){ NO_PINGS, "server.production=yes", "p2p.listen1=127.0.0.1",
	                                  "limits.p2p_push_rate=1000", "limits.p2p_push_burst=65536", NULL });
}

/* Else one player could fill the queue of another who reads, and he would be closed. */
Test(links, what_one_sends_to_each_is_bounded, .init = start_strict, .fini = stop)
{
	static char text[16372]; /* frames of 16,384 bytes */

	gather(3);
	for (int i = 0; i < 4; i++) {
		p2p_peer_frame(&people[0], P2P_RELAY, P2P_FLAG_RELIABLE, 1, text, sizeof(text));
		p2p_peer_await_frame(&people[1]);
	}
	p2p_peer_frame(&people[0], P2P_RELAY, P2P_FLAG_RELIABLE, 2, text, sizeof(text));
	p2p_peer_await(&people[0], "{\"op\":\"relay.sent\",\"ref\":9,\"ok\":false,\"error\":\"busy\",");
	p2p_peer_frame(&people[2], P2P_RELAY, P2P_FLAG_RELIABLE, 1, text, sizeof(text));
	p2p_peer_await_frame(&people[1]);
	cr_expect_eq(server_metric(s, DROPPED, "rate"), 1);
}
