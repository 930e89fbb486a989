/*
 * Who may watch: tokens, time, pages, names, the unix socket, and how many.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/events_client.h"
#include "support/server.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define WRONG "0000000000000000000000000000000000000000000000000000000000000000"

/* clang-format off */
#define AUTH_WRONG "{\"op\":\"auth\",\"token\":\"0000000000000000000000000000000000000000000000000000000000000000\"}"
/* clang-format on */

static struct server *s;

static void start(void)
{
	s = server_start((const char *const[]){ "admin.hosts=ops.example", "limits.admin_viewers=3", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(events_access, .init = start, .fini = stop);

Test(events_access, a_right_token_is_told_its_role)
{
	static const char *const roles[] = { EVENTS_VIEWER, EVENTS_OPERATOR };

	for (size_t i = 0; i < COUNT_OF(roles); i++) {
		char                  token[EVENTS_TOKEN_BYTES];
		struct events_client *v;

		events_token(token, NULL, s, roles[i]);
		v = events_open_with(s, token);
		cr_expect(events_is(v, "role", roles[i]));
		cr_expect_not_null(events_text(v, "version"));
		cr_expect_geq(events_int(v, "seq"), 1);
		cr_expect_not_null(events_text(v, "started_at"));
		events_free(v);
	}
}

/* What comes instead of a right token ends it, and the next one with a right token gets in all the same. */
Test(events_access, anything_but_a_right_token_is_closed_with_4401)
{
	static const char *const said[] = {
		AUTH_WRONG,
		"{\"op\":\"auth\",\"token\":\"\"}",
		"{\"op\":\"auth\"}",
		"{\"op\":\"filter\"}",
		"{\"op\":\"since\",\"seq\":0}",
		"{}",
		"token",
	};
	const size_t count = COUNT_OF(said);
	char         token[EVENTS_TOKEN_BYTES];

	for (size_t i = 0; i < count; i++) {
		struct events_client *v = events_dial(s, NULL);

		events_say(v, said[i]);
		events_expect_closed(v, 4401);
		cr_expect_eq(v->sets, 0);
		events_free(v);
	}
	cr_expect_eq(server_metric(s, "coopd_admin_viewers_refused_total", "token"), (double)count);
	events_token(token, NULL, s, EVENTS_VIEWER);
	events_free(events_open_with(s, token));
}

Test(events_access, who_says_nothing_is_closed_with_4408)
{
	struct events_client *v = events_dial(s, NULL);

	server_advance(s, 2500);
	cr_expect_not(events_next(v, 300));
	cr_expect_not(v->has_ended);
	server_advance(s, 2500);
	events_expect_closed(v, 4408);
	events_free(v);
}

/* The field, and whether it is the page's own for somebody who came to 127.0.0.1:EVENTS; %d is the port of the page. */
static const struct {
	const char *origin;
	bool        is_own;
} origins[] = {
	{ "http://127.0.0.1:%d", true },
	{ "https://127.0.0.1:%d", true },
	{ "http://localhost:%d", false },
	{ "http://127.0.0.2:%d", false },
	{ "http://127.0.0.1", false },
	{ "http://127.0.0.1:1", false },
	{ "http://evil.example", false },
	{ "ws://127.0.0.1:%d", false },
	{ "http://127.0.0.1:%d.evil.example", false },
	{ "null", false },

};

Test(events_access, only_the_page_s_own_origin_is_let_in)
{
	char token[EVENTS_TOKEN_BYTES], host[64], origin[128], field[160];

	events_token(token, NULL, s, EVENTS_VIEWER);
	snprintf(host, sizeof(host), "127.0.0.1:%d", s->admin_events_port);
	for (size_t i = 0; i < COUNT_OF(origins); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(origin, sizeof(origin), origins[i].origin, s->admin_port);
#pragma GCC diagnostic pop
		snprintf(field, sizeof(field), "Origin: %s\r\n", origin);
		struct events_client *v = events_dial(s, &(struct ws_client_options){ .host = host, .headers = field });

		if (origins[i].is_own) {
			events_auth(v, token);
			events_await_op(v, "hello");
		} else {
			events_expect_closed(v, 4403);
		}
		events_free(v);
	}
}

static const struct {
	const char *host;
	bool        is_ours;
} hosts[] = {
	{ "127.0.0.1:64191", true },
	{ "localhost", true },
	{ "[::1]:5", true },
	{ "ops.example", true },
	{ "ops.example:443", true },
	{ "evil.example", false },
	{ "127.0.0.1.evil.example", false },
};

/* A name of somebody else's that leads here: what the page of its owner would ask by. */
Test(events_access, only_under_a_name_of_ours)
{
	char token[EVENTS_TOKEN_BYTES];

	events_token(token, NULL, s, EVENTS_VIEWER);
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		struct events_client *v = events_dial(s, &(struct ws_client_options){ .host = hosts[i].host });

		if (hosts[i].is_ours) {
			events_auth(v, token);
			events_await_op(v, "hello");
		} else {
			events_expect_closed(v, 4403);
		}
		events_free(v);
	}
	cr_expect_eq(server_metric(s, "coopd_admin_viewers_refused_total", "foreign"), 2);
}

/* Behind a proxy page and events have one name, and no port of ours. */
Test(events_access, a_page_of_the_very_name_is_our_own)
{
	char                  token[EVENTS_TOKEN_BYTES];
	struct events_client *v =
		events_dial(s, &(struct ws_client_options){ .host    = "ops.example",
	                                                    .headers = "Origin: https://ops.example\r\n" });

	events_token(token, NULL, s, EVENTS_VIEWER);
	events_auth(v, token);
	events_await_op(v, "hello");
	events_free(v);
}

static int upgrade(const char *path, const char *headers)
{
	struct ws_client_options o      = { .path = path, .headers = headers };
	struct ws_client        *c      = ws_client_dial(s->admin_events_port, &o);
	int                      status = ws_client_upgrade(c, &o);

	ws_client_free(c);
	return status;
}

Test(events_access, nothing_else_is_behind_the_door)
{
	cr_expect_eq(upgrade("/admin/v1/events?token=" WRONG, NULL), 400);
	cr_expect_eq(upgrade("/", NULL), 404);
	cr_expect_eq(upgrade("/signal", NULL), 404);
	cr_expect_eq(upgrade("/admin/v1/events/", NULL), 404);

	/* Nor is it elsewhere: there the tunnel answers, which knows no text. */
	struct ws_client_options o = { .path = "/admin/v1/events", .takes_text = true };
	struct ws_client        *c = ws_client_open(s->tunnel_port, &o);
	ws_expect_nothing(c, 300);
	ws_client_free(c);
}

Test(events_access, on_the_unix_socket_the_peer_counts)
{
	struct events_client *v = events_open(s);

	cr_expect(events_is(v, "role", "operator"));
	events_free(v);
}

Test(events_access, what_came_through_a_proxy_or_a_page_needs_a_token_there_too)
{
	static const char *const fields[] = {
		"Forwarded: for=203.0.113.7\r\n", "Via: 1.1 proxy\r\n",           "X-Real-IP: 203.0.113.7\r\n",
		"x-forwarded-for: 1.2.3.4\r\n",   "X-Forwarded-Proto: https\r\n", "Origin: http://127.0.0.1\r\n",
	};
	char token[EVENTS_TOKEN_BYTES];

	events_token(token, NULL, s, EVENTS_VIEWER);
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		struct ws_client_options o = { .unix_path = s->admin_events_socket, .headers = fields[i] };
		struct events_client    *v = events_dial(s, &o), *w = events_dial(s, &o);

		cr_expect_not(events_next(v, 200), "%s", fields[i]);
		events_auth(v, WRONG);
		events_expect_closed(v, 4401);
		events_auth(w, token);
		events_await_op(w, "hello");
		cr_expect(events_is(w, "role", "viewer"));
		events_free(v);
		events_free(w);
	}
}

Test(events_access, as_many_viewers_as_the_limit_says)
{
	struct events_client *v[3], *more;

	for (size_t i = 0; i < COUNT_OF(v); i++)
		v[i] = events_open(s);
	server_await_metric(s, "coopd_admin_viewers", NULL, 3, EVENTS_PATIENCE_MS);
	more = events_dial(s, &(struct ws_client_options){ .unix_path = s->admin_events_socket });
	events_expect_closed(more, 1013);
	events_free(more);
	events_free(v[0]);
	server_await_metric(s, "coopd_admin_viewers", NULL, 2, EVENTS_PATIENCE_MS);
	v[0] = events_open(s);
	for (size_t i = 0; i < COUNT_OF(v); i++)
		events_free(v[i]);
}

/* Any number of them may come and say nothing: who has a token gets in. */
Test(events_access, who_says_nothing_keeps_nobody_out)
{
	struct ws_client     *silent[20];
	struct events_client *idle[20], *v;
	char                  token[EVENTS_TOKEN_BYTES];

	events_token(token, NULL, s, EVENTS_VIEWER);
	for (size_t i = 0; i < COUNT_OF(silent); i++)
		silent[i] = ws_client_dial(s->admin_events_port, NULL);
	v = events_open_with(s, token);
	for (size_t i = 0; i < COUNT_OF(idle); i++)
		idle[i] = events_dial(s, NULL);
	cr_expect_leq(server_metric(s, "coopd_ws_connections", NULL), 6, "two for each that may watch");
	events_since(v, 0);
	events_await(v, "server.ready");
	for (size_t i = 0; i < COUNT_OF(idle); i++) {
		ws_client_free(silent[i]);
		events_free(idle[i]);
	}
	events_free(v);
}

Test(events_access, a_revoked_token_is_closed_at_once_and_others_stay)
{
	char                  token[EVENTS_TOKEN_BYTES], other[EVENTS_TOKEN_BYTES], path[64];
	int64_t               id;
	struct events_client *v, *w;

	events_token(token, &id, s, EVENTS_VIEWER);
	events_token(other, NULL, s, EVENTS_VIEWER);
	v = events_open_with(s, token);
	w = events_open_with(s, other);
	snprintf(path, sizeof(path), "/admin/v1/tokens/%lld", (long long)id);

	AUTO(rest_freep) struct http_result r = admin_ask(s, "DELETE", path, NULL);
	admin_expect(&r, 200, NULL);
	events_expect_closed(v, 4401);
	events_since(w, 0);
	events_await(w, "token.revoked");
	events_free(v);
	events_free(w);
}

Test(events_access, a_token_s_end_closes)
{
	AUTO(rest_freep)
	struct http_result r =
		admin_ask(s, "POST", "/admin/v1/tokens", "{\"name\":\"short\",\"role\":\"viewer\",\"expires_s\":3600}");
	char                  token[EVENTS_TOKEN_BYTES];
	struct events_client *v;

	admin_expect(&r, 201, NULL);
	v = events_open_with(s, rest_text(&r, "token", token, sizeof(token)));
	server_advance(s, 3590000);
	events_await_op(v, "figures");
	cr_expect_not(v->has_ended);
	server_advance(s, 20000);
	events_expect_closed(v, 4401);
	events_free(v);
}
