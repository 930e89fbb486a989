/*
 * Receivers that do not read: they lose their own oldest datagrams and nothing else, and cost a bounded amount of
 * memory. They are made by a small receive buffer and by not calling ws_client_receive.
 */
#include "support/reader.h"
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define BACKLOG_BYTES 1048576
#define MARGIN_BYTES  (64 * 1024) /* of a frame or two, and of control messages */

enum { FRIEND_GONE = 6, TO_FRIEND = 11, PATHS_TO_HOST = 13, FRIEND_IS = 17 };

static size_t dropped(struct server *s)
{
	return (size_t)server_metric(s, "coopd_ws_datagrams_dropped_total", NULL);
}

Test(serve_slow, a_host_who_does_not_read_loses_his_oldest_datagrams_only)
{
	enum { SENT = 1600, BYTES = 1200 };

	struct server    *s = server_start((const char *[]){ "limits.tunnel_burst=10000000", NULL });
	uint32_t          code;
	struct ws_client *host = reader_open(s->tunnel_port, "A", &code);
	struct ws_client *ann  = friend_join(s->tunnel_port, code, "ann", "ann");
	struct ws_client *bob;

	host_expect_friend(host, 1, "ann");
	for (uint32_t i = 0; i < SENT / 2; i++)
		reader_send_numbered(ann, i, BYTES);
	tunnel_echo(ann);
	bob = friend_join(s->tunnel_port, code, "bob", "bob");
	for (uint32_t i = SENT / 2; i < SENT; i++)
		reader_send_numbered(ann, i, BYTES);
	ws_client_send(ann, "0c (a1)x8 00");
	tunnel_echo(ann);
	cr_expect_leq(server_metric(s, "coopd_ws_queued_bytes", NULL), BACKLOG_BYTES + MARGIN_BYTES);

	struct reader_found *f = reader_read_all(host);

	cr_expect(f->in_order);
	cr_expect_eq(f->first, 0, "what was under way already still comes");
	cr_expect_eq(f->last, SENT - 1, "the newest is there");
	cr_expect_gt(f->datagrams, 800, "%zu of them came", f->datagrams);
	cr_expect_lt(f->datagrams, SENT);
	cr_expect_eq(f->datagrams + dropped(s), SENT);
	cr_expect_eq(f->said_count, 2);
	reader_expect_said(f, 0, FRIEND_IS, 2);
	reader_expect_said(f, 1, PATHS_TO_HOST, 1);

	/* It is as if nothing had been. */
	friend_send(bob, "hi", 2);
	host_expect_datagram(host, 2, "hi", 2);
	free(f);
	ws_client_free(ann);
	ws_client_free(bob);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_slow, a_friend_who_does_not_read_costs_the_others_nothing)
{
	enum { SENT = 1500, BYTES = 1200, LIKEWISE = 100 };

	struct server    *s = server_start((const char *[]){ "limits.tunnel_burst=10000000", NULL });
	uint32_t          code;
	struct ws_client *host = host_open(s->tunnel_port, "A", &code);
	struct ws_client *slow = reader_connect(s->tunnel_port);
	struct ws_client *quick;
	struct pattern    p;
	uint8_t           payload[BYTES] = { 0 };
	struct tally      got;
	size_t            quick_got = 0;

	msg_join(&p, code, "slow", "slow");
	ws_client_send_pattern(slow, &p);
	ws_expect(slow, "09 02");
	host_expect_friend(host, 1, "slow");
	quick = friend_join(s->tunnel_port, code, "quick", "quick");
	host_expect_friend(host, 2, "quick");

	for (int i = 0; i < SENT; i++) {
		host_send(host, 1, payload, sizeof(payload));
		host_send(host, 2, payload, sizeof(payload));
		if (i % LIKEWISE == LIKEWISE - 1) {
			tunnel_echo(host);
			tally_up_to_echo(&got, quick, TO_FRIEND);
			quick_got += got.count;
		}
	}
	cr_expect_eq(quick_got, SENT);

	/* States overtake what waits. */
	host_send_state(host, STATE_RESTARTING);
	friend_expect_state(quick, STATE_RESTARTING);
	tally_up_to_echo(&got, slow, TO_FRIEND);
	cr_expect_gt(got.count, 700);
	cr_expect_eq(got.count + dropped(s), SENT);
	ws_client_free(slow);
	ws_client_free(quick);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_slow, a_datagram_that_waited_2_s_is_not_sent_any_more)
{
	enum { SENT = 700, BYTES = 1200 };

	struct server    *s = server_start(NULL);
	uint32_t          code;
	struct ws_client *host = reader_open(s->tunnel_port, "A", &code);
	struct ws_client *ann  = friend_join(s->tunnel_port, code, "ann", "ann");

	host_expect_friend(host, 1, "ann");
	for (uint32_t i = 0; i < SENT; i++)
		reader_send_numbered(ann, i, BYTES);
	ws_client_send(ann, "0c (a1)x8 00");
	tunnel_echo(ann);
	cr_expect_eq(dropped(s), 0);
	cr_expect_gt(server_metric(s, "coopd_ws_queued_bytes", NULL), 400000);

	server_advance(s, 2100);
	server_advance(s, 2100);
	tunnel_echo(ann);
	for (int i = 0; i < 200 && server_metric(s, "coopd_ws_queued_bytes", NULL) > 5000; i++)
		real_sleep_ms(10);
	cr_expect_leq(server_metric(s, "coopd_ws_queued_bytes", NULL), 5000, "only the one under way, and the list");
	reader_send_numbered(ann, SENT, BYTES);
	tunnel_echo(ann);

	struct reader_found *f = reader_read_all(host);

	cr_expect(f->in_order);
	cr_expect_eq(f->last, SENT, "a new one is sent");
	cr_expect_lt(f->datagrams, 300, "%zu of them came", f->datagrams);
	cr_expect_eq(f->datagrams + dropped(s), SENT + 1);
	cr_expect_eq(f->said_count, 1);
	reader_expect_said(f, 0, PATHS_TO_HOST, 1);
	free(f);
	ws_client_free(ann);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_slow, behind_the_news_that_a_friend_is_gone_nothing_of_him_comes)
{
	struct server *s =
		server_start((const char *[]){ "limits.ws_backlog_ms=60000", "limits.tunnel_grace_ms=1000", NULL });
	uint32_t          code;
	struct ws_client *host = reader_open(s->tunnel_port, "A", &code);
	struct ws_client *ann  = friend_join(s->tunnel_port, code, "ann", "ann");
	struct ws_client *bob  = friend_join(s->tunnel_port, code, "bob", "bob");
	uint32_t          sent = 0;

	host_expect_friend(host, 1, "ann");
	host_expect_friend(host, 2, "bob");

	/* Ann's fill what the kernel takes; then they take turns. */
	for (; sent < 300; sent++)
		reader_send_numbered(ann, sent, 1200);
	tunnel_echo(ann);
	for (; sent < 400; sent++) {
		reader_send_numbered(sent % 2 ? ann : bob, sent, 1200);
		tunnel_echo(sent % 2 ? ann : bob);
	}
	ws_client_drop(bob);
	ws_client_free(bob);
	server_await_metric(s, "coopd_ws_connections", NULL, 2, 5000);
	server_advance(s, 6000);
	server_await_metric(s, "coopd_ws_datagrams_dropped_total", "gone", 50, 5000);

	struct reader_found *f = reader_read_all(host);

	cr_expect_eq(f->said_count, 1);
	reader_expect_said(f, 0, FRIEND_GONE, 2);
	cr_expect_eq(f->from_gone, 0);
	cr_expect(f->in_order);
	cr_expect_eq(f->datagrams, 350, "all of ann's");
	free(f);
	ws_client_free(ann);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_slow, no_more_than_2048_datagrams_wait_however_small)
{
	enum { SENT = 30000, FRAME_BYTES = 2 + 3 + 3, FRAMES = 2048 };

	struct server       *s = server_start(NULL);
	uint32_t             code;
	struct ws_client    *host = reader_open(s->tunnel_port, "A", &code);
	struct ws_client    *ann  = friend_join(s->tunnel_port, code, "ann", "ann");
	struct reader_found *f;

	host_expect_friend(host, 1, "ann");
	for (uint32_t i = 0; i < SENT; i++)
		reader_send_numbered(ann, i, 3);
	tunnel_echo(ann);
	cr_expect_leq(server_metric(s, "coopd_ws_queued_bytes", NULL), FRAMES * FRAME_BYTES);
	f = reader_read_all(host);
	cr_expect(f->in_order);
	cr_expect_eq(f->last, SENT - 1);
	cr_expect_geq(f->datagrams, FRAMES - 1);
	cr_expect_lt(f->datagrams, SENT);
	cr_expect_eq(f->datagrams + dropped(s), SENT);
	free(f);
	ws_client_free(ann);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_slow, a_connection_that_cannot_even_take_control_messages_is_closed)
{
	enum { FRIENDS = 8, LISTS = 200 };

	struct server *s =
		server_start((const char *[]){ "limits.ws_control=65536", "limits.tunnel_signals=200", NULL });
	uint32_t          code;
	struct ws_client *host = reader_open(s->tunnel_port, "A", &code);
	struct ws_client *friends[FRIENDS];

	for (int i = 0; i < FRIENDS; i++) {
		friends[i] = friend_join(s->tunnel_port, code, name_number("t", i), name_number("friend ", i));
		host_expect_friend(host, (unsigned)i + 1, name_number("friend ", i));
	}

	/* First the kernel's buffers are filled, then lists of candidates pile up. */
	for (uint32_t i = 0; i < 200; i++)
		reader_send_numbered(friends[0], i, 1400);
	tunnel_echo(friends[0]);
	for (int i = 0; i < FRIENDS && server_metric(s, "coopd_ws_closed_total", "control_full") < 1; i++) {
		for (int n = 0; n < LISTS; n++)
			ws_client_send(friends[i], "0c (a1)x8 09 (cc)x54");
		tunnel_echo(friends[i]);
	}
	cr_expect_eq(server_metric(s, "coopd_ws_closed_total", "control_full"), 1);

	/* He reads no close either, so he is reset, and for his friends he is lost. */
	server_advance(s, 5000);
	for (int i = 0; i < FRIENDS; i++) {
		friend_expect_state(friends[i], STATE_LOST);
		ws_client_free(friends[i]);
	}
	server_await_metric(s, "coopd_ws_reset_total", NULL, 1, 5000);
	ws_client_free(host);
	server_finish(s);
}

