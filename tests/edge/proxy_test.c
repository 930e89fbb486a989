/*
 * coopd behind the proxies that people put before it, configured with the very lines of README.md: TLS ends there, and all
 * parts work through it.  A client has an address of its own, and what it writes about itself changes nothing.
 */
#include "support/lobby_client.h"
#include "support/program.h"
#include "support/readme.h"
#include "support/rest_client.h"
#include "support/server.h"
#include "support/tls_bridge.h"
#include "support/tls_peer.h"
#include "support/tunnel_client.h"

#include "base/auto.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

#define NAME     "play.example.org" /* of the server, in README.md */
#define TRIES    5                  /* somebody may take the free port first */
#define CAMPAIGN "e2a1c0de00000001"

/* A proxy and the server behind it; two clients, each at an address of its own. */
struct edge {
	struct server  *server;
	struct program *proxy;
	int             proxy_port;
	bool appends; /* the proxy adds the client's address to what he wrote, as many do, instead of replacing it */
	struct tls_bridge *bridges[2];
	int                a, b; /* where a client from 127.0.0.5 connects to, and one from 127.0.0.6 */
};

#define ADDRESS_A "127.0.0.5"
#define ADDRESS_B "127.0.0.6"

/* --- The proxies --- */

/* Each puts its own port and certificate into the text from the README, and leaves the rest in a file. */

static void configure_nginx(char *text, const struct edge *e)
{
	static const char before[] = "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\n"
				     "events {}\nhttp {\naccess_log off;\n"
				     "client_body_temp_path body;\nproxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\n"
				     "uwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n";
	char              listen[64];

	snprintf(listen, sizeof(listen), "listen 127.0.0.1:%d ssl", e->proxy_port);
	text = readme_replace(readme_cut(text, "listen [::]:443"), "listen 443 ssl", listen);
	text = readme_replace(text, "/etc/letsencrypt/live/" NAME "/fullchain.pem", data_path("cert.pem"));
	text = readme_replace(text, "/etc/letsencrypt/live/" NAME "/privkey.pem", data_path("key.pem"));
	readme_save(text, "nginx.conf", before, "}\n");
}

static void configure_haproxy(char *text, const struct edge *e)
{
	char listen[64];

	snprintf(listen, sizeof(listen), "bind 127.0.0.1:%d ssl", e->proxy_port);
	text = readme_replace(readme_cut(text, "bind [::]:443"), "bind *:443 ssl", listen);
	text = readme_replace(text, "/etc/haproxy/" NAME ".pem", data_path("both.pem"));
	text = readme_replace(text, "maxconn 20000", "maxconn 100"); /* as many descriptors as anybody may have */
	readme_save(text, "haproxy.cfg", "", "");
}

static void configure_caddy(char *text, const struct edge *e)
{
	char site[3 * PATH_MAX];

	/* Any name, since the clients here say another; and no certificate from the network. */
	snprintf(site, sizeof(site), ":%d {\n\tbind 127.0.0.1\n\ttls %s %s", e->proxy_port, data_path("cert.pem"),
	         data_path("key.pem"));
	text = readme_replace(text, NAME " {", site);
	readme_save(text, "Caddyfile", "{\n\tadmin off\n\tauto_https disable_redirects\n}\n", "");
}

#define TRUSTS " {\n\t\ttrusted_proxies 127.0.0.0/8\n\t}"

/*
 * All stay in the foreground, and need no folder but the test's. appending: what the README says, and what makes it a proxy
 * that appends.
 */
static const struct proxy {
	const char *name; /* also of the block */
	void (*configure)(char *text, const struct edge *e);
	const char *args[10];
	struct {
		const char *says, *instead;
	} appending[2];
} proxies[] = {
	{
		"nginx",
		configure_nginx,
		{ "nginx", "-e", "stderr", "-p", ".", "-c", "nginx.conf", NULL },
		{ { "X-Forwarded-For $remote_addr", "X-Forwarded-For $proxy_add_x_forwarded_for" } },
	},
	{
		"haproxy",
		configure_haproxy,
		{ "haproxy", "-db", "-f", "haproxy.cfg", NULL },
		{ { "http-request set-header X-Forwarded-For %[src]", "option forwardfor" } },
	},
	{
		"caddy",
		configure_caddy,
		{ "caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile", NULL },
		{ { "127.0.0.1:10001", "127.0.0.1:10001" TRUSTS }, { "127.0.0.1:64190", "127.0.0.1:64190" TRUSTS } },
	},
};

