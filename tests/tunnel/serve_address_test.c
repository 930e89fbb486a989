/*
 * Who a client is, and how many connections one address may have: the forwarding field, origins, caps and rates.
 */
#include "support/await.h"
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* As it is without a proxy before it: loopback is an address like any other, and nobody is believed. */
static const char *const public_server[] = { "server.production=yes", "http.trusted_proxies=none", NULL };

/* Connects with these header lines: the status of the upgrade; 0 when there was no answer. *out stays open on 101. */
static int upgrade(struct ws_client **out, int port, const char *headers)
{
	struct ws_client_options o      = { .headers = headers };
	struct ws_client        *c      = ws_client_dial(port, &o);
	int                      status = ws_client_upgrade(c, &o);

	if (status != 101) {
		ws_expect_end(c);
		ws_client_free(c);
		c = NULL;
	}
	*out = c;
	return status;
}

static int upgrade_once(int port, const char *headers)
{
	struct ws_client *c;
	int               status = upgrade(&c, port, headers);

	ws_client_free(c);
	return status;
}

static const char *forwarded(const char *value)
{
	static char line[2048];

	snprintf(line, sizeof(line), "X-Forwarded-For: %s\r\n", value);
	return line;
}

/* Origins */

Test(serve_address, a_web_page_may_not_connect_unless_its_origin_is_allowed)
{
	static const struct {
		const char *headers;
		int         status;
	} rows[] = {
		{ "", 101 },
		{ "Origin: https://game.example\r\n", 101 },
		{ "Origin: https://GAME.example\r\n", 101 },
		{ "Origin: https://other.example:8443\r\n", 101 },
		{ "Origin: https://other.example\r\n", 403 },
		{ "Origin: http://game.example\r\n", 403 },
		{ "Origin: https://game.example.evil\r\n", 403 },
		{ "Origin: https://game.example/\r\n", 403 },
		{ "Origin: null\r\n", 403 },
		{ "Origin:\r\n", 403 },
		{ "origin: https://evil.example\r\n", 403 },
		{ "Sec-WebSocket-Origin: https://evil.example\r\n", 403 },
		{ "Origin: https://game.example\r\nOrigin: https://evil.example\r\n", 403 },
		{ "Origin: https://evil.example\r\nOrigin: https://game.example\r\n", 403 },
	};
	struct server *s = server_start(
		(const char *[]){ "http.allowed_origins=https://game.example https://other.example:8443", NULL });

	for (size_t i = 0; i < LEN(rows); i++)
		cr_expect_eq(upgrade_once(s->tunnel_port, rows[i].headers), rows[i].status, "%s", rows[i].headers);
	cr_expect_eq(server_metric(s, "coopd_ws_refused_total", "origin"), 10);
	server_finish(s);

	s = server_start(NULL);
	cr_expect_eq(upgrade_once(s->tunnel_port, "Origin: https://game.example\r\n"), 403, "by default nobody's");
	cr_expect_eq(upgrade_once(s->tunnel_port, "Origin: http://127.0.0.1\r\n"), 403);
	server_finish(s);
}

/* The forwarding field. With one connection per address, whose address counts shows in who else is refused. */

static const char *const one_each[] = { "limits.ws_per_address=1", NULL };

