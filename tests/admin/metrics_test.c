/*
 * /metrics as Prometheus reads it: its own checker accepts it, the dashboard and the alerts ask for nothing else, and the numbers
 * are what the clients did.
 */
#include "base/auto.h"
#include "os/file.h"
#include "support/admin_client.h"
#include "support/data_folder.h"
#include "support/dial.h"
#include "support/events_client.h"
#include "support/http_client.h"
#include "support/lobby_client.h"
#include "support/program.h"
#include "support/rooms_client.h"
#include "support/server.h"
#include "support/signal_client.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAMPAIGN    "00112233445566aa"
#define NAME_BYTES  128
#define PROMTOOL_MS 30000

static void free_text(char **text)
{
	free(*text);
}

/* A file beside the code; for free(). */
static char *read_source(const char *name)
{
	const char *tests = getenv("TESTS_DIR");
	char        path[256];
	char       *text;
	size_t      len;

	snprintf(path, sizeof(path), "%s/../src/admin/%s", tests ? tests : "tests", name);
	cr_assert_eq(file_read(&text, &len, path, 4 * 1024 * 1024), ERR_OK, "%s", path);
	return text;
}

static char *metrics_of(const struct server *s)
{
	struct http_result r = http_get_unix(s->admin_socket, "/metrics");
	char              *text;

	cr_assert_eq(r.status, 200);
	text = strdup(r.body);
	http_result_free(&r);
	cr_assert_not_null(text);
	return text;
}

static void write_file(const char *name, const char *text)
{
	cr_assert_eq(file_write(data_path(name), text, strlen(text), 0600), ERR_OK);
}

/* promtool of this, with the file as its input: it has nothing to say. */
static void expect_promtool_accepts(const char *what, const char *name)
{
	char            command[160];
	struct program *p;

	snprintf(command, sizeof(command), "exec promtool check %s %s %s", what,
	         strcmp(what, "metrics") == 0 ? "<" : "", name);
	p = program_start((const char *[]){ "sh", "-c", command, NULL });

	int                   status = program_await_end(p, PROMTOOL_MS);
	AUTO(free_text) char *said   = program_output(p);

	cr_expect_eq(status, 0, "promtool %d says:\n%s", status, said);
	if (strcmp(what, "metrics") == 0)
		cr_expect_str_eq(said, "");
	program_stop(p);
}

Test(metrics, promtool_accepts_them)
{
	struct server *s;

	if (!program_or_skip("promtool"))
		return;
	s = server_start(NULL);
	ws_client_free(host_open(s->tunnel_port, "A", NULL));

	AUTO(free_text) char *text = metrics_of(s);

	data_folder();
	write_file("metrics.txt", text);
	expect_promtool_accepts("metrics", "metrics.txt");
	server_finish(s);
}

Test(metrics, promtool_accepts_the_alerts)
{
	AUTO(free_text) char *text = read_source("alerts.yml");

	if (!program_or_skip("promtool"))
		return;
	data_folder();
	write_file("alerts.yml", text);
	expect_promtool_accepts("rules", "alerts.yml");
}

/* Each rule says how long, how bad, and what to do. */
Test(metrics, every_alert_says_what_to_do)
{
	AUTO(free_text) char *text  = read_source("alerts.yml");
	size_t                count = 0;

	for (char *at = strstr(text, "- alert: "); at; count++) {
		char *next = strstr(at + 1, "- alert: ");

		if (next)
			next[-1] = '\0';
		cr_expect(strstr(at, "severity: "), "%s", at);
		cr_expect(strstr(at, "summary: "), "%s", at);
		cr_expect(strstr(at, "action: "), "%s", at);
		at = next;
	}
	cr_expect_geq(count, 10);
}

static bool is_of_name(char c)
{
	return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '_';
}

static void cut_end(char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	if (len > end_len && strcmp(name + len - end_len, end) == 0)
		name[len - end_len] = '\0';
}

