#include "support/edge.h"

#include "support/data_folder.h"
#include "support/dial.h"
#include "support/readme.h"
#include "support/release.h"
#include "support/tls_peer.h"

#include <criterion/criterion.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 5 /* somebody may take the free port first */

/* When old processes of a proxy end what they have left after a reload; the README gives them a minute. */
#define LEAVE "1s"

const char *edge_cert(void)
{
	static bool is_made;
	char        command[3 * PATH_MAX];

	if (!is_made) {
		tls_make_cert(data_path("cert.pem"), data_path("key.pem"), EDGE_NAME);
		snprintf(command, sizeof(command), "cat '%s' '%s' >'%s'", data_path("cert.pem"), data_path("key.pem"),
		         data_path("both.pem"));
		cr_assert_eq(system(command), 0);
	}
	is_made = true;
	return data_path("cert.pem");
}

/* A file of this proxy. */
static const char *own(const struct edge *e, const char *name)
{
	static char paths[4][64];
	static int  next;
	char       *out = paths[next++ % 4];

	snprintf(out, sizeof(paths[0]), "%s/%s", e->folder, name);
	return out;
}

/* --- The proxies --- */

/* Each puts its own port, certificate and times into the text from the README, and leaves the rest in a file. */

/* The README gives it 90 s. */
static char *set_idle(char *text, const struct edge *e, const char *name)
{
	char says[64], instead[64];

	snprintf(says, sizeof(says), "%s 90s", name);
	snprintf(instead, sizeof(instead), "%s %ds", name, e->idle_s);
	return e->idle_s ? readme_replace(text, says, instead) : text;
}

/* The lines that stand outside of http, and what a test needs besides. */
static char *nginx_begin(const struct edge *e)
{
	static const char rest[] = "daemon off;\npid nginx.pid;\nerror_log stderr;\n";
	static const char http[] = "http {\naccess_log off;\nclient_body_temp_path body;\nproxy_temp_path proxy;\n"
				   "fastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n";
	const char       *user = geteuid() == 0 ? "user root root;\n" : ""; /* another cannot enter the test's folder */
	char             *text = readme_replace(readme_block("nginx main"), "worker_shutdown_timeout 1m",
	                                        "worker_shutdown_timeout " LEAVE);
	size_t            cap  = strlen(text) + sizeof(rest) + sizeof(http) + 64;
	char             *all  = malloc(cap);

	cr_assert_not_null(all);
	snprintf(all, cap, "%s%s%s%s%s", e->is_whole ? "worker_processes 2;\n" : "master_process off;\n", user, rest,
	         text, http);
	free(text);
	return all;
}

static void configure_nginx(char *text, const struct edge *e)
{
	char *before = nginx_begin(e);
	char  listen[64];

	snprintf(listen, sizeof(listen), "listen 127.0.0.1:%d ssl", e->port);
	text = readme_replace(readme_cut(text, "listen [::]:443"), "listen 443 ssl", listen);
	text = readme_replace(text, "/etc/letsencrypt/live/" EDGE_NAME "/fullchain.pem", data_path("cert.pem"));
	text = readme_replace(text, "/etc/letsencrypt/live/" EDGE_NAME "/privkey.pem", data_path("key.pem"));
	text = set_idle(text, e, "proxy_read_timeout");
	text = set_idle(text, e, "proxy_send_timeout");
	readme_save(text, own(e, "nginx.conf"), before, "}\n");
	free(before);
}

static void configure_haproxy(char *text, const struct edge *e)
{
	char listen[64];

	snprintf(listen, sizeof(listen), "bind 127.0.0.1:%d ssl", e->port);
	text = readme_replace(readme_cut(text, "bind [::]:443"), "bind *:443 ssl", listen);
	text = readme_replace(text, "/etc/haproxy/" EDGE_NAME ".pem", data_path("both.pem"));
	text = readme_replace(text, "maxconn 20000", "maxconn 1000"); /* as many descriptors as anybody may have */
	text = readme_replace(text, "hard-stop-after 1m", "hard-stop-after " LEAVE);
	text = set_idle(text, e, "timeout tunnel         ");
	readme_save(text, own(e, "haproxy.cfg"), "", "");
}

static void configure_caddy(char *text, const struct edge *e)
{
	char site[3 * PATH_MAX], global[200], admin[64] = "off", idle[64] = "";

	if (e->is_whole)
		snprintf(admin, sizeof(admin), "127.0.0.1:%d", e->admin_port);
	if (e->idle_s)
		snprintf(idle, sizeof(idle), "\tservers {\n\t\ttimeouts {\n\t\t\tidle %ds\n\t\t}\n\t}\n", e->idle_s);
	snprintf(global, sizeof(global), "{\n\tadmin %s\n\tauto_https disable_redirects\n%s}\n", admin, idle);
	/* Any name, since the clients here say another; and no certificate from the network. */
	snprintf(site, sizeof(site), ":%d {\n\tbind 127.0.0.1\n\ttls %s %s", e->port, data_path("cert.pem"),
	         data_path("key.pem"));
	readme_save(readme_replace(text, EDGE_NAME " {", site), own(e, "Caddyfile"), global, "");
}

#define TRUSTS " {\n\t\ttrusted_proxies 127.0.0.0/8\n\t}"

