/*
 * Registered peers for operators.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/signal_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;

static void start(void)
{
	s = server_start(signal_tls_sets(NULL));
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(signal_admin, .init = start, .fini = stop, .timeout = 120);

/* Hex, without gen: */
static const char *hex_of(const struct identity *who)
{
	return who->text + 4;
}

static const char *peer_path(const struct identity *who, const char *more)
{
	static char paths[2][140];
	static int  next;
	char       *path = paths[next++ % 2];

	snprintf(path, sizeof(paths[0]), "/admin/v1/signal/%s%s", hex_of(who), more);
	return path;
}

static void expect_path(const char *method, const char *path, int status, const char *code)
{
	ANSWER r = admin_ask(s, method, path, NULL);

	admin_expect(&r, status, code);
}

/* Where it stands in the list, or the test ends. */
static size_t find(const struct http_result *r, const struct identity *who)
{
	char way[60], text[80];

	for (size_t i = 0; i < rest_count(r, "items"); i++) {
		snprintf(way, sizeof(way), "items.%zu.identity", i);
		if (strcmp(rest_text(r, way, text, sizeof(text)), hex_of(who)) == 0)
			return i;
	}
	cr_assert_fail("%s is not in %s", who->text, r->body);
	return 0;
}

static void expect_item(const struct http_result *r, size_t at, const char *member, const char *want)
{
	char way[60], text[80];

	snprintf(way, sizeof(way), "items.%zu.%s", at, member);
	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), want);
}

Test(signal_admin, peers_are_listed_with_how_they_came_and_no_token)
{
	static const char *const kinds[SIGNAL_WAYS] = {
		[SIGNAL_PLAIN] = "tcp", [SIGNAL_TLS] = "tls", [SIGNAL_WEBSOCKET] = "ws"
	};
	struct signal_client *peers[SIGNAL_WAYS], *stranger = signal_dial(s, SIGNAL_PLAIN);

	for (unsigned way = 0; way < SIGNAL_WAYS; way++) {
		struct identity who = identity_of(way + 1);

		peers[way] = signal_registered(s, (enum signal_way)way, &who);
	}
	ANSWER r = admin_get(s, "/admin/v1/signal");
	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_count(&r, "items"), SIGNAL_WAYS, "who has proved nothing is not there: %s", r.body);
	for (unsigned way = 0; way < SIGNAL_WAYS; way++) {
		struct identity who = identity_of(way + 1);
		size_t          at  = find(&r, &who);

		expect_item(&r, at, "kind", kinds[way]);
		expect_item(&r, at, "address", "127.0.0.1");
		signal_client_free(peers[way]);
	}
	cr_expect_null(strstr(r.body, SERVER_SIGNAL_TOKEN));
	cr_expect_null(strstr(r.body, "\"since_at\":null"));
	signal_client_free(stranger);
}

Test(signal_admin, what_waits_for_a_peer_is_counted)
{
	struct identity       slow_who = identity_of(1), who = identity_of(2);
	struct signal_client *slow   = signal_dial_from(s, SIGNAL_PLAIN, NULL, 4096);
	struct signal_client *sender = signal_registered(s, SIGNAL_PLAIN, &who);
	char                  payload[7001], way[60];

	signal_register(slow, &slow_who);
	memset(payload, 'a', sizeof(payload) - 1);
	payload[sizeof(payload) - 1] = '\0';
	for (int i = 0; i < 60; i++)
		signal_say(sender, "%s %s", slow_who.text, payload);
	signal_test_self(sender, &who);
	ANSWER r = admin_get(s, "/admin/v1/signal");
	snprintf(way, sizeof(way), "items.%zu.queued_bytes", find(&r, &slow_who));
	cr_expect_gt(rest_int(&r, way), 0, "%s", r.body);
	snprintf(way, sizeof(way), "items.%zu.queued_bytes", find(&r, &who));
	cr_expect_eq(rest_int(&r, way), 0);
	signal_client_free(slow);
	signal_client_free(sender);
}

