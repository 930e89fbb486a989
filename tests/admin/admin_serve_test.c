/*
 * The operator's unix socket.
 */
#include "admin/admin_serve.h"

#include "base/auto.h"
#include "base/metric.h"
#include "net/listen.h"
#include "support/dial.h"
#include "support/http_client.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct http_fixture f; /* for its settings and its clock */
static struct api         *api;
static struct admin       *admin;
static char                header[] = "CF-Connecting-IP"; /* as an operator may have set it */
static char                dir[40], path[60];

static void start(void)
{
	struct http_listen on;
	struct admin_door  door = { .name = "admin", .on = &on, .count = 1, .connections_max = 3 };
	int                fd;

	http_fixture_init(&f);
	f.conf.http_client_address_header = header;
	strcpy(dir, "/tmp/coopd-admin-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/admin.sock", dir);
	cr_assert_eq(listen_unix(&fd, path, stderr), ERR_OK);
	cr_assert_eq(api_new(&api, NULL, NULL, &f.conf), ERR_OK);
	cr_assert_eq(api_add(api, admin_metric_routes, api), ERR_OK);
	on = (struct http_listen){ .fd = fd };
	cr_assert_eq(admin_start(&admin, api, &door, NULL, 0), ERR_OK);
}

static void stop(void)
{
	admin_stop(admin);
	api_free(api);
	http_fixture_stop(&f);
	unlink(path);
	rmdir(dir);
}

TestSuite(admin_serve, .init = start, .fini = stop);

static void free_result(struct http_result *r)
{
	http_result_free(r);
}

/* GET /metrics with these further fields. */
static struct http_result ask(const char *fields)
{
	char request[300];
	int  fd = dial_unix(path);

	cr_assert_geq(fd, 0);
	snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\n%s%s\r\n",
	         strncmp(fields, "Host:", 5) == 0 ? "" : "Host: localhost\r\n", fields);
	http_say(fd, request);
	struct http_result r = http_hear(fd);
	close(fd);
	return r;
}

Test(admin_serve, shows_the_figures_as_prometheus_reads_them)
{
	char type[100];

	metric_set(M_TUNNEL_GAMES, 7);
	AUTO(free_result) struct http_result r = ask("");
	cr_expect_eq(r.status, 200);
	cr_expect_str_eq(http_result_header(&r, "Content-Type", type, sizeof(type)), "text/plain; version=0.0.4");
	cr_expect_not_null(strstr(r.body, "# TYPE coopd_tunnel_games gauge\n"), "%s", r.body);
	cr_expect_not_null(strstr(r.body, "\ncoopd_tunnel_games 7\n"));
	cr_expect_eq(r.body[r.body_len - 1], '\n');
	cr_expect_eq(strlen(r.body), r.body_len);

	AUTO(free_result) struct http_result again = ask("");
	cr_expect_not_null(strstr(again.body, "coopd_http_requests_total{class=\"2xx\"}"));
}

Test(admin_serve, what_came_through_a_proxy_needs_a_token)
{
	static const char *const rows[] = {
		"Origin: http://localhost\r\n", "Authorization: Bearer 00\r\n",
		"Forwarded: for=1.2.3.4\r\n",   "Via: 1.1 caddy\r\n",
		"X-Forwarded-For: 1.2.3.4\r\n", "x-forwarded-proto: https\r\n",
		"X-FORWARDED-HOST: a\r\n",      "X-Forwarded-For:\r\n",
		"X-Real-IP: 1.2.3.4\r\n",       "Via: 1.1 a\r\nVia: 1.1 b\r\n",
		"Sec-Fetch-Site: none\r\n",     "CF-Connecting-IP: 1.2.3.4\r\n",
		"Host: play.example.org\r\n",   "Host: evil:80\r\n",
	};
	char bearer[40];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(free_result) struct http_result r = ask(rows[i]);
		cr_expect_eq(r.status, 401, "%s", rows[i]);
		cr_expect_not_null(strstr(r.body, "{\"error\":{\"code\":\"token\","), "%s", r.body);
		cr_expect_null(strstr(r.body, "coopd_"), "no figure gets out");
		cr_expect_str_eq(http_result_header(&r, "WWW-Authenticate", bearer, sizeof(bearer)), "Bearer");
	}
}

Test(admin_serve, pages_of_others_get_nothing)
{
	static const char *const rows[] = { "Origin: https://evil\r\n", "Origin: null\r\n",
		                            "Origin: http://localhost:80\r\n",
		                            "Origin: http://localhost\r\nOrigin: http://localhost\r\n" };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(free_result) struct http_result r = ask(rows[i]);
		cr_expect_eq(r.status, 403, "%s", rows[i]);
		cr_expect_not_null(strstr(r.body, "{\"error\":{\"code\":\"origin\","), "%s", r.body);
	}
}

Test(admin_serve, other_fields_do_no_harm)
{
	static const char *const rows[] = {
		"X-Forward: a\r\n", "User-Agent: Prometheus/2.42\r\n", "Accept: */*\r\n",
		"Origins: a\r\n",   "Host: 127.0.0.1:10002\r\n",       "Host: [::1]\r\n",
		"Host:\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(free_result) struct http_result r = ask(rows[i]);
		cr_expect_eq(r.status, 200, "%s", rows[i]);
	}
}

Test(admin_serve, has_no_other_path)
{
	AUTO(free_result) struct http_result r = http_get_unix(path, "/healthz");
	cr_expect_eq(r.status, 404);
}

Test(admin_serve, has_as_many_connections_as_its_limit)
{
	int fds[4];

	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = dial_unix(path);
		cr_assert_geq(fds[i], 0);
		http_fixture_await_connections(i < 3 ? (int64_t)i + 1 : 3);
	}
	cr_expect(http_is_closed(fds[0]), "the oldest makes room");
	for (size_t i = 1; i < COUNT_OF(fds); i++) {
		http_say(fds[i], "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
		AUTO(free_result) struct http_result r = http_hear(fds[i]);
		cr_expect_eq(r.status, 200);
	}
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
}

Test(admin_serve, looks_at_its_deadlines_when_poked)
{
	int64_t moved = 15000;
	int     fd    = dial_unix(path);

	http_fixture_await_connections(1);
	cr_assert_eq(pwrite(f.clock_fd, &moved, sizeof(moved), 0), (ssize_t)sizeof(moved));
	admin_poke(admin);
	cr_expect(http_is_closed(fd));
	close(fd);
}
