/*
 * A server that may open few files: what strangers can make grow fits into them, or it does not start. The whole server.
 */
#include "support/dial.h"
#include "support/http_fixture.h"
#include "support/server.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MANY 180 /* of each kind: more than there is room for */

static struct server *s;

static void stop(void)
{
	server_finish(s);
}

TestSuite(few_files, .fini = stop, .timeout = 120);

/* This process and the server it starts: a limit is never raised again. */
static void allow(rlim_t files)
{
	struct rlimit rl = { .rlim_cur = files, .rlim_max = files };

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
}

static bool is_served(void)
{
	int fd = http_fixture_dial_port(s->http_port, "127.0.2.1");

	http_say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	struct http_result r  = http_hear(fd);
	bool               is = r.status == 200;

	http_result_free(&r);
	close(fd);
	return is;
}

Test(few_files, a_server_without_room_for_http_and_some_games_does_not_start)
{
	static const rlim_t limits[] = { 256, 64 };

	s = server_prepare(NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char text[80];

		allow(limits[i]);
		server_launch(s);
		cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
		snprintf(text, sizeof(text), "coopd: this process may have %d files and connections open and needs",
		         (int)limits[i]);
		cr_expect(server_log_contains(s, text));
		cr_expect(server_log_contains(s, "raise LimitNOFILE= (systemd) or ulimit -n"));
	}
}

Test(few_files, websockets_get_what_is_left_and_http_is_served_at_all_caps)
{
	int tunnels[MANY], halves[MANY];

	s = server_prepare((const char *[]){ "limits.http_connections=64", NULL });
	allow(850);
	server_launch(s);
	server_await_ready(s);
	cr_expect(server_log_contains(s, "few-files"));
	cr_expect(server_log_contains(s, "instead of 16384"));
	for (int i = 0; i < MANY; i++) {
		char from[32];

		snprintf(from, sizeof(from), "127.0.%d.1", 3 + i % 50);
		tunnels[i] = http_fixture_dial_port(s->tunnel_port, from);
		halves[i]  = http_fixture_dial_port(s->http_port, from);
		http_say(halves[i], "GET /v1/lobbies HTTP/1.1\r\n");
	}
	server_await_metric(s, "coopd_http_connections", NULL, 64 + 1,
	                    DIAL_PATIENCE_MS); /* the one that asks is admin's */
	cr_expect_gt((int)server_metric(s, "coopd_ws_refused_total", "total"), 0, "there is a cap");
	cr_expect_geq((int)server_metric(s, "coopd_ws_connections", NULL), 128 - 1, "64 games");
	for (int i = 0; i < 5; i++)
		cr_expect(is_served(), "%d", i);
	cr_expect_lt(server_fd_count(s), 850 - 32);
	for (int i = 0; i < MANY; i++) {
		close(tunnels[i]);
		close(halves[i]);
	}
}

Test(few_files, the_warning_lists_what_was_lowered_and_nothing_else)
{
	s = server_prepare((const char *[]){ "limits.http_connections=64", "signal.enable=no", NULL });
	allow(850);
	server_launch(s);
	server_await_ready(s);
	cr_expect(server_log_contains(s, " ws_connections="));
	cr_expect(server_log_contains(s, " rooms_connections="));
	cr_expect_not(server_log_contains(s, "signal_peers="));
	cr_expect_not(server_log_contains(s, "rooms_streams="), "there is no relay");
}

Test(few_files, a_limit_that_was_lowered_is_no_change_at_a_reload)
{
	s = server_prepare((const char *[]){ "limits.http_connections=64", NULL });
	allow(850);
	server_launch(s);
	server_await_ready(s);
	server_signal(s, SIGHUP);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS;
	     !server_log_contains(s, "reloads done") && real_now_ms() < until;)
		real_sleep_ms(10);
	cr_expect(server_log_contains(s, "reloads done"));
	cr_expect_not(server_log_contains(s, "needs a restart"));
}

Test(few_files, a_server_with_enough_says_nothing)
{
	s = server_start((const char *[]){ "limits.ws_connections=129", "limits.http_connections=64", NULL });
	cr_expect_not(server_log_contains(s, "few-files"));
}