static void configure(const struct proxy *p, const struct edge *e)
{
	char *text = readme_block(p->name);
	char  http[32], tunnel[32];

	for (size_t i = 0; e->appends && i < LEN(p->appending) && p->appending[i].says; i++)
		text = readme_replace(text, p->appending[i].says, p->appending[i].instead);
	snprintf(http, sizeof(http), "127.0.0.1:%d", e->server->http_port);
	snprintf(tunnel, sizeof(tunnel), "127.0.0.1:%d", e->server->tunnel_port);
	text = readme_replace(text, "127.0.0.1:10001", http);
	text = readme_replace(text, "127.0.0.1:64190", tunnel);
	p->configure(text, e);
}

/* --- Start and end --- */

static void make_certificates(void)
{
	char command[3 * PATH_MAX];

	tls_make_cert(data_path("cert.pem"), data_path("key.pem"), NAME);
	snprintf(command, sizeof(command), "cat '%s' '%s' >'%s'", data_path("cert.pem"), data_path("key.pem"),
	         data_path("both.pem"));
	cr_assert_eq(system(command), 0);
}

/* Until somebody shakes hands on its port; false when it has ended. */
static bool await_proxy(struct edge *e)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (program_is_running(e->proxy)) {
		int fd = dial_tcp(e->proxy_port, 0);

		if (fd >= 0) {
			close(fd);
			return true;
		}
		cr_assert_lt(real_now_ms(), deadline_ms, "%s does not listen", e->proxy->name);
		real_sleep_ms(20);
	}
	return false;
}

static void start_proxy(struct edge *e, const struct proxy *p)
{
	for (int i = 0; i < TRIES; i++) {
		e->proxy_port = program_free_port();
		configure(p, e);
		e->proxy = program_start(p->args);
		if (await_proxy(e))
			return;
		program_print_output(e->proxy);
		program_stop(e->proxy);
	}
	cr_assert_fail("%s does not start", p->name);
}

static void open_edge(struct edge *e, const struct proxy *p, const char *const *sets)
{
	static const char *const secrets[] = { "server.production=yes", "turn.secret=coopd-turn-secret",
		                               "turn.uri=turn:play.example.org:3478", "signal.token=word", NULL };

	e->server = server_prepare(secrets);
	for (; sets && *sets; sets++)
		server_set(e->server, *sets);
	server_launch(e->server);
	server_await_ready(e->server);
	start_proxy(e, p);
	e->bridges[0] = tls_bridge_open(&e->a, e->proxy_port, ADDRESS_A, data_path("cert.pem"), NAME);
	e->bridges[1] = tls_bridge_open(&e->b, e->proxy_port, ADDRESS_B, data_path("cert.pem"), NAME);
}

static void close_edge(struct edge *e)
{
	tls_bridge_close(e->bridges[0]);
	tls_bridge_close(e->bridges[1]);
	program_stop(e->proxy);
	server_finish(e->server);
}

typedef void (*edge_check)(struct edge *e, const char *name);

static void with_each(edge_check check, const char *const *sets, bool appends)
{
	for (size_t i = 0; i < LEN(proxies); i++) {
		struct edge e = { .appends = appends };

		if (!program_or_skip(proxies[i].name))
			continue;
		open_edge(&e, &proxies[i], sets);
		check(&e, proxies[i].name);
		close_edge(&e);
	}
}

/* The same with every proxy that is installed. */
static void with_each_proxy(edge_check check, const char *const *sets)
{
	make_certificates();
	with_each(check, sets, false);
}

/* And with every one again as it is when it appends. */
static void with_each_proxy_twice(edge_check check, const char *const *sets)
{
	with_each_proxy(check, sets);
	with_each(check, sets, true);
}

/* --- Requests --- */

static struct http_result get(int port, const char *path)
{
	struct server through = { .http_port = port };

	return rest_get(&through, NULL, path);
}