Test(signal_admin, a_closed_peer_is_gone_and_may_come_back)
{
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct identity       who = identity_of(1), other = identity_of(2);
		struct signal_client *peer = signal_registered(s, (enum signal_way)way, &who);
		struct signal_client *sees = signal_registered(s, SIGNAL_PLAIN, &other);

		ANSWER tried = admin_ask(s, "DELETE", peer_path(&who, "?dry_run=true"), NULL);
		admin_expect(&tried, 200, NULL);
		cr_expect(rest_bool(&tried, "dry_run"));
		signal_test_self(peer, &who);

		expect_path("DELETE", peer_path(&who, ""), 200, NULL);
		signal_expect_end_case(peer, signal_way_names[way]);
		expect_path("DELETE", peer_path(&who, ""), 404, "not_found");
		signal_test_self(sees, &other);
		signal_client_free(peer);
		peer = signal_registered(s, (enum signal_way)way, &who);
		signal_client_free(peer);
		signal_client_free(sees);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"operator\""), SIGNAL_WAYS);
}

/* Between pages one that was shown goes, and others come: who was there all the time is shown once. */
Test(signal_admin, pages_hold_while_peers_come_and_go)
{
	struct signal_client *peers[9] = { 0 };
	struct identity       who[9];
	char                  cursor[260] = "", path[320], way[40], text[80], last[80] = "";
	unsigned              seen[9] = { 0 };
	int                   pages   = 0;

	for (unsigned i = 0; i < 9; i++)
		who[i] = identity_of(i + 1);
	for (unsigned i = 0; i < 7; i++)
		peers[i] = signal_registered(s, SIGNAL_PLAIN, &who[i]);
	do {
		snprintf(path, sizeof(path), "/admin/v1/signal?limit=2%s%s", *cursor ? "&cursor=" : "", cursor);
		ANSWER r = admin_get(s, path);
		admin_expect(&r, 200, NULL);
		for (size_t k = 0; k < rest_count(&r, "items"); k++) {
			snprintf(way, sizeof(way), "items.%zu.identity", k);
			rest_text(&r, way, text, sizeof(text));
			cr_expect_gt(strcmp(text, last), 0, "in order");
			snprintf(last, sizeof(last), "%s", text);
			for (unsigned i = 0; i < 9; i++)
				seen[i] += strcmp(text, hex_of(&who[i])) == 0;
		}
		*cursor = '\0';
		if (!strstr(r.body, "\"next\":null"))
			rest_text(&r, "next", cursor, sizeof(cursor));
		if (pages++ == 0) {
			for (unsigned i = 0; i < 7; i++) {
				if (strcmp(last, hex_of(&who[i])) == 0)
					expect_path("DELETE", peer_path(&who[i], ""), 200, NULL);
			}
			for (unsigned i = 7; i < 9; i++)
				peers[i] = signal_registered(s, SIGNAL_PLAIN, &who[i]);
		}
	} while (*cursor && pages < 10);
	cr_expect_geq(pages, 4);
	for (unsigned i = 0; i < 9; i++) {
		cr_expect(i < 7 ? seen[i] == 1 : seen[i] <= 1, "peer %u was shown %u times", i, seen[i]);
		signal_client_free(peers[i]);
	}
}

Test(signal_admin, what_is_no_identity_is_not_found)
{
	struct identity who = identity_of(3);
	char            path[200];

	expect_path("DELETE", peer_path(&who, ""), 404, "not_found");
	expect_path("DELETE", "/admin/v1/signal/abc", 404, "not_found");
	snprintf(path, sizeof(path), "/admin/v1/signal/%s", who.text); /* with gen: */
	expect_path("DELETE", path, 404, "not_found");
	snprintf(path, sizeof(path), "/admin/v1/signal/%.63sA", hex_of(&who));
	expect_path("DELETE", path, 404, "not_found");
	expect_path("GET", "/admin/v1/signal?limit=x", 422, "invalid");
	expect_path("GET", "/admin/v1/signal?cursor=1", 400, "malformed");
	expect_path("GET", "/admin/v1/signal?q=1", 400, "malformed");
	expect_path("GET", "/admin/v1/signal?cursor=00", 200, NULL);
}
