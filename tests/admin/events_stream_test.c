/*
 * What a viewer gets: as its filter says, what it missed, figures, and what becomes of one that does not read.
 */
#include "admin/admin_figures.h"
#include "base/auto.h"
#include "support/dial.h"
#include "support/events_client.h"
#include "support/p2p_peer.h"
#include "support/server.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static struct server *s;

static void start(void)
{
	s = server_start(
		(const char *const[]){ "limits.admin_viewers_waiting=65536", "limits.admin_events_kept=100000", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(events_stream, .init = start, .fini = stop);

static void quiet(struct events_client *v)
{
	events_say(v, "{\"op\":\"filter\",\"figures\":false}");
}

/* One event of each kind "game.opened", "game.host_lost". */
static void play(const char *key)
{
	ws_client_free(host_open(s->tunnel_port, key, NULL));
}

Test(events_stream, a_filter_chooses_by_kind)
{
	struct events_client *v = events_open(s);
	uint32_t              code;
	struct ws_client     *host, *friend;

	events_say(v, "{\"op\":\"filter\",\"kinds\":[\"friend.*\",\"game.opened\"],\"figures\":false}");
	host   = host_open(s->tunnel_port, "A", &code);
	friend = friend_join(s->tunnel_port, code, "visit", "B");
	ws_client_drop(host);
	ws_client_drop(friend);
	events_await_op(v, "event");
	cr_expect(events_is(v, "kind", "game.opened"));
	events_await_op(v, "event");
	cr_expect(events_is(v, "kind", "friend.joined"));
	events_await_op(v, "event");
	cr_expect(events_is(v, "kind", "friend.left"), "and not that the host was lost");
	cr_expect_eq(v->sets, 0);
	events_free(v);
	ws_client_free(friend);
	ws_client_free(host);
}

Test(events_stream, without_kinds_or_figures_in_it_a_filter_takes_all)
{
	struct events_client *v = events_open(s);

	events_say(v, "{\"op\":\"filter\",\"kinds\":[],\"figures\":false}");
	events_say(v, "{\"op\":\"filter\"}");
	play("A");
	events_await(v, "game.opened");
	events_await_op(v, "figures");
	events_free(v);
}

static const char *const wrong[][2] = {
	{ "{\"op\":\"filter\",\"kinds\":[\"gam.*\"]}", "invalid" },
	{ "{\"op\":\"filter\",\"kinds\":[17]}", "invalid" },
	{ "{\"op\":\"filter\",\"kinds\":\"*\"}", "invalid" },
	{ "{\"op\":\"filter\",\"figures\":1}", "invalid" },
	{ "{\"op\":\"since\"}", "invalid" },
	{ "{\"op\":\"since\",\"seq\":-1}", "invalid" },
	{ "{\"op\":\"since\",\"seq\":\"1\"}", "invalid" },
	{ "{\"op\":\"auth2\"}", "malformed" },
	{ "{\"op\":17}", "malformed" },
	{ "[]", "malformed" },
	{ "filter", "malformed" },
};

Test(events_stream, what_is_not_understood_is_answered_and_changes_nothing)
{
	struct events_client *v = events_open(s);

	events_say(v, "{\"op\":\"filter\",\"kinds\":[\"game.opened\"],\"figures\":false}");
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		events_say(v, wrong[i][0]);
		events_await_op(v, "error");
		cr_expect(events_is(v, "code", wrong[i][1]), "%s: %s", wrong[i][0], events_text(v, "code"));
	}
	play("A");
	play("B");
	events_await_op(v, "event");
	cr_expect(events_is(v, "kind", "game.opened"));
	events_await_op(v, "event");
	cr_expect(events_is(v, "kind", "game.opened"));
	events_free(v);
}

Test(events_stream, numbers_count_all_and_gaps_are_what_the_filter_left_out)
{
	struct events_client *v = events_open(s), *w = events_open(s);

	quiet(v);
	events_say(w, "{\"op\":\"filter\",\"kinds\":[\"game.opened\"],\"figures\":false}");
	play("A");
	events_await(v, "game.opened");
	events_await(v, "game.host_lost");
	play("B");
	events_await(v, "game.opened");
	events_await(w, "game.opened");
	cr_expect_eq(w->seq, v->seq - 2);
	events_await(w, "game.opened");
	cr_expect_eq(w->seq, v->seq);
	cr_expect_eq(w->lost_events, 0);
	events_free(v);
	events_free(w);
}

Test(events_stream, since_gives_what_was_missed_in_order_and_goes_on)
{
	struct events_client *v = events_open(s), *again;
	int64_t               seq;

	quiet(v);
	play("A");
	events_await(v, "game.host_lost");
	seq = v->seq;
	events_free(v);

	play("B");
	play("C");
	again = events_open(s);
	quiet(again);
	events_since(again, seq);
	for (int64_t i = 1; i <= 4; i++) {
		events_await_op(again, "event");
		cr_expect_eq(again->seq, seq + i);
		cr_expect(events_is(again, "kind", i % 2 ? "game.opened" : "game.host_lost"));
	}
	play("D");
	events_await_op(again, "event");
	cr_expect_eq(again->seq, seq + 5);
	cr_expect_eq(again->lost_events, 0);
	events_free(again);
}

Test(events_stream, a_number_of_an_earlier_run_gets_all_that_is_kept)
{
	struct events_client *v = events_open(s);

	quiet(v);
	events_since(v, 1000000);
	events_await_op(v, "event");
	cr_expect_eq(v->seq, 1);
	cr_expect(events_is(v, "kind", "server.ready"));
	events_free(v);
}

Test(events_stream, since_says_how_many_are_not_kept_any_more)
{
	struct events_client *v;

	server_stop(s);
	server_unset(s, "limits.admin_events_kept");
	server_set(s, "limits.admin_events_kept=10");
	server_launch(s);
	server_await_ready(s);
	for (int i = 0; i < 8; i++) /* 16 and the start itself */
		play("A");
	v = events_open(s);
	quiet(v);
	events_since(v, 2);
	events_await_op(v, "lost");
	events_await_op(v, "event");
	cr_expect_eq(v->seq, 3 + v->lost_events);
	cr_expect_gt(v->lost_events, 0);
	events_free(v);
}

/* Each request leaves a room, which is over then, and makes another: two events, and one for the first. */
static void make_rooms(struct p2p_peer *ann, int count)
{
	for (int i = 0; i < count; i++)
		p2p_peer_ask(ann, "p2p.create", "");
}

#define BATCHES 40
#define BATCH   50

/* A viewer that reads nothing loses sets, then events; all who read get all. */
Test(events_stream, who_does_not_read_loses_and_is_told_how_many)
{
	struct ws_client_options o     = { .unix_path = s->admin_events_socket };
	struct events_client    *other = events_open(s), *slow = events_dial(s, &o);
	struct p2p_peer          ann;
	int64_t                  got = 0, seen = 0;

	quiet(other);
	p2p_peer_open(&ann, s, 1);
	events_await(other, "p2p.session");
	real_sleep_ms(600); /* its events have begun */
	for (int i = 0; i < BATCHES; i++) {
		make_rooms(&ann, BATCH);
		for (int k = i == 0; k < 2 * BATCH; k++, seen++)
			events_await_op(other, "event");
	}
	cr_expect_eq(other->lost_events, 0);
	while (server_metric(s, "coopd_admin_figures_lost_total", NULL) < 5)
		server_advance(s, 1100);

	while (slow->lost_events == 0 || slow->seq + slow->lost_events < other->seq) {
		cr_assert(events_next(slow, EVENTS_PATIENCE_MS), "the slow one hears no more at %lld of %lld",
		          (long long)slow->seq, (long long)other->seq);
		got += events_is(slow, "op", "event");
		if (events_is(slow, "op", "lost") && got + slow->lost_events >= seen)
			break;
	}
	cr_expect_gt(slow->lost_events, 0);
	cr_expect_geq(slow->lost_sets, 5, "only the newest set waits");
	cr_expect_leq(got + slow->lost_events, seen + 2, "its own session's event, and those before it");
	cr_expect_geq(got + slow->lost_events, seen);
	cr_expect_eq(server_metric(s, "coopd_admin_events_lost_total", NULL), (double)slow->lost_events);

	/* And from here on it is as good as any. */
	play("A");
	events_await(slow, "game.opened");
	events_await(other, "game.opened");
	cr_expect_eq(slow->seq, other->seq);
	p2p_peer_free(&ann);
	events_free(slow);
	events_free(other);
}

/* What it catches up with waits for it as long as it is kept, however slowly it reads. */
Test(events_stream, since_loses_nothing_that_is_kept)
{
	struct events_client *v;
	struct p2p_peer       ann;

	p2p_peer_open(&ann, s, 1);
	make_rooms(&ann, BATCHES * BATCH);
	v = events_open(s);
	quiet(v);
	events_since(v, 0);
	for (int64_t seq = 1; seq <= 2 * BATCHES * BATCH; seq++) {
		events_await_op(v, "event");
		cr_assert_eq(v->seq, seq);
	}
	cr_expect_eq(v->lost_events, 0);
	p2p_peer_free(&ann);
	events_free(v);
}

Test(events_stream, figures_come_once_a_second_and_say_what_is)
{
	struct events_client *v = events_open(s);
	uint32_t              code;
	struct ws_client     *host = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend   = friend_join(s->tunnel_port, code, "visit", "B");

	server_await_metric(s, "coopd_tunnel_friends", NULL, 1, EVENTS_PATIENCE_MS);
	do /* those of before are on their way still */
		events_await_op(v, "figures");
	while (events_int(v, "friends") == 0);
	cr_expect_gt(v->sets, 0);
	for (size_t i = 0; admin_figures_name(i); i++)
		cr_expect(json_kind(v->last, admin_figures_name(i)) == JSON_IS_INTEGER ||
		                  json_kind(v->last, admin_figures_name(i)) == JSON_IS_REAL,
		          "%s", admin_figures_name(i));
	cr_expect_eq(events_int(v, "games"), 1);
	cr_expect_eq(events_int(v, "hosts"), 1);
	cr_expect_eq(events_int(v, "friends"), 1);
	cr_expect_eq(events_int(v, "players"), 1);
	cr_expect_eq(events_int(v, "ws_connections"), 3);
	cr_expect_gt(events_int(v, "rss_bytes"), 1000000);
	cr_expect_gt(events_int(v, "disk_free_bytes"), 0);
	cr_expect_gt(events_int(v, "database_bytes"), 0);
	cr_expect_eq(events_int(v, "quota_used_bytes"), 0);
	cr_expect_gt(events_int(v, "quota_max_bytes"), 0);
	ws_client_free(host);
	ws_client_free(friend);
	events_free(v);
}

/* Rates are of the time that really passed: the sum of all sets is what was sent, but for rounding. */
Test(events_stream, rates_are_what_was_sent)
{
	struct events_client *v = events_open(s);
	uint32_t              code;
	struct ws_client     *host = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend   = friend_join(s->tunnel_port, code, "visit", "B");
	int64_t sum                = 0;

	host_expect_friend(host, 1, "B");
	events_await_op(v, "figures");
	for (int i = 0; i < 500; i++) {
		friend_send(friend, "0123456789", 10);
		host_expect_datagram(host, 1, "0123456789", 10);
	}
	for (int i = 0; i < 4; i++) {
		events_await_op(v, "figures");
		sum += events_int(v, "datagrams_up_s");
	}
	cr_expect_geq(sum, 250, "%lld", (long long)sum);
	cr_expect_leq(sum, 510, "%lld", (long long)sum);
	ws_client_free(host);
	ws_client_free(friend);
	events_free(v);
}
