/*
 * What of the lobbies outlives a restart, when it is written, and what becomes of what could not be.
 */
#include "lobby/lobby_keep.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/clock.h"
#include "store/ask.h"
#include "store/lobby.h"
#include "support/data_folder.h"
#include "support/store_gate.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS  INT64_C(5000) /* shortly after the machine started: what was before is negative */
#define WALL_MS INT64_C(1793534400000)

/* One run of a server, as far as lobbies go. */
struct run {
	struct store       *store;
	struct lobby_state  state;
	pthread_mutex_t     lock;
	struct lobby_keep  *keep;
	struct lobby_guard *guard;
};

static void run_open(struct run *r)
{
	const struct limits *limits = &data_conf()->limits;

	r->store = data_open_store();
	pthread_mutex_init(&r->lock, NULL);
	cr_assert_eq(lobby_state_init(&r->state, limits, 1), ERR_OK);
	r->guard = lobby_guard_new(limits, 2);
	r->keep  = lobby_keep_new(r->store, &r->state, &r->lock);
	cr_assert(r->guard && r->keep);
}

static void run_load(struct run *r, int64_t now_ms, int64_t wall_ms)
{
	cr_assert_eq(lobby_keep_load(r->keep, r->guard, now_ms, wall_ms), ERR_OK);
	cr_assert_eq(store_start(r->store), ERR_OK);
}

static void run_begin(struct run *r, int64_t now_ms, int64_t wall_ms)
{
	run_open(r);
	run_load(r, now_ms, wall_ms);
}

static void run_end(struct run *r)
{
	store_stop(r->store);
	lobby_keep_free(r->keep);
	lobby_guard_free(r->guard);
	lobby_state_fini(&r->state);
	pthread_mutex_destroy(&r->lock);
}

/* Lobby n as an announce makes it, in no table yet. */
static struct lobby *lobby_new(uint8_t n, int64_t beat_ms)
{
	struct lobby *l = calloc(1, sizeof(*l));

	cr_assert_not_null(l);
	list_init(&l->by_beat);
	l->id[0] = l->session[0] = l->token[0] = l->key[0] = n;
	l->addr[0]                                         = 0xaa;
	text_format(l->name, sizeof(l->name), "lobby %u \xc3\xbc", n);
	text_copy(l->game, sizeof(l->game), "0.9.0a");
	l->players     = 1;
	l->players_max = 4;
	l->listed      = true;
	l->beat_ms     = beat_ms;
	l->made_ms     = WALL_MS;
	return l;
}

/* Kept and in the table. */
static struct lobby *add(struct run *r, uint8_t n, int64_t beat_ms)
{
	struct lobby *l = lobby_new(n, beat_ms);

	cr_assert_eq(lobby_keep_put(r->keep, l, NOW_MS, WALL_MS), ERR_OK);
	pthread_mutex_lock(&r->lock);
	cr_assert_eq(lobby_restore(&r->state, l), ERR_OK);
	pthread_mutex_unlock(&r->lock);
	return l;
}

static void touch(struct run *r, struct lobby *l)
{
	pthread_mutex_lock(&r->lock);
	lobby_keep_touch(r->keep, l);
	pthread_mutex_unlock(&r->lock);
}

static struct lobby *find(struct run *r, uint8_t n)
{
	const uint8_t id[LOBBY_ID_BYTES] = { n };

	return lobby_of_id(&r->state, id);
}

static int64_t ask(struct run *r, const char *sql)
{
	return gate_ask(r->store, sql);
}

static void await(struct run *r, const char *sql, int64_t answer)
{
	gate_await(r->store, sql, answer);
}

/* Announces */

