/*
 * What a hand-over is refused for, since nobody would serve after it; and signals that come while it goes on.
 */
#include "support/next_server.h"

#include "net/listen.h"
#include "support/admin_client.h"
#include "support/dial.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 30000

static struct server *s;

static void stop(void)
{
	if (s)
		server_finish(s);
}

TestSuite(handover_refused, .fini = stop);

/* Games, HTTP and operators. */
static void expect_served(void)
{
	struct ws_client  *host   = host_open(s->tunnel_port, "A", NULL);
	struct http_result health = http_get(s->http_port, "/healthz");
	struct http_result admin  = admin_get(s, "/admin/v1/status");

	cr_expect_eq(health.status, 200);
	admin_expect(&admin, 200, NULL);
	http_result_free(&health);
	http_result_free(&admin);
	ws_client_free(host);
}

static int hold_port(uint16_t *port)
{
	struct addr bound;
	int         fd;

	cr_assert_eq(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr), ERR_OK);
	*port = bound.port;
	return fd;
}

Test(handover_refused, one_that_cannot_listen_changes_nothing)
{
	static const char *const at_port[] = { "signal.listen", "rooms.listen", "rooms.status_listen", "tunnel.listen",
		                               "http.listen",   "admin.listen", "admin.events_listen" };
	uint16_t                 port;
	int                      fd = hold_port(&port);
	char                     moved[sizeof(s->admin_socket)];
	pid_t                    pid;

	s = next_start((const char *[]){ "p2p.listen1=127.0.0.1", "p2p.listen2=", NULL });

	struct ws_client *host = host_open(s->tunnel_port, "A", NULL);

	for (size_t i = 0; i < sizeof(at_port) / sizeof(at_port[0]); i++) {
		next_has("%s=127.0.0.1:%d", at_port[i], port);
		next_expect_refused(s, "is in use by another program");
	}
	next_has("signal.listen=192.0.2.1:29402");
	next_expect_refused(s, "is not an address of this machine");
	next_has("p2p.listen1=192.0.2.1");
	next_expect_refused(s, "is not an address of this machine");
	next_has("admin.socket=/proc/nix/admin.sock");
	next_expect_refused(s, "cannot be made");
	next_has("admin.events_socket=/proc/events.sock");
	next_expect_refused(s, "cannot be listened on");
	next_has("admin.socket=/dev/null");
	next_expect_refused(s, "is no socket");
	cr_expect_not(server_log_contains(s, "stands-by"));
	tunnel_echo(host);
	expect_served();
	ws_client_free(host);

	close(fd);
	snprintf(moved, sizeof(moved), "%.47s/data/new/a.sock", s->root);
	next_has("signal.listen=127.0.0.1:%d' --set 'admin.socket=%s", port, moved);
	pid = next_hand_over(s);
	memcpy(s->admin_socket, moved, sizeof(moved));
	s->signal_port = 0;
	server_adopt(s, pid);
	cr_expect_eq(s->signal_port, port);
	expect_served();
}

static bool is_empty(const char *path)
{
	DIR           *d = opendir(path);
	struct dirent *entry;
	bool           is_empty = true;

	cr_assert_not_null(d);
	while ((entry = readdir(d)))
		is_empty = is_empty && entry->d_name[0] == '.';
	closedir(d);
	return is_empty;
}

Test(handover_refused, one_with_another_data_folder_is_refused)
{
	s = next_start(NULL);
	cr_assert_eq(mkdir("other", 0700), 0);
	next_has("server.data=%s/other", s->root);
	next_expect_refused(s, "is not the data folder of the server that runs");
	cr_expect(is_empty("other"));
	next_has("server.data=%s/missing", s->root);
	next_expect_refused(s, "stop the server and start it again");
	cr_expect_neq(access("missing", F_OK), 0);
	cr_assert_eq(symlink(s->data, "same"), 0);
	next_has("server.data=%s/same", s->root);
	server_adopt(s, next_hand_over(s));
	expect_served();
}

/* --- Signals --- */

/* Of its first thread; bit n - 1 is signal n. */
static unsigned long blocked_of(pid_t pid)
{
	char          name[64], line[256];
	unsigned long blocked = 0;
	FILE         *in;

	snprintf(name, sizeof(name), "/proc/%ld/status", (long)pid);
	in = fopen(name, "r");
	while (in && fgets(line, sizeof(line), in)) {
		if (strncmp(line, "SigBlk:", 7) == 0)
			blocked = strtoul(line + 7, NULL, 16);
	}
	if (in)
		fclose(in);
	return blocked;
}

static void send_all(pid_t pid)
{
	cr_assert_eq(kill(pid, SIGHUP), 0);
	cr_assert_eq(kill(pid, SIGUSR1), 0);
	cr_assert_eq(kill(pid, SIGUSR2), 0);
}

Test(handover_refused, signals_end_no_process_that_stands_by_or_begins)
{
	struct ws_client_options mute = { .mute = true };
	struct ws_client        *slow;
	pid_t                    pid;

	s    = next_start((const char *[]){ "limits.handover_close_ms=1500", "limits.ws_close_ms=60000", NULL });
	slow = ws_client_open(s->tunnel_port, &mute);
	pid  = next_hand_over(s);
	cr_assert_eq(ws_client_receive(slow, PATIENCE_MS).what, WS_CLOSED);
	send_all(pid);
	real_sleep_ms(50);
	ws_client_free(slow);
	server_adopt(s, pid);
	next_await_log(s, "reloads done"); /* it was kept; SIGUSR1 is about what ran then */
	cr_expect_eq(blocked_of(pid), 0);
	cr_expect(server_is_running(s));
	expect_served();
}

Test(handover_refused, signals_end_no_start)
{
	int64_t deadline_ms = real_now_ms() + PATIENCE_MS;

	s = server_prepare(NULL);
	server_launch(s);
	while (blocked_of(s->pid) == 0) /* from the first line of main on */
		cr_assert(server_is_running(s) && real_now_ms() < deadline_ms, "they are not held");
	send_all(s->pid);
	server_await_ready(s);
	next_await_log(s, "reloads done");
	cr_expect_eq(blocked_of(s->pid), 0);
	expect_served();
}

Test(handover_refused, a_start_can_be_ended)
{
	s = server_prepare(NULL);
	server_launch(s);
	server_signal(s, SIGTERM);
	server_await_exit(s, PATIENCE_MS);
	s->pid = 0;
}
