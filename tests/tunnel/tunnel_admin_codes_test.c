/*
 * Codes for operators: freed and given, live and on the disk.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/admin_client.h"
#include "support/dial.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ANSWER   AUTO(rest_freep) struct http_result
#define NOBODY   "0011223344556677"
#define CAMPAIGN "00112233445566aa"

static struct server    *s;
static struct ws_client *host, *ann;
static uint32_t          code;

static void start(void)
{
	s = server_start(NULL);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(tunnel_admin_codes, .init = start, .fini = stop, .timeout = 300);

static const char *code_path(const char *key, const char *more)
{
	static char paths[4][100];
	static int  next;
	char       *path = paths[next++ % 4], hex[17];
	uint8_t     id[ID_BYTES];

	id_of(id, key);
	hex_encode(hex, id, sizeof(id));
	snprintf(path, sizeof(paths[0]), "/admin/v1/players/%s/code%s", hex, more);
	return path;
}

static void expect_answer(const char *method, const char *path, const char *body, int status, const char *error)
{
	ANSWER r = admin_ask(s, method, path, body);

	admin_expect(&r, status, error);
}

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

/* The game under the old code is over, for both. */
static void expect_over(void)
{
	friend_expect_state(ann, STATE_CLOSED);
	ws_expect_closed(ann);
	ws_expect_closed(host);
	leave();
}

static void expect_code(const char *key, uint32_t want)
{
	uint32_t          got;
	struct ws_client *c = host_open(s->tunnel_port, key, &got);

	cr_expect_eq(got, want, "%s has %u, not %u", key, (unsigned)got, (unsigned)want);
	ws_client_free(c);
}

static const char *body_of(uint32_t wanted)
{
	static char text[40];

	snprintf(text, sizeof(text), "{\"code\":%u}", (unsigned)wanted);
	return text;
}

/* One that nobody has, for sure. */
static uint32_t other_than(uint32_t a, uint32_t b)
{
	uint32_t c = 500000;

	while (c == a || c == b)
		c++;
	return c;
}

Test(tunnel_admin_codes, a_new_code_while_he_hosts_ends_his_game_and_is_kept)
{
	uint32_t fresh;

	play();
	ANSWER tried = admin_ask(s, "POST", code_path("A", "?dry_run=true"), "{}");
	admin_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "old_code"), code);
	cr_expect_not_null(strstr(tried.body, "\"code\":null"), "%s", tried.body);
	cr_expect(rest_bool(&tried, "dry_run"));
	tunnel_echo(ann);
	tunnel_echo(host);

	ANSWER r = admin_ask(s, "POST", code_path("A", ""), NULL);
	admin_expect(&r, 200, NULL);
	fresh = (uint32_t)rest_int(&r, "code");
	cr_expect_eq(rest_int(&r, "old_code"), code);
	cr_expect_neq(fresh, code);
	expect_over();
	server_kill(s); /* durable by the time of the answer */
	server_restart(s);
	expect_code("A", fresh);
}

Test(tunnel_admin_codes, a_given_code_is_his_unless_another_has_it)
{
	uint32_t          others, wanted;
	struct ws_client *other = host_open(s->tunnel_port, "C", &others);

	play();
	expect_answer("POST", code_path("A", ""), body_of(others), 409, "exists");
	expect_answer("POST", code_path("A", "?dry_run=1"), body_of(others), 409, "exists");
	tunnel_echo(host);
	wanted       = other_than(code, others);
	ANSWER tried = admin_ask(s, "POST", code_path("A", "?dry_run=1"), body_of(wanted));
	admin_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "code"), wanted);
	tunnel_echo(host);

	/* His own changes nothing. */
	expect_answer("POST", code_path("A", ""), body_of(code), 200, NULL);
	tunnel_echo(host);
	tunnel_echo(ann);

	expect_answer("POST", code_path("A", ""), body_of(wanted), 200, NULL);
	expect_over();
	expect_code("A", wanted);

	/* The old one is free: another gets it. */
	expect_answer("POST", code_path("C", ""), body_of(code), 200, NULL);
	ws_expect_closed(other);
	ws_client_free(other);
	server_restart(s);
	expect_code("A", wanted);
	expect_code("C", code);
}

