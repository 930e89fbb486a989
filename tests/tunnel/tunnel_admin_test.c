/*
 * Games for operators, over real sockets: what they see, and what host and friends hear of what they do.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/admin_client.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;

static void start(void)
{
	static const char *const sets[] = { "limits.tunnel_games_per_address=100", NULL };

	s = server_start(sets);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(tunnel_admin, .init = start, .fini = stop, .timeout = 300);

/* --- Words --- */

static const char *game_path(uint32_t code, const char *more)
{
	static char paths[4][100];
	static int  next;
	char       *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "/admin/v1/games/%u%s", (unsigned)code, more);
	return path;
}

static const char *hex_id(char out[17], const char *key)
{
	uint8_t id[ID_BYTES];

	id_of(id, key);
	hex_encode(out, id, sizeof(id));
	return out;
}

static void expect_text(const struct http_result *r, const char *way, const char *want)
{
	char text[300];

	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), want, "%s: %s", way, text);
}

static void expect_path(const char *method, const char *path, int status, const char *code)
{
	ANSWER r = admin_ask(s, method, path, NULL);

	admin_expect(&r, status, code);
}

/* A host and a friend who know each other. */
static struct ws_client *host, *ann;
static uint32_t          code;

static void play(void)
{
	host = host_open(s->tunnel_port, "A", &code);
	ann  = friend_join(s->tunnel_port, code, "ann", "B");
	host_expect_friend(host, 1, "B");
}

static void leave(void)
{
	ws_client_free(ann);
	ws_client_free(host);
}

/* --- What is seen --- */

Test(tunnel_admin, a_game_is_seen_with_its_host_friends_and_addresses)
{
	char a[17], b[17];

	host        = host_open_from(s->tunnel_port, "203.0.113.7", "A", &code);
	ANSWER open = admin_get(s, "/admin/v1/games");
	admin_expect(&open, 200, NULL);
	cr_expect_eq(rest_count(&open, "items"), 1);
	expect_text(&open, "items.0.state", "open");
	ann = friend_join(s->tunnel_port, code, "ann", "B");
	host_expect_friend(host, 1, "B");

	ANSWER list = admin_get(s, "/admin/v1/games");
	cr_expect_eq(rest_int(&list, "items.0.code"), code);
	cr_expect_eq(rest_int(&list, "items.0.version"), 2);
	cr_expect_eq(rest_int(&list, "items.0.friends"), 1);
	cr_expect(rest_bool(&list, "items.0.connected"));
	expect_text(&list, "items.0.host", hex_id(a, "A"));
	expect_text(&list, "items.0.state", "playing");

	ANSWER one = admin_get(s, game_path(code, ""));
	admin_expect(&one, 200, NULL);
	expect_text(&one, "address", "203.0.113.7");
	cr_expect_eq(rest_count(&one, "friends"), 1);
	cr_expect_eq(rest_int(&one, "friends.0.number"), 1);
	expect_text(&one, "friends.0.player", hex_id(b, "B"));
	expect_text(&one, "friends.0.address", "127.0.0.1");
	cr_expect(rest_bool(&one, "friends.0.connected"));
	cr_expect_null(strstr(one.body, "token"), "%s", one.body);
	cr_expect_null(strstr(one.body, "\"joined_at\":null"), "%s", one.body);
	leave();
}

Test(tunnel_admin, who_is_away_has_no_address)
{
	play();
	ws_client_drop(ann);
	ws_client_drop(host);
	server_await_metric(s, "coopd_ws_connections", NULL, 0, DIAL_PATIENCE_MS);
	ANSWER one = admin_get(s, game_path(code, ""));
	admin_expect(&one, 200, NULL);
	expect_text(&one, "state", "lost");
	cr_expect_not(rest_bool(&one, "connected"));
	cr_expect_not_null(strstr(one.body, "\"address\":null"));
	cr_expect_not(rest_bool(&one, "friends.0.connected"));
	leave();
}

Test(tunnel_admin, a_game_of_protocol_1_has_no_player_ids)
{
	struct tunnel_ticket ticket;
	struct ws_client    *old = host_open_1(s->tunnel_port, NULL, &ticket);
	struct ws_client    *bob = friend_join_1(s->tunnel_port, ticket.code, "bob");

	ANSWER one = admin_get(s, game_path(ticket.code, ""));
	admin_expect(&one, 200, NULL);
	cr_expect_eq(rest_int(&one, "version"), 1);
	cr_expect_not_null(strstr(one.body, "\"host\":null"), "%s", one.body);
	cr_expect_not_null(strstr(one.body, "\"player\":null"), "%s", one.body);
	expect_path("DELETE", game_path(ticket.code, ""), 200, NULL);
	friend_expect_state(bob, STATE_CLOSED);
	ws_expect_closed(bob);
	ws_expect_closed(old);
	ws_client_free(bob);
	ws_client_free(old);
}