/* Announces a direct lobby with these lines in the head. *id, when it was taken, is what a joiner asks for. */
static int announce(int port, const char *fields, char id[32])
{
	struct server through = { .http_port = port };
	const char   *body    = master_announce_body("\"conn\":\"direct\",\"direct_port\":7777");

	AUTO(rest_freep) struct http_result r = master_post_with(&through, fields, "/v1/host", body);

	if (r.status == 200)
		rest_text(&r, "lobbyId", id, 32);
	return r.status;
}

static struct http_result join(int port, const char *fields, const char *id)
{
	struct server through = { .http_port = port };
	char          body[80];

	snprintf(body, sizeof(body), "{\"lobbyId\":\"%s\"}", id);
	return master_post_with(&through, fields, "/v1/join", body);
}

/* What a client might write to be taken for somebody else. */
static const char *const lies[] = {
	"X-Real-IP: 203.0.113.9\r\nX-Forwarded-For: 203.0.113.10\r\nX-Forwarded-For: 127.0.0.1, 203.0.113.11\r\n",
	"X-Real-IP: 127.0.0.1\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-For: ::1\r\n",
	"X-Forwarded-For: <nobody>\r\nX-Forwarded-For: 198.51.100.1\r\nForwarded: for=198.51.100.2\r\n",
};

/* --- Who gets what --- */

