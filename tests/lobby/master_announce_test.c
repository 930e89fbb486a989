/*
 * POST /v1/host and /v1/challenge: what a host says, what he is told, and why he is refused.
 */
#include "base/auto.h"
#include "base/base64.h"
#include "base/hex.h"
#include "support/await.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOST       "203.0.113.7"
#define SECRET     "coopd-turn-secret"
#define SECRET_SET "turn.secret=coopd-turn-secret"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ LOBBY_PROMPT, "turn.uri=turn:turn.example:3478", SECRET_SET,
	                                   "stun.uri=stun:stun.example:3478", "signal.url=relay.example:10000",
	                                   "signal.token=let-me-in", "server.public_host=lobby.example",
	                                   "limits.lobby_creates=1000", "limits.lobby_per_address=100", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(master_announce, .init = start, .fini = stop);

static struct http_result announce(const char *members)
{
	return master_post(s, HOST, "/v1/host", master_announce_body(members));
}

/* So many characters, all of this alphabet. */
static void expect_form(const struct http_result *r, const char *way, size_t len, const char *alphabet)
{
	char text[200];

	rest_text(r, way, text, sizeof(text));
	cr_expect(strlen(text) == len && strspn(text, alphabet) == len, "%s: %s", way, text);
}

#define HEX       "0123456789abcdef"
#define BASE64URL "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

static void expect_text(const struct http_result *r, const char *way, const char *value)
{
	char text[400];

	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), value, "%s in %s", way, r->body);
}

/* --- What a host is told --- */

static void expect_password(const char *user, const char *pass)
{
	uint8_t  mac[20];
	char     text[BASE64_BYTES(sizeof(mac))];
	unsigned len = sizeof(mac);

	HMAC(EVP_sha1(), SECRET, (int)strlen(SECRET), (const unsigned char *)user, strlen(user), mac, &len);
	base64_encode(text, mac, sizeof(mac));
	cr_expect_str_eq(pass, text);
}

static void expect_credential(const struct http_result *r, int64_t ttl_s, const char *label)
{
	char    user[128], pass[64], *end;
	int64_t until;

	rest_text(r, "turn.user", user, sizeof(user));
	rest_text(r, "turn.pass", pass, sizeof(pass));
	until = strtoll(user, &end, 10);
	cr_expect(llabs(until - (int64_t)time(NULL) - ttl_s) < 60, "%s", user);
	cr_expect(*end == ':' && strcmp(end + 1, label) == 0, "%s", user);
	cr_expect_eq(rest_int(r, "turn.ttl"), ttl_s);
	expect_password(user, pass);
	cr_expect_eq(rest_count(r, "turn.uris"), 2);
	expect_text(r, "turn.uris.0", "turn:turn.example:3478?transport=udp");
	expect_text(r, "turn.uris.1", "turn:turn.example:3478?transport=tcp");
}

Test(master_announce, a_brokered_host_is_told_all_he_needs)
{
	AUTO(rest_freep) struct http_result r = announce("");

	cr_expect_eq(r.status, 200);
	expect_form(&r, "sessionId", 32, HEX);
	expect_form(&r, "lobbyId", 16, HEX);
	expect_form(&r, "token", 32, BASE64URL);
	expect_text(&r, "hostIdentity", LOBBY_IDENTITY);
	expect_text(&r, "conn", "p2p");
	expect_text(&r, "signalingUrl", "relay.example:10000");
	expect_text(&r, "signalingToken", "let-me-in");
	expect_text(&r, "stun", "stun:stun.example:3478");
	expect_credential(&r, 120, HOST);
}

Test(master_announce, the_label_of_ipv6_is_its_64)
{
	AUTO(rest_freep)
	struct http_result r = master_post(s, "2001:db8:1:2:3:4:5:6", "/v1/host", master_announce_body(""));

	expect_credential(&r, 120, "2001:db8:1:2::/64");
}