/* Whether the page has it, as itself or as the histogram of which it is a part. */
static bool is_shown(const char *page, const char *name)
{
	static const char *const parts[] = { "_bucket", "_sum", "_count" };
	char                     base[NAME_BYTES], type[NAME_BYTES + 16];

	snprintf(base, sizeof(base), "%s", name);
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		cut_end(base, parts[i]);
	snprintf(type, sizeof(type), "# TYPE %s ", base);
	return strstr(page, type);
}

static size_t expect_names_are_shown(const char *page, const char *text)
{
	size_t count = 0;

	for (const char *at = text; *at; at++) {
		char   name[NAME_BYTES];
		size_t len = 0;

		if ((strncmp(at, "coopd_", 6) != 0 && strncmp(at, "process_", 8) != 0) ||
		    (at > text && is_of_name(at[-1])))
			continue;
		while (is_of_name(at[len]) && len < sizeof(name) - 1)
			len++;
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		cr_expect(is_shown(page, name), "%s is asked for and not shown", name);
		at += len - 1;
		count++;
	}
	return count;
}

Test(metrics, dashboard_and_alerts_ask_only_for_what_there_is)
{
	struct server                *s         = server_start(NULL);
	AUTO(free_text) char         *page      = metrics_of(s);
	AUTO(free_text) char         *alerts    = read_source("alerts.yml");
	AUTO(free_text) char         *dashboard = read_source("grafana.json");
	AUTO(json_freep) struct json *j         = NULL;

	cr_expect_gt(expect_names_are_shown(page, alerts), 15);
	cr_expect_gt(expect_names_are_shown(page, dashboard), 60);
	cr_expect_eq(json_parse(&j, dashboard, strlen(dashboard)), ERR_OK);
	server_finish(s);
}

/* --- What the clients did --- */

static double value(struct server *s, const char *name, const char *labels)
{
	return server_metric(s, name, labels);
}

static void play(struct server *s)
{
	uint32_t          code;
	struct ws_client *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend = friend_join(s->tunnel_port, code, "visit", "B");

	host_expect_friend(host, 1, "B");
	for (int i = 0; i < 7; i++) {
		friend_send(friend, "0123456789", 10);
		host_expect_datagram(host, 1, "0123456789", 10);
	}
	for (int i = 0; i < 3; i++) {
		host_send(host, 1, "01234", 5);
		friend_expect_datagram(friend, "01234", 5);
	}
	server_await_metric(s, "coopd_tunnel_friends", NULL, 1, EVENTS_PATIENCE_MS);
	cr_expect_eq(value(s, "coopd_tunnel_games", NULL), 1);
	cr_expect_eq(value(s, "coopd_tunnel_datagrams_total", "to_host"), 7);
	cr_expect_eq(value(s, "coopd_tunnel_bytes_total", "to_host"), 70);
	cr_expect_eq(value(s, "coopd_tunnel_datagrams_total", "to_friend"), 3);
	cr_expect_eq(value(s, "coopd_tunnel_bytes_total", "to_friend"), 15);
	cr_expect_eq(value(s, "coopd_ws_connections", NULL), 2);
	/* HOST_OPEN, JOIN, 10 datagrams; HOST_OPENED, FRIEND_IS, JOINED, 10 datagrams, and paths. */
	cr_expect_eq(value(s, "coopd_ws_messages_total", "in"), 12);
	cr_expect_geq(value(s, "coopd_ws_messages_total", "out"), 13);
	cr_expect_geq(value(s, "coopd_ws_bytes_total", "in"), 12 * 7 + 85);
	cr_expect_geq(value(s, "coopd_ws_bytes_total", "out"), 13 * 3 + 85);
	ws_client_free(host);
	ws_client_free(friend);
}

