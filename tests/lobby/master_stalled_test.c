/*
 * A disk that does not answer: hosts that are there stay there, players find them, and nobody is told of a lobby that is
 * not kept.
 */
#include "base/auto.h"
#include "support/dial.h"
#include "support/faulty_server.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define HOST      "203.0.113.7"
#define PROMPT_MS 2500 /* for a busy machine; whoever waits for the disk waits for twice as long */

static struct faulty_server f;

static void start(void)
{
	faulty_prepare(&f, NULL, (const char *[]){ LOBBY_PROMPT, NULL });
	faulty_start(&f);
}

static void stop(void)
{
	faulty_let_go(&f);
	server_finish(f.server);
}

TestSuite(master_stalled, .init = start, .fini = stop);

/* An announce or a leave that somebody waits for meanwhile. */
struct waiting {
	pthread_t          thread;
	const char        *from, *path, *body;
	struct http_result r;
};

static void *wait_for_it(void *arg)
{
	struct waiting *w = arg;

	w->r = master_post(f.server, w->from, w->path, w->body);
	return NULL;
}

static void begin(struct waiting *w, const char *from, const char *path, const char *body)
{
	*w = (struct waiting){ .from = from, .path = path, .body = body };
	cr_assert_eq(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
}

static void prompt(const char *what, int64_t since_ms)
{
	int64_t took_ms = real_now_ms() - since_ms;

	cr_expect_leq(took_ms, PROMPT_MS, "%s took %lld ms", what, (long long)took_ms);
}

static void expect_prompt(const struct master_host *h)
{
	int64_t now_ms = real_now_ms();

	cr_expect(master_is_listed(f.server, h->id));
	prompt("the list", now_ms);
	now_ms = real_now_ms();
	cr_expect_eq(master_beat(h, f.server, J("'players_cur':2")), 200);
	prompt("a beat", now_ms);
	now_ms = real_now_ms();
	cr_expect_eq(master_join_status(f.server, "198.51.100.1", h->id), 200);
	prompt("a join", now_ms);
	now_ms = real_now_ms();
	cr_expect_eq(master_show(h, f.server, "true"), 200);
	prompt("a change of visibility", now_ms);
	now_ms = real_now_ms();
	cr_expect_eq(master_health(f.server), 1);
	prompt("the health", now_ms);
}

Test(master_stalled, hosts_and_players_notice_nothing_and_an_announce_is_503)
{
	struct master_host h;
	struct waiting     w;

	master_open(&h, f.server, HOST, "");
	faulty_hold_disk(&f);
	begin(&w, "203.0.113.8", "/v1/host", master_announce_body(""));
	for (int i = 0; i < 5; i++) {
		expect_prompt(&h);
		server_advance(f.server, 1000);
	}
	pthread_join(w.thread, NULL);
	cr_expect_eq(w.r.status, 503);
	cr_expect(rest_has(&w.r, "error"), "%s", w.r.body);
	cr_expect_eq(master_health(f.server), 1);
	expect_prompt(&h);
	faulty_let_go(&f);
	http_result_free(&w.r);

	/* It was answered as not kept, and it is not, whatever the disk did in the end. */
	server_await_metric(f.server, "coopd_store_queue", NULL, 0, DIAL_PATIENCE_MS);
	cr_expect_eq(master_health(f.server), 1);
	server_restart(f.server);
	cr_expect_eq(master_health(f.server), 1);
	cr_expect_eq(master_beat(&h, f.server, ""), 200);
}

Test(master_stalled, an_announce_waits_for_a_disk_that_is_only_slow)
{
	struct waiting     w;
	struct master_host h;

	faulty_hold_disk(&f);
	begin(&w, HOST, "/v1/host", master_announce_body(""));
	real_sleep_ms(300);
	cr_expect_eq(master_health(f.server), 0, "nobody sees it yet");
	cr_expect_eq(master_listed(f.server), 0);
	faulty_let_go(&f);
	pthread_join(w.thread, NULL);
	cr_expect_eq(w.r.status, 200, "%s", w.r.body);
	rest_text(&w.r, "lobbyId", h.id, sizeof(h.id));
	cr_expect(master_is_listed(f.server, h.id));
	http_result_free(&w.r);
	server_kill(f.server);
	faulty_start(&f);
	cr_expect(master_is_listed(f.server, h.id), "what was answered is kept");
}

/* While they wait they count, so that nobody gets more than his share by asking at once. */
Test(master_stalled, announces_that_wait_count_in_the_share_of_their_address)
{
	struct waiting w[9];
	int            refused = 0, good = 0;

	faulty_hold_disk(&f);
	for (int i = 0; i < 9; i++)
		begin(&w[i], HOST, "/v1/host", "{\"identity\":\"" LOBBY_IDENTITY "\"}");
	real_sleep_ms(500);
	faulty_let_go(&f);
	for (int i = 0; i < 9; i++) {
		pthread_join(w[i].thread, NULL);
		refused += w[i].r.status == 429;
		good += w[i].r.status == 200;
		http_result_free(&w[i].r);
	}
	cr_expect_eq(refused, 1);
	cr_expect_eq(good, 8);
	cr_expect_eq(master_health(f.server), 8);
}

Test(master_stalled, a_leave_is_gone_for_everybody_at_once)
{
	struct master_host h;
	struct waiting     w;
	char               body[160];
	int64_t            deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	master_open(&h, f.server, HOST, "");
	faulty_hold_disk(&f);
	snprintf(body, sizeof(body), "{\"sessionId\":\"%s\",\"token\":\"%s\"}", h.session, h.token);
	begin(&w, HOST, "/v1/leave", body);
	while (master_health(f.server) != 0)
		cr_assert_lt(real_now_ms(), deadline_ms);
	cr_expect(!master_is_listed(f.server, h.id));
	faulty_let_go(&f);
	pthread_join(w.thread, NULL);
	cr_expect_eq(w.r.status, 200, "%s", w.r.body);
	http_result_free(&w.r);
}