Test(tunnel_admin_codes, a_freed_code_is_anybodys_and_its_game_ends)
{
	uint32_t c_code;

	play();
	ws_client_free(host_open(s->tunnel_port, "C", &c_code));
	ANSWER tried = admin_ask(s, "DELETE", code_path("A", "?dry_run=true"), NULL);
	admin_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "old_code"), code);
	tunnel_echo(host);
	tunnel_echo(ann);

	ANSWER r = admin_ask(s, "DELETE", code_path("A", ""), NULL);
	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "old_code"), code);
	expect_over();
	expect_answer("DELETE", code_path("A", ""), NULL, 404, "not_found");
	expect_answer("POST", code_path("C", ""), body_of(code), 200, NULL);
	server_kill(s);
	server_restart(s);
	expect_code("C", code);

	/* He comes back as a new player. */
	uint32_t again;
	ws_client_free(host_open(s->tunnel_port, "A", &again));
	cr_expect_neq(again, code);
}

/* A friend who joins late, or a game that was touched a moment ago, must not bring the row back. */
Test(tunnel_admin_codes, what_was_asked_of_the_row_before_comes_before)
{
	for (int i = 0; i < 5; i++) {
		play(); /* touches the row, lazily: opened, and joined */
		expect_answer("DELETE", code_path("A", ""), NULL, 200, NULL);
		expect_over();
		ws_client_free(host_open(s->tunnel_port, "C", NULL));
		expect_answer("POST", code_path("C", ""), body_of(code), 200, NULL);
	}
	server_restart(s);
	expect_code("C", code);
	cr_expect_not(server_log_contains(s, "leaves-out"));
}

Test(tunnel_admin_codes, one_who_only_stored_a_checkpoint_can_be_given_a_first_code)
{
	size_t len;
	char  *container = rest_container(&len, CAMPAIGN, "", 100);
	ANSWER put       = rest_put(s, "D", CAMPAIGN, "", "Coop-Meta: {}\r\n", container, len);

	rest_expect(&put, 201, NULL);
	free(container);
	expect_answer("DELETE", code_path("D", ""), NULL, 404, "not_found");
	expect_answer("POST", code_path("D", "?dry_run=1"), body_of(234567), 200, NULL);
	ANSWER r = admin_ask(s, "POST", code_path("D", ""), body_of(234567));
	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "code"), 234567);
	cr_expect_not_null(strstr(r.body, "\"old_code\":null"), "%s", r.body);
	server_restart(s);
	expect_code("D", 234567);

	/* Freed, he is still there, since his campaign is; any code will do then. */
	expect_answer("DELETE", code_path("D", ""), NULL, 200, NULL);
	ANSWER any = admin_ask(s, "POST", code_path("D", ""), "{\"code\":null}");
	admin_expect(&any, 200, NULL);
	expect_code("D", (uint32_t)rest_int(&any, "code"));
}

Test(tunnel_admin_codes, what_cannot_be_is_refused_and_changes_nothing)
{
	static const char *const bad[] = { "{\"code\":99999}",      "{\"code\":1000000}", "{\"code\":-1}",
		                           "{\"code\":\"123456\"}", "{\"code\":1.5}",     "{\"code\":true}" };
	static const char *const ids[] = { NOBODY, "0011223344556677aa", "001122334455667", "00112233445566AA", "x" };
	char                     path[100];

	play();
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		expect_answer("POST", code_path("A", ""), bad[i], 422, "invalid");
	expect_answer("POST", code_path("A", ""), "{\"codes\":123456}", 422, "unknown_member");
	expect_answer("POST", code_path("A", ""), "[1]", 400, "malformed");
	expect_answer("POST", code_path("A", ""), "{", 400, "malformed");
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		snprintf(path, sizeof(path), "/admin/v1/players/%s/code", ids[i]);
		expect_answer("POST", path, NULL, 404, "not_found");
		expect_answer("DELETE", path, NULL, 404, "not_found");
	}
	expect_answer("GET", code_path("A", ""), NULL, 405, "method");
	tunnel_echo(host);
	tunnel_echo(ann);
	leave();
	expect_code("A", code);
}