static void store_checkpoints(struct server *s)
{
	AUTO(auto_free) char *bytes = rest_bytes(20000, 1);

	AUTO(rest_freep)
	struct http_result put = rest_put(s, "A", CAMPAIGN, "", "Coop-Meta: {}\r\n", bytes, 20000);
	rest_expect(&put, 201, NULL);
	for (int i = 0; i < 2; i++) {
		AUTO(rest_freep) struct http_result got = rest_get(s, "A", "/v1/campaigns/" CAMPAIGN "/checkpoint");
		rest_expect(&got, 200, NULL);
	}
	cr_expect_eq(value(s, "coopd_cloud_uploads_total", "stored"), 1);
	cr_expect_eq(value(s, "coopd_cloud_downloads_total", NULL), 0, "those of vaults");
	cr_expect_eq(value(s, "coopd_cloud_transferred_bytes_total", "in"), 20000);
	cr_expect_eq(value(s, "coopd_cloud_transferred_bytes_total", "out"), 40000);
	cr_expect_eq(value(s, "coopd_cloud_bytes", NULL), 20000);
	cr_expect_eq(value(s, "coopd_cloud_max_bytes", NULL), 2147483648.0);
	cr_expect_geq(value(s, "coopd_store_commit_seconds_count", NULL), 1);
	cr_expect_eq(value(s, "coopd_store_commit_seconds_count", NULL), value(s, "coopd_store_commits_total", NULL));
	/* Sizes are looked at now and then. */
	server_advance(s, 6000);
	server_await_metric(s, "coopd_blobs", NULL, 1, EVENTS_PATIENCE_MS);
	cr_expect_eq(value(s, "coopd_blobs_bytes", NULL), 20000);
	cr_expect_geq(value(s, "coopd_store_database_bytes", NULL), 4096);
}

static void ask_the_master(struct server *s)
{
	double             before = value(s, "coopd_http_requests_total", "2xx");
	double             timed  = value(s, "coopd_http_request_seconds_count", NULL);
	struct master_host h;

	for (int i = 0; i < 5; i++) {
		AUTO(rest_freep) struct http_result r = master_get(s, "/healthz", "");
		cr_expect_eq(r.status, 200);
	}
	AUTO(rest_freep) struct http_result gone = master_get(s, "/nothing", "");
	cr_expect_eq(gone.status, 404);
	master_open(&h, s, "203.0.113.7", "");
	/* Counted when it is over, which may be after the client has read it; and each look here is a request, too. */
	cr_expect_geq(value(s, "coopd_http_requests_total", "2xx"), before + 6);
	cr_expect_geq(value(s, "coopd_http_request_seconds_count", NULL), timed + 7);
	cr_expect_eq(value(s, "coopd_http_requests_total", "4xx"), 1);
	cr_expect_eq(value(s, "coopd_lobbies", NULL), 1);
	cr_expect_eq(value(s, "coopd_lobby_announces_total", "accepted"), 1);
}

static void signal_and_rooms(struct server *s)
{
	struct identity       alice = identity_of(1), bob = identity_of(2);
	struct signal_client *a     = signal_registered(s, SIGNAL_PLAIN, &alice);
	struct signal_client *b     = signal_registered(s, SIGNAL_PLAIN, &bob);
	struct gamer         *gamer = gamer_new(s, "NPWR00860_00", "alice");

	for (int i = 0; i < 4; i++) {
		signal_say(a, "%s c0ffee", bob.text);
		signal_expect(b, "%s c0ffee", alice.text);
	}
	gamer_create(gamer, 4, NOTHING);
	gamer_score(gamer, 1, 0, 10, NOTHING);
	cr_expect_eq(value(s, "coopd_signal_peers", NULL), 2);
	cr_expect_eq(value(s, "coopd_signal_lines_total", NULL), 4);
	cr_expect_eq(value(s, "coopd_rooms_players", NULL), 1);
	cr_expect_eq(value(s, "coopd_rooms_rooms", NULL), 1);
	cr_expect_eq(value(s, "coopd_rooms_scores_total", NULL), 1);
	cr_expect_gt(value(s, "coopd_tcp_bytes_total", "in"), 4 * 70);
	cr_expect_gt(value(s, "coopd_tcp_bytes_total", "out"), 4 * 70);
	gamer_free(gamer);
	signal_client_free(a);
	signal_client_free(b);
}

