/*
 * The HTTP front over TLS in the whole server: when it is there, what stops the start, and certificates that SIGHUP
 * brings while connections go on.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/http_client.h"
#include "support/https_client.h"
#include "support/server.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char cert[SERVER_PATH_BYTES + 16], key[SERVER_PATH_BYTES + 16];

/* A server that is to have a certificate of this name. */
static struct server *prepare(const char *name)
{
	struct server *s = server_prepare(NULL);
	char           set[SERVER_SET_BYTES];

	snprintf(cert, sizeof(cert), "%s/cert.pem", s->root);
	snprintf(key, sizeof(key), "%s/key.pem", s->root);
	tls_make_cert(cert, key, name);
	snprintf(set, sizeof(set), "tls.cert=%s", cert);
	server_set(s, set);
	snprintf(set, sizeof(set), "tls.key=%s", key);
	server_set(s, set);
	return s;
}

static void expect_name(struct tls_client *c, const char *name)
{
	char has[64];

	cr_expect_str_eq(tls_client_server_name(c, has, sizeof(has)), name);
}

TestSuite(https, .timeout = 120);

Test(https, both_ports_serve_the_same)
{
	struct server *s = prepare("first");

	server_launch(s);
	server_await_ready(s);
	cr_assert_neq(s->https_port, 0);
	cr_assert_neq(s->https_port, s->http_port);
	struct tls_client  c     = https_open(s->https_port, "127.0.0.2");
	struct http_result plain = http_get(s->http_port, "/healthz");

	cr_expect_eq(plain.status, 200);
	cr_expect_eq(https_get(&c, "/healthz"), 200);
	cr_expect_eq(https_get(&c, "/readyz"), 200);
	cr_expect_eq(https_get(&c, "/nowhere"), 404);
	tls_client_close(&c);
	http_result_free(&plain);
	server_finish(s);
}

Test(https, without_a_certificate_the_setting_is_not_used)
{
	struct server *s = server_start(NULL);

	cr_expect_eq(s->https_port, 0);
	cr_expect_not(server_log_contains(s, "http-tls"));
	server_finish(s);
}

Test(https, sighup_brings_a_new_certificate_and_drops_nobody)
{
	struct server *s = prepare("first");

	server_launch(s);
	server_await_ready(s);
	struct tls_client old = https_open(s->https_port, "127.0.0.2");

	expect_name(&old, "first");
	tls_make_cert(cert, key, "second");
	server_signal(s, SIGHUP);
	await_log(s, "reloads done");
	struct tls_client new = https_open(s->https_port, "127.0.0.2");
	expect_name(&new, "second");
	cr_expect_eq(https_get(&old, "/healthz"), 200);
	cr_expect_eq(https_get(&new, "/healthz"), 200);

	/* A bad one is not taken. */
	char other[SERVER_PATH_BYTES + 32];
	snprintf(other, sizeof(other), "%s/other.pem", s->root);
	tls_make_cert(cert, other, "third");
	server_signal(s, SIGHUP);
	await_log(s, "nothing changed");
	cr_expect(server_log_contains(s, "tls.key"));
	struct tls_client after = https_open(s->https_port, "127.0.0.2");
	expect_name(&after, "second");
	cr_expect_eq(https_get(&old, "/healthz"), 200);
	tls_client_close(&after);
	tls_client_close(&new);
	tls_client_close(&old);
	server_finish(s);
}

/* The next start ends with status 1 and says this. */
static void expect_no_start(struct server *s, const char *said)
{
	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
	cr_expect(server_log_contains(s, said), "\"%s\"", said);
}

Test(https, a_certificate_that_cannot_be_used_stops_the_start)
{
	struct server *s = prepare("first");

	tls_make_cert(cert, "/dev/null", "second");
	expect_no_start(s, "tls.key");
	unlink(cert);
	expect_no_start(s, "No such file");
	server_finish(s);
}

Test(https, tls_that_is_required_and_not_there_stops_the_start)
{
	struct server *s = server_prepare((const char *const[]){ "tls.require=yes", NULL });

	expect_no_start(s, "tls.require: needs tls.cert and tls.key");
	server_finish(s);

	s = prepare("first");
	server_set(s, "tls.require=yes");
	server_launch(s);
	server_await_ready(s);
	struct tls_client c = https_open(s->https_port, "127.0.0.2");
	cr_expect_eq(https_get(&c, "/healthz"), 200);
	tls_client_close(&c);
	server_finish(s);
}

/* In place of the file: a pipe that nobody writes into, or a device that never ends. */
static void become_endless(const char *path, bool pipe)
{
	unlink(path);
	if (pipe)
		cr_assert_eq(mkfifo(path, 0600), 0);
	else
		cr_assert_eq(symlink("/dev/zero", path), 0);
}

Test(https, a_certificate_that_is_no_file_holds_up_neither_a_reload_nor_the_end)
{
	static const struct {
		const char *what;
		char       *path;
		bool        is_pipe;
		const char *said;
	} rows[] = {
		{ "a pipe as certificate", cert, true, "tls.cert: " },
		{ "a device as certificate", cert, false, "it is much larger than a PEM file" },
		{ "a pipe as key", key, true, "tls.key: " },
		{ "a device as key", key, false, "it is much larger than a PEM file" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct server *s = prepare("first");

		server_launch(s);
		server_await_ready(s);
		become_endless(rows[i].path, rows[i].is_pipe);
		server_signal(s, SIGHUP);
		await_log(s, "nothing changed");
		await_log(s, rows[i].said);
		struct tls_client c = https_open(s->https_port, "127.0.0.2");
		cr_expect_eq(https_get(&c, "/healthz"), 200, "%s", rows[i].what);
		tls_client_close(&c);
		server_stop(s); /* in time */
		expect_no_start(s, rows[i].said);
		server_finish(s);
	}
}

/* The exit status of coopd --check-config with this certificate and key; what it says is in said. */
static int check_config(char *said, size_t cap)
{
	char  command[1024];
	FILE *out;

	snprintf(command, sizeof(command), "'%s' --check-config --set 'tls.cert=%s' --set 'tls.key=%s' 2>&1",
	         getenv("COOPD_BIN"), cert, key);
	out = popen(command, "re"); /* NOLINT(cert-env33-c): the test's own words */
	cr_assert_not_null(out);
	said[fread(said, 1, cap - 1, out)] = '\0';
	return pclose(out);
}

Test(https, check_config_looks_at_the_certificate)
{
	struct server *s = prepare("first");
	char           said[1024];

	cr_expect_eq(check_config(said, sizeof(said)), 0, "%s", said);
	cr_expect(strstr(said, "is good"));
	unlink(key);
	cr_expect_neq(check_config(said, sizeof(said)), 0);
	cr_expect(strstr(said, "tls.key") && strstr(said, "No such file"), "%s", said);
	cr_expect(!strstr(said, "is good"));
	server_finish(s);
}