Test(master_announce, a_direct_host_is_told_nothing_about_connecting)
{
	static const char *const            absent[] = { "signalingUrl", "signalingToken", "stun", "turn" };
	AUTO(rest_freep) struct http_result r        = announce(J("'conn':'direct','direct_port':7777"));

	cr_expect_eq(r.status, 200);
	expect_text(&r, "conn", "direct");
	expect_form(&r, "sessionId", 32, HEX);
	expect_form(&r, "lobbyId", 16, HEX);
	expect_form(&r, "token", 32, BASE64URL);
	expect_text(&r, "hostIdentity", LOBBY_IDENTITY);
	for (size_t i = 0; i < COUNT_OF(absent); i++)
		cr_expect(!rest_has(&r, absent[i]), "%s in %s", absent[i], r.body);
}

Test(master_announce, ids_and_tokens_are_new_each_time)
{
	struct master_host a, b;

	master_open(&a, s, HOST, "");
	master_open(&b, s, HOST, "");
	cr_expect_str_neq(a.session, b.session);
	cr_expect_str_neq(a.id, b.id);
	cr_expect_str_neq(a.token, b.token);
	cr_expect(strncmp(a.session, a.id, 16) != 0);
}

Test(master_announce, what_is_not_set_is_empty)
{
	struct server                      *bare = server_start(NULL);
	AUTO(rest_freep) struct http_result r    = master_post(bare, HOST, "/v1/host", master_announce_body(""));

	cr_expect_eq(r.status, 200);
	expect_text(&r, "stun", "");
	cr_expect(strstr(r.body, "\"turn\":{}"), "%s", r.body);
	server_finish(bare);
}

Test(master_announce, the_hosts_lifetime_of_a_credential_is_a_setting)
{
	struct server *other = server_start(
		(const char *[]){ "turn.uri=turn:turn.example:3478", SECRET_SET, "turn.host_ttl_s=600", NULL });
	AUTO(rest_freep) struct http_result r = master_post(other, HOST, "/v1/host", master_announce_body(""));

	expect_credential(&r, 600, HOST);
	server_finish(other);
}

/* Clients need a relay: it is this server, under the name they know it by. */
Test(master_announce, without_signal_url_the_relay_is_this_server)
{
	static const struct {
		const char *host, *name; /* of the relay; "": it has none */
	} rows[] = {
		{ "example.org:10001", "example.org" },
		{ "Example.ORG", "example.org" },
		{ "203.0.113.1:80", "203.0.113.1" },
		{ "[2001:db8::1]:10001", "[2001:db8::1]" },
		{ "<script>", "" },
		{ "a b", "" },
		{ "a/b", "" },
		{ "\"", "" },
		{ "[::1", "" },
		{ ":10001", "" },
	};
	struct server *bare = server_start(NULL);
	const char    *body = master_announce_body("");
	char           request[512], url[80];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(request, sizeof(request),
		         "POST /v1/host HTTP/1.1\r\nHost: %s\r\nContent-Length: %zu\r\n\r\n%s", rows[i].host,
		         strlen(body), body);
		AUTO(rest_freep)
		struct http_result r = http_exchange(bare->http_port, request, strlen(request), LOBBY_PATIENCE_MS);

		snprintf(url, sizeof(url), "%s:%d", rows[i].name, bare->signal_port);
		expect_text(&r, "signalingUrl", *rows[i].name ? url : "");
	}
	server_finish(bare);

	bare = server_start((const char *[]){ "server.public_host=lobby.example", NULL });
	AUTO(rest_freep) struct http_result r = master_post(bare, HOST, "/v1/host", body);

	snprintf(url, sizeof(url), "lobby.example:%d", bare->signal_port);
	expect_text(&r, "signalingUrl", url);
	server_finish(bare);
}

/* --- Why he is refused --- */

