/*
 * Backups under load, one after the other, then death of the server and a restore of the last one. What is there then is what
 * was there at one moment between its begin and its end: every client counts what it writes, so that of each kind an unbroken
 * beginning must be there, and no write may be missing that was acknowledged before another one that is there was begun.
 *
 * RESTORE_LOAD_SECONDS: how long (3); `make torture` takes a minute.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/campaign_client.h"
#include "support/dial.h"
#include "support/lobby_client.h"
#include "support/restore.h"
#include "support/rooms_client.h"
#include "support/transfer.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE      "NPWR00860_00"
#define BOARD      7
#define SAVE_BYTES 30000
#define WRITES_MAX 100000
#define LAZY_MS    1500 /* scores are answered at once, and kept within a second */

static const char *const sets[] = { "limits.cloud_interval_ms=0",
	                            "limits.store_free_floor=0",
	                            "limits.tunnel_games_per_address=10000",
	                            "limits.tunnel_new_per_address=900000",
	                            "limits.tunnel_new_total=900000",
	                            "limits.tunnel_games=16384",
	                            "limits.ws_per_address=10000",
	                            "limits.ws_accept_rate=100000",
	                            "limits.ws_accept_burst=100000",
	                            NULL };

/* One client, its writes in their order. */
struct writer {
	const char    *name;
	struct server *server;
	int64_t (*put)(struct writer *w, int number); /* when it began; ends the test when it is refused */
	int64_t       lazy_ms;                        /* after the answer, until it is kept */
	struct gamer *gamer;
	pthread_t     thread;
	int           count;
	struct {
		int64_t began_ms, answered_ms;
	} * writes; /* from 1 on */
};

static atomic_bool enough;

static void *work(void *arg)
{
	struct writer *w = arg;

	while (!atomic_load(&enough) && w->count + 1 < WRITES_MAX) {
		int     number = w->count + 1;
		int64_t began  = w->put(w, number);

		w->writes[number].began_ms    = began;
		w->writes[number].answered_ms = real_now_ms();
		w->count                      = number;
	}
	return NULL;
}

/* --- What they write --- */

/* The next checkpoint of the one campaign of this name. */
static int64_t put_checkpoint(struct writer *w, int number)
{
	struct transfer_bytes c     = transfer_make(w->name, (unsigned)number, SAVE_BYTES);
	int64_t               began = real_now_ms();
	struct transfer_end   end   = transfer_put(w->server, TRANSFER_REST, w->name, &c);

	cr_assert_eq(end.what, TRANSFER_DONE, "%s %d: status %d %s", w->name, number, end.status, end.code);
	transfer_unmake(&c);
	return began;
}

/* A player that nobody has seen gets his code. */
static int64_t put_code(struct writer *w, int number)
{
	char              key[40];
	uint32_t          code;
	int64_t           began = real_now_ms();
	struct ws_client *host;

	snprintf(key, sizeof(key), "%s-%d", w->name, number);
	host = host_open(w->server->tunnel_port, key, &code);
	ws_client_free(host);
	real_sleep_ms(5);
	return began;
}

static int64_t put_score(struct writer *w, int number)
{
	int64_t began = real_now_ms();

	gamer_score(w->gamer, BOARD, 0, number, (struct gamer_blob){ 0 });
	real_sleep_ms(60); /* twenty a second are taken */
	return began;
}

static int64_t put_lobby(struct writer *w, int number)
{
	struct master_host h;
	char               from[32];
	int64_t            began = real_now_ms();

	snprintf(from, sizeof(from), "10.%d.%d.7", number / 250 % 250, number % 250);
	(void)master_try_open(&h, w->server, from, J("'name':'island'")); /* refused once there are too many */
	real_sleep_ms(20);
	return began;
}

/* --- What is there --- */

static int restored_checkpoint(struct server *s, const struct writer *w)
{
	size_t                   len = 0;
	AUTO(auto_free) uint8_t *is  = transfer_get(&len, s, w->name, w->name, 0);

	for (int number = 1; is && number <= w->count + 1; number++) {
		struct transfer_bytes c    = transfer_make(w->name, (unsigned)number, SAVE_BYTES);
		bool                  same = c.len == len && memcmp(c.bytes, is, len) == 0;

		transfer_unmake(&c);
		if (same)
			return number;
	}
	cr_assert_null(is, "%s: none of the checkpoints that were stored", w->name);
	return 0;
}