Test(tunnel_admin, datagrams_are_counted_for_friend_and_game_and_stay_counted_when_he_leaves)
{
	static const char big[1501] = "";

	play();
	for (int i = 0; i < 3; i++)
		friend_send(ann, "12345", 5);
	friend_send(ann, big, sizeof(big)); /* too long */
	host_send(host, 1, "123", 3);
	host_send(host, 9, "123", 3); /* nobody */
	for (int i = 0; i < 3; i++)
		host_expect_datagram(host, 1, "12345", 5);
	friend_expect_datagram(ann, "123", 3);
	tunnel_echo(host);

	ANSWER one = admin_get(s, game_path(code, ""));
	cr_expect_eq(rest_int(&one, "friends.0.up.datagrams"), 3);
	cr_expect_eq(rest_int(&one, "friends.0.up.bytes"), 15);
	cr_expect_eq(rest_int(&one, "friends.0.up.dropped"), 1);
	cr_expect_eq(rest_int(&one, "friends.0.down.datagrams"), 1);
	cr_expect_eq(rest_int(&one, "friends.0.down.bytes"), 3);
	cr_expect_eq(rest_int(&one, "friends.0.down.dropped"), 0);
	cr_expect_eq(rest_int(&one, "down.dropped"), 1);
	cr_expect_eq(rest_int(&one, "drops.size"), 1);
	cr_expect_eq(rest_int(&one, "drops.unknown"), 1);
	cr_expect_eq(rest_int(&one, "drops.away"), 0);
	cr_expect_eq(rest_int(&one, "drops.budget") + rest_int(&one, "drops.share") + rest_int(&one, "drops.slow"), 0);

	expect_path("DELETE", game_path(code, "/friends/1"), 200, NULL);
	ANSWER later = admin_get(s, game_path(code, ""));
	cr_expect_eq(rest_count(&later, "friends"), 0);
	cr_expect_eq(rest_int(&later, "up.datagrams"), 3);
	cr_expect_eq(rest_int(&later, "up.bytes"), 15);
	cr_expect_eq(rest_int(&later, "drops.size"), 1);
	leave();
}

Test(tunnel_admin, drops_by_budget_are_told_from_others)
{
	static uint8_t bytes[1500];

	play();
	/* The bucket holds 2,000,000 bytes; no time passes for the server's clock but what really does. */
	for (int i = 0; i < 4000; i++)
		friend_send(ann, bytes, sizeof(bytes));
	tunnel_echo(ann);
	ANSWER one = admin_get(s, game_path(code, ""));
	cr_expect_gt(rest_int(&one, "drops.budget") + rest_int(&one, "drops.share"), 0);
	cr_expect_eq(rest_int(&one, "friends.0.up.datagrams") + rest_int(&one, "friends.0.up.dropped"), 4000);
	cr_expect_eq(rest_int(&one, "drops.size"), 0);
	leave();
}

Test(tunnel_admin, what_a_slow_host_loses_is_counted_for_the_game)
{
	static const struct ws_client_options small = { .mute = true, .rcvbuf_bytes = 4096 };
	static uint8_t                        bytes[1400];
	struct pattern                        p;

	host = ws_client_open(s->tunnel_port, &small);
	msg_host_open(&p, "A");
	ws_client_send_pattern(host, &p);
	struct ws_client_event e = ws_client_receive(host, DIAL_PATIENCE_MS);
	cr_assert_eq(e.what, WS_MESSAGE);
	code = read_u32(e.data + 1);
	ann  = friend_join(s->tunnel_port, code, "ann", "B");
	for (int turn = 0; turn < 8; turn++) {
		for (int i = 0; i < 700; i++)
			friend_send(ann, bytes, sizeof(bytes));
		tunnel_echo(ann);
		server_advance(s, 1000);
		tunnel_echo(ann);
	}
	ANSWER one = admin_get(s, game_path(code, ""));
	admin_expect(&one, 200, NULL);
	cr_expect_gt(rest_int(&one, "drops.slow"), 0, "%s", one.body);
	cr_expect_gt(rest_int(&one, "up.dropped"), rest_int(&one, "friends.0.up.dropped"));
	leave();
}

