/*
 * Started by a service manager: it opens the sockets and hears how the server is.
 */
#include "base/auto.h"
#include "support/dial.h"
#include "support/http_client.h"
#include "support/p2p_peer.h"
#include "support/rooms_client.h"
#include "support/server.h"
#include "support/ws_client.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static struct server *s;
static char           notify_path[SERVER_PATH_BYTES + 32];
static int            manager = -1;

static void prepare(void)
{
	s = server_prepare(NULL);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(activation, .init = prepare, .fini = stop);

static void give(int fd)
{
	cr_assert_geq(fd, 0);
	s->manager.fds[s->manager.count++] = fd;
}

/* At 127.0.0.1 and a free port, which is returned. */
static int give_inet(int type, bool listens)
{
	struct sockaddr_in sa  = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          len = sizeof(sa);
	int                fd  = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	cr_assert(!listens || listen(fd, 16) == 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	give(fd);
	return ntohs(sa.sin_port);
}

static int open_unix(const char *path, int type)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int                fd  = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	cr_assert_lt(strlen(path), sizeof(sun.sun_path));
	strcpy(sun.sun_path, path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	return fd;
}

static void close_given(void)
{
	for (size_t i = 0; i < s->manager.count; i++)
		close(s->manager.fds[i]);
	s->manager.count = 0;
}

static void use(const char *key, int port)
{
	char set[SERVER_SET_BYTES];

	snprintf(set, sizeof(set), "%s=127.0.0.1:%d", key, port);
	server_unset(s, key);
	server_set(s, set);
}

static void start(void)
{
	server_launch(s);
	server_await_ready(s);
	close_given();
}

static void expect_health(int port)
{
	AUTO(http_result_free) struct http_result r = http_get(port, "/healthz");

	cr_expect_eq(r.status, 200);
}

/* One unit for all: the names say nothing, and each socket goes where its address is set. */
Test(activation, sockets_are_taken_by_their_addresses)
{
	int tunnel = give_inet(SOCK_STREAM, true), http = give_inet(SOCK_STREAM, true);
	int rooms = give_inet(SOCK_STREAM, true);

	use("tunnel.listen", tunnel);
	use("http.listen", http);
	use("rooms.listen", rooms);
	give(open_unix(s->admin_socket, SOCK_STREAM));
	cr_assert_eq(listen(s->manager.fds[3], 16), 0);
	s->manager.names = "coopd.socket:coopd.socket:coopd.socket:coopd.socket";
	start();
	cr_expect_eq(s->tunnel_port, tunnel);
	cr_expect_eq(s->http_port, http);
	cr_expect_eq(s->rooms_port, rooms);
	cr_expect_not(server_log_contains(s, "closes-inherited"));
	expect_health(http);
	ws_client_free(ws_client_open(tunnel, NULL));

	struct gamer *ann = gamer_new(s, "title", "ann"); /* UDP of that port was opened by coopd itself */
	gamer_free(ann);

	/* The manager's socket stays where it is; one of our own goes. */
	cr_expect_eq(server_metric(s, "coopd_up", NULL), 1.0);
	server_stop(s);
	cr_expect_eq(access(s->admin_socket, F_OK), 0);
	cr_expect_neq(access(s->admin_events_socket, F_OK), 0);
}

Test(activation, sockets_are_taken_by_their_names)
{
	int http = give_inet(SOCK_STREAM, true), more = give_inet(SOCK_STREAM, true);
	int tunnel = give_inet(SOCK_STREAM, true);

	use("http.listen", 1); /* which nobody may open */
	s->manager.names = "http.listen:http.listen:tunnel.listen";
	start();
	cr_expect_eq(s->tunnel_port, tunnel);
	expect_health(http);
	expect_health(more);
}

Test(activation, udp_sockets_too)
{
	int  port = give_inet(SOCK_DGRAM, false), alt = give_inet(SOCK_DGRAM, false);
	int  tcp = give_inet(SOCK_STREAM, true), udp = give_inet(SOCK_DGRAM, false);
	char set[SERVER_SET_BYTES];

	server_unset(s, "p2p.port");
	server_unset(s, "p2p.alt_port");
	snprintf(set, sizeof(set), "p2p.port=%d", port);
	server_set(s, set);
	snprintf(set, sizeof(set), "p2p.alt_port=%d", alt);
	server_set(s, set);
	server_set(s, "p2p.listen2=");
	use("rooms.listen", tcp);
	s->manager.names = "::rooms.listen:rooms.listen";
	start();
	cr_expect_eq(s->p2p_port, port);
	cr_expect_eq(s->p2p_alt_port, alt);
	cr_expect_eq(s->rooms_port, tcp);
	snprintf(set, sizeof(set), "part=rooms-udp address=127.0.0.1:%d", udp);
	cr_expect(server_log_contains(s, set));
	cr_expect_not(server_log_contains(s, "closes-inherited"));
}

Test(activation, what_is_of_no_use_is_closed_and_named)
{
	int  stray = give_inet(SOCK_STREAM, true);
	char text[100];

	give_inet(SOCK_STREAM, false);
	give(open("/dev/null", O_RDONLY | O_CLOEXEC));
	give_inet(SOCK_DGRAM, false);
	s->manager.names = "stray:http.listen:http.listen:tunnel.listen";
	s->manager.more  = 3; /* and these were never there */
	start();
	snprintf(text, sizeof(text), "closes-inherited fd=3 name=\"stray\" address=\"127.0.0.1:%d\"", stray);
	cr_expect(server_log_contains(s, text));
	cr_expect(server_log_contains(s, "it does not listen"));
	cr_expect(server_log_contains(s, "it is no socket"));
	cr_expect(server_log_contains(s, "closes-inherited fd=6"));
	cr_expect_lt(dial_tcp(stray, 0), 0, "nobody listens there any more");
	expect_health(s->http_port);
}

/* --- What the manager hears --- */

static void listen_to(void)
{
	snprintf(notify_path, sizeof(notify_path), "%s/notify", s->root);
	manager           = open_unix(notify_path, SOCK_DGRAM);
	s->manager.notify = notify_path;
}

/* The next that has this in it. */
static void expect_word(char out[600], const char *word)
{
	int64_t deadline_ms = real_now_ms() + PATIENCE_MS;

	for (;;) {
		struct pollfd p = { .fd = manager, .events = POLLIN };
		ssize_t       n;

		cr_assert_lt(real_now_ms(), deadline_ms, "the manager does not hear %s", word);
		if (poll(&p, 1, 100) <= 0)
			continue;
		n                  = recv(manager, out, 599, 0);
		out[n > 0 ? n : 0] = '\0';
		if (strstr(out, word))
			return;
	}
}

static bool hears(const char *word, int ms)
{
	int64_t deadline_ms = real_now_ms() + ms;
	char    text[600];

	while (real_now_ms() < deadline_ms) {
		ssize_t n = recv(manager, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (n > 0 && strstr(text, word))
			return true;
		real_sleep_ms(5);
	}
	return false;
}

Test(activation, the_manager_hears_what_happens)
{
	char text[600], pid[40];
	int  http = give_inet(SOCK_STREAM, true);

	use("http.listen", http);
	listen_to();
	server_launch(s);
	expect_word(text, "READY=1");
	expect_health(http);
	snprintf(pid, sizeof(pid), "MAINPID=%d\n", (int)s->pid);
	cr_expect_not_null(strstr(text, pid), "%s", text);
	server_await_ready(s);
	close_given();

	server_signal(s, SIGHUP);
	expect_word(text, "RELOADING=1");
	cr_expect_not_null(strstr(text, "MONOTONIC_USEC="), "%s", text);
	expect_word(text, "READY=1");

	server_signal(s, SIGTERM);
	expect_word(text, "STOPPING=1");
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
}

static void expect_warning(const char *notify, const char *said)
{
	char said_at[400];

	s->manager.notify = notify;
	server_launch(s);
	server_await_ready(s);
	snprintf(said_at, sizeof(said_at), "NOTIFY_SOCKET=\"%.50s", notify);
	cr_expect(server_log_contains(s, said_at), "of %s", notify);
	cr_expect(server_log_contains(s, said), "of %s", notify);
	cr_expect(server_log_contains(s, "WATCHDOG_USEC=\"soon\" is no number"));
	server_stop(s);
	s->pid = 0;
}

Test(activation, what_is_of_no_use_is_warned_of)
{
	char longer[200];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[0]                  = '/';
	longer[sizeof(longer) - 1] = '\0';
	setenv("WATCHDOG_USEC", "soon", 1);
	expect_warning("relative/path", "is no absolute path");
	expect_warning(longer, "too long");
	expect_warning("/nonexistent/notify", "is no socket that is there");
}

Test(activation, the_watchdog_is_fed_while_all_goes_on)
{
	char text[600];

	listen_to();
	s->manager.watchdog_ms = 900;
	start();
	expect_word(text, "WATCHDOG=1");
	expect_word(text, "WATCHDOG=1");
	server_signal(s, SIGSTOP);
	while (hears("WATCHDOG=1", 400)) /* those that were sent before */
		;
	cr_expect_not(hears("WATCHDOG=1", 1000), "a process that hangs tells nothing");
	server_signal(s, SIGCONT);
	expect_word(text, "WATCHDOG=1");
}

Test(activation, another_main_process_is_announced_by_the_one_that_was)
{
	char text[600], pid[40];

	listen_to();
	start();
	expect_word(text, "READY=1");
	server_expect_successor(s);
	server_signal(s, SIGUSR1);
	expect_word(text, "MAINPID=");
	cr_expect_null(strstr(text, "STOPPING"), "%s", text);

	long next = strtol(strstr(text, "MAINPID=") + 8, NULL, 10);

	expect_word(text, "READY=1");
	snprintf(pid, sizeof(pid), "MAINPID=%ld\n", next);
	cr_expect_not_null(strstr(text, pid), "%s", text);
	server_adopt(s, (pid_t)next);
}