Test(master_announce, checks_come_in_the_order_of_the_document)
{
	static const char *const bodies[] = {
		"{'game':'x','identity':'gen:x','conn':'direct'}",
		"{'game':'0.9.0a','identity':'gen:x','conn':'direct'}",
		"{'game':'','identity':'" LOBBY_IDENTITY "','conn':'direct','direct_port':80}",
	};
	static const char *const texts[] = {
		"bad game version 'x'",
		"this build is too old to host -- update Multivoid",
		"direct_port out of range (1024-65535)",
	};
	struct server     *strict = server_start((const char *[]){ "limits.lobby_per_address=1", NULL });
	struct master_host h;

	for (size_t i = 0; i < COUNT_OF(bodies); i++) {
		AUTO(rest_freep) struct http_result r = master_post(strict, HOST, "/v1/host", J(bodies[i]));

		master_expect_error(&r, 400, texts[i]);
	}
	master_open(&h, strict, HOST, "");
	for (int i = 4; i < 10; i++) {
		AUTO(rest_freep) struct http_result r = master_post(strict, HOST, "/v1/host", J(bodies[0]));

		master_expect_error(&r, 429, "too many lobbies for this address");
	}
	AUTO(rest_freep) struct http_result r = master_post(strict, HOST, "/v1/host", J(bodies[0]));

	master_expect_error(&r, 429, "rate");
	server_finish(strict);
}

Test(master_announce, a_game_is_a_version_or_nothing)
{
	static const struct {
		const char *game;
		bool        is_good;
	} rows[] = {
		{ "", true },        { "0.9.0", true },   { "0.9.0a", true },    { "12.34.56ab", true },
		{ "0.9", false },    { "0.9.0A", false }, { "0.9.0abc", false }, { "100.1.1", false },
		{ "1.1.1 ", false }, { "a.b.c", false },  { "1.1.1.1", false },  { "<b>", false },
	};
	char members[64], text[128];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(members, sizeof(members), "'game':'%s'", rows[i].game);
		AUTO(rest_freep) struct http_result r = announce(J(members));

		snprintf(text, sizeof(text), "bad game version '%s'", rows[i].game);
		if (rows[i].is_good)
			cr_expect_eq(r.status, 200, "%s: %s", rows[i].game, r.body);
		else
			master_expect_error(&r, 400, text);
	}
}

#define DIGITS_62 "00112233445566778899aabbccddeeff00112233445566778899aabbccddee"

Test(master_announce, an_identity_is_exactly_a_public_key)
{
	static const char *const bad[] = {
		"null",
		"1",
		"true",
		"['gen:" DIGITS_62 "ff']",
		"''",
		"'gen:'",
		"'" DIGITS_62 "ff'",
		"'gen:" DIGITS_62 "f'",
		"'gen:" DIGITS_62 "fff'",
		"'gen:" DIGITS_62 "FF'",
		"'gen:" DIGITS_62 "fg'",
		"'gen:" DIGITS_62 "ff '",
		"' gen:" DIGITS_62 "ff'",
		"'GEN:" DIGITS_62 "ff'",
		"'str:" DIGITS_62 "ff'",
		"'h0011223344556677'",
		"'gen:" DIGITS_62 "f\\u0000'",
	};
	char body[256];

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		snprintf(body, sizeof(body), "{'game':'0.9.0a','identity':%s}", bad[i]);
		AUTO(rest_freep) struct http_result r = master_post(s, HOST, "/v1/host", J(body));

		master_expect_error(&r, 400, "this build is too old to host -- update Multivoid");
	}
	AUTO(rest_freep) struct http_result none = master_post(s, HOST, "/v1/host", "{}");

	master_expect_error(&none, 400, "this build is too old to host -- update Multivoid");
	cr_expect_eq(master_health(s), 0);
}

