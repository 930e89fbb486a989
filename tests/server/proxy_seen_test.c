/*
 * What the operator's figures say about a proxy: whether its requests name the client, and how many players were lost behind an
 * address that nobody named.
 */
#include "base/auto.h"
#include "support/lobby_client.h"
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct server *s;

static void expect_count(const char *surface, const char *field, double count)
{
	char labels[64];

	snprintf(labels, sizeof(labels), "surface=\"%s\",field=\"%s\"", surface, field);
	cr_expect_eq(server_metric(s, "coopd_proxy_requests_total", labels), count, "%s: %f", labels,
	             server_metric(s, "coopd_proxy_requests_total", labels));
}

static void ask_ws(const char *fields)
{
	struct ws_client_options o = { .headers = fields };
	struct ws_client        *c = ws_client_dial(s->tunnel_port, &o);

	ws_client_upgrade(c, &o);
	ws_client_free(c);
}

static void ask_http(const char *fields)
{
	struct http_result r = master_get(s, "/healthz", fields);

	http_result_free(&r);
}

static void ask_all(void)
{
	static const char *const fields[] = { "", "X-Forwarded-For: 203.0.113.1\r\n",
		                              "X-Forwarded-For: 203.0.113.2\r\n", "X-Forwarded-For: nobody\r\n" };

	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		ask_ws(fields[i]);
		ask_http(fields[i]);
	}
}

Test(proxy_seen, requests_of_a_trusted_proxy_are_counted_by_whether_they_name_the_client, .timeout = 60)
{
	s = server_start((const char *[]){ "server.production=yes", NULL });
	ask_all();
	for (int i = 0; i < 2; i++) {
		const char *surface = i == 0 ? "ws" : "http";

		expect_count(surface, "seen", 2);
		expect_count(surface, "missing", 1);
		expect_count(surface, "bad", 1);
	}
	server_finish(s);
}

Test(proxy_seen, those_of_others_are_not_counted_whatever_they_say, .timeout = 60)
{
	s = server_start((const char *[]){ "server.production=yes", "http.trusted_proxies=203.0.113.9", NULL });
	ask_all();
	cr_expect_eq(server_metric(s, "coopd_proxy_requests_total", NULL), 0);
	server_finish(s);
}

Test(proxy_seen, players_whose_addresses_are_lost_are_counted, .timeout = 60)
{
	struct ws_client *held[4];

	s = server_start((const char *[]){ "server.production=yes", "limits.tunnel_lost_address_players=2", NULL });
	for (int i = 0; i < 4; i++) {
		held[i] = ask_open(s->tunnel_port, NULL, name_number("player ", i));
		cr_assert_eq(ask_answer(held[i]), 0);
	}
	cr_assert_eq(ask_open_once(s->tunnel_port, "203.0.113.1", "named"), 0);
	cr_expect_eq(server_metric(s, "coopd_tunnel_addresses_lost_total", NULL), 2);
	for (int i = 0; i < 4; i++)
		ws_client_free(held[i]);
	server_finish(s);
}