Test(serve_address, the_client_is_the_last_entry_that_is_no_trusted_proxy)
{
	static const char *const same[] = {
		"X-Forwarded-For: 203.0.113.1\r\n",
		"X-Forwarded-For:203.0.113.1  \r\n",
		"x-forwarded-for: 203.0.113.1:5555\r\n",
		"X-Forwarded-For: ::ffff:203.0.113.1\r\n",
		"X-Forwarded-For: [::ffff:203.0.113.1]:80\r\n",
		"X-Forwarded-For: 198.51.100.1, 203.0.113.1\r\n",
		"X-Forwarded-For: 203.0.113.1, 127.0.0.1\r\n",
		"X-Forwarded-For: 203.0.113.1,127.0.0.1 , ::1\r\n",
		"X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 203.0.113.1\r\n",
		"X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-For: 127.0.0.1\r\n",
		/* What a client writes itself stands to the left of what the proxy adds, and may be anything. */
		"X-Forwarded-For: <script>, 203.0.113.1\r\n",
		"X-Real-IP: 198.51.100.7\r\nX-Forwarded-For: 203.0.113.1\r\nForwarded: for=198.51.100.7\r\n",
	};
	static const char *const others[] = {
		"",
		"X-Real-IP: 203.0.113.1\r\n",
		"Forwarded: for=203.0.113.1\r\n",
		"X-Forwarded-For: 203.0.113.2\r\n",
		"X-Forwarded-For: 203.0.113.1, 198.51.100.1\r\n",
		"X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-For: 198.51.100.1\r\n",
		"X-Forwarded-For:\r\n",
		"X-Forwarded-For:  \t \r\n",
	};
	struct server    *s = server_start(one_each);
	struct ws_client *first;

	cr_assert_eq(upgrade(&first, s->tunnel_port, same[0]), 101);
	for (size_t i = 0; i < LEN(same); i++)
		cr_expect_eq(upgrade_once(s->tunnel_port, same[i]), 503, "%s", same[i]);
	for (size_t i = 0; i < LEN(others); i++) {
		cr_expect_eq(upgrade_once(s->tunnel_port, others[i]), 101, "%s", others[i]);
		server_await_metric(s, "coopd_ws_connections", NULL, 1, 5000);
	}
	tunnel_echo(first);
	ws_client_free(first);
	server_finish(s);
}

Test(serve_address, a_forwarding_field_that_names_no_client_is_refused)
{
	static const char *const garbage[] = {
		"unknown",
		"203.0.113",
		"203.0.113.256",
		"203.0.113.1.",
		"203.0.113.1 198.51.100.1",
		"2001:db8::g",
		"203.0.113.1,",
		",",
		"203.0.113.1, ",
		"203.0.113.1, unknown",
		"unknown, 127.0.0.1",
		"\"203.0.113.1\"",
		"203.0.113.1:99999",
		"_hidden",
		"\x80\xff",
	};
	struct server *s     = server_start(NULL);
	size_t         count = LEN(garbage);
	char           line[1200];

	for (size_t i = 0; i < count; i++)
		cr_expect_eq(upgrade_once(s->tunnel_port, forwarded(garbage[i])), 400, "%s", garbage[i]);
	cr_expect_eq(upgrade_once(s->tunnel_port, "X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-For: x\r\n"), 400);
	cr_expect_eq(server_metric(s, "coopd_ws_refused_total", "forwarded"), (double)(count + 1));

	/* At 1024 bytes, and one past. */
	memset(line, 'x', sizeof(line));
	strcpy(line + 1024 - strlen(",203.0.113.1"), ",203.0.113.1");
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded(line)), 101);
	memset(line, 'x', sizeof(line));
	strcpy(line + 1025 - strlen(",203.0.113.1"), ",203.0.113.1");
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded(line)), 400);
	server_finish(s);
}

Test(serve_address, only_a_trusted_proxy_is_believed)
{
	struct server    *s = server_start((const char *[]){ "http.trusted_proxies=10.0.0.0/8", one_each[0], NULL });
	struct ws_client *first;

	/* Both are the same loopback client, whom no limit per address hits outside production. */
	cr_expect_eq(upgrade(&first, s->tunnel_port, forwarded("203.0.113.1")), 101);
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("203.0.113.1")), 101);
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("garbage")), 101);
	ws_client_free(first);
	server_finish(s);

	s = server_start((const char *[]){ "http.client_address_header=X-Client", one_each[0], NULL });
	cr_expect_eq(upgrade(&first, s->tunnel_port, "X-Client: 203.0.113.1\r\n"), 101);
	cr_expect_eq(upgrade_once(s->tunnel_port, "X-Client: 203.0.113.1\r\n"), 503);
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("203.0.113.1")), 101);
	ws_client_free(first);
	server_finish(s);
}