/* Each path is answered by the part it belongs to: those of the HTTP front in JSON or text, all others by the tunnel. */
static void check_paths(struct edge *e, const char *name)
{
	static const struct {
		const char *path;
		int         status;
		const char *says;
	} rows[] = {
		{ "/healthz", 200, "\"ok\":true" },
		{ "/readyz", 200, "" },
		{ "/v1/nothing", 404, "{\"error\":" },
		{ "/update/nothing", 404, "{\"error\":" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		AUTO(rest_freep) struct http_result r = get(e->a, rows[i].path);

		cr_expect(r.status == rows[i].status && strstr(r.body, rows[i].says), "%s: %s: %d %s", name,
		          rows[i].path, r.status, r.body);
	}
	struct ws_client *c = ws_client_open(e->a, &(struct ws_client_options){ .path = "/any/other/path" });

	tunnel_echo(c);
	ws_client_free(c);
}

Test(proxy, each_path_leads_to_its_part)
{
	with_each_proxy(check_paths, NULL);
}

/* --- The lobby --- */

static void check_announced_address(struct edge *e, const char *name)
{
	char id[32] = "", addr[64];

	cr_assert_eq(announce(e->a, "", id), 200, "%s", name);
	AUTO(rest_freep) struct http_result r = join(e->b, "", id);

	cr_assert_eq(r.status, 200, "%s", name);
	cr_expect_str_eq(rest_text(&r, "addr", addr, sizeof(addr)), ADDRESS_A ":7777", "%s", name);
}

Test(proxy, a_direct_lobby_has_the_address_its_host_came_from)
{
	with_each_proxy(check_announced_address, NULL);
}

static void check_lies_in_lobby(struct edge *e, const char *name)
{
	char id[32] = "", addr[64];

	for (size_t i = 0; i < LEN(lies); i++) {
		cr_assert_eq(announce(e->a, lies[i], id), 200, "%s: %s", name, lies[i]);
		AUTO(rest_freep) struct http_result r = join(e->b, "", id);

		cr_assert_eq(r.status, 200, "%s", name);
		cr_expect_str_eq(rest_text(&r, "addr", addr, sizeof(addr)), ADDRESS_A ":7777", "%s: %s", name, lies[i]);
	}
	/* The limit is that of the address they came from, whatever they say. */
	for (size_t i = 0; i < LEN(lies); i++)
		cr_expect_eq(announce(e->a, lies[i], id), 429, "%s: %s", name, lies[i]);
	cr_expect_eq(announce(e->b, lies[0], id), 200, "%s", name);
}

Test(proxy, what_a_host_writes_about_itself_changes_nothing)
{
	with_each_proxy_twice(check_lies_in_lobby, (const char *[]){ "limits.lobby_creates=3", NULL });
}

static void check_list_and_join(struct edge *e, const char *name)
{
	struct server      through = { .http_port = e->a };
	struct master_host host;
	char               shown[32], user[80], kind[64];

	master_open(&host, &through, NULL, "");

	AUTO(rest_freep) struct http_result list = get(e->b, "/v1/lobbies");

	cr_assert_eq(list.status, 200, "%s", name);
	cr_expect_str_eq(http_result_header(&list, "Content-Type", kind, sizeof(kind)), "application/json", "%s", name);
	cr_expect_eq(rest_count(&list, "lobbies"), 1, "%s: %s", name, list.body);
	cr_expect_str_eq(rest_text(&list, "lobbies.0.lobbyId", shown, sizeof(shown)), host.id, "%s", name);

	/* The joiner's credential carries his address, not the proxy's. */
	AUTO(rest_freep) struct http_result joined = join(e->b, lies[0], host.id);

	cr_assert_eq(joined.status, 200, "%s: %s", name, joined.body);
	rest_text(&joined, "turn.user", user, sizeof(user));
	cr_expect(strstr(user, ":" ADDRESS_B), "%s: %s", name, user);
}

Test(proxy, the_list_and_a_join_work_through_https)
{
	with_each_proxy(check_list_and_join, NULL);
}

/* --- The tunnel --- */

static void check_tunnel(struct edge *e, const char *name)
{
	uint32_t          code;
	struct ws_client *host   = host_open(e->a, "A", &code);
	struct ws_client *friend = friend_join(e->b, code, "visit", "B");
	char large[1400];

	(void)name;
	memset(large, 'x', sizeof(large));
	host_expect_friend(host, 1, "B");
	friend_send(friend, "hi", 2);
	host_expect_datagram(host, 1, "hi", 2);
	host_send(host, 1, large, sizeof(large));
	friend_expect_datagram(friend, large, sizeof(large));
	ws_client_free(friend);
	ws_client_free(host);
}

Test(proxy, a_tunnel_works_through_the_proxys_tls)
{
	with_each_proxy(check_tunnel, NULL);
}

static int upgrade(struct ws_client **out, int port, const char *fields)
{
	struct ws_client_options o = { .headers = fields };

	*out = ws_client_dial(port, &o);
	return ws_client_upgrade(*out, &o);
}

static void check_lies_in_tunnel(struct edge *e, const char *name)
{
	struct ws_client *first, *more;

	cr_assert_eq(upgrade(&first, e->a, lies[0]), 101, "%s", name);
	for (size_t i = 0; i < LEN(lies); i++) {
		int status = upgrade(&more, e->a, lies[i]);

		cr_expect_eq(status, 503, "%s: %d: %s", name, status, lies[i]);
		ws_client_free(more);
	}
	int status = upgrade(&more, e->b, lies[0]);

	cr_expect_eq(status, 101, "%s: another address: %d", name, status);
	ws_client_free(more);
	ws_client_free(first);
}

Test(proxy, what_a_player_writes_about_himself_changes_nothing)
{
	with_each_proxy_twice(check_lies_in_tunnel, (const char *[]){ "limits.ws_per_address=1", NULL });
}

/* --- Checkpoints --- */

static void store_and_load(struct edge *e, const char *name, size_t len)
{
	struct server through = { .http_port = e->a };
	char         *save    = rest_bytes(len, (unsigned)len);

	AUTO(rest_freep) struct http_result put = rest_put(&through, "A", CAMPAIGN, "", "Coop-Meta: {}\r\n", save, len);

	cr_expect_eq(put.status, 201, "%s: %zu bytes: %d %s", name, len, put.status, put.body);
	AUTO(rest_freep)
	struct http_result got = rest_get(&through, "A", "/v1/campaigns/" CAMPAIGN "/checkpoint");

	cr_expect(got.status == 200 && got.body_len == len && memcmp(got.body, save, len) == 0,
	          "%s: %zu bytes: status %d, %zu bytes", name, len, got.status, got.body_len);
	free(save);
}

static void check_checkpoints(struct edge *e, const char *name)
{
	store_and_load(e, name, 1 << 20);
	store_and_load(e, name, 16 << 20); /* as large as one may be */
}

Test(proxy, a_checkpoint_goes_both_ways)
{
	with_each_proxy(check_checkpoints, (const char *[]){ "limits.cloud_interval_ms=0", NULL });
}
