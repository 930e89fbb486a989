/*
 * kill -9 while new players come in, again and again: whoever was told a code has it afterwards, and the database is
 * whole. The server is the one that people run.
 */
#include "support/crowd.h"
#include "support/dial.h"
#include "support/server.h"
#include "support/tunnel_message.h"

#include <criterion/criterion.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS    20
#define NEWCOMERS 100 /* a round */
#define ROUND_MS  5000

struct newcomer {
	struct crowd_peer peer; /* first */
	int               round, number;
	uint32_t          code; /* what he was told first; 0: nothing yet */
	bool              told; /* on this connection */
};

static struct newcomer all[ROUNDS][NEWCOMERS];
static int             answers; /* since the crowd was dialled */
static int             wanted;

static void introduce(struct newcomer *n)
{
	struct pattern p;
	char           key[32];

	snprintf(key, sizeof(key), "newcomer %d.%d", n->round, n->number);
	msg_host_open(&p, key);
	crowd_send(&n->peer, p.value, p.len);
}

static void on_news(struct crowd_peer *peer, enum crowd_news news, const uint8_t *data, size_t len)
{
	struct newcomer *n = (struct newcomer *)(void *)peer;

	if (news == CROWD_OPENED)
		introduce(n);
	if (news != CROWD_MESSAGE)
		return;
	cr_assert(len == 13 && data[0] == 2, "newcomer %d.%d is told %02x", n->round, n->number, data[0]);
	cr_assert(!n->code || n->code == read_u32(data + 1), "newcomer %d.%d had code %u and gets %u", n->round,
	          n->number, n->code, read_u32(data + 1));
	n->code = read_u32(data + 1);
	n->told = true;
	answers++;
}

static bool has_enough(void *arg)
{
	(void)arg;
	return answers >= wanted;
}

static void dial(struct crowd *c, int port, int round)
{
	char from[32];

	answers = 0;
	for (int i = 0; i < NEWCOMERS; i++) {
		struct newcomer *n = &all[round][i];

		n->round  = round;
		n->number = i;
		n->told   = false;
		snprintf(from, sizeof(from), "10.1.%d.%d", round, i + 1);
		crowd_dial(c, &n->peer, port, from);
	}
}

static void drop(int round)
{
	for (int i = 0; i < NEWCOMERS; i++)
		crowd_drop(&all[round][i].peer, true);
}

/* Comes in until so many were answered; then the server dies, and what it had still sent is read. */
static void kill_after(struct server *s, struct crowd *c, int round, int answered)
{
	dial(c, s->tunnel_port, round);
	wanted = answered;
	cr_assert(crowd_run(c, has_enough, NULL, ROUND_MS), "round %d: %d answers, not %d", round, answers, wanted);
	server_kill(s);
	crowd_run(c, NULL, NULL, 0);
	drop(round);
}

/* All of the round come again: who had a code gets it, as on_news checks, and the others get one. */
static void come_again(struct server *s, struct crowd *c, int round)
{
	dial(c, s->tunnel_port, round);
	wanted = NEWCOMERS;
	cr_assert(crowd_run(c, has_enough, NULL, ROUND_MS), "round %d: %d came back", round, answers);
	drop(round);
}

static int take_text(void *out, int columns, char **values, char **names)
{
	(void)columns, (void)names;
	snprintf(out, 100, "%s", values[0] ? values[0] : "nothing");
	return 0;
}

/* As an operator would look, beside the running server. */
static void ask_database(const struct server *s, const char *sql, char out[100])
{
	char     path[SERVER_PATH_BYTES + 16];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	out[0] = '\0';
	sqlite3_exec(db, sql, take_text, out, NULL);
	sqlite3_close(db);
}

static void check_database(const struct server *s)
{
	char says[100];

	ask_database(s, "PRAGMA integrity_check", says);
	cr_assert_str_eq(says, "ok", "the database: %s", says);
}

Test(killed, whoever_was_told_a_code_has_it_afterwards)
{
	static const char *const sets[] = { "limits.tunnel_new_total=900000", NULL };
	const char              *plain  = getenv("COOPD_PLAIN_BIN");
	struct crowd             crowd;
	unsigned                 seed = (unsigned)real_now_ms();
	char                     says[100];

	cr_assert_not_null(plain, "COOPD_PLAIN_BIN must name the server that people run");
	setenv("COOPD_BIN", plain, 1);
	crowd_init(&crowd, on_news);
	cr_log_info("seed %u", seed);
	struct server *s = server_start(sets);

	for (int round = 0; round < ROUNDS; round++) {
		kill_after(s, &crowd, round, rand_r(&seed) % NEWCOMERS);
		server_launch(s);
		server_await_ready(s);
		check_database(s);
		come_again(s, &crowd, round);
	}
	server_restart(s);
	for (int round = 0; round < ROUNDS; round++)
		come_again(s, &crowd, round);
	ask_database(s, "SELECT count(*) FROM codes", says);
	cr_expect_eq(atoi(says), ROUNDS * NEWCOMERS);
	crowd_fini(&crowd);
	server_finish(s);
}