Test(master_announce, a_direct_port_is_from_1024_to_65535)
{
	static const struct {
		const char *members;
		int         status;
	} rows[] = {
		{ "'conn':'direct'", 400 },
		{ "'conn':'direct','direct_port':1023", 400 },
		{ "'conn':'direct','direct_port':1024", 200 },
		{ "'conn':'direct','direct_port':65535", 200 },
		{ "'conn':'direct','direct_port':65536", 400 },
		{ "'conn':'direct','direct_port':-1", 400 },
		{ "'conn':'direct','direct_port':9223372036854775807", 400 },
		{ "'conn':'direct','direct_port':'7777'", 200 },
		{ "'conn':'direct','direct_port':7777.9", 200 },
		{ "'conn':'direct','direct_port':[7777]", 400 },
		{ "'conn':'p2p','direct_port':1", 200 },
		{ "'conn':'Direct','direct_port':1", 200 },
		{ "'conn':1,'direct_port':1", 200 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(rest_freep) struct http_result r = announce(J(rows[i].members));

		cr_expect_eq(r.status, rows[i].status, "%s: %s", rows[i].members, r.body);
		if (rows[i].status == 400)
			master_expect_error(&r, 400, "direct_port out of range (1024-65535)");
	}
}

/* --- What is shown of him --- */

Test(master_announce, a_row_has_what_the_host_said_cleaned_and_clamped)
{
	struct master_host h, plain;
	char               way[100];

	master_open(&h, s, HOST,
	            J("'name':'<b>\\u202eAnn\\u0007\\u200b</b>','world':'w\\n1','version':'1.0+x','proto':70000,"
	              "'players_max':9,'locked':1,'game':'1.2.3'"));
	master_open(&plain, s, HOST, "");
	AUTO(rest_freep) struct http_result list = master_list(s);

#define WAY(h, member) strcpy(way, master_way(&list, (h).id, member))
	expect_text(&list, WAY(h, "name"), "<b>Ann</b>");
	expect_text(&list, WAY(h, "world"), "w1");
	expect_text(&list, WAY(h, "version"), "1.0+x");
	expect_text(&list, WAY(h, "game"), "1.2.3");
	expect_text(&list, WAY(h, "conn"), "p2p");
	expect_text(&list, WAY(h, "link"), "");
	cr_expect_eq(rest_int(&list, WAY(h, "proto")), 65535);
	cr_expect_eq(rest_int(&list, WAY(h, "players_max")), 4);
	cr_expect_eq(rest_int(&list, WAY(h, "players_cur")), 1);
	cr_expect_eq(rest_int(&list, WAY(h, "age")), 0);
	cr_expect(rest_bool(&list, WAY(h, "locked")));
	expect_text(&list, WAY(plain, "name"), "VOTV Coop");
	expect_text(&list, WAY(plain, "world"), "");
	cr_expect_eq(rest_int(&list, WAY(plain, "proto")), 0);
	cr_expect_eq(rest_int(&list, WAY(plain, "players_max")), 4);
	cr_expect(!rest_bool(&list, WAY(plain, "locked")));
}

Test(master_announce, a_host_may_start_hidden)
{
	struct master_host h, shown;

	master_open(&h, s, HOST, J("'listed':false"));
	master_open(&shown, s, HOST, J("'listed':'false'"));
	cr_expect(!master_is_listed(s, h.id));
	cr_expect(master_is_listed(s, shown.id), "a text that is not empty is true");
	cr_expect_eq(master_health(s), 2);
}

#define SHA DIGITS_62 "ff"
#define SIG SHA SHA

Test(master_announce, a_build_claim_is_kept_when_it_is_well_formed)
{
	static const struct {
		const char *members, *sha;
		int         key;
		const char *sig;
	} rows[] = {
		{ "", "", 0, "" },
		{ "'build_sha':'" SHA "'", SHA, 0, "" },
		{ "'build_sha':'" SHA "','build_key':0,'build_sig':''", SHA, 0, "" },
		{ "'build_sha':'" SHA "','build_key':1,'build_sig':'" SIG "'", SHA, 1, SIG },
		{ "'build_sha':'" SHA "','build_key':255,'build_sig':'" SIG "'", SHA, 255, SIG },
		{ "'build_sha':'" SHA "','build_key':256,'build_sig':'" SIG "'", "", 0, "" },
		{ "'build_sha':'" SHA "','build_key':0,'build_sig':'" SIG "'", "", 0, "" },
		{ "'build_sha':'" SHA "','build_key':1", "", 0, "" },
		{ "'build_sha':'<script>','build_key':0", "", 0, "" },
	};
	char way[100];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct master_host h;

		master_open(&h, s, HOST, J(rows[i].members));
		AUTO(rest_freep) struct http_result list = master_list(s);

		expect_text(&list, WAY(h, "build_sha"), rows[i].sha);
		cr_expect_eq(rest_int(&list, WAY(h, "build_key")), rows[i].key);
		expect_text(&list, WAY(h, "build_sig"), rows[i].sig);
	}
}

/* --- Proof of identity --- */

struct prover {
	unsigned char key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
	char          identity[72];
};