static void expect_same(const struct lobby *a, const struct lobby *b)
{
	cr_expect_arr_eq(a->session, b->session, sizeof(a->session));
	cr_expect_arr_eq(a->token, b->token, sizeof(a->token));
	cr_expect_arr_eq(a->key, b->key, sizeof(a->key));
	cr_expect_arr_eq(a->addr, b->addr, sizeof(a->addr));
	cr_expect_arr_eq(a->addr_wide, b->addr_wide, sizeof(a->addr_wide));
	cr_expect_eq(a->has_wide, b->has_wide);
	cr_expect_str_eq(a->name, b->name);
	cr_expect_str_eq(a->world, b->world);
	cr_expect_str_eq(a->version, b->version);
	cr_expect_str_eq(a->game, b->game);
	cr_expect_eq(a->proto, b->proto);
	cr_expect_eq(a->players, b->players);
	cr_expect_eq(a->players_max, b->players_max);
	cr_expect_eq(a->locked, b->locked);
	cr_expect_eq(a->listed, b->listed);
	cr_expect_eq(a->is_direct, b->is_direct);
	cr_expect_eq(a->is_proved, b->is_proved);
	cr_expect_str_eq(a->direct_addr, b->direct_addr);
	cr_expect_eq(a->links.relayed, b->links.relayed);
	cr_expect_eq(a->links.direct, b->links.direct);
	cr_expect_eq(a->links.lan, b->links.lan);
	cr_expect_str_eq(a->claim.sha, b->claim.sha);
	cr_expect_eq(a->claim.key, b->claim.key);
	cr_expect_str_eq(a->claim.sig, b->claim.sig);
	cr_expect_eq(a->made_ms, b->made_ms);
}

/* Every field, each at its longest. */
static struct lobby *full_lobby(void)
{
	struct lobby *l = lobby_new(7, NOW_MS - 1000);

	memset(l->session, 0x55, sizeof(l->session));
	memset(l->token, 0x77, sizeof(l->token));
	memset(l->addr_wide, 0xbb, sizeof(l->addr_wide));
	l->has_wide = true;
	for (int i = 0; i < LOBBY_NAME_CHARS; i++)
		memcpy(l->name + 4 * i, "\xf0\x9f\x90\xb1", 5);
	memset(l->world, 'w', LOBBY_WORLD_CHARS);
	memset(l->version, 'v', LOBBY_VERSION_CHARS);
	memset(l->game, 'g', LOBBY_VERSION_CHARS);
	l->proto     = 65535;
	l->players   = 4;
	l->locked    = true;
	l->listed    = false;
	l->is_direct = true;
	l->is_proved = true;
	text_copy(l->direct_addr, sizeof(l->direct_addr), "[2001:db8:1111:2222:3333:4444:5555:6666]:65535");
	l->links = (struct lobby_links){ 1, 2, 4 };
	memset(l->claim.sha, 'a', LOBBY_CLAIM_SHA_CHARS);
	l->claim.key = 255;
	memset(l->claim.sig, 'b', LOBBY_CLAIM_SIG_CHARS);
	return l;
}

Test(lobby_keep, an_announce_outlives_a_restart_whole)
{
	struct run    r;
	struct lobby *l = full_lobby();

	run_begin(&r, NOW_MS, WALL_MS);
	cr_assert_eq(lobby_keep_put(r.keep, l, NOW_MS, WALL_MS), ERR_OK);
	run_end(&r);

	/* The machine has been started again as well: its monotonic clock is another one. */
	run_begin(&r, 100, WALL_MS + 20000);
	cr_assert_eq(lobby_live(&r.state), 1);
	cr_assert_not_null(find(&r, 7));
	expect_same(find(&r, 7), l);
	cr_expect_eq(find(&r, 7)->beat_ms, 100 - 21000);
	cr_expect_not(find(&r, 7)->is_pending);
	cr_expect_eq(find(&r, 7)->turn_ms, 0);
	run_end(&r);
	lobby_free(l);
}

