/*
 * Whose request it is: the peer, or whom a trusted proxy names; and which addresses count as one.
 */
#include "base/auto.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define CREATES 10 /* per address and minute */
#define WIDE    8  /* as many of a /48 */

/* A challenge, which counts as an announce and leaves nothing behind. fields: of the head. */
static int challenge_with(const struct server *s, const char *fields)
{
	AUTO(rest_freep) struct http_result r = master_post_with(s, fields, "/v1/challenge", "{}");

	return r.status;
}

static int challenge(const struct server *s, const char *from)
{
	AUTO(rest_freep) struct http_result r = master_post(s, from, "/v1/challenge", "{}");

	return r.status;
}

static void use_up(const struct server *s, const char *from)
{
	for (int i = 0; i < CREATES; i++)
		cr_expect_eq(challenge(s, from), 200, "%s, the request number %d", from, i + 1);
}

static int challenge_from_peer(const struct server *s, const char *peer, const char *fields)
{
	char request[512];

	snprintf(request, sizeof(request), "POST /v1/challenge HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n%s\r\n{}",
	         fields);
	AUTO(rest_freep) struct http_result r = master_raw(s, peer, request, strlen(request));

	return r.status;
}

static void expect_fields_change_nothing(const struct server *s, const char *peer)
{
	static const char *const names[] = { "X-Forwarded-For", "X-Real-IP", "Forwarded" };
	char                     fields[128];

	for (int i = 0; i <= CREATES; i++) {
		/* The field that a proxy would name a client in is always there: he is no client of this machine. */
		snprintf(fields, sizeof(fields), "X-Forwarded-For: 198.51.100.%d\r\n%s: 198.51.100.%d\r\n", i,
		         names[i % 3], i);
		cr_expect_eq(challenge_from_peer(s, peer, fields), i < CREATES ? 200 : 429, "%s, the request number %d",
		             peer, i + 1);
	}
}

Test(master_address, forwarding_fields_of_others_than_a_trusted_proxy_change_nothing)
{
	struct server *s = server_start(NULL);

	expect_fields_change_nothing(s, "127.0.0.2");
	cr_expect_eq(challenge_from_peer(s, "127.0.0.3", "X-Forwarded-For: 127.0.0.2\r\n"), 200);
	server_finish(s);
}

Test(master_address, without_trusted_proxies_nobodys_field_counts)
{
	struct server *s = server_start((const char *[]){ "http.trusted_proxies=none", NULL });

	expect_fields_change_nothing(s, "127.0.0.1");
	server_finish(s);
}

Test(master_address, the_rightmost_entry_that_is_no_trusted_proxy_counts)
{
	static const char *const same[] = {
		"X-Forwarded-For: 203.0.113.7\r\n",
		"X-Forwarded-For: 198.51.100.1, 203.0.113.7\r\n",
		"X-Forwarded-For: garbage, 203.0.113.7\r\n",
		"X-Forwarded-For: 203.0.113.7, 127.0.0.1\r\n",
		"X-Forwarded-For: 203.0.113.7, ::1\r\n",
		"X-Forwarded-For:   203.0.113.7:4711  \r\n",
		"X-Forwarded-For: 198.51.100.2\r\nX-Forwarded-For: 203.0.113.7\r\n",
		"X-Real-IP: 198.51.100.3\r\nX-Forwarded-For: 203.0.113.7\r\n",
		"Forwarded: for=198.51.100.4\r\nX-Forwarded-For: 203.0.113.7\r\n",
		"x-forwarded-for: 203.0.113.7\r\n",
	};
	struct server *s = server_start(NULL);

	for (size_t i = 0; i < COUNT_OF(same); i++)
		cr_expect_eq(challenge_with(s, same[i]), 200, "%s", same[i]);
	for (size_t i = 0; i < COUNT_OF(same); i++)
		cr_expect_eq(challenge_with(s, same[i]), 429, "%s", same[i]);
	cr_expect_eq(challenge_with(s, "X-Forwarded-For: 203.0.113.7, 203.0.113.8\r\n"), 200);
	server_finish(s);
}

Test(master_address, a_field_that_names_no_address_is_400)
{
	static const char *const bad[] = { "garbage", "203.0.113", "203.0.113.7, x", "unknown", "1.2.3.4,", "::g" };
	struct server           *s     = server_start(NULL);

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		AUTO(rest_freep) struct http_result r = master_post(s, bad[i], "/v1/host", master_announce_body(""));

		master_expect_error(&r, 400, "bad request line");
	}
	cr_expect_eq(master_health(s), 0);
	server_finish(s);
}

Test(master_address, ipv4_within_ipv6_is_ipv4)
{
	struct server     *s = server_start(NULL);
	struct master_host h;

	use_up(s, "203.0.113.7");
	cr_expect_eq(challenge(s, "::ffff:203.0.113.7"), 429);
	cr_expect_eq(challenge(s, "::ffff:cb00:7107"), 429);
	cr_expect_eq(challenge(s, "::ffff:203.0.113.8"), 200);

	master_open(&h, s, "::ffff:198.51.100.9", J("'conn':'direct','direct_port':7777"));
	AUTO(rest_freep) struct http_result r = master_join(s, "192.0.2.1", h.id);
	char                                addr[64];

	cr_expect_str_eq(rest_text(&r, "addr", addr, sizeof(addr)), "198.51.100.9:7777");
	server_finish(s);
}

Test(master_address, two_addresses_of_one_64_share_a_limit_and_the_next_64_has_its_own)
{
	struct server *s = server_start(NULL);

	for (int i = 0; i < CREATES; i++)
		cr_expect_eq(challenge(s, i % 2 ? "2001:db8:1:2::1" : "2001:db8:1:2:ffff:ffff:ffff:ffff"), 200);
	cr_expect_eq(challenge(s, "2001:db8:1:2::3"), 429);
	cr_expect_eq(challenge(s, "2001:db8:1:3::1"), 200);
	server_finish(s);
}

Test(master_address, a_48_may_have_8_times_as_much)
{
	struct server *s = server_start(NULL);
	char           from[64];

	for (int i = 0; i < WIDE; i++) {
		snprintf(from, sizeof(from), "2001:db8:1:%d::1", i);
		use_up(s, from);
	}
	cr_expect_eq(challenge(s, "2001:db8:1:ffff::1"), 429);
	cr_expect_eq(challenge(s, "2001:db8:2:ffff::1"), 200);
	server_finish(s);
}

Test(master_address, a_48_may_have_8_times_as_many_lobbies)
{
	struct server     *s = server_start((const char *[]){ "limits.lobby_per_address=1", NULL });
	struct master_host h;
	char               from[64];

	for (int i = 0; i < WIDE; i++) {
		snprintf(from, sizeof(from), "2001:db8:1:%d::1", i);
		master_open(&h, s, from, "");
		cr_expect_eq(master_try_open(&h, s, from, ""), 429);
	}
	cr_expect_eq(master_try_open(&h, s, "2001:db8:1:ffff::1", ""), 429);
	master_open(&h, s, "2001:db8:2:ffff::1", "");
	server_finish(s);
}

/* As everywhere in coopd: who plays with himself on his own machine is in nobody's way. */
Test(master_address, this_machine_without_a_proxy_is_exempt)
{
	struct server     *s = server_start(NULL);
	struct master_host h;

	for (int i = 0; i < CREATES + 5; i++)
		master_open(&h, s, NULL, "");
	cr_expect_eq(master_health(s), CREATES + 5);
	server_finish(s);
}