static void make_prover(struct prover *p)
{
	cr_assert_geq(sodium_init(), 0);
	crypto_sign_keypair(p->key, p->secret);
	strcpy(p->identity, "gen:");
	hex_encode(p->identity + 4, p->key, sizeof(p->key));
}

static void ask_nonce(char out[65], const char *from)
{
	AUTO(rest_freep) struct http_result r = master_post(s, from, "/v1/challenge", "{}");

	cr_expect_eq(r.status, 200);
	expect_form(&r, "nonce", 64, HEX);
	rest_text(&r, "nonce", out, 65);
}

static size_t put_part(unsigned char *out, const void *bytes, size_t len)
{
	out[0] = (unsigned char)(len >> 8);
	out[1] = (unsigned char)len;
	memcpy(out + 2, bytes, len);
	return 2 + len;
}

static void sign(char out[129], const struct prover *p, const char *server, const char *nonce)
{
	unsigned char text[512], raw[32], sig[crypto_sign_BYTES];
	size_t        len = 0;

	cr_assert_eq(hex_decode(raw, sizeof(raw), nonce, 64), ERR_OK);
	len += put_part(text + len, "coopd-host-proof-v1", 19);
	len += put_part(text + len, server, strlen(server));
	len += put_part(text + len, p->identity, strlen(p->identity));
	len += put_part(text + len, raw, sizeof(raw));
	crypto_sign_detached(sig, NULL, text, len, p->secret);
	hex_encode(out, sig, sizeof(sig));
}

/* Announces from HOST with this proof; whether the row says that it holds. */
static bool is_proved(const struct prover *p, const char *nonce, const char *sig)
{
	struct master_host h;
	char               members[512], way[100];

	snprintf(members, sizeof(members), "'identity':'%s','proof_nonce':'%s','proof_sig':'%s'", p->identity, nonce,
	         sig);
	master_open(&h, s, HOST, J(members));
	AUTO(rest_freep) struct http_result list = master_list(s);

	return rest_bool(&list, WAY(h, "proved"));
}

Test(master_announce, a_host_can_prove_that_he_holds_his_key)
{
	struct prover p, other;
	char          nonce[65], sig[129];

	make_prover(&p);
	make_prover(&other);
	ask_nonce(nonce, HOST);
	sign(sig, &p, "lobby.example", nonce);
	cr_expect(is_proved(&p, nonce, sig));
	cr_expect(!is_proved(&p, nonce, sig), "each nonce counts once");

	ask_nonce(nonce, HOST);
	sign(sig, &other, "lobby.example", nonce);
	cr_expect(!is_proved(&p, nonce, sig), "of another key");

	ask_nonce(nonce, HOST);
	sign(sig, &p, "evil.example", nonce);
	cr_expect(!is_proved(&p, nonce, sig), "for another server");

	ask_nonce(nonce, "198.51.100.1");
	sign(sig, &p, "lobby.example", nonce);
	cr_expect(!is_proved(&p, nonce, sig), "given to another address");

	ask_nonce(nonce, HOST);
	sign(sig, &p, "lobby.example", nonce);
	server_advance(s, 61000);
	cr_expect(!is_proved(&p, nonce, sig), "over a minute old");

	cr_expect(!is_proved(&p, "", ""));
	cr_expect(!is_proved(&p, nonce, "00"));
}

Test(master_announce, what_is_announced_is_in_the_log)
{
	struct master_host h;
	char               opened[64];

	master_open(&h, s, HOST, J("'name':'isle <x>\\u00e9','proto':133"));
	snprintf(opened, sizeof(opened), "opens lobby=%s ", h.id);
	await_log(s, opened);
	cr_expect(server_log_contains(s, "name=\"isle <x>\\xc3\\xa9\""));
	cr_expect(server_log_contains(s, "build=133"));
	cr_expect(server_log_contains(s, "address=203.0.113.0/24"));
	cr_expect(server_log_contains(s, "live=1"));

	AUTO(rest_freep) struct http_result r = announce(J("'game':'<i>'"));

	cr_expect_eq(r.status, 400);
	await_log(s, "refuses reason=\"bad game version '<i>'\"");
}
