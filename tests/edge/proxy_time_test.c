/*
 * Long-lived connections through each proxy of README.md: limits on idle ones, a reload of the proxy, a restart of coopd.
 *
 * COOP_EDGE_IDLE_S=30 has the idle test run with that limit and coopd's own pings, which takes a minute.
 */
#include "support/await.h"
#include "support/edge.h"
#include "support/party.h"
#include "support/rest_client.h"
#include "support/signal_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PATIENCE_MS 90000 /* for what takes some hundred milliseconds on a machine that has nothing else to do */
#define REDIAL_MS   50

static struct party *party_behind(const struct edge *e, const char *name, int games, int friends)
{
	struct party *p = party_new(name, games, friends);

	crowd_use_tls(&p->crowd, edge_cert(), EDGE_NAME);
	party_gather(p, e->port, PARTY_HOSTS_FIRST, PATIENCE_MS);
	return p;
}

static void raise_files(void)
{
	struct rlimit files;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/* --- Idle --- */

#define IDLE_SHORT_S 3
#define IDLE_LONG_MS 3600000

struct idle {
	struct edge           edge;
	struct party         *party;
	struct signal_client *peer; /* somebody who only listens */
	bool                  pings;
};

static void open_idle(struct idle *i, const struct edge_proxy *of, int limit_s, bool pings)
{
	char               set[64];
	struct identity    alice = identity_of(1);
	const char *const *sets  = (const char *[]){ set, NULL };

	*i = (struct idle){ .edge = { .of = of, .idle_s = limit_s }, .pings = pings };
	snprintf(set, sizeof(set), "limits.ws_ping_ms=%d",
	         !pings                    ? IDLE_LONG_MS
	         : limit_s == IDLE_SHORT_S ? 1000
	                                   : 20000); /* the default */
	edge_open(&i->edge, sets);
	i->party = party_behind(&i->edge, "idle", 1, 1);
	i->peer  = signal_registered(&i->edge.at_a, SIGNAL_WEBSOCKET, &alice);
}

static void check_idle(struct idle *i)
{
	struct identity alice = identity_of(1);
	const char     *name  = i->edge.of->name;

	/* Caddy has no such limit. The others cut who hears nothing: so the limit is there, and pings it is that help. */
	if (!i->pings) {
		cr_expect_eq(i->party->ended, 2, "%s: %u were cut off", name, i->party->ended);
		return;
	}
	cr_expect_eq(i->party->ended, 0, "%s: %u were cut off", name, i->party->ended);
	party_send(i->party);
	cr_expect_eq(party_unanswered(i->party), 0, "%s", name);
	signal_test_self(i->peer, &alice);
}

static void close_idle(struct idle *i)
{
	signal_client_free(i->peer);
	party_free(i->party);
	edge_close(&i->edge);
}

/* All are idle at the same time. Each crowd has its turn every 50 ms, to answer pings. */
static void be_idle(struct idle *all, size_t count, int ms)
{
	for (int64_t end_ms = real_now_ms() + ms; real_now_ms() < end_ms;)
		for (size_t i = 0; i < count; i++)
			party_look(all[i].party, (int)(50 / count));
}

Test(proxy_time, pings_keep_idle_connections_alive, .timeout = 240)
{
	const char *wanted  = getenv("COOP_EDGE_IDLE_S");
	int         limit_s = wanted ? atoi(wanted) : IDLE_SHORT_S;
	struct idle all[2 * EDGE_PROXIES];
	size_t      count = 0;

	for (size_t i = 0; i < EDGE_PROXIES; i++) {
		const struct edge_proxy *of = &edge_proxies[i];

		if (!program_or_skip(of->name))
			continue;
		open_idle(&all[count++], of, limit_s, true);
		if (strcmp(of->name, "caddy") != 0)
			open_idle(&all[count++], of, limit_s, false);
	}
	if (count > 0)
		be_idle(all, count, limit_s * 1500 + 1000);
	for (size_t i = 0; i < count; i++) {
		check_idle(&all[i]);
		close_idle(&all[i]);
	}
}

/* --- Coming back --- */

static void expect_honest_refusals(const struct party *p, const char *name)
{
	for (size_t i = 0; i < party_size(p); i++) {
		int status = p->members[i].peer.status;

		cr_expect(status == 0 || status == 101 || (status >= 502 && status <= 504), "%s: %d", name, status);
	}
}

static void dial_all(struct party *p, int port)
{
	party_dial(p, port, true);
	party_dial(p, port, false);
}

static bool has_begun(void *arg)
{
	const struct party *p = arg;

	return p->ended > 0;
}

static bool has_ended(void *arg)
{
	const struct party *p = arg;

	return p->ended >= party_size(p);
}

/*
 * Everybody is cut off, sooner or later, and comes back at once: how long that took from the first who was cut to the last who
 * was back, in ms. Codes and numbers are the same, or the party ends the test.
 */
static int come_back(struct party *p, int port, const char *name)
{
	int64_t from_ms, end_ms = real_now_ms() + PATIENCE_MS;

	cr_assert(crowd_run(&p->crowd, has_begun, p, PATIENCE_MS), "%s: nobody was cut off", name);
	from_ms = real_now_ms();
	while (!has_ended(p) || !party_is_gathered(p)) {
		cr_assert_lt(real_now_ms(), end_ms, "%s: %u were cut off, and not all are back", name, p->ended);
		dial_all(p, port);
		crowd_run(&p->crowd, NULL, NULL, REDIAL_MS);
		party_check(p);
	}
	return (int)(real_now_ms() - from_ms);
}

static void expect_play(struct party *p, const char *name)
{
	uint32_t before = party_unanswered(p);

	party_play(p, 200, 20);
	cr_expect_eq(party_unanswered(p), before, "%s", name);
}

/* On a busy machine it may take so long that games would be over: nobody's patience ends here. */
static const char *const patient[] = { "limits.tunnel_grace_ms=600000",
	                               "limits.tunnel_wait_alone_ms=300000",
	                               "limits.tunnel_friend_silence_ms=600000",
	                               "limits.tunnel_host_silence_ms=600000",
	                               "limits.tunnel_role_ms=120000",
	                               "limits.ws_upgrade_ms=120000",
	                               NULL };

/* --- Reload --- */

static void check_reload(struct edge *e, const char *name)
{
	struct party *p       = party_behind(e, "reload", 100, 4);
	int64_t       from_ms = real_now_ms();

	edge_reload(e);

	int cut_ms = come_back(p, e->port, name);

	fprintf(stderr, "%s: reloaded; %zu tunnels were back %d ms after the first was cut, %d ms after the reload\n",
	        name, party_size(p), cut_ms, (int)(real_now_ms() - from_ms));
	expect_play(p, name);
	party_free(p);
}

Test(proxy_time, after_a_reload_of_the_proxy_500_tunnels_are_back_as_they_were, .timeout = 600)
{
	raise_files();
	use_plain_server(); /* it is a measurement, too */
	edge_each(check_reload, &(struct edge){ .is_whole = true }, patient);
}

/* --- A restart of coopd --- */

static void check_restart(struct edge *e, const char *name)
{
	struct party *p = party_behind(e, "restart", 10, 4);

	server_signal(e->server, SIGTERM);
	cr_assert(crowd_run(&p->crowd, has_ended, p, PATIENCE_MS), "%s: not everybody was told", name);
	cr_assert_eq(server_await_exit(e->server, SERVER_STOP_MS), 0, "%s", name);
	dial_all(p, e->port);
	crowd_run(&p->crowd, NULL, NULL, 100);
	expect_honest_refusals(p, name);

	AUTO(rest_freep) struct http_result gone = rest_get(&e->at_a, NULL, "/healthz");

	cr_expect(gone.status >= 502 && gone.status <= 504, "%s: %d", name, gone.status);
	edge_relaunch(e);
	come_back(p, e->port, name);
	expect_play(p, name);

	AUTO(rest_freep) struct http_result back = rest_get(&e->at_a, NULL, "/healthz");

	cr_expect_eq(back.status, 200, "%s: %d", name, back.status);
	party_free(p);
}

Test(proxy_time, after_a_restart_of_coopd_everybody_is_back, .timeout = 240)
{
	edge_each(check_restart, NULL, patient);
}
