/*
 * The server as a process: signals, and the starts that have to fail with a sentence that says what to do.
 */
#include "support/await.h"
#include "support/server.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct ws_client_options mute = { .mute = true };

/* The next start must end with status 1 and say this. */
static void expect_no_start(struct server *s, const char *says)
{
	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
	cr_expect(server_log_contains(s, says), "the log does not say: %s", says);
}

/* ./coopd.conf is what a server without --config reads. */
static void write_conf(struct server *s, const char *text)
{
	char path[SERVER_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/coopd.conf", s->root);
	FILE *f = fopen(path, "we");

	cr_assert(f && fputs(text, f) >= 0, "cannot write %s", path);
	fclose(f);
	cr_assert_eq(chdir(s->root), 0);
}

/* Stopping */

static void expect_orderly_stop(int signal)
{
	struct server    *s    = server_start(NULL);
	int               port = s->tunnel_port;
	uint32_t          code;
	struct ws_client *host   = host_open(port, "A", &code);
	struct ws_client *friend = friend_join(port, code, "visit", "B");
	struct ws_client *nobody = tunnel_connect(port, NULL);
	struct ws_client *head   = ws_client_dial(port, NULL);

	host_expect_friend(host, 1, "B");
	ws_client_send_raw(head, "GET / HTTP/1.1\r\n", 16);
	server_signal(s, signal);

	/* A close and no word of a lost host: they are to come back, and wait if they must. */
	ws_expect_closed(host);
	ws_expect_closed(friend);
	ws_expect_closed(nobody);
	ws_expect_end(head);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	ws_client_free(host);
	ws_client_free(friend);
	ws_client_free(nobody);
	ws_client_free(head);

	/* And the game is still there. */
	server_restart(s);
	friend = friend_join_state(s->tunnel_port, code, "visit", "B", STATE_LOST);
	ws_client_free(friend);
	server_finish(s);
}

Test(serve_process, sigterm_closes_every_client_and_ends_with_0)
{
	expect_orderly_stop(SIGTERM);
}

Test(serve_process, sigint_does_the_same)
{
	expect_orderly_stop(SIGINT);
}

Test(serve_process, a_client_that_answers_no_close_holds_up_a_stop_for_5_s_only)
{
	struct server    *s = server_start(NULL);
	struct ws_client *c = ws_client_open(s->tunnel_port, &mute);

	server_signal(s, SIGTERM);
	cr_assert_eq(ws_client_receive(c, DIAL_PATIENCE_MS).what, WS_CLOSED);
	server_advance(s, 4000);
	real_sleep_ms(50);
	cr_expect(server_is_running(s));
	server_advance(s, 1000);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	ws_client_free(c);
	server_finish(s);
}

Test(serve_process, nobody_new_gets_in_during_a_stop)
{
	struct server    *s = server_start(NULL);
	struct ws_client *c = ws_client_open(s->tunnel_port, &mute);

	server_signal(s, SIGTERM);
	cr_assert_eq(ws_client_receive(c, DIAL_PATIENCE_MS).what, WS_CLOSED);

	int fd = dial_tcp(s->tunnel_port, 0);

	cr_expect_lt(fd, 0, "the port is closed");
	if (fd >= 0)
		close(fd);
	server_advance(s, 5000);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	ws_client_free(c);
	server_finish(s);
}

/* SIGHUP */

Test(serve_process, sighup_takes_what_can_change_and_names_what_cannot)
{
	struct server *s = server_prepare(NULL);

	write_conf(s, "[log]\nlevel = info\n");
	server_launch(s);
	server_await_ready(s);
	ws_client_free(tunnel_connect(s->tunnel_port, NULL));
	cr_expect_not(server_log_contains(s, " debug "));

	write_conf(s, "[log]\nlevel = debug\n[limits]\ntunnel_friends = 3\n[server]\npublic_host = play.example\n");
	server_signal(s, SIGHUP);
	await_log(s, "limits.tunnel_friends has changed and needs a restart");
	await_log(s, "server.public_host has changed and needs a restart");
	ws_client_free(tunnel_connect(s->tunnel_port, NULL));
	await_log(s, " debug ws[");
	cr_expect_not(server_log_contains(s, "log.level has changed"), "that one could change");
	server_finish(s);
}

Test(serve_process, sighup_with_a_bad_file_changes_nothing_and_says_where_it_is_bad)
{
	struct server    *s = server_prepare(NULL);
	struct ws_client *c;

	write_conf(s, "[log]\nlevel = info\n");
	server_launch(s);
	server_await_ready(s);
	c = tunnel_connect(s->tunnel_port, NULL);
	write_conf(s, "[log]\n\nlevel = loud\n");
	server_signal(s, SIGHUP);
	await_log(s, "coopd.conf:3: log.level");
	tunnel_echo(c);

	/* Mended, it is taken. */
	write_conf(s, "[log]\nlevel = debug\n");
	server_signal(s, SIGHUP);
	await_log(s, "reloads done");
	ws_client_free(c);
	await_log(s, " debug ws[");
	server_finish(s);
}

/* Starts that fail */

Test(serve_process, a_second_server_on_the_same_data_names_the_first)
{
	struct server    *s     = server_start(NULL);
	struct server    *other = server_prepare(NULL);
	struct ws_client *c     = tunnel_connect(s->tunnel_port, NULL);
	char              says[40];

	strcpy(other->data, s->data);
	snprintf(says, sizeof(says), "process %d", (int)s->pid);
	expect_no_start(other, says);
	tunnel_echo(c);
	cr_expect_gt(server_metric(s, "coopd_up", NULL), 0, "the first one's admin socket is still there");
	ws_client_free(c);
	server_finish(other);

	/* When the first has died, the next start needs no help. */
	server_kill(s);
	server_restart(s);
	server_finish(s);
}

Test(serve_process, a_port_in_use_is_named)
{
	struct server *s     = server_start(NULL);
	struct server *other = server_prepare(NULL);
	char           set[SERVER_SET_BYTES], says[64];

	snprintf(set, sizeof(set), "tunnel.listen=127.0.0.1:%d", s->tunnel_port);
	server_set(other, set);
	snprintf(says, sizeof(says), "127.0.0.1:%d is in use", s->tunnel_port);
	expect_no_start(other, says);
	server_finish(other);

	other = server_prepare(NULL);
	snprintf(set, sizeof(set), "http.listen=127.0.0.1:%d", s->http_port);
	server_set(other, set);
	snprintf(says, sizeof(says), "127.0.0.1:%d is in use", s->http_port);
	expect_no_start(other, says);
	server_finish(other);
	server_finish(s);
}

/* The database's version as a later coopd would leave it. */
static void make_newer(const struct server *s)
{
	char     path[SERVER_PATH_BYTES + 16];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, "PRAGMA user_version = 9999", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

Test(serve_process, a_database_of_a_newer_version_is_not_touched)
{
	struct server *s = server_start(NULL);

	server_stop(s);
	make_newer(s);
	expect_no_start(s, "was made by a newer coopd");
	cr_expect(server_log_contains(s, "9999"));
	expect_no_start(s, "was made by a newer coopd");
	server_finish(s);
}

Test(serve_process, a_bad_configuration_is_refused_with_file_and_line)
{
	static const struct {
		const char *file, *says;
	} rows[] = {
		{ "[log]\nlevel = loud\n", "coopd.conf:2: log.level" },
		{ "# a comment\n\n[tunnel]\nlisen = 127.0.0.1:1\n", "coopd.conf:4: there is no setting tunnel.lisen" },
		{ "[limits]\nws_per_address = 0\n", "coopd.conf:2: limits.ws_per_address" },
		{ "[limits]\nws_per_address = many\n", "coopd.conf:2: limits.ws_per_address" },
		{ "[http]\ntrusted_proxies = 10.0.0.0/33\n", "coopd.conf:2: http.trusted_proxies" },
		{ "level = debug\n", "coopd.conf:1" },
		{ "[log\nlevel = debug\n", "coopd.conf:1" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct server *s = server_prepare(NULL);

		write_conf(s, rows[i].file);
		expect_no_start(s, rows[i].says);
		server_finish(s);
	}

	struct server *s = server_prepare((const char *[]){ "tunnel.enable=perhaps", NULL });

	expect_no_start(s, "tunnel.enable");
	server_finish(s);
}
