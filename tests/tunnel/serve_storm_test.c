/*
 * 50 games with 4 friends each, all of whom lose the server, or whose server is killed, again and again. The server is
 * the one that people run: memory and time are measured here, and the sanitizers would be what is measured.
 */
#include "support/await.h"
#include "support/dial.h"
#include "support/party.h"
#include "support/server.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GAMES       50
#define FRIENDS     4
#define CONNECTIONS (GAMES * (1 + FRIENDS))

/* Killing */

static void copy_file(const char *from, const char *to)
{
	char  bytes[65536];
	FILE *in  = fopen(from, "re");
	FILE *out = fopen(to, "we");

	cr_assert_not_null(out, "cannot write %s", to);
	for (size_t n; in && (n = fread(bytes, 1, sizeof(bytes), in)) > 0;)
		cr_assert_eq(fwrite(bytes, 1, n, out), n);
	if (in)
		fclose(in);
	fclose(out);
}

static int take_text(void *out, int columns, char **values, char **names)
{
	(void)columns, (void)names;
	snprintf(out, 100, "%s", values[0] ? values[0] : "nothing");
	return 0;
}

/* What the killed server left, looked at in a copy: the server itself is to find it as it was left. */
static void check_database(const struct server *s)
{
	static const char *const suffixes[] = { "", "-wal" };
	char                     from[200], copy[200], says[100] = "no answer";
	sqlite3                 *db;

	for (size_t i = 0; i < 2; i++) {
		snprintf(from, sizeof(from), "%s/coop.db%s", s->data, suffixes[i]);
		snprintf(copy, sizeof(copy), "%s/copy.db%s", s->root, suffixes[i]);
		copy_file(from, copy);
	}
	snprintf(copy, sizeof(copy), "%s/copy.db", s->root);
	cr_assert_eq(sqlite3_open(copy, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA integrity_check", take_text, says, NULL);
	cr_assert_str_eq(says, "ok", "the database: %s", says);
	sqlite3_exec(db, "PRAGMA foreign_key_check", take_text, strcpy(says, "ok"), NULL);
	cr_assert_str_eq(says, "ok", "a row without its parent in %s", says);
	sqlite3_close(db);
}

/* Lets hosts and friends of a new party come in, and looks away at a moment that is another one each time. */
static void begin_to_gather(struct party *p, int port, int round)
{
	int64_t end_ms = real_now_ms() + 3 * round;

	party_dial(p, port, true);
	do {
		party_look(p, 0);
		party_dial(p, port, false);
	} while (real_now_ms() < end_ms);
}

/* What its members were told before the kill, and have to be told again. */
static void count_promises(const struct party *p, int *codes, int *numbers)
{
	for (int g = 0; g < p->games; g++) {
		*codes += party_host(p, g)->code != 0;
		for (int f = 1; f <= p->friends; f++)
			*numbers += party_friend(p, g, f)->number != 0;
	}
}

/* The time left of the ten seconds since then. */
static int left_ms(int64_t start_ms)
{
	int64_t left = 10000 - (real_now_ms() - start_ms);

	return left > 0 ? (int)left : 0;
}

Test(serve_storm, killed_in_the_middle_of_50_games_it_has_forgotten_nothing)
{
	enum { ROUNDS = 20, NEW_GAMES = 8, NEW_FRIENDS = 3 };
	static const char *const newcomers[ROUNDS] = { "n0",  "n1",  "n2",  "n3",  "n4",  "n5",  "n6",
		                                       "n7",  "n8",  "n9",  "n10", "n11", "n12", "n13",
		                                       "n14", "n15", "n16", "n17", "n18", "n19" };

	use_plain_server();

	/* A friend who had to wait too long for the disk would play unkept, as he should: not here. */
	struct server *s          = server_start((const char *[]){ "limits.tunnel_keep_wait_ms=10000", NULL });
	struct party  *p          = party_new("p", GAMES, FRIENDS);
	int            slowest_ms = 0, codes = 0, numbers = 0;

	party_gather(p, s->tunnel_port, PARTY_HOSTS_FIRST, 10000);
	for (int round = 0; round < ROUNDS; round++) {
		struct party *fresh = party_new(newcomers[round], NEW_GAMES, NEW_FRIENDS);

		party_play(p, 100, 40);
		begin_to_gather(fresh, s->tunnel_port, round);
		party_send(p);
		server_kill(s);

		/* What was in their sockets has been said, and counts. */
		party_look(p, 0);
		party_look(fresh, 0);
		party_drop(p, true);
		party_drop(fresh, true);
		count_promises(fresh, &codes, &numbers);
		check_database(s);

		int64_t start_ms = real_now_ms();

		server_launch(s);
		server_await_ready(s);
		party_gather(p, s->tunnel_port, round % 2 ? PARTY_HOSTS_FIRST : PARTY_FRIENDS_FIRST, left_ms(start_ms));
		party_gather(fresh, s->tunnel_port, PARTY_HOSTS_FIRST, left_ms(start_ms));
		if (real_now_ms() - start_ms > slowest_ms)
			slowest_ms = (int)(real_now_ms() - start_ms);
		party_drop(fresh, false);
		party_free(fresh);
	}
	party_play(p, 100, 40);
	cr_log_info("slowest start until all were back: %d ms; of %d newcomers %d had been told a code, of %d friends "
	            "%d a "
	            "number",
	            slowest_ms, ROUNDS * NEW_GAMES, codes, ROUNDS * NEW_GAMES * NEW_FRIENDS, numbers);
	cr_expect(codes > 0 && numbers < ROUNDS * NEW_GAMES * NEW_FRIENDS, "the kills came in the middle of it");
	party_free(p);
	server_finish(s);
}

/* Dropping */

/*
 * The allocator gives memory back and takes it again by its own rules, some hundred KiB up and down. What is lost for
 * good shows in the lowest of the last figures too.
 */
struct memory {
	size_t early_most, late_least;
};

static void note_memory(struct memory *m, const struct server *s, int cycle, int cycles)
{
	size_t bytes = server_rss_bytes(s);

	if (cycle <= 3 && bytes > m->early_most)
		m->early_most = bytes;
	if (cycle > cycles - 3 && (m->late_least == 0 || bytes < m->late_least))
		m->late_least = bytes;
}

Test(serve_storm, all_250_drop_and_come_back_at_once_20_times)
{
	enum { CYCLES = 20, BACK_WITHIN_MS = 2000 };

	use_plain_server();

	struct server *s          = server_start(NULL);
	struct party  *p          = party_new("p", GAMES, FRIENDS);
	int            fds        = server_fd_count(s);
	struct memory  memory     = { 0 };
	int            slowest_ms = 0;

	party_gather(p, s->tunnel_port, PARTY_HOSTS_FIRST, 5000);
	for (int cycle = 1; cycle <= CYCLES; cycle++) {
		party_drop(p, cycle % 2);

		int took_ms = party_gather(p, s->tunnel_port, PARTY_ALL_AT_ONCE, BACK_WITHIN_MS);

		slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
		party_play(p, 200, 40);
		note_memory(&memory, s, cycle, CYCLES);
	}
	cr_log_info("slowest return %d ms; resident at first %zu KiB, at last %zu KiB", slowest_ms,
	            memory.early_most / 1024, memory.late_least / 1024);
	cr_expect_leq(slowest_ms, BACK_WITHIN_MS);
	/* A tenth, and what the allocator moves by itself when the machine is busy. */
	cr_expect_leq(memory.late_least, memory.early_most + memory.early_most / 10 + 1024 * 1024,
	              "%zu KiB after the 3rd time, %zu after the 20th", memory.early_most / 1024,
	              memory.late_least / 1024);
	server_await_metric(s, "coopd_ws_connections", NULL, CONNECTIONS, 5000);
	cr_expect_eq(server_metric(s, "coopd_ws_refused_total", NULL), 0);
	cr_expect_eq(server_metric(s, "coopd_tunnel_faults_total", NULL), 0);

	party_drop(p, false);
	server_await_metric(s, "coopd_ws_connections", NULL, 0, 5000);
	await_fds(s, fds);
	party_free(p);
	server_finish(s);
}