Test(lobby_keep, what_was_silent_too_long_is_removed_and_the_rest_stays)
{
	struct run r;

	run_begin(&r, NOW_MS, WALL_MS);
	add(&r, 1, NOW_MS);
	add(&r, 2, NOW_MS + 1);
	run_end(&r);

	int64_t ttl_ms = data_conf()->limits.lobby_ttl_ms;

	run_begin(&r, NOW_MS, WALL_MS + ttl_ms);
	cr_expect_eq(lobby_live(&r.state), 2, "a sweep would not take them either");
	cr_expect_null(lobby_sweep(&r.state, NOW_MS));
	run_end(&r);
	run_begin(&r, NOW_MS, WALL_MS + ttl_ms + 1);
	cr_expect_eq(lobby_live(&r.state), 1);
	cr_expect_not_null(find(&r, 2));
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobbies"), 1);
	run_end(&r);
}

Test(lobby_keep, a_beat_in_the_future_counts_as_now)
{
	struct run r;

	run_begin(&r, NOW_MS, WALL_MS);
	add(&r, 1, NOW_MS);
	run_end(&r);
	run_begin(&r, 777, WALL_MS - 86400000);
	cr_assert_not_null(find(&r, 1));
	cr_expect_eq(find(&r, 1)->beat_ms, 777);
	run_end(&r);
}

Test(lobby_keep, one_with_texts_that_are_none_is_left_out_alone)
{
	struct run r;

	run_begin(&r, NOW_MS, WALL_MS);
	add(&r, 1, NOW_MS);
	add(&r, 2, NOW_MS);
	ask(&r, "UPDATE lobbies SET name = CAST(x'61ff' AS TEXT) WHERE hex(id) LIKE '01%'");
	run_end(&r);
	run_begin(&r, NOW_MS, WALL_MS);
	cr_expect_eq(lobby_live(&r.state), 1);
	cr_expect_not_null(find(&r, 2));
	run_end(&r);
}

Test(lobby_keep, an_id_that_is_taken_keeps_nothing_and_counts_nothing)
{
	struct run    r;
	struct lobby *same = lobby_new(1, NOW_MS);

	run_begin(&r, NOW_MS, WALL_MS);
	add(&r, 1, NOW_MS);
	cr_expect_eq(lobby_keep_put(r.keep, same, NOW_MS, WALL_MS), ERR_EXISTS);
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobby_creates"), 1);
	lobby_free(same);
	run_end(&r);
}

/* Windows */

Test(lobby_keep, the_limit_per_address_goes_on_after_a_restart)
{
	static const uint8_t addr[LOBBY_ADDR_BYTES] = { 0xaa }, other[LOBBY_ADDR_BYTES] = { 0xab };
	struct run           r;

	data_conf()->limits.lobby_creates = 3;
	run_begin(&r, NOW_MS, WALL_MS);
	for (uint8_t n = 1; n <= 3; n++) {
		struct lobby *l = lobby_new(n, NOW_MS + n);

		cr_assert_eq(lobby_keep_put(r.keep, l, NOW_MS + n, WALL_MS + n), ERR_OK);
		lobby_free(l);
	}
	run_end(&r);

	run_begin(&r, 100, WALL_MS + 60000);
	cr_expect_not(lobby_guard_take(r.guard, LOBBY_CREATE, addr, NULL, 100));
	cr_expect(lobby_guard_take(r.guard, LOBBY_CREATE, other, NULL, 100));
	cr_expect(lobby_guard_take(r.guard, LOBBY_JOIN, addr, NULL, 100));
	cr_expect(lobby_guard_take(r.guard, LOBBY_CREATE, addr, NULL, 101), "a minute after the first of them");
	cr_expect_not(lobby_guard_take(r.guard, LOBBY_CREATE, addr, NULL, 101));
	run_end(&r);
}

