/*
 * Limits of one connection and one game, at the limit and one past it.
 */
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES_MAX 65552

enum { TO_HOST = 4, TO_FRIEND = 11 };

/* A game with one friend. */
struct game {
	struct server    *server;
	uint32_t          code;
	struct ws_client *host, *friend;
};

static void open_game(struct game *g, const char *const *sets)
{
	g->server = server_start(sets);
	g->host   = host_open(g->server->tunnel_port, "A", &g->code);
	g->friend = friend_join(g->server->tunnel_port, g->code, "visit", "B");
	host_expect_friend(g->host, 1, "B");
}

static void close_game(struct game *g)
{
	ws_client_free(g->friend);
	ws_client_free(g->host);
	server_finish(g->server);
}

/* Messages */

Test(serve_limits, a_message_has_at_most_65552_bytes)
{
	struct server    *s      = server_start(NULL);
	uint8_t          *echo   = calloc(1, MESSAGE_BYTES_MAX + 1);
	struct ws_client *c      = tunnel_connect(s->tunnel_port, NULL);
	struct ws_client *longer = tunnel_connect(s->tunnel_port, NULL);

	echo[0] = 3;
	ws_client_send_bytes(c, echo, MESSAGE_BYTES_MAX);
	ws_expect(c, "03 (00)x15");
	ws_client_send_bytes(longer, echo, MESSAGE_BYTES_MAX + 1);
	ws_expect_closed(longer);
	ws_client_free(longer);

	/* In pieces, it is all of them together that counts. */
	ws_client_send_frame(c, WS_CLIENT_BINARY, true, echo, 40000);
	ws_client_send_frame(c, WS_CLIENT_CONTINUE, true, echo, MESSAGE_BYTES_MAX - 40000);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, echo, 0);
	ws_expect(c, "03 (00)x15");
	ws_client_send_frame(c, WS_CLIENT_BINARY, true, echo, 40000);
	ws_client_send_frame(c, WS_CLIENT_CONTINUE, true, echo, MESSAGE_BYTES_MAX - 40000);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, echo, 1);
	ws_expect_closed(c);
	ws_client_free(c);
	free(echo);
	server_finish(s);
}

Test(serve_limits, a_longer_message_is_refused_by_its_head_alone)
{
	static const uint64_t claims[] = { MESSAGE_BYTES_MAX + 1, 1 << 20,           UINT32_MAX,
		                           UINT64_C(1) << 32,     UINT64_C(1) << 63, UINT64_MAX };
	struct server        *s        = server_start(NULL);

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct ws_client *c = tunnel_connect(s->tunnel_port, NULL);

		ws_client_send_head(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, claims[i]);
		ws_expect_closed(c);
		ws_client_free(c);
	}
	server_finish(s);
}

/* Datagrams */

Test(serve_limits, a_datagram_has_at_most_1500_bytes_up_and_4093_down)
{
	static const struct {
		size_t bytes;
		bool   up, down;
	} rows[] = { { 0, true, true },     { 1, true, true },      { 1499, true, true },
		     { 1500, true, true },  { 1501, false, true },  { 4092, false, true },
		     { 4093, false, true }, { 4094, false, false }, { 65000, false, false } };
	static uint8_t payload[65000];
	struct game    g;
	struct tally   got;

	open_game(&g, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		friend_send(g.friend, payload, rows[i].bytes);
		tunnel_echo(g.friend);
		tally_up_to_echo(&got, g.host, TO_HOST);
		cr_expect_eq(got.count, rows[i].up ? 1 : 0, "%zu bytes up", rows[i].bytes);
		cr_expect_eq(got.bytes, rows[i].up ? rows[i].bytes : 0);

		host_send(g.host, 1, payload, rows[i].bytes);
		tunnel_echo(g.host);
		tally_up_to_echo(&got, g.friend, TO_FRIEND);
		cr_expect_eq(got.count, rows[i].down ? 1 : 0, "%zu bytes down", rows[i].bytes);
		cr_expect_eq(got.bytes, rows[i].down ? rows[i].bytes : 0);
	}
	cr_expect_eq(server_metric(g.server, "coopd_tunnel_datagrams_dropped_total", "size"), 7);
	close_game(&g);
}

/* Sends datagrams of this size up, in helpings that the host reads; what arrived is added to got. */
static void pour_up(struct tally *got, const struct game *g, size_t datagrams, size_t bytes)
{
	static uint8_t payload[1500];
	struct pattern p;
	struct tally   helping;

	msg_from_friend(&p, payload, bytes);
	for (size_t i = 1; i <= datagrams; i++) {
		ws_client_send_pattern(g->friend, &p);
		if (i % 100 != 0 && i != datagrams)
			continue;
		tunnel_echo(g->friend);
		tally_up_to_echo(&helping, g->host, TO_HOST);
		got->count += helping.count;
		got->bytes += helping.bytes;
	}
}

