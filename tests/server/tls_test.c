/*
 * TLS of the whole server without a proxy: tunnels through it, certificates that change under open ones, how they are shown and
 * what is said of their dates, which handshakes there are at all.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/await.h"
#include "support/https_client.h"
#include "support/server.h"
#include "support/tls_bridge.h"
#include "support/tls_peer.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define DAY_S  86400

static char           cert[SERVER_PATH_BYTES + 16], key[SERVER_PATH_BYTES + 16];
static struct server *s;

/* The three listeners with TLS of the server that runs. */
static struct {
	const char *name;
	int         port;
} ports[3];

static void prepare(const struct tls_wish *wish)
{
	char set[SERVER_SET_BYTES];

	s = server_prepare((const char *const[]){ "tunnel.listen=", "tunnel.tls_listen=127.0.0.1:0",
	                                          "limits.ws_tls_rate=1000", "limits.signal_tls_rate=1000", NULL });
	snprintf(cert, sizeof(cert), "%s/cert.pem", s->root);
	snprintf(key, sizeof(key), "%s/key.pem", s->root);
	tls_make(cert, key, wish);
	snprintf(set, sizeof(set), "tls.cert=%s", cert);
	server_set(s, set);
	snprintf(set, sizeof(set), "tls.key=%s", key);
	server_set(s, set);
}

static void start(const struct tls_wish *wish)
{
	prepare(wish);
	server_launch(s);
	server_await_ready(s);
	ports[0].name = "tunnel";
	ports[0].port = s->tunnel_port;
	ports[1].name = "https";
	ports[1].port = s->https_port;
	ports[2].name = "signaling";
	ports[2].port = s->signal_tls_port;
}

static void reload(void)
{
	server_signal(s, SIGHUP);
}

TestSuite(server_tls, .timeout = 120);

/* --- Tunnels --- */

static void expect_shown(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		struct tls_client c;
		char              has[64];

		cr_assert(tls_client_open(&c, ports[i].port, 0, NULL), "%s", ports[i].name);
		cr_expect_str_eq(tls_client_server_name(&c, has, sizeof(has)), name, "%s", ports[i].name);
		tls_client_close(&c);
	}
}

static void expect_play(struct ws_client *host, struct ws_client *friend)
{
	friend_send(friend, "hi", 2);
	host_expect_datagram(host, 1, "hi", 2);
	host_send(host, 1, "ho", 2);
	friend_expect_datagram(friend, "ho", 2);
}

Test(server_tls, tunnels_stay_open_while_certificates_change_and_a_bad_one_changes_nothing)
{
	char     other[SERVER_PATH_BYTES + 32];
	uint32_t code;
	int      port;

	start(&(struct tls_wish){ .name = "first" });
	struct tls_bridge *bridge = tls_bridge_open(&port, s->tunnel_port, "127.0.0.2", cert, "first");
	struct ws_client  *host   = host_open(port, "A", &code);
	struct ws_client *friend  = friend_join(port, code, "visit", "B");

	host_expect_friend(host, 1, "B");
	expect_play(host, friend);

	tls_make_cert(cert, key, "second");
	reload();
	await_log(s, "reloads done");
	expect_shown("second");
	expect_play(host, friend);

	/* A certificate without its key, then no certificate at all. */
	snprintf(other, sizeof(other), "%s/other.pem", s->root);
	tls_make_cert(cert, other, "third");
	reload();
	await_log(s, "tls.key: ");
	await_log(s, "nothing changed");
	expect_shown("second");
	unlink(cert);
	reload();
	await_log(s, "tls.cert: ");
	expect_shown("second");
	expect_play(host, friend);

	ws_client_free(friend);
	ws_client_free(host);
	tls_bridge_close(bridge);
	server_finish(s);
}

/* --- Handshakes --- */

Test(server_tls, the_chain_is_shown_on_all_listeners)
{
	start(&(struct tls_wish){ .name = "leaf", .has_chain = true });
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		struct tls_client c;

		cr_assert(tls_client_open(&c, ports[i].port, 0, NULL), "%s", ports[i].name);
		cr_expect_eq(tls_client_chain_len(&c), 2, "%s: %d", ports[i].name, tls_client_chain_len(&c));
		tls_client_close(&c);
	}
	server_finish(s);
}

