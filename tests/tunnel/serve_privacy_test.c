/*
 * What must not be found by whoever reads the log, the database or a backup: keys, tokens, secrets, whole addresses.
 */
#include "support/await.h"
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

static const char *const host_address   = "198.51.100.77";
static const char *const friend_address = "203.0.113.201";
static const char *const ipv6_address   = "2001:db8:aaaa:bbbb:cccc::dddd";

/* What is looked for, as bytes; in the files of one folder, by turns. */
static struct {
	const uint8_t *bytes;
	size_t         len;
	bool           any_case;
	char           found_in[200]; /* a file; empty: nowhere */
} wanted;

static bool is_there(const uint8_t *data, size_t size)
{
	if (!wanted.any_case)
		return memmem(data, size, wanted.bytes, wanted.len);
	for (size_t at = 0; at + wanted.len <= size; at++)
		if (strncasecmp((const char *)data + at, (const char *)wanted.bytes, wanted.len) == 0)
			return true;
	return false;
}

static int look_into(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)ftw;
	if (kind != FTW_F || !S_ISREG(st->st_mode) || st->st_size == 0)
		return 0;

	uint8_t *data = malloc((size_t)st->st_size);
	FILE    *f    = fopen(path, "re");

	/* One that is gone by now was a temporary one. */
	if (f && data && is_there(data, fread(data, 1, (size_t)st->st_size, f)))
		snprintf(wanted.found_in, sizeof(wanted.found_in), "%s", path);
	if (f)
		fclose(f);
	free(data);
	return 0;
}

/* Whether the bytes stand in any file of the test's folder: the log, the database, its WAL, its copies, the rest. */
static bool is_kept(const struct server *s, const void *bytes, size_t len, bool any_case)
{
	wanted.bytes       = bytes;
	wanted.len         = len;
	wanted.any_case    = any_case;
	wanted.found_in[0] = '\0';
	nftw(s->root, look_into, 16, FTW_PHYS);
	wanted.bytes = NULL;
	return wanted.found_in[0] != '\0';
}

static void hex_of(char *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sprintf(out + 2 * i, "%02x", bytes[i]);
}

/* As the bytes themselves, and in hex. */
static bool is_kept_somehow(const struct server *s, const uint8_t *bytes, size_t len)
{
	char hex[2 * KEY_BYTES + 1];

	hex_of(hex, bytes, len);
	return is_kept(s, bytes, len, false) || is_kept(s, hex, strlen(hex), true);
}

/* A session in which everything that has a secret is used, kept, copied and logged. */
static void play_session(struct server *s, uint8_t secret_1[SECRET_BYTES])
{
	int                  port = s->tunnel_port;
	uint32_t             code;
	struct tunnel_ticket ticket;
	struct ws_client    *host = host_open_from(port, host_address, "host key", &code);
	struct ws_client *friend  = ask_join(port, friend_address, code, "token", "friend key");
	struct ws_client *third   = ask_join(port, ipv6_address, code, "token 6", "key 6");
	struct ws_client *host_1  = host_open_1(port, NULL, &ticket);
	struct ws_client *friend_1;

	cr_assert_eq(ask_answer(friend), 0);
	cr_assert_eq(ask_answer(third), 0);
	friend_1 = friend_join_1(port, ticket.code, "token 1");
	memcpy(secret_1, ticket.secret, SECRET_BYTES);

	/* Refusals are logged too. */
	cr_expect_eq(ask_join_once(port, friend_address, 99999, "wrong", "friend key"), 3);
	ws_client_send(friend, "0c (a1)x8 01 c6 33 64 4d 13 88");
	ws_client_send(friend, "0a 'plain text of the game'");
	tunnel_echo(friend);

	/* The day's copy of the database is made, and what it is made from has been written. */
	server_advance(s, 60000);
	await_log(s, "copied");
	ws_client_free(host);
	ws_client_free(friend);
	ws_client_free(third);
	ws_client_free(host_1);
	ws_client_free(friend_1);
}

