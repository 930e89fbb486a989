#include "support/next_server.h"

#include "base/auto.h"
#include "support/admin_client.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER      AUTO(rest_freep) struct http_result
#define PATIENCE_MS 30000

static char program[SERVER_PATH_BYTES + 32]; /* a link to the server, which a test can set elsewhere */
static char real_program[PATH_MAX];

void next_is(const char *to)
{
	char fresh[sizeof(program) + 8];

	snprintf(fresh, sizeof(fresh), "%s.new", program);
	cr_assert_eq(symlink(to, fresh), 0);
	cr_assert_eq(rename(fresh, program), 0);
}

void next_is_real(void)
{
	next_is(real_program);
}

void next_is_script(const char *text)
{
	char  path[sizeof(program) + 8];
	FILE *out;

	snprintf(path, sizeof(path), "%s.sh", program);
	unlink(path);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	fprintf(out, "#!/bin/sh\n%s\n", text);
	fclose(out);
	chmod(path, 0755);
	next_is(path);
}

void next_has(const char *format, ...)
{
	char    set[256], text[PATH_MAX + 512];
	va_list args;

	va_start(args, format);
	vsnprintf(set, sizeof(set), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "exec %s \"$@\" --set '%s'", real_program, set);
	next_is_script(text);
}

struct server *next_start(const char *const *sets)
{
	struct server *s = server_prepare(sets);

	snprintf(program, sizeof(program), "%s/coopd", s->root);
	cr_assert_not_null(realpath(getenv("COOPD_BIN"), real_program));
	next_is_real();
	setenv("COOPD_BIN", program, 1);
	cr_assert_eq(chdir(s->root), 0);
	server_launch(s);
	server_await_ready(s);
	server_expect_successor(s);
	return s;
}

pid_t next_await(struct server *s)
{
	int64_t deadline_ms = real_now_ms() + PATIENCE_MS;
	long    pid         = 0;

	while (pid == 0 && real_now_ms() < deadline_ms) {
		FILE *log = server_open_log(s);
		char  line[2048];

		fseek(log, s->log_from, SEEK_SET);
		while (fgets(line, sizeof(line), log)) {
			const char *at = strstr(line, "hands-over to=");

			pid = at ? strtol(at + 14, NULL, 10) : pid;
		}
		fclose(log);
	}
	cr_assert_gt(pid, 0, "nobody takes over");
	return (pid_t)pid;
}

pid_t next_hand_over(struct server *s)
{
	ANSWER r = admin_ask(s, "POST", "/admin/v1/handover", NULL);

	admin_expect(&r, 200, NULL);
	cr_expect(rest_bool(&r, "hand_over"));
	return next_await(s);
}

void next_await_log(const struct server *s, const char *text)
{
	int64_t deadline_ms = real_now_ms() + PATIENCE_MS;

	while (!server_log_contains(s, text))
		cr_assert_lt(real_now_ms(), deadline_ms, "the log does not say \"%s\"", text);
}

void next_expect_refused(const struct server *s, const char *why)
{
	ANSWER r = admin_ask(s, "POST", "/admin/v1/handover", NULL);

	admin_expect(&r, 422, "invalid");
	cr_expect_not_null(strstr(r.body, why), "%s", r.body);
	ANSWER drain = admin_get(s, "/admin/v1/drain");
	cr_expect_not(rest_bool(&drain, "draining"));
	ANSWER ready = http_get(s->http_port, "/readyz");
	cr_expect_eq(ready.status, 200);
}