/* All stay in the foreground, and need no folder but the test's. "." stands for the proxy's own. */
const struct edge_proxy edge_proxies[EDGE_PROXIES] = {
	{
		"nginx",
		configure_nginx,
		{ "nginx", "-e", "stderr", "-p", "./", "-c", "nginx.conf", NULL },
		{ { "X-Forwarded-For $remote_addr", "X-Forwarded-For $proxy_add_x_forwarded_for" } },
	},
	{
		"haproxy",
		configure_haproxy,
		{ "haproxy", "-W", "-db", "-f", "./haproxy.cfg", NULL },
		{ { "http-request set-header X-Forwarded-For %[src]", "option forwardfor" } },
	},
	{
		"caddy",
		configure_caddy,
		{ "caddy", "run", "--config", "./Caddyfile", "--adapter", "caddyfile", NULL },
		{ { "127.0.0.1:10001", "127.0.0.1:10001" TRUSTS }, { "127.0.0.1:64190", "127.0.0.1:64190" TRUSTS } },
	},
};

static void configure(const struct edge *e)
{
	char *text = readme_block(e->of->name);
	char  http[32], tunnel[32];

	for (size_t i = 0; e->appends && i < 2 && e->of->appending[i].says; i++)
		text = readme_replace(text, e->of->appending[i].says, e->of->appending[i].instead);
	snprintf(http, sizeof(http), "127.0.0.1:%d", e->server->http_port);
	snprintf(tunnel, sizeof(tunnel), "127.0.0.1:%d", e->server->tunnel_port);
	text = readme_replace(text, "127.0.0.1:10001", http);
	text = readme_replace(text, "127.0.0.1:64190", tunnel);
	e->of->configure(text, e);
}

/* --- Start and end --- */

/* Until somebody shakes hands on its port; false when it has ended. */
static bool await_proxy(struct edge *e)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (program_is_running(e->proxy)) {
		int fd = dial_tcp(e->port, 0);

		if (fd >= 0) {
			close(fd);
			return true;
		}
		cr_assert_lt(real_now_ms(), deadline_ms, "%s does not listen", e->proxy->name);
		real_sleep_ms(20);
	}
	return false;
}

static struct program *start_program(const struct edge *e)
{
	const char *args[10] = { 0 };

	for (size_t i = 0; i < 10 && e->of->args[i]; i++)
		args[i] = strncmp(e->of->args[i], "./", 2) == 0 ? own(e, e->of->args[i] + 2) : e->of->args[i];
	return program_start(args);
}

static void start_proxy(struct edge *e)
{
	for (int i = 0; i < TRIES; i++) {
		e->port       = program_free_port();
		e->admin_port = program_free_port();
		configure(e);
		e->proxy = start_program(e);
		if (await_proxy(e))
			return;
		program_print_output(e->proxy);
		program_stop(e->proxy);
	}
	cr_assert_fail("%s does not start", e->of->name);
}

static void open_way(struct edge *e, int n, int *port, struct server *seen, const char *from)
{
	e->bridges[n]     = tls_bridge_open(port, e->port, from, edge_cert(), EDGE_NAME);
	*seen             = *e->server;
	seen->http_port   = *port;
	seen->tunnel_port = *port;
}

void edge_open(struct edge *e, const char *const *sets)
{
	static const char *const own_sets[] = { "server.production=yes", "turn.secret=" SERVER_TURN_SECRET,
		                                "turn.uri=turn:" EDGE_NAME ":3478", "signal.token=" SERVER_SIGNAL_TOKEN,
		                                "p2p.listen1=127.0.0.1" };
	static int               count;

	edge_cert();
	snprintf(e->folder, sizeof(e->folder), "edge-%d", ++count);
	cr_assert_eq(mkdir(data_path(e->folder), 0755), 0);
	e->server = release_prepare(true);
	for (size_t i = 0; i < sizeof(own_sets) / sizeof(own_sets[0]); i++)
		server_set(e->server, own_sets[i]);
	for (; sets && *sets; sets++)
		server_set(e->server, *sets);
	server_launch(e->server);
	server_await_ready(e->server);
	start_proxy(e);
	open_way(e, 0, &e->a, &e->at_a, EDGE_ADDRESS_A);
	open_way(e, 1, &e->b, &e->at_b, EDGE_ADDRESS_B);
}

void edge_close(struct edge *e)
{
	tls_bridge_close(e->bridges[0]);
	tls_bridge_close(e->bridges[1]);
	program_stop(e->proxy);
	server_finish(e->server);
}

/* --- In between --- */

static void reload_caddy(const struct edge *e)
{
	char            address[32];
	struct program *caddy;

	snprintf(address, sizeof(address), "127.0.0.1:%d", e->admin_port);
	caddy = program_start((const char *[]){ "caddy", "reload", "--config", own(e, "Caddyfile"), "--adapter",
	                                        "caddyfile", "--address", address, "--force", NULL });
	cr_assert_eq(program_await_end(caddy, DIAL_PATIENCE_MS), 0, "caddy reload failed");
	program_stop(caddy);
}

void edge_reload(struct edge *e)
{
	cr_assert(e->is_whole, "it was not started for that");
	if (strcmp(e->of->name, "caddy") == 0)
		reload_caddy(e);
	else
		kill(e->proxy->pid, strcmp(e->of->name, "nginx") == 0 ? SIGHUP : SIGUSR2);
}

void edge_relaunch(struct edge *e)
{
	char set[SERVER_SET_BYTES];

	snprintf(set, sizeof(set), "tunnel.listen=127.0.0.1:%d", e->server->tunnel_port);
	server_set(e->server, set);
	snprintf(set, sizeof(set), "http.listen=127.0.0.1:%d", e->server->http_port);
	server_set(e->server, set);
	server_launch(e->server);
	server_await_ready(e->server);
}

void edge_each(edge_check check, const struct edge *how, const char *const *sets)
{
	for (size_t i = 0; i < EDGE_PROXIES; i++) {
		struct edge e = how ? *how : (struct edge){ 0 };

		e.of = &edge_proxies[i];
		if (!program_or_skip(e.of->name))
			continue;
		edge_open(&e, sets);
		check(&e, e.of->name);
		edge_close(&e);
	}
}