/* Limits of all connections together */

Test(serve_slow, over_the_budget_of_all_output_the_largest_debtor_is_cut)
{
	struct server    *s    = server_start((const char *[]){ "limits.ws_output_total=1048576", NULL });
	int               port = s->tunnel_port;
	uint32_t          code_a, code_b, code_c;
	struct ws_client *host_a = reader_open(port, "A", &code_a);
	struct ws_client *host_b = reader_open(port, "B", &code_b);
	struct ws_client *host_c = host_open(port, "C", &code_c);
	struct ws_client *ann    = friend_join(port, code_a, "ann", "ann");
	struct ws_client *bob    = friend_join(port, code_b, "bob", "bob");
	struct ws_client *cid    = friend_join(port, code_c, "cid", "cid");

	host_expect_friend(host_a, 1, "ann");
	host_expect_friend(host_b, 1, "bob");
	host_expect_friend(host_c, 1, "cid");
	for (uint32_t i = 0; i < 700; i++)
		reader_send_numbered(ann, i, 1200);
	tunnel_echo(ann);
	for (uint32_t i = 0; i < 600; i++)
		reader_send_numbered(bob, i, 1200);
	tunnel_echo(bob);
	friend_expect_state(ann, STATE_LOST);
	cr_expect_eq(server_metric(s, "coopd_ws_closed_total", "output_budget"), 1);
	cr_expect_leq(server_metric(s, "coopd_ws_queued_bytes", NULL), 1048576);

	/* The smaller one is let be, and a game that owes nothing notices nothing. */
	friend_send(cid, "hi", 2);
	host_expect_datagram(host_c, 1, "hi", 2);

	struct reader_found *f = reader_read_all(host_b);

	cr_expect_eq(f->datagrams, 600);
	free(f);
	ws_expect_end(host_a);

	struct ws_client *all[] = { host_a, host_b, host_c, ann, bob, cid };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ws_client_free(all[i]);
	server_finish(s);
}

