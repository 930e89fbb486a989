/*
 * HTTP over TLS: the same as without it, certificates that change, and handshakes that fail, stall or never begin.
 */
#include "net/http.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/dial.h"
#include "support/http_fixture.h"
#include "support/https_client.h"
#include "support/tls_peer.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <ifaddrs.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRANGER "127.0.0.2"
#define LARGE    ((size_t)3 << 20)

static enum err on_get(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	a->status   = 200;
	a->body_len = (size_t)asprintf(&a->body, "private=%d", http_is_private(rq));
	return a->body ? ERR_OK : ERR_NOMEM;
}

static enum err on_large(struct http_answer *a, struct http_request *rq, void *part)
{
	char *bytes = malloc(LARGE);

	(void)rq;
	(void)part;
	if (!bytes)
		return ERR_NOMEM;
	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (char)(i % 251);
	a->status = 200;
	a->shared = http_shared_new(bytes, LARGE);
	return a->shared ? ERR_OK : ERR_NOMEM;
}

static enum err on_text(struct http_answer *a, struct http_request *rq, char *body, size_t len, void *part)
{
	(void)rq;
	(void)part;
	a->status   = 200;
	a->body     = strdup(body);
	a->body_len = len;
	return a->body ? ERR_OK : ERR_NOMEM;
}

static const struct http_text text = { .max = 65536, .handle = on_text };
static const struct http_body body = { .text = &text };

static const struct http_route routes[] = {
	{ "GET", "/", on_get, NULL, NULL },
	{ "GET", "/large", on_large, NULL, NULL },
	{ "POST", "/text", NULL, &body, NULL },
	{ 0 },
};

static struct http_fixture f;

static char folder[64], cert[96], key[96];

