/*
 * A host who reads nothing for a minute but is there (his ECHO comes every 5 s), while his friends send all they may.
 * His server stays small, other games notice nothing, and what he was told meanwhile reaches him afterwards, in order.
 */
#include "support/await.h"
#include "support/party.h"
#include "support/reader.h"
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdlib.h>

#define BACKLOG_BYTES 1048576
#define MARGIN_BYTES  (64 * 1024) /* of a frame or two, and of control messages */
#define MIB           (1024 * 1024)
#define FRIENDS       4

enum { FRIEND_GONE = 6, PATHS_TO_HOST = 13, FRIEND_IS = 17 };

/* The minute, moved by the test: everything that happens by the clock happens. */

struct scene {
	struct server    *s;
	uint32_t          code;
	struct ws_client *host, *friends[FRIENDS];
	struct ws_client *other_host, *other_friend;
	struct ws_client *bob, *cid;
	uint32_t          sent;
};

static void send_list(struct ws_client *friend)
{
	ws_client_send(friend, "0c (a1)x8 01 (cc)x6");
}

/* What happens in the step's five seconds besides datagrams, and what the host has to be told of it. */
static void happen(struct scene *c, int step)
{
	switch (step) {
	case 1:
		send_list(c->friends[0]);
		break;
	case 2:
		c->bob = friend_join(c->s->tunnel_port, c->code, "bob", "bob");
		break;
	case 3:
		reader_send_numbered(c->bob, c->sent++, 100);
		tunnel_echo(c->bob);
		ws_client_drop(c->bob);
		break;
	case 4:
		send_list(c->friends[1]);
		break;
	case 9:
		c->cid = friend_join(c->s->tunnel_port, c->code, "cid", "cid");
		break;
	case 11:
		send_list(c->cid);
		break;
	default:
		break;
	}
}

static void step(struct scene *c, int number)
{
	happen(c, number);
	for (int i = 0; i < 300; i++)
		for (int f = 0; f < FRIENDS; f++)
			reader_send_numbered(c->friends[f], c->sent++, 1450);
	for (int f = 0; f < FRIENDS; f++)
		tunnel_echo(c->friends[f]);
	cr_expect_leq(server_metric(c->s, "coopd_ws_queued_bytes", NULL), BACKLOG_BYTES + MARGIN_BYTES);

	friend_send(c->other_friend, "hi", 2);
	host_expect_datagram(c->other_host, 1, "hi", 2);
	host_send(c->other_host, 1, "ho", 2);
	friend_expect_datagram(c->other_friend, "ho", 2);
	ws_client_send(c->host, "03 'alive'");
	if (c->cid)
		tunnel_echo(c->cid);
	server_advance(c->s, 5000);
}

Test(serve_deaf, after_a_minute_he_hears_all_he_was_told_in_order)
{
	struct scene c    = { .s = server_start((const char *[]){ "limits.tunnel_burst=3000000", NULL }) };
	int          port = c.s->tunnel_port;
	uint32_t     other_code;

	c.host = reader_open(port, "A", &c.code);
	for (int f = 0; f < FRIENDS; f++) {
		c.friends[f] = friend_join(port, c.code, name_number("t", f), name_number("friend ", f));
		host_expect_friend(c.host, (unsigned)f + 1, name_number("friend ", f));
	}
	c.other_host   = host_open(port, "B", &other_code);
	c.other_friend = friend_join(port, other_code, "t", "other");
	host_expect_friend(c.other_host, 1, "other");

	for (int i = 1; i <= 12; i++)
		step(&c, i);

	/* What he sent last is answered after what his friends sent last. */
	for (int f = 0; f < FRIENDS; f++)
		reader_send_numbered(c.friends[f], c.sent++, 1450);
	for (int f = 0; f < FRIENDS; f++)
		tunnel_echo(c.friends[f]);

	struct reader_found *found = reader_read_all(c.host);

	cr_expect_eq(found->last, c.sent - 1, "the newest of %u is there", c.sent);
	cr_expect_lt(found->datagrams, 1500, "%zu datagrams are more than wait for anybody", found->datagrams);
	cr_expect_eq(found->from_gone, 0, "of somebody who is gone nothing comes any more");
	cr_expect_eq(found->said_count, 6);
	reader_expect_said(found, 0, PATHS_TO_HOST, 1);
	reader_expect_said(found, 1, FRIEND_IS, 5);
	reader_expect_said(found, 2, PATHS_TO_HOST, 2);
	reader_expect_said(found, 3, FRIEND_GONE, 5);
	reader_expect_said(found, 4, FRIEND_IS, 6);
	reader_expect_said(found, 5, PATHS_TO_HOST, 6);

	/* And the game is as if nothing had been: nobody was told that the host is lost. */
	friend_send(c.cid, "hi", 2);
	host_expect_datagram(c.host, 6, "hi", 2);
	host_send(c.host, 1, "ho", 2);
	friend_expect_datagram(c.friends[0], "ho", 2);

	free(found);
	for (int f = 0; f < FRIENDS; f++)
		ws_client_free(c.friends[f]);
	ws_client_free(c.bob);
	ws_client_free(c.cid);
	ws_client_free(c.host);
	ws_client_free(c.other_host);
	ws_client_free(c.other_friend);
	server_finish(c.s);
}