Test(lobby_keep, a_network_is_counted_after_a_restart_too)
{
	uint8_t    addr[LOBBY_ADDR_BYTES] = { 1 }, wide[LOBBY_ADDR_BYTES] = { 0xbb };
	struct run r;

	data_conf()->limits.lobby_creates = 1; /* and 8 per /48 */
	run_begin(&r, NOW_MS, WALL_MS);
	for (uint8_t n = 1; n <= 8; n++) {
		struct lobby *l = lobby_new(n, NOW_MS);

		l->addr[0] = n;
		memcpy(l->addr_wide, wide, sizeof(wide));
		l->has_wide = true;
		cr_assert_eq(lobby_keep_put(r.keep, l, NOW_MS, WALL_MS), ERR_OK);
		lobby_free(l);
	}
	run_end(&r);
	run_begin(&r, 100, WALL_MS + 1000);
	addr[0] = 99;
	cr_expect_not(lobby_guard_take(r.guard, LOBBY_CREATE, addr, wide, 100));
	wide[0] = 0xcc;
	cr_expect(lobby_guard_take(r.guard, LOBBY_CREATE, addr, wide, 100));
	run_end(&r);
}

/* A clock that was set back does not lock an address out for longer than a minute. */
Test(lobby_keep, announces_of_the_future_are_of_now_and_old_ones_are_gone)
{
	static const uint8_t addr[LOBBY_ADDR_BYTES] = { 0xaa };
	struct run           r;

	data_conf()->limits.lobby_creates = 1;
	run_begin(&r, NOW_MS, WALL_MS);
	add(&r, 1, NOW_MS);
	run_end(&r);
	run_begin(&r, 100, WALL_MS - 3600000);
	cr_expect_not(lobby_guard_take(r.guard, LOBBY_CREATE, addr, NULL, 100 + 59999));
	cr_expect(lobby_guard_take(r.guard, LOBBY_CREATE, addr, NULL, 100 + 60000));
	run_end(&r);
	run_begin(&r, 100, WALL_MS + 60001);
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobby_creates"), 0);
	run_end(&r);
}

/* Leaving */

Test(lobby_keep, a_leave_is_answered_when_it_is_kept)
{
	struct run    r;
	struct lobby *l;

	run_begin(&r, NOW_MS, WALL_MS);
	l = add(&r, 1, NOW_MS);
	add(&r, 2, NOW_MS);
	cr_expect_eq(lobby_keep_remove(r.keep, l->id), ERR_OK);
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobbies"), 1);
	cr_expect_eq(lobby_keep_remove(r.keep, l->id), ERR_OK, "a second time is fine");
	run_end(&r);
	run_begin(&r, NOW_MS, WALL_MS);
	cr_expect_null(find(&r, 1));
	cr_expect_not_null(find(&r, 2));
	run_end(&r);
}

/* Later */

Test(lobby_keep, beats_are_written_behind)
{
	struct run    r;
	struct lobby *l;

	run_begin(&r, NOW_MS, WALL_MS);
	l = add(&r, 1, NOW_MS);
	pthread_mutex_lock(&r.lock);
	l->players = 3;
	l->listed  = false;
	l->links   = (struct lobby_links){ 1, 2, 3 };
	l->beat_ms = clock_mono_ms() - 5000;
	lobby_keep_touch(r.keep, l);
	pthread_mutex_unlock(&r.lock);
	await(&r, "SELECT players FROM lobbies", 3);
	cr_expect_eq(ask(&r, "SELECT listed FROM lobbies"), 0);
	cr_expect_eq(ask(&r, "SELECT relayed * 100 + direct * 10 + lan FROM lobbies"), 123);
	int64_t ago_ms = clock_wall_ms() - ask(&r, "SELECT beat_ms FROM lobbies");
	cr_expect(ago_ms >= 4900 && ago_ms < 60000, "%ld", (long)ago_ms);
	cr_expect_not(l->is_dirty);
	run_end(&r);
}

Test(lobby_keep, a_stop_writes_what_waits)
{
	struct run    r;
	struct lobby *l;

	run_begin(&r, NOW_MS, WALL_MS);
	l          = add(&r, 1, NOW_MS);
	l->players = 2;
	l->beat_ms = clock_mono_ms();
	touch(&r, l);
	run_end(&r);
	run_begin(&r, clock_mono_ms(), clock_wall_ms());
	cr_assert_not_null(find(&r, 1));
	cr_expect_eq(find(&r, 1)->players, 2);
	run_end(&r);
}

