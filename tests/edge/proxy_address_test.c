/*
 * A client behind a proxy has an address of its own, and what it writes about itself changes nothing: neither with a proxy that
 * replaces the field, as those of README.md do, nor with one that appends to it.
 */
#include "support/edge.h"
#include "support/rest_client.h"
#include "support/ws_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What a client might write to be taken for somebody else. */
static const char *const lies[] = {
	"X-Real-IP: 203.0.113.9\r\nX-Forwarded-For: 203.0.113.10\r\nX-Forwarded-For: 127.0.0.1, 203.0.113.11\r\n",
	"X-Real-IP: 127.0.0.1\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-For: ::1\r\n",
	"X-Forwarded-For: <nobody>\r\nX-Forwarded-For: 198.51.100.1\r\nForwarded: for=198.51.100.2\r\n",
};

/* --- Lobbies --- */

/* Announces a direct lobby with these lines in the head. *id, when it was taken, is what a joiner asks for. */
static int announce(const struct server *at, const char *fields, char id[32])
{
	const char *body = master_announce_body("\"conn\":\"direct\",\"direct_port\":7777");

	AUTO(rest_freep) struct http_result r = master_post_with(at, fields, "/v1/host", body);

	if (r.status == 200)
		rest_text(&r, "lobbyId", id, 32);
	return r.status;
}

static void check_lobbies(struct edge *e, const char *name)
{
	char id[32] = "", addr[64];

	for (size_t i = 0; i < COUNT(lies); i++) {
		cr_assert_eq(announce(&e->at_a, lies[i], id), 200, "%s: %s", name, lies[i]);
		AUTO(rest_freep) struct http_result r = master_join(&e->at_b, NULL, id);

		cr_assert_eq(r.status, 200, "%s", name);
		cr_expect_str_eq(rest_text(&r, "addr", addr, sizeof(addr)), EDGE_ADDRESS_A ":7777", "%s: %s", name,
		                 lies[i]);
	}
	/* The limit is that of the address they came from, whatever they say. */
	for (size_t i = 0; i < COUNT(lies); i++)
		cr_expect_eq(announce(&e->at_a, lies[i], id), 429, "%s: %s", name, lies[i]);
	cr_expect_eq(announce(&e->at_b, lies[0], id), 200, "%s", name);
}

/* --- WebSockets --- */

static int upgrade(struct ws_client **out, int port, const char *fields)
{
	struct ws_client_options o = { .headers = fields };

	*out = ws_client_dial(port, &o);
	return ws_client_upgrade(*out, &o);
}

static void check_tunnels(struct edge *e, const char *name)
{
	struct ws_client *first, *more;

	cr_assert_eq(upgrade(&first, e->a, lies[0]), 101, "%s", name);
	for (size_t i = 0; i < COUNT(lies); i++) {
		int status = upgrade(&more, e->a, lies[i]);

		cr_expect_eq(status, 503, "%s: %d: %s", name, status, lies[i]);
		ws_client_free(more);
	}
	int status = upgrade(&more, e->b, lies[0]);

	cr_expect_eq(status, 101, "%s: another address: %d", name, status);
	ws_client_free(more);
	ws_client_free(first);
}

static void check_lies(struct edge *e, const char *name)
{
	check_lobbies(e, name);
	check_tunnels(e, name);
}

static const char *const strict[] = { "limits.lobby_creates=3", "limits.ws_per_address=1", NULL };

Test(proxy_address, what_a_client_writes_about_itself_changes_nothing, .timeout = 120)
{
	edge_each(check_lies, NULL, strict);
}

Test(proxy_address, nor_does_it_with_a_proxy_that_appends, .timeout = 120)
{
	edge_each(check_lies, &(struct edge){ .appends = true }, strict);
}