Test(server_tls, only_handshakes_with_forward_secrecy_are_shaken_and_none_before_1_2)
{
	static const struct {
		const char *ciphers;
		bool        shaken;
	} rows[] = {
		{ "ECDHE-RSA-AES128-GCM-SHA256", true }, { "ECDHE-RSA-CHACHA20-POLY1305", true },
		{ "ECDHE-RSA-AES256-SHA", true }, /* what old Windows has for RSA */
		{ "AES128-GCM-SHA256", false },          { "AES256-SHA", false },
		{ "DHE-RSA-AES256-GCM-SHA384", false },  { "AECDH-AES256-SHA", false },
	};

	start(&(struct tls_wish){ .name = "rsa", .is_rsa = true });
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		struct tls_client c;

		for (size_t r = 0; r < COUNT_OF(rows); r++)
			cr_expect_eq(tls_client_shakes_with(ports[i].port, rows[r].ciphers), rows[r].shaken, "%s: %s",
			             ports[i].name, rows[r].ciphers);
		cr_expect_not(tls_client_shake(&c, dial_tcp(ports[i].port, 0), NULL, TLS1_1_VERSION), "%s: TLS 1.1",
		              ports[i].name);
		tls_client_close(&c);
		cr_expect(tls_client_shake(&c, dial_tcp(ports[i].port, 0), NULL, TLS1_3_VERSION), "%s: TLS 1.3",
		          ports[i].name);
		tls_client_close(&c);
	}
	server_finish(s);
}

/* --- Dates --- */

static void expect_dates(long from_s, long until_s)
{
	double now   = (double)time(NULL);
	double from  = server_metric(s, "coopd_tls_certificate_start_seconds", NULL) - now;
	double until = server_metric(s, "coopd_tls_certificate_expiry_seconds", NULL) - now;
	char   at[40];

	cr_expect(from > (double)from_s - 60 && from < (double)from_s + 60, "%f", from);
	cr_expect(until > (double)until_s - 60 && until < (double)until_s + 60, "%f", until);
	ANSWER    r      = admin_get(s, "/admin/v1/status");
	time_t    end    = (time_t)(until + now);
	struct tm tm     = { 0 };
	char      is[40] = "";

	admin_expect(&r, 200, NULL);
	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &tm));
	cr_expect_str_eq(rest_text(&r, "certificate.until_at", is, sizeof(is)), at);
}

/* Lines of log with this text; each is there once it was waited for. */
static size_t lines(const char *text)
{
	FILE  *log  = server_open_log(s);
	char  *line = NULL;
	size_t cap = 0, count = 0;

	while (getline(&line, &cap, log) > 0)
		count += strstr(line, text) != NULL;
	free(line);
	fclose(log);
	return count;
}

static void expect_lines(const char *text, size_t count)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (lines(text) < count && real_now_ms() < deadline_ms)
		real_sleep_ms(5);
	cr_expect_eq(lines(text), count, "%zu lines with %s", lines(text), text);
}

Test(server_tls, a_good_certificate_is_mentioned_once_and_its_end_is_told_daily_when_it_comes_near)
{
	start(&(struct tls_wish){ .name = "a", .from_s = -DAY_S, .until_s = 15 * DAY_S + 3600 });
	expect_dates(-DAY_S, 15 * DAY_S + 3600);
	expect_lines("tls: certificate until=", 1);
	cr_expect_eq(lines("certificate-"), 0);
	server_advance(s, (int64_t)DAY_S * 1000);
	server_advance(s, (int64_t)DAY_S * 1000);
	expect_lines("certificate-ends until=", 1);
	cr_expect(server_log_contains(s, "days=13"));
	server_finish(s);
}

Test(server_tls, one_that_has_ended_is_told_at_the_start_and_daily_and_no_more_after_a_renewal)
{
	start(&(struct tls_wish){ .name = "old", .from_s = -9 * DAY_S, .until_s = -3600 });
	expect_dates(-9 * DAY_S, -3600);
	expect_lines("certificate-ended until=", 1);
	server_advance(s, (int64_t)DAY_S * 1000);
	expect_lines("certificate-ended until=", 2);

	tls_make(cert, key, &(struct tls_wish){ .name = "new", .from_s = -3600, .until_s = 90 * DAY_S });
	reload();
	await_log(s, "reloads done");
	expect_dates(-3600, 90 * DAY_S);
	server_advance(s, (int64_t)DAY_S * 1000);
	real_sleep_ms(200);
	cr_expect_eq(lines("certificate-ended"), 2);
	server_finish(s);
}

Test(server_tls, one_that_is_not_good_yet_is_told_and_without_one_there_are_no_dates)
{
	start(&(struct tls_wish){ .name = "early", .from_s = DAY_S, .until_s = 90 * DAY_S });
	expect_lines("certificate-early from=", 1);
	server_finish(s);

	s        = server_start(NULL);
	ANSWER r = admin_get(s, "/admin/v1/status");

	cr_expect(strstr(r.body, "\"certificate\":null"), "%s", r.body);
	cr_expect_eq(server_metric(s, "coopd_tls_certificate_expiry_seconds", NULL), 0);
	server_finish(s);
}
