/*
 * TURN credentials: labels, users, known passwords, and what goes into an answer.
 */
#include "lobby/lobby_turn.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

static struct addr addr_of(const char *text)
{
	struct addr a = { 0 };

	if (strcmp(text, "unix") == 0)
		a.family = ADDR_UNIX;
	else
		cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK, "%s", text);
	return a;
}

Test(lobby_turn, the_label_is_the_address_bucket)
{
	static const struct {
		const char *addr, *label;
	} cases[] = {
		{ "203.0.113.7", "203.0.113.7" },
		{ "::ffff:203.0.113.7", "203.0.113.7" },
		{ "2001:db8:1:2::", "2001:db8:1:2::/64" },
		{ "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64" },
		{ "2001:0DB8:0000:000A::1", "2001:db8:0:a::/64" },
		{ "::1", "0:0:0:0::/64" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff::/64" },
		{ "unix", "unix" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct addr a = addr_of(cases[i].addr);
		char        label[LOBBY_LABEL_BYTES];

		a.port = 4711;
		lobby_label(label, &a);
		cr_expect_str_eq(label, cases[i].label);
	}
}

Test(lobby_turn, the_user_is_when_it_ends_and_whose_it_is)
{
	char user[LOBBY_TURN_USER_BYTES];

	lobby_turn_user(user, 1893456600, "2001:db8:1:2::/64");
	cr_expect_str_eq(user, "1893456600:2001:db8:1:2::/64");
	lobby_turn_user(user, INT64_MAX, "-------------------------------------------------------");
	cr_expect_str_eq(user, "9223372036854775807:-------------------------------------------------------");
}

Test(lobby_turn, passwords_are_those_a_turn_server_computes)
{
	static const struct {
		const char *secret, *user, *pass;
	} cases[] = {
		{ "testsecret_abc123", "1700000000:h0011223344556677", "c7pJt+2pR4aVy8LJIi6NtjympwM=" },
		{ "coopd-turn-secret", "1893456000:203.0.113.7", "WHbM/4koiyvKe9gsLaVvvKT407A=" },
		{ "coopd-turn-secret", "1893456600:2001:db8:1:2::/64", "yDakBCXvVLSzh4XFmXwqP4my/gk=" },
		{ "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
		  "1700000120:198.51.100.23", "wK6FZ8AxMmMduTi3vvOXVjQA1D0=" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char pass[LOBBY_TURN_PASS_BYTES];

		cr_assert_eq(lobby_turn_pass(pass, cases[i].secret, cases[i].user), ERR_OK);
		cr_expect_str_eq(pass, cases[i].pass);
	}
}

static void expect_json(int64_t ttl_s, const char *uri, const char *expected)
{
	AUTO(json_freep) struct json *turn = NULL;

	cr_assert_eq(lobby_turn_json(&turn, "coopd-turn-secret", "1893456000:203.0.113.7", ttl_s, uri), ERR_OK);
	AUTO(auto_free) char *text = json_text(turn);
	cr_expect_str_eq(text, expected);
}

Test(lobby_turn, the_answer_has_the_uri_for_udp_first)
{
	expect_json(120, "turn:turn.example.org:3478",
	            "{\"user\":\"1893456000:203.0.113.7\",\"pass\":\"WHbM/4koiyvKe9gsLaVvvKT407A=\",\"ttl\":120,"
	            "\"uris\":[\"turn:turn.example.org:3478?transport=udp\",\"turn:turn.example.org:3478?transport="
	            "tcp\"]}");
	expect_json(1, "",
	            "{\"user\":\"1893456000:203.0.113.7\",\"pass\":\"WHbM/4koiyvKe9gsLaVvvKT407A=\",\"ttl\":1,"
	            "\"uris\":[\"?transport=udp\",\"?transport=tcp\"]}");
}