Test(serve_slow, over_the_budget_of_all_incomplete_messages_the_largest_is_cut)
{
	enum { MANY = 24, PART = 60000, LARGEST = 65000 };

	struct server    *s = server_start((const char *[]){ "limits.ws_input_total=1048576", NULL });
	struct ws_client *conns[MANY];
	struct ws_client *witness = tunnel_connect(s->tunnel_port, NULL);
	uint8_t          *part    = calloc(1, LARGEST);
	int               ended   = 0;

	part[0] = 3;
	for (int i = 0; i < MANY; i++) {
		conns[i] = tunnel_connect(s->tunnel_port, NULL);
		ws_client_send_frame(conns[i], WS_CLIENT_BINARY, true, part, i == 3 ? LARGEST : PART);
	}
	tunnel_echo(witness);
	cr_expect_geq(server_metric(s, "coopd_ws_closed_total", "input_budget"), 1);
	cr_expect_leq(server_metric(s, "coopd_ws_partial_bytes", NULL), 1048576);
	for (int i = 0; i < MANY; i++) {
		struct ws_client_event e;

		ws_client_send_frame(conns[i], WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "", 0);
		e = ws_client_receive(conns[i], DIAL_PATIENCE_MS);
		cr_assert(e.what == WS_MESSAGE || e.what == WS_END, "connection %d", i);
		ended += e.what == WS_END;
	}
	cr_expect_eq(ended, server_metric(s, "coopd_ws_closed_total", "input_budget"));
	cr_expect_lt(ended, MANY / 2);
	for (int i = 0; i < MANY; i++)
		ws_client_free(conns[i]);
	ws_client_free(witness);
	free(part);
	server_finish(s);
}