/* Of the players an unbroken row must be there. */
static int restored_codes(struct server *s, const struct writer *w)
{
	int last = 0, there = 0;

	for (int number = 1; number <= w->count; number++) {
		char key[40], hex[PLAYER_HEX], sql[160];

		snprintf(key, sizeof(key), "%s-%d", w->name, number);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM codes WHERE player = x'%s'", player_hex(hex, key));
		if (campaign_ask(s, sql) == 0)
			continue;
		last = number;
		there++;
	}
	cr_expect_eq(last, there, "of the first %d codes only %d are there", last, there);
	return last;
}

static int restored_score(struct server *s)
{
	return (int)campaign_ask(s, "SELECT coalesce(max(score), 0) FROM scores");
}

/* --- One moment --- */

struct moment {
	int64_t after_ms, before_ms; /* it lies between them */
};

/* Up to number they are there. */
static void narrow(struct moment *m, const struct writer *w, int number)
{
	cr_expect_leq(number, w->count, "%s: more is there than was written", w->name);
	if (number > 0 && w->writes[number].began_ms > m->after_ms)
		m->after_ms = w->writes[number].began_ms;
	if (number < w->count && w->writes[number + 1].answered_ms + w->lazy_ms < m->before_ms)
		m->before_ms = w->writes[number + 1].answered_ms + w->lazy_ms;
	fprintf(stderr, "restore_load: %s: %d of %d are there\n", w->name, number, w->count);
}

static int64_t seconds(void)
{
	const char *given = getenv("RESTORE_LOAD_SECONDS");

	return given ? strtol(given, NULL, 10) : 3;
}

/* The begin and the end of the last one. */
static struct moment back_up_for_a_while(struct server *s, const char *place)
{
	int64_t       until = real_now_ms() + seconds() * 1000;
	struct moment last;
	int           made = 0;

	do {
		int64_t next = real_now_ms() + 1000;

		last.after_ms = real_now_ms();
		restore_backup(s, place);
		last.before_ms = real_now_ms();
		made++;
		if (real_now_ms() < next)
			real_sleep_ms((int)(next - real_now_ms()));
	} while (real_now_ms() < until);
	fprintf(stderr, "restore_load: %d backups, the last took %d ms\n", made, (int)(last.before_ms - last.after_ms));
	return last;
}

static void begin(struct writer *w, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		w[i].writes = calloc(WRITES_MAX, sizeof(*w[i].writes));
		cr_assert_not_null(w[i].writes);
		cr_assert_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
}

static void end(struct writer *w, size_t count)
{
	atomic_store(&enough, true);
	for (size_t i = 0; i < count; i++)
		pthread_join(w[i].thread, NULL);
}

Test(restore_load, the_last_of_many_backups_is_what_was_there_at_one_moment)
{
	use_plain_server();

	struct server        *s   = server_start(sets);
	struct writer         w[] = { { .name = "war", .put = put_checkpoint },
		                      { .name = "peace", .put = put_checkpoint },
		                      { .name = "code", .put = put_code },
		                      { .name = "score", .put = put_score, .lazy_ms = LAZY_MS },
		                      { .name = "lobby", .put = put_lobby } };
	char                  place[SERVER_PATH_BYTES + 32];
	AUTO(auto_free) char *said = NULL;
	struct moment         m;

	snprintf(place, sizeof(place), "%s/backup", s->root);
	for (size_t i = 0; i < COUNT_OF(w); i++)
		w[i].server = s;
	w[3].gamer = gamer_new(s, TITLE, "alice");
	begin(w, COUNT_OF(w));
	m = back_up_for_a_while(s, place);
	end(w, COUNT_OF(w));
	gamer_free(w[3].gamer);
	server_kill(s);

	cr_assert_eq(restore_into(&said, s->data, place, ""), 0, "%s", said);
	fprintf(stderr, "%s", said);
	restore_check_whole(s);
	server_restart(s);
	narrow(&m, &w[0], restored_checkpoint(s, &w[0]));
	narrow(&m, &w[1], restored_checkpoint(s, &w[1]));
	narrow(&m, &w[2], restored_codes(s, &w[2]));
	narrow(&m, &w[3], restored_score(s));
	cr_expect_leq(m.after_ms, m.before_ms,
	              "no one moment: what is there began %d ms after what is not there was kept",
	              (int)(m.after_ms - m.before_ms));
	for (size_t i = 0; i < COUNT_OF(w) - 1; i++)
		cr_expect_gt(w[i].count, 5, "%s wrote too little to say anything", w[i].name);
	cr_expect_eq(master_listed(s), 0);
	for (size_t i = 0; i < COUNT_OF(w); i++)
		free(w[i].writes);
	server_finish(s);
}
