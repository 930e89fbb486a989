/*
 * Settings of the lobby master: those that change while it runs, and the secrets that nobody has to set.
 */
#include "base/auto.h"
#include "base/base64.h"
#include "support/dial.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST "203.0.113.7"
#define TURN "[turn]\nuri = turn:turn.example:3478\n"

static struct server *s;

/* ./coopd.conf is what a server without --config reads. */
static void write_conf(const char *text)
{
	char path[SERVER_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/coopd.conf", s->root);
	FILE *f = fopen(path, "we");

	cr_assert(f && fputs(text, f) >= 0, "cannot write %s", path);
	fclose(f);
	cr_assert_eq(chdir(s->root), 0);
}

static void start(const char *conf)
{
	s = server_prepare(NULL);
	server_unset(s, "turn.secret");
	server_unset(s, "signal.token");
	write_conf(conf);
	server_launch(s);
	server_await_ready(s);
}

static size_t count_reloads(void)
{
	FILE  *log = server_open_log(s);
	char   line[2048];
	size_t count = 0;

	while (fgets(line, sizeof(line), log))
		count += strstr(line, "reloads done") != NULL;
	fclose(log);
	return count;
}

static void reload(const char *conf)
{
	size_t  before      = count_reloads();
	int64_t deadline_ms = real_now_ms() + LOBBY_PATIENCE_MS;

	write_conf(conf);
	server_signal(s, SIGHUP);
	while (count_reloads() == before) {
		cr_assert_lt(real_now_ms(), deadline_ms, "the configuration is not read again");
		real_sleep_ms(5);
	}
}

Test(master_settings, a_new_release_needs_no_restart)
{
	start("[latest]\nproto = 133\nmod = b133 \xc3\xa9\nurl = https://example.org/b133\n");
	AUTO(rest_freep) struct http_result first = http_get(s->http_port, "/v1/latest");

	cr_expect_str_eq(first.body, "{\"proto\":133,\"mod\":\"b133 \xc3\xa9\",\"url\":\"https://example.org/b133\"}");
	reload("[latest]\nproto = 134\n");
	AUTO(rest_freep) struct http_result second = http_get(s->http_port, "/v1/latest");

	cr_expect_eq(rest_int(&second, "proto"), 134);
	server_finish(s);
}

/* --- TURN secrets --- */

static bool is_password(const char *secret, const char *user, const char *pass)
{
	uint8_t  mac[20];
	char     text[BASE64_BYTES(sizeof(mac))];
	unsigned len = sizeof(mac);

	HMAC(EVP_sha1(), secret, (int)strlen(secret), (const unsigned char *)user, strlen(user), mac, &len);
	base64_encode(text, mac, sizeof(mac));
	return strcmp(text, pass) == 0;
}

/* The one in an answer was made with this secret. */
static void expect_made_with(const struct http_result *r, const char *secret, char user[128])
{
	char pass[64];

	rest_text(r, "turn.user", user, 128);
	rest_text(r, "turn.pass", pass, sizeof(pass));
	cr_expect(is_password(secret, user, pass), "not with %s: %s", secret, r->body);
}

static void open_host(struct master_host *h, const char *secret, char user[128])
{
	AUTO(rest_freep) struct http_result r = master_post(s, HOST, "/v1/host", master_announce_body(""));

	*h = (struct master_host){ .from = HOST };
	rest_text(&r, "sessionId", h->session, sizeof(h->session));
	rest_text(&r, "token", h->token, sizeof(h->token));
	rest_text(&r, "lobbyId", h->id, sizeof(h->id));
	expect_made_with(&r, secret, user);
}

static struct http_result beat_with(const struct master_host *h, const char *user)
{
	char members[256];

	snprintf(members, sizeof(members), "'turn_user':'%s'", user);
	return master_beat_asked(h, s, J(members));
}

Test(master_settings, a_new_turn_secret_is_used_at_once_and_renews_what_is_no_longer_good)
{
	struct master_host h;
	char               user[128], fresh[128];

	start(TURN "secret = first\n");
	open_host(&h, "first", user);
	reload(TURN "secret = second\n");
	AUTO(rest_freep) struct http_result join = master_join(s, "198.51.100.1", h.id);
	AUTO(rest_freep) struct http_result beat = beat_with(&h, user);

	expect_made_with(&join, "second", fresh);
	expect_made_with(&beat, "second", fresh);
	AUTO(rest_freep) struct http_result again = beat_with(&h, fresh);

	cr_expect_str_eq(again.body, "{\"ok\":true}");
	server_finish(s);
}

Test(master_settings, while_the_old_turn_secret_is_taken_too_nothing_is_renewed_early)
{
	struct master_host h;
	char               user[128], told[128];

	start(TURN "secret = first\n");
	open_host(&h, "first", user);
	reload(TURN "secret = second\nsecret_previous = first\n");
	AUTO(rest_freep) struct http_result beat  = beat_with(&h, user);
	AUTO(rest_freep) struct http_result other = beat_with(&h, "1:other");

	cr_expect_str_eq(beat.body, "{\"ok\":true}");
	expect_made_with(&other, "first", told);
	cr_expect_str_eq(told, user);

	/* Another reload that changes nothing of it, and one that ends it. */
	reload(TURN "secret = second\nsecret_previous = first\n");
	AUTO(rest_freep) struct http_result same = beat_with(&h, user);

	cr_expect_str_eq(same.body, "{\"ok\":true}");
	reload(TURN "secret = second\n");
	AUTO(rest_freep) struct http_result ended = beat_with(&h, user);

	expect_made_with(&ended, "second", told);
	server_finish(s);
}

Test(master_settings, another_previous_secret_is_not_the_one_before)
{
	struct master_host h;
	char               user[128], fresh[128];

	start(TURN "secret = first\n");
	open_host(&h, "first", user);
	reload(TURN "secret = second\nsecret_previous = other\n");
	AUTO(rest_freep) struct http_result beat = beat_with(&h, user);

	expect_made_with(&beat, "second", fresh);
	server_finish(s);
}

Test(master_settings, where_to_connect_changes_with_a_reload)
{
	struct master_host h;
	char               text[128];

	start("[signal]\nurl = a.example:1\ntoken = one\n");
	master_open(&h, s, HOST, "");
	reload("[signal]\nurl = b.example:2\ntoken = two\n[stun]\nuri = stun:c.example:3\n");
	AUTO(rest_freep) struct http_result r = master_join(s, HOST, h.id);

	cr_expect_str_eq(rest_text(&r, "signalingUrl", text, sizeof(text)), "b.example:2");
	cr_expect_str_eq(rest_text(&r, "signalingToken", text, sizeof(text)), "two");
	cr_expect_str_eq(rest_text(&r, "stun", text, sizeof(text)), "stun:c.example:3");
	cr_expect(strstr(r.body, "\"turn\":{}"), "%s", r.body);
	server_finish(s);
}

/* --- Secrets that nobody set --- */

static void read_made(char token[128])
{
	AUTO(rest_freep) struct http_result r = master_post(s, HOST, "/v1/host", master_announce_body(""));

	rest_text(&r, "signalingToken", token, 128);
	cr_expect(strlen(token) == 64 && strspn(token, "0123456789abcdef") == 64, "%s", token);
	cr_expect(rest_has(&r, "turn.pass"), "%s", r.body);
}

Test(master_settings, secrets_that_nobody_set_are_made_and_stay)
{
	char first[128], second[128];

	start(TURN);
	read_made(first);
	server_restart(s);
	read_made(second);
	cr_expect_str_eq(first, second);
	reload(TURN "host_ttl_s = 600\n");
	read_made(second);
	cr_expect_str_eq(first, second);
	cr_expect(!server_log_contains(s, first), "a secret in the log");
	server_finish(s);
}

/* As it is after a restart, too: the file of secrets is read at a start only, and has them whether they are needed or not. */
Test(master_settings, emptied_secrets_are_those_that_were_made)
{
	struct master_host h;
	char               user[128], first[128], second[128];

	start("[turn]\nuri = turn:turn.example:3478\nsecret = mine\n[signal]\ntoken = mine\n");
	open_host(&h, "mine", user);
	reload(TURN);
	read_made(first);
	AUTO(rest_freep) struct http_result beat = beat_with(&h, user);
	AUTO(rest_freep) struct http_result join = master_join(s, "198.51.100.1", h.id);

	cr_expect(rest_has(&beat, "turn.pass"), "the one before is no longer taken: %s", beat.body);
	cr_expect(rest_has(&join, "turn.pass"), "%s", join.body);
	rest_text(&join, "signalingToken", second, sizeof(second));
	cr_expect_str_eq(first, second);
	server_restart(s);
	read_made(second);
	cr_expect_str_eq(first, second);
	cr_expect(!server_log_contains(s, first), "a secret in the log");
	server_finish(s);
}

/* Whoever says in one go that it is production no more cannot take them away from one that still is. */
Test(master_settings, production_keeps_its_secrets_until_it_is_restarted)
{
	struct master_host h;
	char               user[128], fresh[128], text[128];

	start("[server]\nproduction = yes\n[turn]\nuri = turn:turn.example:3478\nsecret = mine\n[signal]\ntoken = "
	      "mine\n");
	open_host(&h, "mine", user);
	reload(TURN);
	AUTO(rest_freep) struct http_result join = master_join(s, "198.51.100.1", h.id);

	expect_made_with(&join, "mine", fresh);
	cr_expect_str_eq(rest_text(&join, "signalingToken", text, sizeof(text)), "mine");
	server_finish(s);
}