static void pour_down(struct tally *got, const struct game *g, unsigned number, size_t datagrams, size_t bytes)
{
	static uint8_t payload[4093];
	struct pattern p;
	struct tally   helping;

	msg_from_host(&p, number, payload, bytes);
	for (size_t i = 1; i <= datagrams; i++) {
		ws_client_send_pattern(g->host, &p);
		if (i % 100 != 0 && i != datagrams)
			continue;
		tunnel_echo(g->host);
		tally_up_to_echo(&helping, g->friend, TO_FRIEND);
		got->count += helping.count;
		got->bytes += helping.bytes;
	}
}

/* The budget as it is by default: what arrived is what was there, and what flowed in while the test was pouring. */
static void expect_default_budget(const struct game *g, void (*pour)(struct tally *got, const struct game *g))
{
	int64_t      from_ms = real_now_ms();
	struct tally got     = { 0 };

	pour(&got, g);
	cr_expect_geq(got.bytes, 1990000, "%zu bytes arrived", got.bytes);
	cr_expect_leq((int64_t)got.bytes, 2000000 + 2000 * (real_now_ms() - from_ms + 20), "%zu bytes in %d ms",
	              got.bytes, (int)(real_now_ms() - from_ms));
}

static void pour_six_million_up(struct tally *got, const struct game *g)
{
	pour_up(got, g, 4000, 1500);
}

static void pour_six_million_down(struct tally *got, const struct game *g)
{
	pour_down(got, g, 1, 1500, 4000);
}

Test(serve_limits, a_game_may_send_two_million_bytes_at_once_in_each_direction)
{
	struct game g;

	open_game(&g, NULL);
	expect_default_budget(&g, pour_six_million_up);
	expect_default_budget(&g, pour_six_million_down);

	/* One second, and they have flowed in again. */
	server_advance(g.server, 1000);
	tunnel_echo(g.host);
	expect_default_budget(&g, pour_six_million_up);
	close_game(&g);
}

/* So little flows in that what passes is exactly what was there. */
static const char *const a_still_budget[] = { "limits.tunnel_rate=1000", "limits.tunnel_burst=100000", NULL };

Test(serve_limits, a_datagram_larger_than_what_is_left_of_the_budget_is_dropped_and_a_smaller_one_passes)
{
	struct game  g;
	struct tally got = { 0 };

	open_game(&g, a_still_budget);
	pour_up(&got, &g, 66, 1500);
	cr_expect_eq(got.count, 66, "99000 of 100000");
	pour_up(&got, &g, 1, 1500);
	cr_expect_eq(got.count, 66);
	pour_up(&got, &g, 1, 900);
	cr_expect_eq(got.count, 67);
	pour_up(&got, &g, 10, 400);
	cr_expect_leq(got.count, 68, "a little has flowed in meanwhile, but not twice 400");

	/* The other direction has its own, and so has another game. */
	got = (struct tally){ 0 };
	pour_down(&got, &g, 1, 25, 4000);
	cr_expect_eq(got.count, 25);

	struct game other = { .server = g.server };

	other.host   = host_open(g.server->tunnel_port, "C", &other.code);
	other.friend = friend_join(g.server->tunnel_port, other.code, "visit", "D");
	host_expect_friend(other.host, 1, "D");
	got = (struct tally){ 0 };
	pour_up(&got, &other, 66, 1500);
	cr_expect_eq(got.count, 66);
	ws_client_free(other.host);
	ws_client_free(other.friend);

	/* A thousand bytes a second, never more than there is room for. */
	server_advance(g.server, 10000);
	got = (struct tally){ 0 };
	pour_up(&got, &g, 100, 1000);
	cr_expect(got.count >= 10 && got.count <= 12, "%zu of 1000 bytes after 10 s", got.count);
	close_game(&g);
}

Test(serve_limits, a_small_datagram_costs_64_bytes_of_the_budget)
{
	static const size_t sizes[] = { 0, 1, 63, 64 };

	for (size_t i = 0; i < 4; i++) {
		struct game  g;
		struct tally got = { 0 };

		open_game(&g, (const char *[]){ "limits.tunnel_rate=1000", "limits.tunnel_burst=64000", NULL });

		int64_t from_ms = real_now_ms();

		pour_up(&got, &g, 1200, sizes[i]);

		size_t flowed_in = (size_t)(real_now_ms() - from_ms + 20) / 64 + 1;

		cr_expect(got.count >= 1000 && got.count <= 1000 + flowed_in, "%zu of %zu bytes", got.count, sizes[i]);
		close_game(&g);
	}
}