/*
 * The same in real time, with the server that people run: memory and latency. The whole minute only when COOP_TORTURE is
 * set; after two seconds nothing is held that was not held then.
 */
static int seconds(void)
{
	return getenv("COOP_TORTURE") ? 60 : 12;
}

static struct flood {
	struct crowd      crowd;
	struct crowd_peer friends[FRIENDS];
	uint32_t          code;
	int               joined;
	unsigned          lists; /* sent so far */
} flood;

static void on_news(struct crowd_peer *p, enum crowd_news news, const uint8_t *data, size_t len)
{
	struct pattern join;
	const char    *name = name_number("flood ", (int)(p - flood.friends));

	cr_assert_neq(news, CROWD_ENDED, "a friend was closed");
	if (news == CROWD_OPENED) {
		msg_join(&join, flood.code, name, name);
		crowd_send(p, join.value, join.len);
	} else if (data[0] == 9 && len == 2) {
		flood.joined++;
	}
}

static bool have_all_joined(void *arg)
{
	return *(int *)arg == FRIENDS;
}

/* Ten milliseconds' worth of the game's two million bytes a second. */
static void pour(void)
{
	static const uint8_t datagram[1251] = { 10 };

	for (int f = 0; f < FRIENDS; f++)
		for (int i = 0; i < 4; i++)
			crowd_send(&flood.friends[f], datagram, sizeof(datagram));
	crowd_run(&flood.crowd, NULL, NULL, 0);
}

/* Its count is its number. */
static void send_numbered_list(void)
{
	uint8_t list[10] = { 12 };

	list[9] = (uint8_t)++flood.lists;
	crowd_send(&flood.friends[0], list, sizeof(list));
}

static void send_echo(struct crowd_peer *p)
{
	static const uint8_t echo[5] = { 3 };

	crowd_send(p, echo, sizeof(echo));
}

Test(serve_deaf, his_server_stays_small_and_other_games_notice_nothing)
{
	use_plain_server();

	struct server    *s      = server_start(NULL);
	struct party     *others = party_new("others", 10, 2);
	struct ws_client *host;
	uint32_t          calm_us, now_us;
	size_t            before, most = 0;

	party_gather(others, s->tunnel_port, PARTY_HOSTS_FIRST, 5000);
	host = reader_open(s->tunnel_port, "deaf", &flood.code);
	crowd_init(&flood.crowd, on_news);
	for (int f = 0; f < FRIENDS; f++)
		crowd_dial(&flood.crowd, &flood.friends[f], s->tunnel_port, NULL);
	cr_assert(crowd_run(&flood.crowd, have_all_joined, &flood.joined, 5000));
	party_play(others, 1000, 50);
	calm_us = party_trip_us(others, 500);
	before  = server_rss_bytes(s);
	party_forget_trips(others);

	int64_t from_ms = real_now_ms(), look_ms = from_ms;

	for (int64_t now_ms = from_ms; now_ms < from_ms + seconds() * 1000; now_ms = real_now_ms()) {
		pour();
		party_play(others, 10, 50);
		if (now_ms < look_ms)
			continue;

		size_t bytes = server_rss_bytes(s);

		most = bytes > most ? bytes : most;
		if ((now_ms - from_ms) % 5000 < 1000)
			ws_client_send(host, "03 'alive'");
		for (int f = 0; f < FRIENDS; f++)
			send_echo(&flood.friends[f]);
		send_numbered_list();
		look_ms += 1000;
	}
	cr_expect_eq(party_unanswered(others), 0, "datagrams of other games are lost");
	now_us = party_trip_us(others, 500);
	cr_log_info("resident %zu KiB before, at most %zu; others' round trip %u us before, %u during (median), %u "
	            "(p99)",
	            before / 1024, most / 1024, calm_us, now_us, party_trip_us(others, 990));
	cr_expect_lt(most, before + (size_t)8 * MIB, "%zu KiB before, %zu later", before / 1024, most / 1024);
	cr_expect_lt(now_us, 500000, "%u us before, %u later: the figures of a quiet machine are measured by hand",
	             calm_us, now_us);

	/* FRIEND_IS of all came first; then the lists, each with its number. */
	struct reader_found *found = reader_read_all(host);

	cr_expect_gt(found->datagrams, 0);
	cr_expect_eq(found->said_count, FRIENDS + flood.lists);
	for (unsigned i = 0; i < FRIENDS; i++)
		reader_expect_said(found, i, FRIEND_IS, i + 1);
	for (unsigned i = 0; i < flood.lists; i++)
		cr_expect(found->said[FRIENDS + i][0] == PATHS_TO_HOST && found->said[FRIENDS + i][11] == i + 1);

	free(found);
	for (int f = 0; f < FRIENDS; f++)
		crowd_drop(&flood.friends[f], false);
	crowd_fini(&flood.crowd);
	party_free(others);
	ws_client_free(host);
	server_finish(s);
}