Test(serve_address, an_ipv6_client_is_his_64_and_a_48_counts_eight_times_as_much)
{
	struct server    *s = server_start(one_each);
	struct ws_client *held[8];
	char              address[64];

	cr_assert_eq(upgrade(&held[0], s->tunnel_port, forwarded("2001:db8:1:0::1")), 101);
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("2001:db8:1:0::1")), 503);
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("2001:db8:1:0:ffff:ffff:ffff:ffff")), 503);
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("[2001:db8:1::2]:4711")), 503);
	for (int i = 1; i < 8; i++) {
		snprintf(address, sizeof(address), "2001:db8:1:%x::1", i);
		cr_expect_eq(upgrade(&held[i], s->tunnel_port, forwarded(address)), 101, "%s", address);
	}
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("2001:db8:1:8::1")), 503, "the ninth of its /48");
	cr_expect_eq(upgrade_once(s->tunnel_port, forwarded("2001:db8:2:8::1")), 101);
	for (int i = 0; i < 8; i++)
		ws_client_free(held[i]);
	server_finish(s);
}

/* Caps and rates */

Test(serve_address, an_address_may_have_64_connections)
{
	enum { CAP = 64, BURST = 60 };

	struct server    *s    = server_start(NULL);
	const char       *from = "X-Forwarded-For: 203.0.113.1\r\n";
	struct ws_client *held[CAP];

	for (int i = 0; i < CAP; i++) {
		if (i == BURST)
			server_advance(s, 1000);
		cr_assert_eq(upgrade(&held[i], s->tunnel_port, from), 101, "connection %d", i + 1);
	}
	cr_expect_eq(upgrade_once(s->tunnel_port, from), 503);
	cr_expect_eq(server_metric(s, "coopd_ws_refused_total", "\"address\""), 1);
	cr_expect_eq(upgrade_once(s->tunnel_port, "X-Forwarded-For: 203.0.113.2\r\n"), 101, "another address");
	cr_expect_eq(upgrade_once(s->tunnel_port, ""), 101, "loopback itself has no cap here");
	tunnel_echo(held[CAP - 1]);

	/* Whoever leaves makes room for one. */
	ws_client_free(held[0]);
	server_await_metric(s, "coopd_ws_connections", NULL, CAP - 1, 5000);
	cr_expect_eq(upgrade(&held[0], s->tunnel_port, from), 101);
	cr_expect_eq(upgrade_once(s->tunnel_port, from), 503);
	for (int i = 0; i < CAP; i++)
		ws_client_free(held[i]);
	server_finish(s);
}

Test(serve_address, without_a_proxy_the_cap_holds_from_accept_on)
{
	enum { CAP = 64, BURST = 60 };

	struct server    *s = server_start(public_server);
	struct ws_client *held[CAP];

	/* Half of them never get as far as a handshake; they count all the same. */
	for (int i = 0; i < CAP; i++) {
		if (i == BURST)
			server_advance(s, 1000);
		held[i] = ws_client_dial(s->tunnel_port, NULL);
		if (i % 2)
			cr_assert_eq(ws_client_upgrade(held[i], NULL), 101, "connection %d", i + 1);
	}
	cr_expect_eq(upgrade_once(s->tunnel_port, ""), 0, "closed without a word");
	cr_expect_eq(server_metric(s, "coopd_ws_refused_total", "\"address\""), 1);
	tunnel_echo(held[1]);
	for (int i = 0; i < CAP; i++)
		ws_client_free(held[i]);
	server_finish(s);
}

/* Connects and disconnects until refused with this status. How often it went well. */
static int count_accepted(struct server *s, const char *headers, int refusal)
{
	int count = 0;

	for (;; count++) {
		int status = upgrade_once(s->tunnel_port, headers);

		if (status != 101) {
			cr_expect_eq(status, refusal);
			return count;
		}
		cr_assert_lt(count, 1000, "nobody refuses");
	}
}

/* A server whose rate is looked at, and a connection to it that was there before. */
struct rated {
	struct server    *s;
	struct ws_client *witness;
	int64_t           since_ms; /* when the test began: from then on real time lets some more in */
};