/* However many hosts beat while the store is slow, one job waits for all of them. */
Test(lobby_keep, one_job_waits_for_all_that_is_dirty)
{
	struct run    r;
	struct lobby *lobbies[40];

	data_conf()->limits.store_jobs = 1;
	run_begin(&r, NOW_MS, WALL_MS);
	for (size_t n = 0; n < COUNT_OF(lobbies); n++)
		lobbies[n] = add(&r, (uint8_t)(n + 1), NOW_MS);
	gate_close(r.store);
	for (int round = 0; round < 3; round++) {
		for (size_t n = 0; n < COUNT_OF(lobbies); n++) {
			pthread_mutex_lock(&r.lock);
			lobbies[n]->players = round + 2;
			lobby_keep_touch(r.keep, lobbies[n]);
			pthread_mutex_unlock(&r.lock);
		}
	}
	cr_expect_eq(metric_get(M_STORE_REFUSED), 0);
	cr_expect_eq(metric_get(M_STORE_QUEUE), 1);
	gate_open();
	await(&r, "SELECT count(*) FROM lobbies WHERE players = 4", COUNT_OF(lobbies));
	run_end(&r);
}

/* On the store thread, behind the copying of the job that is under way: as a host that beats at that moment. */
static struct run   *late_run;
static struct lobby *late_lobby;

static enum err run_late(struct job *job, struct db *db)
{
	(void)job, (void)db;
	pthread_mutex_lock(&late_run->lock);
	late_lobby->players = 4;
	lobby_keep_touch(late_run->keep, late_lobby);
	pthread_mutex_unlock(&late_run->lock);
	return ERR_OK;
}

static void done_late(struct job *job, enum err result)
{
	(void)job;
	cr_expect_eq(result, ERR_OK);
}

Test(lobby_keep, what_changes_behind_the_copying_is_taken_by_the_next)
{
	struct run r;
	struct job late = { .surface = SURFACE_LOBBY, .lazy = true, .run = run_late, .done = done_late };

	run_begin(&r, NOW_MS, WALL_MS);
	late_run   = &r;
	late_lobby = add(&r, 1, NOW_MS);
	gate_close(r.store);
	late_lobby->players = 2;
	touch(&r, late_lobby);
	cr_assert_eq(store_submit(r.store, &late), ERR_OK); /* behind it in the same queue */
	gate_open();
	await(&r, "SELECT players FROM lobbies", 4);
	cr_expect_not(late_lobby->is_dirty);
	run_end(&r);
}

Test(lobby_keep, what_is_gone_is_forgotten_behind_in_any_number)
{
	struct run r;

	data_conf()->limits.store_jobs = 1;
	run_begin(&r, NOW_MS, WALL_MS);
	for (uint8_t n = 1; n <= 60; n++)
		add(&r, n, NOW_MS);
	gate_close(r.store);
	for (uint8_t n = 1; n <= 59; n++) {
		struct lobby *l = find(&r, n);

		touch(&r, l);
		pthread_mutex_lock(&r.lock);
		lobby_remove(&r.state, l);
		pthread_mutex_unlock(&r.lock);
		lobby_keep_forget(r.keep, l->id);
		lobby_free(l);
	}
	cr_expect_eq(metric_get(M_STORE_REFUSED), 0);
	gate_open();
	await(&r, "SELECT count(*) FROM lobbies", 1);
	run_end(&r);
}

