/*
 * The data folder at the start: who may have it, and what an operator reads when something is wrong with it.
 */
#include "support/server.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES 4096

static const char *path_of(const struct server *s, const char *name)
{
	static char path[SERVER_PATH_BYTES + 32];

	snprintf(path, sizeof(path), "%s/%s", s->data, name);
	return path;
}

static void expect_start_fails(struct server *s)
{
	server_launch(s);
	cr_assert_eq(server_await_exit(s, SERVER_READY_MS), 1, "it ended with %d", s->status);
}

static void expect_log(const struct server *s, const char *text)
{
	cr_expect(server_log_contains(s, text), "the log does not say: %s", text);
	if (!server_log_contains(s, text))
		server_print_log(s);
}

/* A server that has run, with a player, and was stopped. */
static struct server *prepare_used(uint32_t *code)
{
	struct server *s = server_start(NULL);

	ws_client_free(host_open(s->tunnel_port, "A", code));
	server_stop(s);
	return s;
}

static int take_number(void *out, int columns, char **values, char **names)
{
	(void)columns, (void)names;
	*(int *)out = atoi(values[0]);
	return 0;
}

/* Runs statements in the database of a server that is stopped; returns the first number they give. */
static int run_sql(const struct server *s, const char *sql)
{
	sqlite3 *db;
	int      number = 0;

	cr_assert_eq(sqlite3_open(path_of(s, "coop.db"), &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, sql, take_number, &number, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return number;
}

static void put_garbage(const struct server *s, off_t at, size_t len)
{
	char garbage[PAGE_BYTES];
	int  fd = open(path_of(s, "coop.db"), O_WRONLY | O_CLOEXEC);

	memset(garbage, 0xa5, sizeof(garbage));
	cr_assert_eq(pwrite(fd, garbage, len, at), (ssize_t)len);
	close(fd);
}

Test(folder, a_second_server_is_refused_and_told_who_has_it)
{
	struct server *first  = server_start(NULL);
	struct server *second = server_prepare(NULL);
	char           holder[64];

	snprintf(second->data, sizeof(second->data), "%s", first->data);
	expect_start_fails(second);
	snprintf(holder, sizeof(holder), "is in use by process %d", (int)first->pid);
	expect_log(second, holder);
	ws_client_free(host_open(first->tunnel_port, "A", NULL));
	server_finish(second);
	server_finish(first);
}

Test(folder, what_a_killed_server_left_lying_about_is_no_obstacle)
{
	struct server *s = server_start(NULL);

	server_kill(s);
	cr_assert_eq(access(s->admin_socket, F_OK), 0, "its socket is still there");
	cr_assert_eq(access(path_of(s, "lock"), F_OK), 0, "and its lock");
	server_restart(s);
	cr_expect_eq(server_metric(s, "coopd_up", NULL), 1);
	server_finish(s);
}

Test(folder, a_database_of_a_newer_version_is_left_alone)
{
	uint32_t       code;
	struct server *s = prepare_used(&code);

	run_sql(s, "PRAGMA user_version = 1000");
	expect_start_fails(s);
	expect_log(s, "was made by a newer coopd (its version is 1000");
	cr_expect_eq(run_sql(s, "PRAGMA user_version"), 1000);
	cr_expect_eq(run_sql(s, "SELECT code FROM codes"), (int)code);
	server_finish(s);
}

Test(folder, a_file_that_is_no_database_is_refused_and_left_as_it_is)
{
	struct server *s = prepare_used(NULL);
	char           found[3];

	put_garbage(s, 0, 100);
	expect_start_fails(s);
	expect_log(s, "file is not a database. It was left as it is; copies are in the folder copies");
	int fd = open(path_of(s, "coop.db"), O_RDONLY | O_CLOEXEC);

	cr_expect_eq(read(fd, found, sizeof(found)), (ssize_t)sizeof(found));
	cr_expect_arr_eq(found, "\xa5\xa5\xa5", 3);
	close(fd);
	server_finish(s);
}

Test(folder, a_damaged_table_ends_the_start_with_advice)
{
	static const char *const tables[] = { "players", "codes", "live_games", "live_friends", "uptime_days" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct server *s = prepare_used(NULL);
		char           sql[100];

		snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", tables[i]);
		put_garbage(s, (run_sql(s, sql) - 1) * PAGE_BYTES, PAGE_BYTES);
		expect_start_fails(s);
		expect_log(s, "database disk image is malformed");
		expect_log(s, "put back a copy from the folder copies");
		server_finish(s);
	}
}

Test(folder, missing_secrets_are_made_again_and_codes_and_places_stay)
{
	struct server    *s = server_start(NULL);
	uint32_t          code, again;
	struct ws_client *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend = friend_join(s->tunnel_port, code, "visit B", "B");
	struct stat st;

	host_expect_friend(host, 1, "B");
	server_kill(s);
	ws_client_free(friend);
	ws_client_free(host);
	cr_expect_not(server_log_contains(s, "makes-secrets"), "the first start is no accident");
	cr_assert_eq(unlink(path_of(s, "secrets")), 0);

	server_restart(s);
	expect_log(s, "makes-secrets");
	cr_assert_eq(stat(path_of(s, "secrets"), &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	host = host_open(s->tunnel_port, "A", &again);
	cr_expect_eq(again, code);
	host_expect_friend(host, 1, "B");
	ws_client_free(friend_join_state(s->tunnel_port, code, "visit B", "B", STATE_LOST));
	ws_client_free(host);
	server_finish(s);
}

/* Even root's programs that this process starts obey the rights of files. False when that cannot be had. */
static bool give_up_root_rights(void)
{
	return geteuid() != 0 || prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) == 0;
}

Test(folder, one_that_cannot_be_written_to_is_refused)
{
	if (!give_up_root_rights())
		cr_skip_test("no right to give up rights");
	struct server *s = server_prepare(NULL);

	chmod(s->data, 0500);
	expect_start_fails(s);
	expect_log(s, "cannot lock the data folder");
	expect_log(s, "Permission denied; coopd's user must be able to write there");
	chmod(s->data, 0700);
	server_finish(s);
}

Test(folder, a_database_that_cannot_be_written_to_is_refused)
{
	if (!give_up_root_rights())
		cr_skip_test("no right to give up rights");
	struct server *s = prepare_used(NULL);

	chmod(path_of(s, "coop.db"), 0400);
	expect_start_fails(s);
	expect_log(s, "cannot write to the database");
	expect_log(s, "let coopd's user write to the database and its folder");
	server_finish(s);
}

/* The program run beside or after the server; its exit status. */
static int verify_blobs(const struct server *s)
{
	char command[3 * SERVER_PATH_BYTES + 200];

	snprintf(command, sizeof(command), "\"$COOPD_BIN\" --data '%s' --verify-blobs >>'%s' 2>&1", s->data,
	         s->log_path);
	return system(command);
}

Test(folder, blobs_are_verified_under_the_lock_only)
{
	struct server *s = server_start(NULL);

	cr_expect_neq(verify_blobs(s), 0);
	expect_log(s, "is in use by process");
	server_stop(s);
	cr_expect_eq(verify_blobs(s), 0);
	expect_log(s, "0 blobs checked (0 bytes), all are as they were stored.");
	server_finish(s);
}

Test(folder, what_is_relative_is_announced_whole)
{
	struct server *s = server_prepare(NULL);
	char           place[2 * SERVER_PATH_BYTES];

	server_set(s, "admin.socket=run/a.sock");
	server_set(s, "admin.events_socket=run/e.sock");
	cr_assert_eq(chdir(s->root), 0);
	server_launch(s);
	server_await_ready(s);
	snprintf(place, sizeof(place), "part=admin address=unix:%s/run/a.sock", s->root);
	expect_log(s, place);
	snprintf(place, sizeof(place), "part=admin-events address=unix:%s/run/e.sock", s->root);
	expect_log(s, place);
	server_finish(s);
}