static void prepare(void)
{
	strcpy(folder, "/tmp/coopd-https-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(cert, sizeof(cert), "%s/cert.pem", folder);
	snprintf(key, sizeof(key), "%s/key.pem", folder);
	tls_make_cert(cert, key, "first");
	http_fixture_init(&f);
	f.conf.tls_cert = cert;
	f.conf.tls_key  = key;
}

static void stop(void)
{
	http_fixture_stop(&f);
	unlink(cert);
	unlink(key);
	rmdir(folder);
}

TestSuite(http_tls, .init = prepare, .fini = stop, .timeout = 60);

static struct tls_client open_client(void)
{
	return https_open(f.tls_port, STRANGER);
}

static void expect_answer(struct tls_client *c, int status, const char *said)
{
	struct http_result r = https_hear(c);

	cr_expect_eq(r.status, status, "%d: %s", r.status, r.body);
	cr_expect_str_eq(r.body, said);
	http_result_free(&r);
}

/* The server ends the session as TLS wants it, so that nobody can cut an answer short unnoticed. */
static void expect_orderly_end(struct tls_client *c)
{
	char byte;

	cr_expect_eq(tls_client_read(c, &byte, 1, DIAL_PATIENCE_MS), 0);
	cr_expect_eq(SSL_get_shutdown(c->ssl), SSL_RECEIVED_SHUTDOWN);
	tls_client_close(c);
}

static void expect_gone(int fd)
{
	char    byte[64];
	ssize_t got;

	while ((got = dial_read(fd, byte, sizeof(byte), real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		continue; /* TLS may say why */
	cr_expect_neq(got, DIAL_LATE);
	close(fd);
}

static void await_metric(enum metric m, int64_t value)
{
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; metric_get(m) != value && real_now_ms() < until;)
		real_sleep_ms(1);
	cr_expect_eq(metric_get(m), value, "%lld, not %lld", (long long)metric_get(m), (long long)value);
}

/* --- The same as without --- */

Test(http_tls, requests_and_bodies_are_as_on_a_plain_connection)
{
	AUTO(auto_free) char *request = malloc(70000);
	struct http_result    r;

	http_fixture_start(&f, routes, NULL);
	struct tls_client c = open_client();

	for (int i = 0; i < 3; i++) {
		https_say(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
		expect_answer(&c, 200, "private=1");
	}
	https_say(&c, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
	r = https_hear(&c);
	cr_assert_eq(r.body_len, LARGE);
	for (size_t i = 0; i < LARGE; i++)
		cr_assert_eq(r.body[i], (char)(i % 251));
	http_result_free(&r);
	https_say(&c, "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
	expect_answer(&c, 200, "hello");
	expect_orderly_end(&c);

	c = open_client();
	cr_assert_not_null(request);
	int head = snprintf(request, 100, "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n");
	memset(request + head, 'x', 65536);
	request[head + 65536] = '\0';
	https_say(&c, request);
	expect_answer(&c, 200, request + head);
	expect_orderly_end(&c);

	c = open_client();
	https_say(&c, "GET / HTTP/1.0\r\n\r\n");
	expect_answer(&c, 200, "private=1");
	expect_orderly_end(&c);

	c = open_client();
	https_say(&c, "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n");
	r = https_hear(&c);
	cr_expect_eq(r.status, 413);
	http_result_free(&r);
	expect_orderly_end(&c);
	http_fixture_await_connections(0);
	cr_expect_eq(metric_get(M_HTTP_TLS_FAILED), 0);
}

Test(http_tls, plain_and_tls_listeners_serve_side_by_side)
{
	http_fixture_start(&f, routes, NULL);
	struct tls_client c  = open_client();
	int               fd = http_fixture_dial(&f, STRANGER);

	https_say(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	http_say(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_answer(&c, 200, "private=1");
	struct http_result r = http_hear(fd);

	cr_expect_eq(r.status, 200);
	http_result_free(&r);
	close(fd);
	tls_client_close(&c);
}

/* An address of this machine that is not loopback; false when it has none. */
static bool own_address(char *out, size_t cap)
{
	struct ifaddrs *all;
	bool            found = false;

	cr_assert_eq(getifaddrs(&all), 0);
	for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		const struct sockaddr_in *in = (const void *)i->ifa_addr;

		if (!in || in->sin_family != AF_INET || (ntohl(in->sin_addr.s_addr) >> 24) == 127)
			continue;
		found = inet_ntop(AF_INET, &in->sin_addr, out, (socklen_t)cap) != NULL;
	}
	freeifaddrs(all);
	return found;
}

static int dial_address(const char *address, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(inet_pton(AF_INET, address, &to.sin_addr), 1);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

Test(http_tls, a_connection_that_is_not_loopback_is_private_only_over_tls)
{
	char              address[INET_ADDRSTRLEN];
	struct tls_client c;

	if (!own_address(address, sizeof(address)))
		cr_skip_test("this machine has no address but loopback");
	f.address = address;
	http_fixture_start(&f, routes, NULL);
	int                plain = dial_address(address, f.port);
	struct http_result r;

	http_say(plain, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	r = http_hear(plain);
	cr_expect_str_eq(r.body, "private=0");
	http_result_free(&r);
	close(plain);
	cr_assert(tls_client_shake(&c, dial_address(address, f.tls_port), NULL, 0));
	https_say(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_answer(&c, 200, "private=1");
	tls_client_close(&c);
}

/* --- Versions --- */

Test(http_tls, versions_1_2_and_1_3_are_spoken_and_none_before)
{
	static const struct {
		int  version;
		bool good;
	} rows[] = {
		{ TLS1_3_VERSION, true }, { TLS1_2_VERSION, true }, { TLS1_1_VERSION, false }, { TLS1_VERSION, false }
	};

	int failed = 0;

	http_fixture_start(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tls_client c;

		ERR_clear_error();
		bool good = tls_client_shake(&c, http_fixture_dial_port(f.tls_port, STRANGER), NULL, rows[i].version);
		int  why  = ERR_GET_REASON(ERR_peek_last_error());

		cr_expect_eq(good, rows[i].good, "version %x", (unsigned)rows[i].version);
		if (good) {
			https_say(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
			expect_answer(&c, 200, "private=1");
		} else {
			cr_expect(why == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION ||
			                  why == SSL_R_UNEXPECTED_EOF_WHILE_READING,
			          "it is the server who refuses: %d", why);
			failed++;
		}
		tls_client_close(&c);
	}
	await_metric(M_HTTP_TLS_FAILED, failed);
	http_fixture_await_connections(0);
}

Test(http_tls, a_client_that_asks_for_http_2_does_not_get_it)
{
	const unsigned char *chosen;
	unsigned             len;
	struct tls_client    c;

	http_fixture_start(&f, routes, NULL);
	cr_assert(tls_client_shake(&c, http_fixture_dial_port(f.tls_port, STRANGER), "\x02h2\x08http/1.1", 0));
	SSL_get0_alpn_selected(c.ssl, &chosen, &len);
	cr_expect(len == 8 && memcmp(chosen, "http/1.1", 8) == 0);
	tls_client_close(&c);
}

/* --- Certificates --- */

Test(http_tls, new_connections_get_a_new_certificate_and_old_ones_go_on)
{
	struct http_cert *fresh;
	char              name[32];

	http_fixture_start(&f, routes, NULL);
	struct tls_client old     = open_client();
	int               waiting = http_fixture_dial_port(f.tls_port, STRANGER);
	struct tls_client between;

	cr_expect_str_eq(tls_client_server_name(&old, name, sizeof(name)), "first");
	http_fixture_await_connections(2);
	for (int round = 0; round < 3; round++) {
		tls_make_cert(cert, key, "second");
		cr_assert_eq(http_cert_load(&fresh, &f.conf, stderr), ERR_OK);
		http_cert_use(f.server, fresh);
		http_cert_free(fresh);

		struct tls_client new = open_client();
		cr_expect_str_eq(tls_client_server_name(&new, name, sizeof(name)), "second");
		https_say(&old, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
		expect_answer(&old, 200, "private=1");
		https_say(&new, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
		expect_answer(&new, 200, "private=1");
		tls_client_close(&new);
	}
	/* Accepted before, and shakes hands only now. */
	cr_assert(tls_client_shake(&between, waiting, NULL, 0));
	https_say(&between, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_answer(&between, 200, "private=1");
	tls_client_close(&between);
	tls_client_close(&old);
	http_cert_use(f.server, NULL);
	struct tls_client last = open_client();
	cr_expect_str_eq(tls_client_server_name(&last, name, sizeof(name)), "second", "no certificate changes nothing");
	tls_client_close(&last);
}

static void write_file(const char *path, const char *with, const char *more)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fputs(with, file);
	fputs(more, file);
	fclose(file);
}

/* Loading reports one line with this in it, and nothing of the key. */
static void expect_refused(const char *what, const char *part_of_report)
{
	char              report[512] = "";
	struct http_cert *none;
	FILE             *out = fmemopen(report, sizeof(report), "w");

	cr_assert_not_null(out);
	cr_expect_eq(http_cert_load(&none, &f.conf, out), ERR_MALFORMED, "%s", what);
	cr_expect_null(none);
	fclose(out);
	cr_expect(strstr(report, part_of_report), "%s: %s", what, report);
	cr_expect_eq(strchr(report, '\n'), report + strlen(report) - 1, "%s: %s", what, report);
	cr_expect(!strstr(report, "PRIVATE") && !strstr(report, "MII"), "%s: %s", what, report);
}

Test(http_tls, a_certificate_that_cannot_be_used_is_reported)
{
	char other[112], name[32];

	http_fixture_start(&f, routes, NULL);
	snprintf(other, sizeof(other), "%s.other", key);

	tls_make_cert(cert, other, "second");
	expect_refused("a key of another certificate", "tls.key");
	unlink(other);

	write_file(key, "", "");
	expect_refused("an empty key", "tls.key");
	write_file(key, "-----BEGIN PRIVATE KEY-----\nMIIBogus\n", "-----END PRIVATE KEY-----\n");
	expect_refused("a broken key", "tls.key");
	unlink(key);
	expect_refused("no key", "tls.key");
	cr_assert_eq(mkdir(key, 0700), 0);
	expect_refused("a folder", "tls.key");
	rmdir(key);

	write_file(cert, "hello\n", "");
	expect_refused("no PEM", "tls.cert");
	write_file(cert, "-----BEGIN CERTIFICATE-----\nMIIBogus\n", "-----END CERTIFICATE-----\n");
	expect_refused("a broken certificate", "tls.cert");
	unlink(cert);
	expect_refused("no certificate", "No such file");

	struct tls_client c = open_client();
	cr_expect_str_eq(tls_client_server_name(&c, name, sizeof(name)), "first", "the old one stays");
	tls_client_close(&c);
}

Test(http_tls, no_setting_is_no_certificate)
{
	static char       empty[] = "";
	struct http_cert *none    = (void *)&f;

	f.conf.tls_cert = f.conf.tls_key = empty;
	cr_expect_eq(http_cert_load(&none, &f.conf, stderr), ERR_OK);
	cr_expect_null(none);
	http_cert_free(none);
	http_fixture_start(&f, routes, NULL);
	cr_expect_eq(f.tls_port, 0);
}

/* --- Those who do not shake hands --- */

/* The beginning of a handshake that never goes on. */
static const char half_hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

Test(http_tls, a_handshake_a_head_and_a_body_have_one_deadline_together)
{
	int               silent, half;
	struct tls_client shaken, heard;

	http_fixture_start(&f, routes, NULL);
	silent = http_fixture_dial_port(f.tls_port, STRANGER);
	half   = http_fixture_dial_port(f.tls_port, STRANGER);
	cr_assert(dial_send(half, half_hello, 5, DIAL_PATIENCE_MS));
	int late_shaken = http_fixture_dial_port(f.tls_port, STRANGER);
	int late_heard  = http_fixture_dial_port(f.tls_port, STRANGER);
	http_fixture_await_connections(4);

	http_fixture_advance(&f, 5000);
	cr_assert(dial_send(half, half_hello + 5, 1, DIAL_PATIENCE_MS));
	cr_assert(tls_client_shake(&shaken, late_shaken, NULL, 0));
	cr_assert(tls_client_shake(&heard, late_heard, NULL, 0));
	http_fixture_advance(&f, 5000);
	cr_assert(dial_send(half, half_hello + 6, 1, DIAL_PATIENCE_MS));
	https_say(&heard, "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
	https_say(&heard, "hel");
	real_sleep_ms(50);
	cr_expect_eq(metric_get(M_HTTP_CONNECTIONS), 4);
	http_fixture_advance(&f, 5000);
	expect_gone(silent);
	expect_gone(half);
	char byte;
	cr_expect_eq(tls_client_read(&shaken, &byte, 1, DIAL_PATIENCE_MS), 0);
	cr_expect_eq(tls_client_read(&heard, &byte, 1, DIAL_PATIENCE_MS), 0);
	tls_client_close(&shaken);
	tls_client_close(&heard);
	http_fixture_await_connections(0);
	await_metric(M_HTTP_TLS_FAILED, 2);
	cr_expect_eq(metric_get(M_HTTP_REFUSED_LATE), 4);
}

Test(http_tls, connections_without_a_handshake_count_per_address)
{
	enum { MOST = 4 };
	int fds[MOST + 1];

	f.conf.limits.http_per_address = MOST;
	http_fixture_start(&f, routes, NULL);
	for (int i = 0; i < MOST; i++)
		fds[i] = http_fixture_dial_port(f.tls_port, STRANGER);
	http_fixture_await_connections(MOST);
	cr_expect(http_is_silent(fds[0], 50));
	fds[MOST] = http_fixture_dial_port(f.tls_port, STRANGER);
	expect_gone(fds[0]); /* the oldest makes room */
	http_fixture_await_connections(MOST);
	cr_expect_eq(metric_get(M_HTTP_REFUSED_ADDRESS), 1);

	/* Both ports together. */
	int plain = http_fixture_dial(&f, STRANGER);
	expect_gone(fds[1]);
	for (int i = 2; i <= MOST; i++)
		close(fds[i]);
	close(plain);
	http_fixture_await_connections(0);
}

Test(http_tls, nonsense_and_sudden_ends_leave_nothing_behind)
{
	static const char *const said[] = { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\xff\xff\xff\xff", "\x80",
		                            "\x15\x03\x03", "" };

	http_fixture_start(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(said); i++) {
		int fd = http_fixture_dial_port(f.tls_port, STRANGER);

		cr_assert(dial_send(fd, said[i], strlen(said[i]), DIAL_PATIENCE_MS));
		shutdown(fd, SHUT_WR);
		expect_gone(fd);
		await_metric(M_HTTP_TLS_FAILED, (int64_t)i + 1);
	}
	for (int i = 0; i < 10; i++) {
		int fd = http_fixture_dial_port(f.tls_port, STRANGER);

		cr_assert(dial_send(fd, half_hello, (size_t)i, DIAL_PATIENCE_MS));
		dial_abort(fd);
	}
	http_fixture_await_connections(0);
	struct tls_client c = open_client();
	https_say(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_answer(&c, 200, "private=1");
	dial_abort(c.fd);
	c.fd = -1;
	SSL_free(c.ssl);
	SSL_CTX_free(c.ctx);
	http_fixture_await_connections(0);
}

Test(http_tls, tls_on_the_plain_port_is_no_request)
{
	struct tls_client c;

	http_fixture_start(&f, routes, NULL);
	cr_expect_not(tls_client_shake(&c, http_fixture_dial(&f, STRANGER), NULL, 0));
	tls_client_close(&c);
	http_fixture_await_connections(0);
	cr_expect_eq(metric_get(M_HTTP_TLS_FAILED), 0);
}

Test(http_tls, stopping_ends_these_connections_too)
{
	http_fixture_start(&f, routes, NULL);
	struct tls_client c    = open_client();
	int               half = http_fixture_dial_port(f.tls_port, STRANGER);
	char              byte;

	https_say(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_answer(&c, 200, "private=1");
	cr_assert(dial_send(half, half_hello, 5, DIAL_PATIENCE_MS));
	http_fixture_await_connections(2);
	http_fixture_stop(&f);
	cr_expect_eq(tls_client_read(&c, &byte, 1, DIAL_PATIENCE_MS), 0);
	tls_client_close(&c);
	expect_gone(half);
}
