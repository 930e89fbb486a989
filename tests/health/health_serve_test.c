/*
 * What monitors and load balancers are told.
 */
#include "health/health_serve.h"

#include "base/auto.h"
#include "base/version.h"
#include "net/listen.h"
#include "store/store.h"
#include "support/data_folder.h"
#include "support/http_client.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct http_fixture f;
static struct store       *store;
static struct health       health;

static void start(void)
{
	struct http_config cfg = {
		.name = "front", .routes = health_routes, .part = &health, .connections_max = 10, .per_address_max = 10
	};
	struct addr bound;
	int         fd;

	http_fixture_init(&f);
	store = data_open_store();
	health_init(&health, store);
	cr_assert_eq(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr), ERR_OK);
	f.port = bound.port;
	cr_assert_eq(http_start(&f.server, &cfg, &f.conf, &(struct http_listen){ .fd = fd }, 1, NULL), ERR_OK);
}

static void stop(void)
{
	http_fixture_stop(&f);
	store_stop(store);
}

TestSuite(health_serve, .init = start, .fini = stop);

static void expect(const char *path, int status, const char *body)
{
	struct http_result r = http_get(f.port, path);
	char               value[100];

	cr_expect_eq(r.status, status, "%s: %d", path, r.status);
	cr_expect_str_eq(r.body, body, "%s: %s", path, r.body);
	cr_expect_str_eq(http_result_header(&r, "Content-Type", value, sizeof(value)), "application/json");
	cr_expect_str_eq(http_result_header(&r, "Cache-Control", value, sizeof(value)), "no-store");
	http_result_free(&r);
}

#define HEALTHZ(draining) \
	"{\"ok\":true,\"lobbies\":0,\"version\":\"" COOPD_VERSION "\",\"store\":\"ok\",\"draining\":" draining "}"

Test(health_serve, healthz_is_200_from_the_start_to_the_end)
{
	expect("/healthz", 200, HEALTHZ("false"));
	health_set(&health, HEALTH_READY);
	expect("/healthz", 200, HEALTHZ("false"));
	health_set(&health, HEALTH_DRAINING);
	expect("/healthz", 200, HEALTHZ("true"));
}

static int64_t seven(void *arg)
{
	return *(int64_t *)arg;
}

Test(health_serve, healthz_says_how_many_lobbies_there_are)
{
	int64_t            count = 7;
	struct http_result r;

	health.lobbies_arg = &count;
	health.lobbies     = seven;
	r                  = http_get(f.port, "/healthz");
	cr_expect(strstr(r.body, "\"lobbies\":7,"), "%s", r.body);
	http_result_free(&r);
}

Test(health_serve, readyz_is_200_only_while_players_can_be_served)
{
	expect("/readyz", 503, "{\"ready\":false,\"state\":\"starting\"}");
	health_set(&health, HEALTH_READY);
	expect("/readyz", 200, "{\"ready\":true,\"state\":\"ready\"}");
	health_set(&health, HEALTH_DRAINING);
	expect("/readyz", 503, "{\"ready\":false,\"state\":\"draining\"}");
}

Test(health_serve, each_obstacle_has_its_word)
{
	static const struct {
		enum health_state state;
		enum store_health store;
		const char       *why;
	} rows[] = {
		{ HEALTH_READY, STORE_OK, NULL },
		{ HEALTH_READY, STORE_SLOW, NULL },
		{ HEALTH_READY, STORE_FAILING, "failing" },
		{ HEALTH_STARTING, STORE_OK, "starting" },
		{ HEALTH_STARTING, STORE_FAILING, "failing" },
		{ HEALTH_DRAINING, STORE_OK, "draining" },
		{ HEALTH_DRAINING, STORE_FAILING, "draining" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *why = health_obstacle(rows[i].state, rows[i].store);

		cr_expect_eq(why == NULL, rows[i].why == NULL, "row %zu", i);
		if (why && rows[i].why)
			cr_expect_str_eq(why, rows[i].why, "row %zu", i);
	}
}
