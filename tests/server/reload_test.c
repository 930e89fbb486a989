/*
 * What a reload changes, on a server that serves.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/dial.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWER      AUTO(rest_freep) struct http_result
#define PATIENCE_MS 20000

static struct server *s;

static void write_settings(const char *text)
{
	FILE *out = fopen("coopd.conf", "w");

	cr_assert_not_null(out);
	fputs(text, out);
	cr_assert_eq(fclose(out), 0);
}

static void start(void)
{
	s = server_prepare(NULL);
	cr_assert_eq(chdir(s->root), 0);
	server_launch(s);
	server_await_ready(s);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(server_reload, .init = start, .fini = stop);

static void reload(const char *settings, size_t changed)
{
	write_settings(settings);

	ANSWER r = admin_ask(s, "POST", "/admin/v1/reload", NULL);

	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_count(&r, "changed"), changed, "%s", r.body);
	cr_expect_eq(rest_count(&r, "restart"), 0, "%s", r.body);
}

static int status_of(int port, const char *fields)
{
	char request[400];
	int  status;

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nConnection: close\r\n%s\r\n",
	         port == s->http_port ? "/healthz" : "/admin/v1/status", fields);

	struct http_result r = http_exchange(port, request, strlen(request), PATIENCE_MS);

	status = r.status;
	http_result_free(&r);
	return status;
}

Test(server_reload, proxies_and_hosts)
{
	static const char odd[] = "Host: x\r\nX-Forwarded-For: nobody\r\n", host[] = "Host: coop.example.org\r\n";

	cr_expect_eq(status_of(s->http_port, odd), 400, "a proxy that is believed has to name an address");
	cr_expect_eq(status_of(s->admin_port, host), 421);
	reload("[http]\ntrusted_proxies = 192.0.2.1\n[admin]\nhosts = coop.example.org\n", 2);
	cr_expect_eq(status_of(s->http_port, odd), 200, "nobody else is asked");
	cr_expect_eq(status_of(s->admin_port, host), 401, "only the token is missing");
	reload("", 2);
	cr_expect_eq(status_of(s->http_port, odd), 400);
	cr_expect_eq(status_of(s->admin_port, host), 421);
}

Test(server_reload, limits)
{
	uint32_t          code;
	struct ws_client *host = host_open(s->tunnel_port, "A", &code), *friend;
	char              big[600];

	memset(big, 'x', sizeof(big));
	reload("[limits]\ntunnel_to_host_bytes = 500\n", 1);
	friend = friend_join(s->tunnel_port, code, "visit", "B");
	host_expect_friend(host, 1, "B");
	friend_send(friend, big, 600);
	friend_send(friend, big, 500);
	host_expect_datagram(host, 1, big, 500);
	reload("", 1);
	friend_send(friend, big, 600);
	host_expect_datagram(host, 1, big, 600);
	ws_client_free(friend);
	ws_client_free(host);
}