Test(metrics, agree_with_what_the_clients_did)
{
	struct server        *s = server_start((const char *const[]){ LOBBY_PROMPT, NULL });
	struct events_client *v;

	play(s);
	store_checkpoints(s);
	ask_the_master(s);
	signal_and_rooms(s);
	v = events_open(s);
	cr_expect_eq(value(s, "coopd_admin_viewers", NULL), 1);
	cr_expect_geq(value(s, "coopd_admin_events_total", NULL), 10);
	cr_expect_gt(value(s, "coopd_ws_forward_seconds_count", NULL) + 1, 0);
	cr_expect_gt(value(s, "coopd_loop_lag_seconds_count", NULL), 0);
	cr_expect_gt(value(s, "coopd_store_wait_seconds_count", NULL), 0);
	events_free(v);
	server_finish(s);
}

Test(metrics, say_what_the_process_takes)
{
	struct server        *s = server_start(NULL);
	struct events_client *v = events_open(s);
	double                fds;

	for (int i = 0; i < 3; i++)
		events_await_op(v, "figures");
	fds = value(s, "process_open_fds", NULL);
	cr_expect_leq(fds, server_fd_count(s) + 3);
	cr_expect_geq(fds, server_fd_count(s) - 3);
	cr_expect_gt(value(s, "process_max_fds", NULL), fds);
	cr_expect_gt(value(s, "process_cpu_seconds_total", NULL), 0);
	cr_expect_gt(value(s, "process_resident_memory_bytes", NULL), 1e6);
	cr_expect_lt(value(s, "process_resident_memory_bytes", NULL), 2.0 * (double)server_rss_bytes(s));
	cr_expect_gt(value(s, "process_start_time_seconds", NULL), 1e9);
	events_free(v);
	server_finish(s);
}

/* --- Scrapes --- */

#define SCRAPES      100000
#define PAGE_BYTES   131072
#define GROWTH_BYTES (512 * 1024)

/* One more on this connection, which stays open. */
static void scrape(int fd, char *page)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int64_t           until_ms  = real_now_ms() + 10000;
	size_t            used = 0, want = 0;

	cr_assert(dial_send(fd, request, sizeof(request) - 1, 10000));
	while (want == 0 || used < want) {
		ssize_t n = dial_read(fd, page + used, PAGE_BYTES - 1 - used, until_ms);
		char   *end;

		cr_assert_gt(n, 0, "the connection ended");
		used += (size_t)n;
		page[used] = '\0';
		end        = want == 0 ? strstr(page, "\r\n\r\n") : NULL;
		if (end)
			want = (size_t)(end + 4 - page) + strtoul(strstr(page, "Content-Length: ") + 16, NULL, 10);
	}
	cr_assert_eq(used, want);
	cr_assert_eq(strncmp(page, "HTTP/1.1 200 ", 13), 0);
}

/* The server that people run: the others remember what was freed. */
Test(metrics, a_hundred_thousand_scrapes_leave_nothing_behind, .timeout = 300)
{
	const char           *plain = getenv("COOPD_PLAIN_BIN");
	AUTO(auto_free) char *page  = malloc(PAGE_BYTES);
	size_t                middle;
	struct server        *s;
	int                   fd, fds;

	cr_assert_not_null(plain, "COOPD_PLAIN_BIN must name the server that people run");
	setenv("COOPD_BIN", plain, 1);
	s  = server_start(NULL);
	fd = dial_unix(s->admin_socket);
	cr_assert_geq(fd, 0);
	scrape(fd, page);
	fds = server_fd_count(s);
	for (int i = 0; i < SCRAPES / 2; i++)
		scrape(fd, page);
	middle = server_rss_bytes(s);
	for (int i = 0; i < SCRAPES / 2; i++)
		scrape(fd, page);
	cr_expect_leq(server_rss_bytes(s), middle + GROWTH_BYTES, "%zu bytes, %zu in the middle", server_rss_bytes(s),
	              middle);
	cr_expect_eq(server_fd_count(s), fds);
	close(fd);
	server_finish(s);
}