Test(lobby_keep, what_could_not_be_written_is_tried_with_the_next_touch)
{
	struct run    r;
	struct lobby *l, *gone;

	run_begin(&r, NOW_MS, WALL_MS);
	l    = add(&r, 1, NOW_MS);
	gone = add(&r, 2, NOW_MS);
	ask(&r, "CREATE TEMP TRIGGER no BEFORE UPDATE ON lobbies BEGIN SELECT RAISE(ABORT, 'no'); END");
	l->players = 3;
	pthread_mutex_lock(&r.lock);
	lobby_remove(&r.state, gone);
	pthread_mutex_unlock(&r.lock);
	touch(&r, l);
	lobby_keep_forget(r.keep, gone->id);

	int64_t failed_before = metric_get(M_STORE_JOBS_FAILED);
	while (metric_get(M_STORE_JOBS_FAILED) == failed_before)
		ask(&r, "SELECT 1");
	ask(&r, "DROP TRIGGER no");
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobbies"), 2, "all of the job was undone");
	cr_expect_eq(ask(&r, "SELECT players FROM lobbies WHERE hex(id) LIKE '01%'"), 1);
	pthread_mutex_lock(&r.lock);
	cr_expect(l->is_dirty);
	pthread_mutex_unlock(&r.lock);

	struct lobby *other = add(&r, 3, NOW_MS);
	touch(&r, other);
	await(&r, "SELECT players FROM lobbies WHERE hex(id) LIKE '01%'", 3);
	await(&r, "SELECT count(*) FROM lobbies WHERE hex(id) LIKE '02%'", 0);
	lobby_free(gone);
	run_end(&r);
}

/* Full, and slow */

Test(lobby_keep, a_full_queue_refuses_at_once_and_loses_no_beat)
{
	struct run    r;
	struct lobby *l, *newcomer = lobby_new(2, NOW_MS);

	data_conf()->limits.store_jobs = 1;
	run_begin(&r, NOW_MS, WALL_MS);
	l = add(&r, 1, NOW_MS);
	gate_close(r.store);
	cr_assert_eq(gate_submit(r.store, SURFACE_LOBBY, "SELECT 1"), ERR_OK);
	cr_assert_eq(gate_submit(r.store, SURFACE_LOBBY, "SELECT 1"), ERR_BUSY);
	cr_expect_eq(lobby_keep_put(r.keep, newcomer, NOW_MS, WALL_MS), ERR_BUSY);
	l->players = 2;
	touch(&r, l);
	cr_expect(l->is_dirty);
	gate_open();
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobbies"), 1);
	touch(&r, l);
	await(&r, "SELECT players FROM lobbies", 2);
	lobby_free(newcomer);
	run_end(&r);
}

Test(lobby_keep, an_answer_that_comes_too_late_leaves_no_lobby_behind)
{
	struct run    r;
	struct lobby *l = lobby_new(1, NOW_MS), *other = lobby_new(2, NOW_MS);

	run_begin(&r, NOW_MS, WALL_MS);
	cr_assert_eq(lobby_keep_put(r.keep, other, NOW_MS, WALL_MS), ERR_OK);
	gate_close(r.store);
	cr_expect_eq(lobby_keep_put(r.keep, l, NOW_MS, WALL_MS), ERR_BUSY);
	lobby_free(l);
	gate_open();
	await(&r, "SELECT count(*) FROM lobby_creates", 2);
	await(&r, "SELECT count(*) FROM lobbies", 1);
	lobby_free(other);
	run_end(&r);
}

/* What is forgotten is so without anybody's coming again: a sweep is enough. */
static void await_retried(struct run *r, const char *sql, int64_t answer)
{
	int64_t deadline_ms = clock_mono_ms() + 20000;

	while (ask(r, sql) != answer && clock_mono_ms() < deadline_ms)
		lobby_keep_retry(r->keep);
	cr_expect_eq(ask(r, sql), answer, "%s", sql);
}

Test(lobby_keep, what_could_not_be_written_is_tried_by_the_sweep_too)
{
	struct run    r;
	struct lobby *l;

	run_begin(&r, NOW_MS, WALL_MS);
	l = add(&r, 1, NOW_MS);
	add(&r, 2, NOW_MS);
	ask(&r, "CREATE TEMP TRIGGER no BEFORE UPDATE ON lobbies BEGIN SELECT RAISE(ABORT, 'no'); END");
	l->players            = 3;
	int64_t failed_before = metric_get(M_STORE_JOBS_FAILED);
	touch(&r, l);
	lobby_keep_forget(r.keep, find(&r, 2)->id);
	while (metric_get(M_STORE_JOBS_FAILED) == failed_before)
		ask(&r, "SELECT 1");
	ask(&r, "DROP TRIGGER no");
	await_retried(&r, "SELECT sum(players) FROM lobbies", 3);
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobbies"), 1);

	/* Nothing waits any more, so no job is begun. */
	gate_close(r.store);
	lobby_keep_retry(r.keep);
	cr_expect_eq(metric_get(M_STORE_QUEUE), 0);
	gate_open();
	run_end(&r);
}