/* A tick every 5 s. What was sent within the last two of them makes the rate, and later it is 0 again. */
Test(tunnel_admin, rates_are_those_of_the_last_seconds)
{
	play();
	server_advance(s, 6000);
	tunnel_echo(host);
	for (int i = 0; i < 100; i++)
		friend_send(ann, "0123456789012345678901234567890123456789", 40);
	tunnel_echo(ann);
	server_advance(s, 2000);
	for (int i = 0; i < 100; i++)
		host_expect_datagram(host, 1, "0123456789012345678901234567890123456789", 40);
	ANSWER now = admin_get(s, "/admin/v1/games");
	cr_expect_geq(rest_int(&now, "items.0.rate_up"), 4000 / 20, "%s", now.body);
	cr_expect_leq(rest_int(&now, "items.0.rate_up"), 4000);
	cr_expect_eq(rest_int(&now, "items.0.rate_down"), 0);
	for (int i = 0; i < 4; i++) {
		tunnel_echo(host);
		tunnel_echo(ann);
		server_advance(s, 6000);
	}
	tunnel_echo(host);
	ANSWER later = admin_get(s, "/admin/v1/games");
	cr_expect_eq(rest_int(&later, "items.0.rate_up"), 0, "%s", later.body);
	cr_expect_eq(rest_int(&later, "items.0.up.bytes"), 4000);
	leave();
}

/* --- Lists --- */

Test(tunnel_admin, lists_are_filtered_by_host_and_player)
{
	char              id[17], path[100];
	struct ws_client *other = host_open(s->tunnel_port, "C", NULL);

	play();
	for (int i = 0; i < 5; i++) {
		static const struct {
			const char *filter, *key;
			size_t      count;
		} rows[] = { { "host", "A", 1 },
			     { "host", "B", 0 },
			     { "player", "A", 1 },
			     { "player", "B", 1 },
			     { "player", "D", 0 } };

		snprintf(path, sizeof(path), "/admin/v1/games?%s=%s", rows[i].filter, hex_id(id, rows[i].key));
		ANSWER r = admin_get(s, path);
		admin_expect(&r, 200, NULL);
		cr_expect_eq(rest_count(&r, "items"), rows[i].count, "%s", path);
		if (rows[i].count > 0)
			cr_expect_eq(rest_int(&r, "items.0.code"), code);
	}
	ws_client_free(other);
	leave();
}

/* The next page from cursor on ("": the first), of at most 5; the codes are added. */
static size_t take_page(char *cursor, size_t cap, int64_t *codes, size_t *count)
{
	char   path[300];
	size_t got;

	snprintf(path, sizeof(path), "/admin/v1/games?limit=5%s%s", *cursor ? "&cursor=" : "", cursor);
	ANSWER r = admin_get(s, path);
	admin_expect(&r, 200, NULL);
	got = rest_count(&r, "items");
	for (size_t i = 0; i < got; i++) {
		snprintf(path, sizeof(path), "items.%zu.code", i);
		codes[(*count)++] = rest_int(&r, path);
	}
	*cursor = '\0';
	if (rest_has(&r, "next") && !strstr(r.body, "\"next\":null"))
		rest_text(&r, "next", cursor, cap);
	return got;
}

/* Between pages one that was shown goes, one that is to come goes, and a new one comes: the others are shown once each. */
Test(tunnel_admin, pages_hold_while_games_come_and_go)
{
	struct ws_client *hosts[14] = { 0 };
	char              name[16], cursor[260] = "";
	int64_t           codes[20];
	size_t            count = 0;
	uint32_t          mine[14];

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "h%d", i);
		hosts[i] = host_open(s->tunnel_port, name, &mine[i]);
	}
	cr_assert_eq(take_page(cursor, sizeof(cursor), codes, &count), 5);
	cr_assert_neq(*cursor, '\0');
	expect_path("DELETE", game_path((uint32_t)codes[4], ""), 200, NULL);
	hosts[12] = host_open(s->tunnel_port, "h12", &mine[12]);
	cr_assert_eq(take_page(cursor, sizeof(cursor), codes, &count), 5);
	cr_assert_neq(*cursor, '\0');
	take_page(cursor, sizeof(cursor), codes, &count);
	cr_expect_eq(*cursor, '\0');
	cr_expect_geq(count, 12);
	for (size_t i = 1; i < count; i++)
		cr_expect_lt(codes[i - 1], codes[i]);
	for (int i = 0; i < 12; i++) {
		bool shown = false;

		for (size_t k = 0; k < count; k++)
			shown |= codes[k] == mine[i];
		cr_expect(shown, "game %d", i);
	}
	for (int i = 0; i < 14; i++) {
		if (hosts[i])
			ws_client_free(hosts[i]);
	}
}

/* --- Ends --- */

