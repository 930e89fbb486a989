/*
 * The files of the operator's page: who may have them, with which rules for the browser.
 */
#include "base/auto.h"
#include "gen/embed.h"
#include "support/admin_client.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;

static void start(void)
{
	s = server_start((const char *const[]){ "admin.hosts=coop.example.org", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(admin_page, .init = start, .fini = stop, .timeout = 120);

/* As a browser that was sent to this host; more: further lines. */
static struct http_result ask(const char *path, const char *host, const char *more)
{
	char request[600];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n", path, host,
	         more);
	return http_exchange(s->admin_port, request, strlen(request), ADMIN_PATIENCE_MS);
}

static void expect_field(const struct http_result *r, const char *name, const char *want)
{
	char value[500];

	cr_expect_str_eq(http_result_header(r, name, value, sizeof(value)), want, "%s", name);
}

Test(admin_page, is_anybodys_with_strict_rules)
{
	char   want[500];
	ANSWER r = ask("/", "127.0.0.1", "");

	cr_expect_eq(r.status, 200);
	cr_expect_not_null(strstr(r.body, "<title>coopd</title>"));
	cr_expect_null(strstr(r.body, "style="));
	cr_expect_null(strstr(r.body, "onclick"));
	snprintf(want, sizeof(want),
	         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	         "connect-src 'self' ws://127.0.0.1:%d; "
	         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	         s->admin_events_port);
	expect_field(&r, "Content-Security-Policy", want);
	expect_field(&r, "Content-Type", "text/html; charset=utf-8");
	expect_field(&r, "X-Content-Type-Options", "nosniff");
	expect_field(&r, "Referrer-Policy", "no-referrer");
	expect_field(&r, "Cross-Origin-Opener-Policy", "same-origin");
	expect_field(&r, "Cross-Origin-Resource-Policy", "same-origin");
}

Test(admin_page, may_hear_events_under_the_name_it_was_opened_by)
{
	static const struct {
		const char *host, *name;
	} rows[] = {
		{ "localhost:10002", "localhost" },
		{ "LOCALHOST", "LOCALHOST" },
		{ "127.9.9.9", "127.9.9.9" },
		{ "[::1]:10002", "localhost" },
		{ "coop.example.org", NULL /* a proxy's */ },
	};
	char policy[500], want[100];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ANSWER r = ask("/", rows[i].host, "");

		cr_expect_eq(r.status, 200, "%s", rows[i].host);
		http_result_header(&r, "Content-Security-Policy", policy, sizeof(policy));
		if (rows[i].name)
			snprintf(want, sizeof(want), "connect-src 'self' ws://%s:%d;", rows[i].name,
			         s->admin_events_port);
		else
			strcpy(want, "connect-src 'self';");
		cr_expect_not_null(strstr(policy, want), "%s: %s", rows[i].host, policy);
	}
}

Test(admin_page, has_all_of_its_files_and_no_other)
{
	static const char *const none[] = { "/web/nothing.js", "/web/package.json", "/web/..",
		                            "/web/%2e%2e",     "/web/index.html/",  "/web/openapi.json" };
	size_t                   count  = 0;

	for (const struct embed_file *f = embed_files; f->path; f++) {
		char path[100];

		if (strncmp(f->path, "web/", 4) != 0)
			continue;
		snprintf(path, sizeof(path), "/web/%s", strrchr(f->path, '/') + 1);
		ANSWER r = ask(path, "localhost", "");
		cr_expect_eq(r.status, 200, "%s", path);
		cr_expect(r.body_len == f->len && memcmp(r.body, f->bytes, f->len) == 0, "%s", path);
		count++;
	}
	cr_expect_gt(count, 20);
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		ANSWER r = ask(none[i], "localhost", "");
		cr_expect(r.status == 404 || r.status == 401, "%s: %d", none[i], r.status);
	}
	/* With or without npm, the page finds something where its charts should be. */
	ANSWER charts = ask("/web/uPlot.esm.js", "localhost", "");
	cr_expect_eq(charts.status, 200);
	cr_expect_not_null(strstr(charts.body, "export "));
	expect_field(&charts, "Content-Type", "text/javascript; charset=utf-8");
	ANSWER looks = ask("/web/uPlot.min.css", "localhost", "");
	cr_expect_eq(looks.status, 200);
}

Test(admin_page, is_not_sent_twice)
{
	char etag[200], field[300];

	ANSWER r = ask("/web/app.js", "localhost", "");
	http_result_header(&r, "ETag", etag, sizeof(etag));
	cr_assert_eq(strlen(etag), 66);
	snprintf(field, sizeof(field), "If-None-Match: %s\r\n", etag);
	ANSWER again = ask("/web/app.js", "localhost", field);
	cr_expect_eq(again.status, 304);
	cr_expect_eq(again.body_len, 0);
	expect_field(&again, "ETag", etag);
	ANSWER other = ask("/web/app.js", "127.0.0.1", field);
	cr_expect_eq(other.status, 200, "its rules are others under another name");
	ANSWER file = ask("/web/keys.js", "localhost", field);
	cr_expect_eq(file.status, 200);
}

Test(admin_page, is_not_there_under_names_of_others)
{
	ANSWER r = ask("/", "evil.example", "");

	cr_expect_eq(r.status, 421);
	ANSWER file = ask("/web/app.js", "evil.example", "");
	cr_expect_eq(file.status, 421);
}