Test(serve_privacy, no_key_token_or_secret_is_kept_or_logged)
{
	static const char *const keys[]   = { "host key", "friend key", "key 6" };
	static const char *const tokens[] = { "token", "token 6", "token 1", "wrong" };
	struct server           *s        = server_start((const char *[]){ "log.level=debug", NULL });
	uint8_t                  secret_1[SECRET_BYTES], key[KEY_BYTES], token[TOKEN_BYTES], id[ID_BYTES];

	play_session(s, secret_1);

	/* While it runs, with all in the write-ahead log; and after the stop, with all in the database. */
	for (int stopped = 0; stopped < 2; stopped++) {
		if (stopped)
			server_stop(s);
		for (size_t i = 0; i < LEN(keys); i++) {
			key_of(key, keys[i]);
			cr_expect_not(is_kept_somehow(s, key, sizeof(key)), "%s is in %s", keys[i], wanted.found_in);
		}
		for (size_t i = 0; i < LEN(tokens); i++) {
			token_of(token, tokens[i]);
			cr_expect_not(is_kept_somehow(s, token, sizeof(token)), "%s is in %s", tokens[i],
			              wanted.found_in);
		}
		cr_expect_not(is_kept_somehow(s, secret_1, sizeof(secret_1)), "the secret of protocol 1");
		cr_expect_not(is_kept(s, "plain text of the game", 22, false));

		/* What may be there is found: the search would find the rest too. */
		id_of(id, "host key");
		cr_expect(is_kept(s, id, sizeof(id), false), "the public id");
	}
	server_finish(s);
}

Test(serve_privacy, no_address_is_kept_and_none_logged_whole)
{
	static const uint8_t host_bytes[]   = { 198, 51, 100, 77 };
	static const uint8_t friend_bytes[] = { 203, 0, 113, 201 };
	static const uint8_t ipv6_bytes[]   = { 0x20, 1, 0x0d, 0xb8, 0xaa, 0xaa, 0xbb, 0xbb, 0xcc, 0xcc };
	struct server       *s              = server_start((const char *[]){ "log.level=debug", NULL });
	uint8_t              secret_1[SECRET_BYTES];

	play_session(s, secret_1);
	for (int stopped = 0; stopped < 2; stopped++) {
		if (stopped)
			server_stop(s);
		cr_expect_not(is_kept(s, host_address, strlen(host_address), false));
		cr_expect_not(is_kept(s, friend_address, strlen(friend_address), false));
		cr_expect_not(is_kept(s, ipv6_address, strlen(ipv6_address), true));
		cr_expect_not(is_kept(s, "2001:db8:aaaa:bbbb", 18, true), "a /64 is a household");
		cr_expect_not(is_kept(s, host_bytes, sizeof(host_bytes), false));
		cr_expect_not(is_kept(s, friend_bytes, sizeof(friend_bytes), false));
		cr_expect_not(is_kept(s, ipv6_bytes, sizeof(ipv6_bytes), false));
	}
	cr_expect(server_log_contains(s, "198.51.100.0/24"), "cut, they are logged");
	cr_expect(server_log_contains(s, "2001:db8:aaaa::/48"));
	server_finish(s);
}

Test(serve_privacy, an_operator_may_have_whole_addresses_in_the_log)
{
	struct server *s = server_start((const char *[]){ "log.level=debug", "log.addresses=full", NULL });
	uint8_t        secret_1[SECRET_BYTES];

	play_session(s, secret_1);
	server_stop(s);
	cr_expect(server_log_contains(s, host_address));
	cr_expect(server_log_contains(s, ipv6_address));
	cr_expect_not(server_log_contains(s, "198.51.100.0/24"));
	server_finish(s);
}

Test(serve_privacy, the_warning_about_lost_addresses_cuts_them_too)
{
	enum { PLAYERS = 21 };

	struct server    *s = server_start((const char *[]){ "server.production=yes", "http.trusted_proxies=none",
	                                                     "limits.tunnel_games_per_address=100",
	                                                     "limits.tunnel_new_per_address=100", NULL });
	struct ws_client *hosts[PLAYERS];

	for (int i = 0; i < PLAYERS; i++)
		hosts[i] = host_open(s->tunnel_port, name_number("player ", i), NULL);
	await_log(s, "addresses-lost");
	cr_expect(server_log_contains(s, "address=127.0.0.0/24"));
	for (int i = 0; i < PLAYERS; i++)
		ws_client_free(hosts[i]);
	server_finish(s);
}