Test(tunnel_admin, closing_a_game_tells_friends_that_it_is_over_and_ends_both)
{
	play();
	ANSWER tried = admin_ask(s, "DELETE", game_path(code, "?dry_run=true"), NULL);
	admin_expect(&tried, 200, NULL);
	cr_expect(rest_bool(&tried, "dry_run"));
	cr_expect_eq(rest_int(&tried, "friends"), 1);
	tunnel_echo(ann);
	tunnel_echo(host);

	ANSWER r = admin_ask(s, "DELETE", game_path(code, ""), NULL);
	admin_expect(&r, 200, NULL);
	cr_expect(rest_bool(&r, "ok"));
	cr_expect_eq(rest_int(&r, "friends"), 1);
	friend_expect_state(ann, STATE_CLOSED);
	ws_expect_closed(ann);
	ws_expect_closed(host);
	expect_path("GET", game_path(code, ""), 404, "not_found");
	expect_path("DELETE", game_path(code, ""), 404, "not_found");
	cr_expect_eq(server_metric(s, "coopd_tunnel_closed_total", "reason=\"operator\""), 2);

	/* Also after a crash: it is gone from the disk by the time of the answer. The code stays his. */
	uint32_t again;

	leave();
	server_kill(s);
	server_restart(s);
	cr_expect_eq(server_metric(s, "coopd_tunnel_games", NULL), 0);
	host = host_open(s->tunnel_port, "A", &again);
	cr_expect_eq(again, code);
	ws_client_free(host);
}

Test(tunnel_admin, a_kicked_friend_loses_his_place_and_may_join_anew)
{
	struct ws_client *bob;

	play();
	bob = friend_join(s->tunnel_port, code, "bob", "C");
	host_expect_friend(host, 2, "C");
	ANSWER tried = admin_ask(s, "DELETE", game_path(code, "/friends/1?dry_run=1"), NULL);
	admin_expect(&tried, 200, NULL);
	cr_expect(rest_bool(&tried, "dry_run"));
	tunnel_echo(ann);

	expect_path("DELETE", game_path(code, "/friends/1"), 200, NULL);
	friend_expect_state(ann, STATE_CLOSED);
	ws_expect_closed(ann);
	host_expect_gone(host, 1);
	tunnel_echo(bob);
	expect_path("DELETE", game_path(code, "/friends/1"), 404, "not_found");
	ws_client_free(ann);

	/* His token is nobody's: he is another friend now. */
	ann = friend_join(s->tunnel_port, code, "ann", "B");
	host_expect_friend(host, 3, "B");
	ws_client_free(bob);
	leave();
}

Test(tunnel_admin, who_is_kicked_while_he_is_away_cannot_come_back_by_his_token_after_a_crash_either)
{
	play();
	ws_client_drop(ann);
	server_await_metric(s, "coopd_ws_connections", NULL, 1, DIAL_PATIENCE_MS);
	expect_path("DELETE", game_path(code, "/friends/1"), 200, NULL);
	host_expect_gone(host, 1);
	leave();
	server_kill(s);
	server_restart(s);
	host = host_open(s->tunnel_port, "A", NULL);
	ann  = friend_join_state(s->tunnel_port, code, "ann", "B", STATE_LOST);
	host_expect_friend(host, 2, "B");
	leave();
}

Test(tunnel_admin, what_is_no_game_and_no_friend_is_not_found)
{
	static const char *const paths[] = { "/admin/v1/games/999999",
		                             "/admin/v1/games/1",
		                             "/admin/v1/games/abc",
		                             "/admin/v1/games/-5",
		                             "/admin/v1/games/99999999999999",
		                             "/admin/v1/games/100000000000000000000",
		                             "/admin/v1/games/999999/friends/1",
		                             "/admin/v1/games/999999/friends/x" };

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		expect_path("DELETE", paths[i], 404, "not_found");
	play();
	expect_path("DELETE", game_path(code, "/friends/0"), 404, "not_found");
	expect_path("DELETE", game_path(code, "/friends/2"), 404, "not_found");
	expect_path("DELETE", game_path(code, "/friends/65537"), 404, "not_found");
	expect_path("GET", "/admin/v1/games?limit=0", 422, "invalid");
	expect_path("GET", "/admin/v1/games?limit=1001", 422, "invalid");
	expect_path("GET", "/admin/v1/games?cursor=xyz", 400, "malformed");
	expect_path("GET", "/admin/v1/games?host=A", 422, "invalid");
	expect_path("GET", "/admin/v1/games?player=00112233445566AA", 422, "invalid");
	expect_path("GET", "/admin/v1/games?hosts=1", 400, "malformed");
	expect_path("DELETE", game_path(code, "?dry_run=maybe"), 400, "malformed");
	expect_path("POST", game_path(code, ""), 405, "method");
	tunnel_echo(ann);
	leave();
}

/* A cursor of another list, or of another length, begins at the beginning or ends; it breaks nothing. */
Test(tunnel_admin, a_strange_cursor_breaks_nothing)
{
	play();
	ANSWER r = admin_get(s, "/admin/v1/games?cursor=ffffffffffffffff");
	admin_expect(&r, 200, NULL);
	ANSWER other = admin_get(s, "/admin/v1/games?cursor=00");
	admin_expect(&other, 200, NULL);
	leave();
}