Test(serve_limits, only_datagrams_that_could_have_arrived_use_the_budget)
{
	struct game  g;
	struct tally got = { 0 };

	/* To nobody: nothing is used. */
	open_game(&g, a_still_budget);
	pour_down(&got, &g, 7, 100, 4000);
	cr_expect_eq(got.count, 0);
	pour_down(&got, &g, 1, 25, 4000);
	cr_expect_eq(got.count, 25);
	close_game(&g);

	/* To a friend who is away for a moment: used. */
	struct tally none;

	open_game(&g, a_still_budget);
	ws_client_drop(g.friend);
	ws_client_free(g.friend);
	server_await_metric(g.server, "coopd_ws_connections", NULL, 1, 5000);

	uint8_t payload[4000] = { 0 };

	for (int i = 0; i < 25; i++)
		host_send(g.host, 1, payload, sizeof(payload));
	tunnel_echo(g.host);
	g.friend = friend_join(g.server->tunnel_port, g.code, "visit", "B");
	tally_up_to_echo(&none, g.friend, TO_FRIEND);
	cr_expect_eq(none.count, 0);
	got = (struct tally){ 0 };
	pour_down(&got, &g, 1, 1, 4000);
	cr_expect_eq(got.count, 0, "what went to him while he was away is gone from the budget");

	/* With the host away: not used. */
	ws_client_drop(g.host);
	ws_client_free(g.host);
	friend_expect_state(g.friend, STATE_LOST);
	for (int i = 0; i < 100; i++)
		friend_send(g.friend, payload, 1500);
	tunnel_echo(g.friend);
	g.host = host_open(g.server->tunnel_port, "A", NULL);
	host_expect_friend(g.host, 1, "B");
	got = (struct tally){ 0 };
	pour_up(&got, &g, 66, 1500);
	cr_expect_eq(got.count, 66);
	close_game(&g);
}

/* Candidates and states */

Test(serve_limits, a_list_of_candidates_is_cut_at_63_bytes_up_and_61_down)
{
	static const struct {
		int         from_host;
		const char *sent, *told;
	} rows[] = {
		{ 0, "0c (a1)x8 09 (cc)x54", "0d 01 00 (a1)x8 09 (cc)x54" },
		{ 0, "0c (a1)x8 0a (cc)x55", "0d 01 00 (a1)x8 0a (cc)x54" },
		{ 0, "0c (a1)x8 ff (cc)x1000", "0d 01 00 (a1)x8 ff (cc)x54" },
		{ 1, "0e 01 00 0a (cc)x60", "0f 0a (cc)x60" },
		{ 1, "0e 01 00 0b (cc)x61", "0f 0b (cc)x60" },
		{ 1, "0e 01 00 00 (cc)x1000", "0f 00 (cc)x60" },
	};
	struct game g;

	open_game(&g, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ws_client_send(rows[i].from_host ? g.host : g.friend, rows[i].sent);
		ws_expect(rows[i].from_host ? g.friend : g.host, rows[i].told);
	}
	close_game(&g);
}

/* Sends 21 lists; 20 arrive, each with its number as count. */
static void expect_20_lists(struct ws_client *from, const char *head, struct ws_client *to, const char *told)
{
	struct pattern p;

	for (unsigned i = 1; i <= 21; i++) {
		pattern_read(&p, head);
		pattern_add_u8(&p, i);
		ws_client_send_pattern(from, &p);
	}
	for (unsigned i = 1; i <= 20; i++) {
		pattern_read(&p, told);
		pattern_add_u8(&p, i);
		ws_expect_pattern(to, &p);
	}
	tunnel_echo(from);
	tunnel_echo(to);
}

Test(serve_limits, twenty_lists_of_candidates_in_10_s)
{
	struct game g;

	open_game(&g, NULL);
	expect_20_lists(g.friend, "0c (a1)x8", g.host, "0d 01 00 (a1)x8");
	expect_20_lists(g.host, "0e 01 00", g.friend, "0f");
	server_advance(g.server, 9000);
	tunnel_echo(g.friend);
	ws_client_send(g.friend, "0c (a1)x8 07");
	tunnel_echo(g.friend);
	tunnel_echo(g.host);
	server_advance(g.server, 1000);
	tunnel_echo(g.friend);
	expect_20_lists(g.friend, "0c (a1)x8", g.host, "0d 01 00 (a1)x8");
	expect_20_lists(g.host, "0e 01 00", g.friend, "0f");
	close_game(&g);
}

Test(serve_limits, twenty_states_in_10_s_and_the_last_one_is_not_lost)
{
	struct game g;

	open_game(&g, NULL);
	for (int i = 0; i < 10; i++) {
		host_send_state(g.host, STATE_RESTARTING);
		host_send_state(g.host, STATE_READY);
		friend_expect_state(g.friend, STATE_RESTARTING);
		friend_expect_state(g.friend, STATE_READY);
	}
	host_send_state(g.host, STATE_RESTARTING);
	tunnel_echo(g.host);
	tunnel_echo(g.friend);

	/* He is restarting all the same, and his friends hear of it as soon as the rate allows. */
	server_advance(g.server, 5000);
	tunnel_echo(g.host);
	tunnel_echo(g.friend);
	server_advance(g.server, 5000);
	friend_expect_state(g.friend, STATE_RESTARTING);
	close_game(&g);
}