/*
 * The answer to the witness's ECHO says that the server is through with the turn in which it refused; within one its
 * clock stands still.
 */
static void expect_accepted(const struct rated *r, const char *headers, int refusal, int at_least)
{
	int count = count_accepted(r->s, headers, refusal);
	int more  = (int)((real_now_ms() - r->since_ms) * 20 / 1000) + 1;

	cr_expect(count >= at_least && count <= at_least + more, "%d accepted, not %d and at most %d more", count,
	          at_least, more);
	tunnel_echo(r->witness);
}

static void begin(struct rated *r, const char *const *sets)
{
	r->s        = server_start(sets);
	r->witness  = tunnel_connect(r->s->tunnel_port, NULL);
	r->since_ms = real_now_ms();
}

static void finish(struct rated *r)
{
	ws_client_free(r->witness);
	server_finish(r->s);
}

Test(serve_address, an_address_may_connect_60_times_at_once_and_20_times_a_second)
{
	struct rated r;

	begin(&r, public_server);
	expect_accepted(&r, "", 0, 60 - 1);
	server_advance(r.s, 1000);
	expect_accepted(&r, "", 0, 20);
	server_advance(r.s, 3000);
	expect_accepted(&r, "", 0, 60);
	cr_expect_eq(server_metric(r.s, "coopd_ws_refused_total", "\"rate\""), 3);
	finish(&r);
}

Test(serve_address, behind_a_proxy_the_rate_is_the_clients)
{
	struct rated r;

	begin(&r, NULL);
	expect_accepted(&r, "X-Forwarded-For: 203.0.113.1\r\n", 503, 60);
	expect_accepted(&r, "X-Forwarded-For: 203.0.113.2\r\n", 503, 60);
	server_advance(r.s, 1000);
	expect_accepted(&r, "X-Forwarded-For: 203.0.113.1\r\n", 503, 20);
	finish(&r);
}

Test(serve_address, the_server_has_room_for_so_many_connections_and_no_more)
{
	enum { CAP = 10 };

	struct server    *s = server_start((const char *[]){ "limits.ws_connections=10", NULL });
	struct ws_client *held[CAP];

	for (int i = 0; i < CAP; i++)
		cr_assert_eq(upgrade(&held[i], s->tunnel_port, ""), 101);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(upgrade_once(s->tunnel_port, ""), 0);
	cr_expect_eq(server_metric(s, "coopd_ws_refused_total", "\"total\""), 3);
	ws_client_free(held[4]);
	server_await_metric(s, "coopd_ws_connections", NULL, CAP - 1, 5000);
	cr_assert_eq(upgrade(&held[4], s->tunnel_port, ""), 101);
	cr_expect_eq(upgrade_once(s->tunnel_port, ""), 0);
	for (int i = 0; i < CAP; i++)
		tunnel_echo(held[i]);
	for (int i = 0; i < CAP; i++)
		ws_client_free(held[i]);
	server_finish(s);
}

/* An operator whose proxy names nobody is told */

Test(serve_address, more_than_20_players_through_one_unnamed_address_make_a_warning)
{
	enum { PLAYERS = 20 };

	struct server *s =
		server_start((const char *[]){ "server.production=yes", "limits.tunnel_games_per_address=100",
	                                       "limits.tunnel_new_per_address=100", NULL });
	struct ws_client *held[PLAYERS + 1];

	for (int i = 0; i <= PLAYERS; i++) {
		cr_expect_not(server_log_contains(s, "addresses-lost"), "after %d players", i);
		held[i] = ask_open(s->tunnel_port, NULL, name_number("player ", i));
		cr_assert_eq(ask_answer(held[i]), 0);
		/* Those who are named are no problem. */
		cr_assert_eq(ask_open_once(s->tunnel_port, name_number("203.0.113.", i), "named"), 0);
	}
	await_log(s, "addresses-lost");
	cr_expect(server_log_contains(s, "http.trusted_proxies"), "the warning says what to set");
	for (int i = 0; i <= PLAYERS; i++)
		ws_client_free(held[i]);
	server_finish(s);
}