Test(lobby_keep, a_leave_that_a_full_queue_refuses_is_forgotten_later)
{
	struct run    r;
	struct lobby *l;

	data_conf()->limits.store_jobs = 1;
	run_begin(&r, NOW_MS, WALL_MS);
	l = add(&r, 1, NOW_MS);
	gate_close(r.store);
	cr_assert_eq(gate_submit(r.store, SURFACE_LOBBY, "SELECT 1"), ERR_OK);
	cr_expect_eq(lobby_keep_remove(r.keep, l->id), ERR_BUSY);
	gate_open();
	await_retried(&r, "SELECT count(*) FROM lobbies", 0);
	run_end(&r);
}

Test(lobby_keep, a_leave_that_fails_too_late_for_an_answer_is_forgotten)
{
	struct run    r;
	struct lobby *l;

	run_begin(&r, NOW_MS, WALL_MS);
	l = add(&r, 1, NOW_MS);
	ask(&r, "CREATE TEMP TRIGGER no BEFORE DELETE ON lobbies BEGIN SELECT RAISE(ABORT, 'no'); END");
	gate_close(r.store);
	cr_expect_eq(lobby_keep_remove(r.keep, l->id), ERR_BUSY, "five seconds without an answer");
	int64_t failed_before = metric_get(M_STORE_JOBS_FAILED);
	gate_open();
	int64_t deadline_ms = clock_mono_ms() + 20000;
	while (metric_get(M_STORE_JOBS_FAILED) < failed_before + 2 && clock_mono_ms() < deadline_ms)
		ask(&r, "SELECT 1");
	cr_expect_eq(ask(&r, "SELECT count(*) FROM lobbies"), 1);
	ask(&r, "DROP TRIGGER no");
	await_retried(&r, "SELECT count(*) FROM lobbies", 0);
	run_end(&r);
}

/* Hosts that beat, come and go on several threads, as HTTP does it. */
struct host {
	struct run *run;
	uint8_t     first;
};

static void *live(void *arg)
{
	struct host *h = arg;

	for (uint8_t i = 0; i < 20; i++) {
		struct lobby *l = add(h->run, (uint8_t)(h->first + i), NOW_MS);

		for (int beat = 0; beat < 5; beat++) {
			pthread_mutex_lock(&h->run->lock);
			l->players = beat % 4;
			lobby_keep_touch(h->run->keep, l);
			pthread_mutex_unlock(&h->run->lock);
		}
		if (i % 2)
			continue;
		pthread_mutex_lock(&h->run->lock);
		lobby_remove(&h->run->state, l);
		pthread_mutex_unlock(&h->run->lock);
		if (i % 4)
			cr_expect_eq(lobby_keep_remove(h->run->keep, l->id), ERR_OK);
		else
			lobby_keep_forget(h->run->keep, l->id);
		lobby_free(l);
	}
	return NULL;
}

Test(lobby_keep, several_threads_leave_what_they_say)
{
	struct run  r;
	struct host hosts[4];
	pthread_t   threads[4];

	run_begin(&r, NOW_MS, WALL_MS);
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		hosts[i] = (struct host){ &r, (uint8_t)(1 + 20 * i) };
		cr_assert_eq(pthread_create(&threads[i], NULL, live, &hosts[i]), 0);
	}
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(lobby_live(&r.state), 40);
	await(&r, "SELECT count(*) FROM lobbies", 40);
	await(&r, "SELECT count(*) FROM lobbies WHERE players = 0", 40);
	run_end(&r);
}
