/* Loading: which source wins, what is reported, what belongs together, and taking changes into a running server. */
#include "conf/conf.h"

#include "base/auto.h"
#include "conf/report.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = P_tmpdir "/coopd-conf-XXXXXX";

/* Each test runs in a process of its own, in an empty folder of its own. */
static void enter_folder(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void leave_folder(void)
{
	(void)unlink("coopd.conf");
	(void)unlink("other.conf");
	(void)rmdir(folder);
}

TestSuite(conf, .init = enter_folder, .fini = leave_folder);

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

/* Loads and expects exactly this report. True when there is a configuration to look at, and to conf_fini. */
static bool load(struct conf *c, const struct conf_args *args, const char *expected)
{
	struct report r;

	enum err e = conf_load(c, args, report_open(&r));
	cr_expect_str_eq(report_text(&r), expected);
	cr_expect(e == ERR_OK || e == ERR_MALFORMED);
	report_free(&r);
	return e == ERR_OK;
}

static void expect_refused(const char *text, const char *expected)
{
	struct report r;
	struct conf   c;

	cr_expect_eq(conf_load_text(&c, text, strlen(text), report_open(&r)), ERR_MALFORMED, "%s", text);
	cr_expect_str_eq(report_text(&r), expected);
	cr_expect_null(c.origins);
	report_free(&r);
}

static struct conf load_text(const char *text)
{
	struct report r;
	struct conf   c;

	cr_assert_eq(conf_load_text(&c, text, strlen(text), report_open(&r)), ERR_OK, "%s", report_text(&r));
	cr_expect_str_eq(report_text(&r), "");
	report_free(&r);
	return c;
}

Test(conf, without_any_source_defaults_hold)
{
	struct conf            c;
	struct limits          limits;
	const struct conf_args nothing = { 0 };

	cr_assert(load(&c, &nothing, ""));
	cr_expect_str_eq(c.server_data, "data");
	cr_expect_str_eq(c.server_run, "data/run");
	cr_expect_str_eq(c.admin_socket, "data/run/admin.sock");
	cr_expect_not(c.server_production);
	cr_expect_eq(c.log_level, CONF_LEVEL_info);
	cr_expect_eq(c.http_listen.count, 1);
	cr_expect_str_eq(c.http_listen.words[0], "127.0.0.1:10001");
	cr_expect_eq(c.http_trusted_proxies.count, 2);
	limits_default(&limits);
	cr_expect_eq(memcmp(&limits, &c.limits, sizeof(limits)), 0);
	conf_fini(&c);
}

Test(conf, later_sources_win)
{
	const char *const env[]  = { "COOP_LOG_FORMAT=json", "COOP_LOG_ADDRESSES=full", "COOP_LIMITS_WS_CONNECTIONS=7",
		                     NULL };
	const char       *sets[] = { "log.addresses=cut", "limits.ws_connections=8", "limits.ws_connections= 9 " };
	struct conf       c;

	write_file("coopd.conf",
	           "[log]\nlevel = debug\nformat = text\naddresses = full\n[limits]\nws_connections = 6\n");
	const struct conf_args file_only = { 0 };
	cr_assert(load(&c, &file_only, ""));
	cr_expect_eq(c.limits.ws_connections, 6);
	conf_fini(&c);

	const struct conf_args all = { .env = environment(env), .sets = sets, .set_count = COUNT_OF(sets) };
	cr_assert(load(&c, &all, ""));
	cr_expect_eq(c.log_level, CONF_LEVEL_debug);
	cr_expect_eq(c.log_format, CONF_FORMAT_json);
	cr_expect_eq(c.log_addresses, CONF_SCALE_cut);
	cr_expect_eq(c.limits.ws_connections, 9);
	conf_fini(&c);
}

Test(conf, production_defaults_hold_wherever_it_was_said)
{
	const char *const env[]  = { "COOP_SERVER_PRODUCTION= yes ", "COOP_LOBBY_ENABLE=no", "COOP_SIGNAL_ENABLE=no",
		                     NULL };
	const char       *sets[] = { "server.production= yes", "lobby.enable=no", "signal.enable=no" };
	struct conf       c;

	write_file("other.conf", "[server]\nproduction = yes\n[lobby]\nenable = no\n[signal]\nenable = no\n");
	write_file("coopd.conf", "[log]\nlevel = debug\n");
	const struct conf_args cases[] = {
		{ .file = "other.conf" },
		{ .env = environment(env) },
		{ .sets = sets, .set_count = COUNT_OF(sets) },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		cr_assert(load(&c, &cases[i], ""));
		cr_expect(c.server_production);
		cr_expect_str_eq(c.server_data, "/var/lib/coopd");
		cr_expect_str_eq(c.admin_socket, "/run/coopd/admin.sock");
		cr_expect_eq(c.http_listen.count, 2);
		cr_expect_str_eq(c.http_listen.words[1], "[::]:10001");
		cr_expect_eq(c.log_level, CONF_LEVEL_info, "./coopd.conf was read in production");
		conf_fini(&c);
	}
}

Test(conf, production_in_the_file_can_be_taken_back)
{
	const char *sets[] = { "server.production=no" };
	struct conf c;

	write_file("coopd.conf", "[server]\nproduction = yes\n");
	const struct conf_args args = { .sets = sets, .set_count = COUNT_OF(sets) };
	cr_assert(load(&c, &args, ""));
	cr_expect_not(c.server_production);
	cr_expect_str_eq(c.server_data, "data");
	conf_fini(&c);
}

Test(conf, a_named_file_must_be_there_and_readable)
{
	struct conf            c;
	const struct conf_args missing  = { .file = "other.conf" };
	const struct conf_args a_folder = { .file = "." };

	cr_expect_not(load(&c, &missing, "other.conf: there is no such file\n"));
	cr_expect_not(load(&c, &a_folder, ".: the file cannot be read: Is a directory\n"));
}

Test(conf, a_file_beyond_a_mebibyte_is_refused)
{
	struct conf            c;
	const struct conf_args args = { 0 };

	write_file("coopd.conf", "");
	cr_assert_eq(truncate("coopd.conf", (1 << 20) + 1), 0);
	cr_expect_not(load(&c, &args, "coopd.conf: the file has more than 1048576 bytes\n"));
}

Test(conf, the_level_has_a_second_name)
{
	const char *const env[]  = { "COOP_SERVER_LOG_LEVEL=warn", NULL };
	const char *const both[] = { "COOP_LOG_LEVEL=warn", "COOP_SERVER_LOG_LEVEL=warn", NULL };
	const char       *sets[] = { "server.log_level=error" };
	struct conf       c      = load_text("[server]\nlog_level = debug\n");

	cr_expect_eq(c.log_level, CONF_LEVEL_debug);
	conf_fini(&c);
	const struct conf_args by_env = { .env = environment(env) };
	cr_assert(load(&c, &by_env, ""));
	cr_expect_eq(c.log_level, CONF_LEVEL_warn);
	conf_fini(&c);
	const struct conf_args by_set = { .sets = sets, .set_count = 1 };
	cr_assert(load(&c, &by_set, ""));
	cr_expect_eq(c.log_level, CONF_LEVEL_error);
	conf_fini(&c);

	const struct conf_args twice = { .env = environment(both) };
	cr_expect_not(load(&c, &twice,
	                   "environment COOP_SERVER_LOG_LEVEL: log.level is set by another variable already; "
	                   "keep one of the two\n"));
	expect_refused("[log]\nlevel=info\n[server]\nlog_level = info\n",
	               "text:4: log.level is set on line 2 already; keep one of the two\n");
}

Test(conf, all_problems_of_all_sources_are_reported)
{
	const char *const env[] = { "HOME=x", "COOP_HTTP_ENABLE=perhaps", "COOP_LIMITS_WS_CONNECTIONS=0", NULL };
	const char *sets[] = { "log.level=loud", "tunnel.listn=x", "nonsense", "log.level", "=1", "ws_connections=1" };
	struct conf c;

	write_file("coopd.conf", "[http]\n"
	                         "listen = localhost:1\n"
	                         "trusted_proxy = ::1\n"
	                         "enable = no\n"
	                         "enable = no\n"
	                         "[lmits]\n"
	                         "ws_connections = 1\n"
	                         "[limits]\n"
	                         "tunnel_wait_ms = 2d\n");
	const struct conf_args args = { .env = environment(env), .sets = sets, .set_count = COUNT_OF(sets) };
	cr_expect_not(
		load(&c, &args,
	             "coopd.conf:2: http.listen: \"localhost:1\" does not begin with a numeric address; "
	             "write 127.0.0.1:PORT, [::1]:PORT, or 0.0.0.0:PORT and [::]:PORT for every address\n"
	             "coopd.conf:3: there is no setting http.trusted_proxy; the nearest is http.trusted_proxies\n"
	             "coopd.conf:5: http.enable is set on line 4 already; keep one of the two\n"
	             "coopd.conf:6: there is no section [lmits]; the nearest is [limits]\n"
	             "coopd.conf:9: limits.tunnel_wait_ms: \"2d\" is out of range; allowed are 1000 to 86400000 ms\n"
	             "environment COOP_HTTP_ENABLE: http.enable: \"perhaps\" is neither yes (true, on, 1) "
	             "nor no (false, off, 0)\n"
	             "environment COOP_LIMITS_WS_CONNECTIONS: limits.ws_connections: \"0\" is out of range; "
	             "allowed are 1 to 100000 connections\n"
	             "--set: log.level: \"loud\" is none of: error, warn, info, debug\n"
	             "--set: there is no setting tunnel.listn; the nearest is tunnel.listen\n"
	             "--set: \"nonsense\" is not written as section.name=value\n"
	             "--set: \"log.level\" is not written as section.name=value\n"
	             "--set: \"\" is not written as section.name=value\n"
	             "--set: \"ws_connections\" is not written as section.name=value\n"));
}

Test(conf, an_unknown_name_is_told_the_nearest)
{
	const struct {
		const char *text;
		const char *report;
	} cases[] = {
		{ "[log]\nlevl = info", "text:2: there is no setting log.levl; the nearest is log.level\n" },
		{ "[log]\nLevel = info", "text:2: there is no setting log.Level; the nearest is log.level\n" },
		{ "[server]\nlog_lvl=info",
		  "text:2: there is no setting server.log_lvl; the nearest is server.log_level\n" },
		{ "[tunnel]\ntrusted_proxies = none",
		  "text:2: there is no setting tunnel.trusted_proxies; the nearest is http.trusted_proxies\n" },
		{ "[server]\nformat = text", "text:2: there is no setting server.format; the nearest is log.format\n" },
		{ "[http]\nws_connection = 1",
		  "text:2: there is no setting http.ws_connection; the nearest is limits.ws_connections\n" },
		{ "[log]\n= info", "text:2: there is no setting log.; the nearest is log.level\n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect_refused(cases[i].text, cases[i].report);
}

Test(conf, other_coop_variables_are_mentioned_and_do_no_harm)
{
	const char *const      env[] = { "COOP_TEST_CLOCK=x", "COOP_TUNNEL_LISTN=1",   "COOP", "COOPERATE=1",
		                         "COOP_=1",           "COOP_LIMITS_WS_BACKLO", NULL };
	struct conf            c;
	const struct conf_args args = { .env = environment(env) };

	cr_assert(load(&c, &args,
	               "environment COOP_TUNNEL_LISTN: is no setting of coopd and changes nothing; "
	               "the nearest is COOP_TUNNEL_LISTEN\n"
	               "environment COOP_: is no setting of coopd and changes nothing; the nearest is COOP_TLS_KEY\n"
	               "environment COOP_LIMITS_WS_BACKLO: is no setting of coopd and changes nothing; "
	               "the nearest is COOP_LIMITS_WS_BACKLOG\n"));
	conf_fini(&c);
}

Test(conf, what_does_not_go_together_is_refused)
{
	const struct {
		const char *text;
		const char *report;
	} cases[] = {
		{ "[tunnel]\ntls_listen = 0.0.0.0:1", "text:2: tunnel.tls_listen: needs tls.cert and tls.key\n" },
		{ "[tls]\ncert = a", "text:2: tls.cert: a certificate needs its private key, tls.key\n" },
		{ "[tls]\nkey = a", "text:2: tls.key: a private key needs its certificate, tls.cert\n" },
		{ "[tls]\nrequire = yes", "text:2: tls.require: needs tls.cert and tls.key\n" },
		{ "[server]\ndata =", "text:2: server.data: must name a folder\n" },
		{ "[limits]\ntunnel_wait_ms = 44s",
		  "text:2: limits.tunnel_wait_alone_ms (45000) is above limits.tunnel_wait_ms (44000): "
		  "a game without friends would outlive one with friends\n" },
		{ "[limits]\ntunnel_burst = 4092",
		  "text:2: limits.tunnel_to_friend_bytes (4093) is above limits.tunnel_burst (4092): "
		  "the largest datagrams would never pass\n" },
		{ "[limits]\ntunnel_burst = 1499\ntunnel_to_friend_bytes = 1499",
		  "text:2: limits.tunnel_to_host_bytes (1500) is above limits.tunnel_burst (1499): "
		  "the largest datagrams would never pass\n" },
		{ "[limits]\nws_output_total = 1M\nws_backlog = 1048577",
		  "text:3: limits.ws_backlog (1048577) is above limits.ws_output_total (1048576): "
		  "one slow connection would use up what all share\n" },
		{ "[limits]\nws_output_total = 1M\nws_control = 2M",
		  "text:3: limits.ws_control (2097152) is above limits.ws_output_total (1048576): "
		  "one slow connection would use up what all share\n" },
		{ "[limits]\nrooms_output_total = 1M\nrooms_output = 1048577",
		  "text:3: limits.rooms_output (1048577) is above limits.rooms_output_total (1048576): "
		  "one slow player would use up what all share\n" },
		{ "[limits]\nrooms_output = 524287",
		  "text:2: limits.rooms_message_burst (524288) is above limits.rooms_output (524287): "
		  "one player could cut off another by what he says\n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect_refused(cases[i].text, cases[i].report);

	struct conf c = load_text("[tls]\ncert = a\nkey = b\nrequire = yes\n[tunnel]\ntls_listen = 0.0.0.0:1\n"
	                          "[limits]\ntunnel_wait_ms = 45s\ntunnel_burst = 4093\nws_output_total = 1M\n"
	                          "rooms_output_total = 1M\n");
	conf_fini(&c);
}

static void expect_good(const char *section, const char *line)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "[%s]\n%s\n", section, line);
	struct conf c = load_text(text);
	conf_fini(&c);
}

static void expect_bad(const char *section, const char *key, const char *value, const char *says)
{
	char text[256], report[512];

	(void)snprintf(text, sizeof(text), "[%s]\n%s = %s\n", section, key, value);
	(void)snprintf(report, sizeof(report), "text:2: %s.%s: \"%s\" %s\n", section, key, value, says);
	expect_refused(text, report);
}

Test(conf, what_players_are_told_has_a_form_that_they_can_read)
{
	static const struct {
		const char *section, *key, *says, *good[6], *bad[9];
	} cases[] = {
		{ "turn",
		  "uri",
		  "is no TURN server; write turn:host:port or turns:host:port, and no transport behind",
		  { "", "turn:h:3478", "turn:h", "turns:a.example:65535", "turn:[2001:db8::1]:3478",
		    "turn:192.0.2.1:1" },
		  { "h:3478", "turn:", "turn:h:", "turn:h:0", "turn:h:65536", "turn:h:3478?transport=udp",
		    "stun:h:3478", "turn://h:3478", "turn:2001:db8::1" } },
		{ "stun",
		  "uri",
		  "is no STUN server; write stun:host:port or stuns:host:port, and nothing behind",
		  { "", "stun:h:3478", "stuns:h" },
		  { "h", "turn:h:3478", "stun:h:3478/", "stun:h?x", "STUN:h:3478" } },
		{ "signal",
		  "url",
		  "is no place to connect to; write host:port, without a scheme",
		  { "", "h:1", "h.example:65535", "[::1]:10000", "192.0.2.1:10000" },
		  { "h", "h:", "h:0", "h:65536", "https://h:1", "h:1/path", ":1", "::1:1" } },
		{ "latest",
		  "url",
		  "is no page; write https:// or http:// and what follows",
		  { "", "http://h", "https://h/x?y=\xc3\xa9" },
		  { "h", "https://", "ftp://h", "javascript:alert(1)", "//h" } },
	};
	char line[128];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		for (size_t n = 0; n < COUNT_OF(cases[i].good) && cases[i].good[n]; n++) {
			(void)snprintf(line, sizeof(line), "%s = %s", cases[i].key, cases[i].good[n]);
			expect_good(cases[i].section, line);
		}
		for (size_t n = 0; n < COUNT_OF(cases[i].bad) && cases[i].bad[n]; n++)
			expect_bad(cases[i].section, cases[i].key, cases[i].bad[n], cases[i].says);
	}
}

Test(conf, a_field_that_every_client_sends_names_no_client)
{
	expect_good("http", "client_address_header = X-Real-IP");
	expect_good("http", "client_address_header = CF-Connecting-IP");
	expect_refused("[http]\nclient_address_header = user-agent\n",
	               "text:2: http.client_address_header: \"User-Agent\" is a field that every client sends; name "
	               "the one "
	               "that your proxy sets, such as X-Forwarded-For\n");
	expect_bad("http", "client_address_header", "Host",
	           "is a field that every client sends; name the one that your proxy sets, such as X-Forwarded-For");
	expect_bad("http", "client_address_header", "Transfer-Encoding",
	           "is a field that every client sends; name the one that your proxy sets, such as X-Forwarded-For");
}

Test(conf, two_cannot_listen_at_one_place)
{
	static const struct {
		const char *text, *report;
	} cases[] = {
		{ "[http]\nlisten = 127.0.0.1:64190\n",
		  "text:2: tunnel.listen: 127.0.0.1:64190 is in http.listen already, and only one can listen there\n" },
		{ "[tunnel]\nlisten = 127.0.0.1:10001\n",
		  "text:2: tunnel.listen: 127.0.0.1:10001 is in http.listen already, and only one can listen there\n" },
		{ "[http]\nlisten = [::1]:1 127.0.0.1:1 [0::1]:1\n",
		  "text:2: http.listen: [0::1]:1 is in http.listen already, and only one can listen there\n" },
		{ "[http]\nlisten = [::1]:1\n[tunnel]\nlisten = 127.0.0.1:1 [0:0::0:1]:1\n",
		  "text:4: tunnel.listen: [0:0::0:1]:1 is in http.listen already, and only one can listen there\n" },
		{ "[tls]\ncert = a\nkey = b\n[tunnel]\ntls_listen = 127.0.0.1:10443\n",
		  "text:5: tunnel.tls_listen: 127.0.0.1:10443 is in http.tls_listen already, and only one can listen "
		  "there\n" },
		{ "[tunnel]\nlisten = 127.0.0.1:10000\n", "text:2: signal.listen: 127.0.0.1:10000 is in tunnel.listen "
		                                          "already, and only one can listen there\n" },
		{ "[tunnel]\nlisten = 127.0.0.1:36100\n", "text:2: rooms.listen: 127.0.0.1:36100 is in tunnel.listen "
		                                          "already, and only one can listen there\n" },
		{ "[rooms]\nstatus_listen = 127.0.0.1:36100\n",
		  "text:2: rooms.status_listen: 127.0.0.1:36100 is in rooms.listen already, and only one can listen "
		  "there\n" },
	};
	static const char *const good[] = {
		"[http]\nlisten = 127.0.0.1:0 [::1]:0\n[tunnel]\nlisten = 127.0.0.1:0\n",
		"[http]\nlisten = 127.0.0.1:1 127.0.0.2:1 [::1]:1 127.0.0.1:2\n",
		"[http]\nlisten = 127.0.0.1:10443\n", /* tls_listen is not used without a certificate */
		"[http]\nenable = no\n[tunnel]\nlisten = 127.0.0.1:10001\n",
		"[tunnel]\nenable = no\n[http]\nlisten = 127.0.0.1:64190\n",
		"[rooms]\nenable = no\n[http]\nlisten = 127.0.0.1:36100\n",
		"[rooms]\nstatus_listen = 127.0.0.1:36101\n",
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect_refused(cases[i].text, cases[i].report);
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct conf c = load_text(good[i]);

		conf_fini(&c);
	}
}

Test(conf, addresses_and_ports_of_peer_to_peer_go_together)
{
	static const struct {
		const char *text, *report;
	} cases[] = {
		{ "listen1 = play.example.org\nlisten2 =\n", "text:2: p2p.listen1: \"play.example.org\" is no IPv4 "
		                                             "address of one machine; write it in numbers, like "
		                                             "203.0.113.1\n" },
		{ "listen1 = 0.0.0.0\nlisten2 = 224.0.0.1\n",
		  "text:2: p2p.listen1: \"0.0.0.0\" is no IPv4 address of one machine; write it in numbers, like "
		  "203.0.113.1\n"
		  "text:3: p2p.listen2: \"224.0.0.1\" is no IPv4 address of one machine; write it in numbers, like "
		  "203.0.113.1\n" },
		{ "public1 = ::1\npublic2 = 255.255.255.255\n", "text:2: p2p.public1: \"::1\" is no IPv4 address of "
		                                                "one machine; write it in numbers, like 203.0.113.1\n"
		                                                "text:3: p2p.public2: \"255.255.255.255\" is no IPv4 "
		                                                "address of one machine; write it in numbers, like "
		                                                "203.0.113.1\n" },
		{ "listen1 = 203.0.113.1\nlisten2 = 203.0.113.1\n",
		  "text:3: p2p.listen2: is the same as p2p.listen1; the NAT check needs two addresses\n" },
		{ "listen1 = 127.0.0.2\n",
		  "text:2: p2p.listen2: is the same as p2p.listen1; the NAT check needs two addresses\n" },
		{ "listen1 = 203.0.113.1\n",
		  "text:2: p2p.listen2: of it and p2p.listen1 one is loopback and the other is not, so that no client "
		  "reaches both; set both, or leave p2p.listen2 empty\n" },
		{ "listen1 =\nlisten2 = 203.0.113.1\n",
		  "text:3: p2p.listen2: needs p2p.listen1, without which there is no UDP at all\n" },
		{ "public1 = 203.0.113.1\n",
		  "text:2: p2p.public1: is set and p2p.public2 is not; with two addresses clients "
		  "are told another one for both or for none\n" },
		{ "public2 = 203.0.113.1\n",
		  "text:2: p2p.public2: is set and p2p.public1 is not; with two addresses clients "
		  "are told another one for both or for none\n" },
		{ "public1 = 203.0.113.1\npublic2 = 203.0.113.1\n",
		  "text:3: p2p.public2: is the same as p2p.public1; the NAT check needs two addresses\n" },
		{ "port = 3479\n", "text:2: p2p.alt_port: is the same as p2p.port; the NAT check needs two ports\n" },
		{ "port = 5\nalt_port = 5\n",
		  "text:3: p2p.alt_port: is the same as p2p.port; the NAT check needs two ports\n" },
		{ "second_required = yes\nlisten2 =\n",
		  "text:2: p2p.second_required: needs p2p.listen1 and p2p.listen2\n" },
		{ "port = 36100\n",
		  "text:2: p2p.port: 127.0.0.1:36100 is in rooms.listen already, which takes UDP too\n" },
		{ "alt_port = 36100\n[rooms]\nlisten = 127.0.0.2:36100\n",
		  "text:2: p2p.alt_port: 127.0.0.2:36100 is in rooms.listen already, which takes UDP too\n" },
		{ "[rooms]\nlisten = 127.0.0.1:3478\n",
		  "text:3: p2p.port: 127.0.0.1:3478 is in rooms.listen already, which takes UDP too\n" },
	};
	static const char *const good[] = {
		"listen2 =\npublic1 = 203.0.113.1\n",
		"listen1 =\n",
		"listen1 = 203.0.113.1\nlisten2 =\n",
		"listen1 = 10.0.0.4\nlisten2 = 10.0.0.5\npublic1 = 203.0.113.1\npublic2 = 203.0.113.2\n",
		"listen1 = 1.0.0.0\nlisten2 = 223.255.255.255\n",
		"port = 0\nalt_port = 0\n",
		"second_required = yes\n",
		"enable = no\nlisten1 = x\nport = 3479\nsecond_required = yes\nlisten2 =\n",
		"port = 10000\n[signal]\nlisten = 127.0.0.1:10000\n", /* TCP ports are others */
		"port = 36100\n[rooms]\nenable = no\n",
		"port = 36100\n[rooms]\nlisten = 127.0.0.3:36100\n",
	};
	char text[400];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		snprintf(text, sizeof(text), "[p2p]\n%s", cases[i].text);
		expect_refused(text, cases[i].report);
	}
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		snprintf(text, sizeof(text), "[p2p]\n%s", good[i]);

		struct conf c = load_text(text);

		conf_fini(&c);
	}
}

Test(conf, sessions_of_peer_to_peer_are_asked_before_they_are_silent)
{
	expect_good("limits", "p2p_ping_ms = 10000");
	expect_refused("[limits]\np2p_ping_ms = 10001\n", "text:2: limits.p2p_ping_ms (10001) is above "
	                                                  "limits.p2p_silence_ms (10000): sessions would end before "
	                                                  "they were asked\n");
	expect_refused("[limits]\np2p_drop_waiting = 1048577\n", "text:2: limits.p2p_drop_waiting (1048577) is above "
	                                                         "limits.p2p_waiting (1048576): sessions would be "
	                                                         "closed before a frame was dropped\n");
}

Test(conf, a_title_of_the_rooms_has_at_most_12_bytes)
{
	expect_good("rooms", "titles = NPWR00860_00 x NPWR00861_00");
	expect_refused("[rooms]\ntitles = NPWR00860_00 NPWR00861_000\n",
	               "text:2: rooms.titles: \"NPWR00861_000\" is too long for a title, which has at most 12 bytes\n");
}

/* A host beats every 30 s, and nobody who does is pushed out. */
Test(conf, a_lobby_makes_room_before_it_is_gone_and_not_before_its_host_can_beat)
{
	expect_good("limits", "lobby_evict_ms = 31000");
	expect_refused("[limits]\nlobby_evict_ms = 30999\n",
	               "text:2: limits.lobby_evict_ms: \"30999\" is out of range; allowed are 31000 to 86400000 ms\n");
	expect_good("limits", "lobby_evict_ms = 90000");
	expect_refused("[limits]\nlobby_evict_ms = 90001\n", "text:2: limits.lobby_evict_ms (90001) is above "
	                                                     "limits.lobby_ttl_ms (90000): a lobby would be gone "
	                                                     "before it could make room\n");
	expect_refused("[limits]\nlobby_ttl_ms = 40s\n", "text:2: limits.lobby_evict_ms (45000) is above "
	                                                 "limits.lobby_ttl_ms (40000): a lobby would be gone "
	                                                 "before it could make room\n");
}

Test(conf, a_bad_value_is_not_blamed_for_its_company_too)
{
	expect_refused("[limits]\ntunnel_wait_ms = 1\ntunnel_wait_alone_ms = 301s\n",
	               "text:2: limits.tunnel_wait_ms: \"1\" is out of range; allowed are 1000 to 86400000 ms\n");
	expect_refused("[tls]\ncert = a\nkey = #\x01\nkey = \x01\n",
	               "text:4: tls.key is set on line 3 already; keep one of the two\n"
	               "text:4: tls.key: \"\\x01\" has a control character\n");
}

Test(conf, a_socket_path_fits_or_is_refused)
{
	char run[200];
	char text[300];

	/* 107 bytes in all: 95 and "/events.sock" */
	memset(run, 'r', sizeof(run));
	(void)snprintf(text, sizeof(text), "[server]\nrun = %.95s\n", run);
	struct conf c = load_text(text);
	cr_expect_eq(strlen(c.admin_events_socket), 107);
	conf_fini(&c);

	char expected[800];
	(void)snprintf(text, sizeof(text), "[server]\nrun = %.97s\n", run);
	(void)snprintf(expected, sizeof(expected),
	               "from server.run: admin.socket: \"%.97s/admin.sock\" has 108 bytes; "
	               "the path of a unix socket has at most 107, choose a shorter server.run\n"
	               "from server.run: admin.events_socket: \"%.97s/events.sock\" has 109 bytes; "
	               "the path of a unix socket has at most 107, choose a shorter server.run\n",
	               run, run);
	expect_refused(text, expected);
}

Test(conf, one_socket_cannot_be_two)
{
	expect_refused("[admin]\nsocket = s\nevents_socket = s\n",
	               "text:3: admin.events_socket: is the same as admin.socket\n");
}

Test(conf, given_paths_are_not_derived)
{
	struct conf c = load_text("[server]\ndata = d\nrun = r\n[admin]\nsocket = s\n");

	cr_expect_str_eq(c.server_run, "r");
	cr_expect_str_eq(c.admin_socket, "s");
	conf_fini(&c);
	c = load_text("[server]\nproduction = yes\ndata = d\nrun =\n[lobby]\nenable = no\n[signal]\nenable = no\n");
	cr_expect_str_eq(c.server_run, "d/run");
	cr_expect_str_eq(c.admin_socket, "d/run/admin.sock");
	conf_fini(&c);
}

Test(conf, a_reload_takes_what_may_change_and_names_the_rest)
{
	struct report r;
	struct conf   running = load_text("[log]\nlevel = info\n");
	struct conf   fresh   = load_text("[log]\nlevel = debug\naddresses = full\nformat = json\n"
	                                      "[http]\nlisten = 127.0.0.1:1\n[limits]\nws_connections = 5\n");

	conf_reload(&running, &fresh, report_open(&r), NULL);
	cr_expect_str_eq(report_text(&r), "text:4: log.format has changed and needs a restart\n"
	                                  "text:6: http.listen has changed and needs a restart\n"
	                                  "text:8: limits.ws_connections has changed and needs a restart\n");
	report_free(&r);
	cr_expect_eq(running.log_level, CONF_LEVEL_debug);
	cr_expect_eq(running.log_addresses, CONF_SCALE_full);
	cr_expect_eq(running.log_format, CONF_FORMAT_text);
	cr_expect_str_eq(running.http_listen.words[0], "127.0.0.1:10001");
	cr_expect_eq(running.limits.ws_connections, 16384);

	conf_print(&running, report_open(&r));
	cr_expect_not_null(strstr(report_text(&r), "level = debug  # text:2\n"));
	cr_expect_not_null(strstr(report_text(&r), "format = text  # default\n"));
	report_free(&r);
	conf_fini(&fresh);
	conf_fini(&running);
}

Test(conf, a_reload_of_the_same_says_nothing)
{
	struct report r;
	struct conf   running = load_text("[limits]\nws_ping_ms = 20s\n");
	struct conf   fresh   = load_text("[http]\nlisten =   127.0.0.1:10001\n");

	conf_reload(&running, &fresh, report_open(&r), NULL);
	cr_expect_str_eq(report_text(&r), "");
	report_free(&r);
	conf_fini(&fresh);
	conf_fini(&running);
}

Test(conf, a_reload_takes_texts_and_secrets_without_naming_their_values)
{
	struct report r;
	struct conf   running = load_text("[turn]\nsecret = 0ld\n[signal]\ntoken = 0ld\n");
	struct conf   fresh =
		load_text("[turn]\nsecret = n3w\nsecret_previous = 0ld\nuri = turn:h:3478\nhost_ttl_s = 600\n"
	                  "[signal]\ntoken = n3w\ntoken_previous = 0ld\nurl = h:10000\n"
	                  "[stun]\nuri = stun:h:3478\n[latest]\nproto = 142\nmod = M\nurl = http://u\n"
	                  "[lobby]\nenable = no\n");

	conf_reload(&running, &fresh, report_open(&r), NULL);
	cr_expect_str_eq(report_text(&r), "text:17: lobby.enable has changed and needs a restart\n");
	report_free(&r);
	cr_expect_str_eq(running.turn_secret, "n3w");
	cr_expect_str_eq(running.turn_secret_previous, "0ld");
	cr_expect_str_eq(running.turn_uri, "turn:h:3478");
	cr_expect_eq(running.turn_host_ttl_s, 600);
	cr_expect_str_eq(running.signal_token, "n3w");
	cr_expect_str_eq(running.signal_token_previous, "0ld");
	cr_expect_str_eq(running.signal_url, "h:10000");
	cr_expect_str_eq(running.stun_uri, "stun:h:3478");
	cr_expect_eq(running.latest_proto, 142);
	cr_expect_str_eq(running.latest_mod, "M");
	cr_expect_str_eq(running.latest_url, "http://u");
	cr_expect(running.lobby_enable);
	conf_fini(&fresh);
	conf_fini(&running);
}

#define PRODUCTION "[server]\nproduction = yes\n"
#define NO_SECRET(place, key, variable, whose, parts)                                                              \
	place ": " key ": is empty, and in production nobody makes it up; make one with \"openssl rand -hex 32\" " \
	      "and set it here or as " variable " (" whose "), or set " parts " = no\n"
#define NO_TURN(place) \
	NO_SECRET(place, "turn.secret", "COOP_TURN_SECRET", "the TURN server gets the same", "lobby.enable")
#define NO_SIGNAL(place)                                                                \
	NO_SECRET(place, "signal.token", "COOP_SIGNALING_TOKEN", "players are told it", \
	          "signal.enable and lobby.enable")

Test(conf, production_does_not_start_without_its_secrets)
{
	expect_refused(PRODUCTION, NO_TURN("default") NO_SIGNAL("default"));
	expect_refused(PRODUCTION "[turn]\nsecret = s\n", NO_SIGNAL("default"));
	expect_refused(PRODUCTION "[signal]\ntoken = t\n[turn]\nsecret =  \n", NO_TURN("text:6"));

	struct conf c = load_text(PRODUCTION "[signal]\ntoken = t\n[turn]\nsecret = s\n");
	conf_fini(&c);
	expect_refused(PRODUCTION "[lobby]\nenable = no\n", NO_SIGNAL("default"));
	expect_refused(PRODUCTION "[signal]\nenable = no\n", NO_TURN("default") NO_SIGNAL("default"));
	c = load_text(PRODUCTION "[lobby]\nenable = no\n[signal]\nenable = no\n");
	conf_fini(&c);
	c = load_text("[lobby]\nenable = yes\n");
	cr_expect_str_eq(c.turn_secret, "", "outside production they are made in data/secrets");
	conf_fini(&c);
}

Test(conf, names_of_the_protocol_documents_set_what_they_name)
{
	const char *const env[]  = { "COOP_SIGNALING_TOKEN=t",
		                     "COOP_SIGNALING_URL=h:1",
		                     "COOP_SIGNALING_PORT=20000",
		                     "COOP_SIGNALING_TLS_PORT=20442",
		                     "COOP_SIGNALING_NONCE_DELAY_MS=1500",
		                     "COOP_REQUIRE_TLS=1",
		                     "COOP_TLS_CERT=a",
		                     "COOP_TLS_KEY=b",
		                     "COOP_MASTER_PORT=8080",
		                     "COOP_MASTER_TLS_PORT=65535",
		                     "COOP_MAX_BUILD=nonsense",
		                     NULL };
	const char *const rest[] = { "COOP_TURN_SECRET=s",  "COOP_TURN_URI=turn:h", "COOP_STUN_URI=stun:h",
		                     "COOP_LATEST_PROTO=7", "COOP_LATEST_MOD=m",    "COOP_LATEST_URL=https://u",
		                     "COOP_THANKS_FILE=/t", "COOP_ALLOWED_BUILDS",  NULL };
	struct conf       c;

	const struct conf_args first = { .env = environment(env) };
	cr_assert(load(&c, &first, ""));
	cr_expect_str_eq(c.signal_token, "t");
	cr_expect_str_eq(c.signal_url, "h:1");
	cr_expect_str_eq(c.signal_listen.words[0], "127.0.0.1:20000");
	cr_expect_str_eq(c.signal_tls_listen.words[0], "127.0.0.1:20442");
	cr_expect_eq(c.limits.signal_nonce_delay_ms, 1500);
	cr_expect(c.tls_require);
	cr_expect_str_eq(c.tls_cert, "a");
	cr_expect_eq(c.http_listen.count, 1);
	cr_expect_str_eq(c.http_listen.words[0], "127.0.0.1:8080");
	cr_expect_str_eq(c.http_tls_listen.words[0], "127.0.0.1:65535");
	conf_fini(&c);

	const struct conf_args second = { .env = environment(rest) };
	cr_assert(load(&c, &second, ""));
	cr_expect_str_eq(c.turn_secret, "s");
	cr_expect_str_eq(c.turn_uri, "turn:h");
	cr_expect_str_eq(c.stun_uri, "stun:h");
	cr_expect_eq(c.latest_proto, 7);
	cr_expect_str_eq(c.latest_mod, "m");
	cr_expect_str_eq(c.latest_url, "https://u");
	cr_expect_str_eq(c.thanks_file, "/t");
	conf_fini(&c);
}

/* As a container passes on what nobody gave it. */
Test(conf, empty_ones_are_as_if_they_were_not_set)
{
	const char *const env[] = { "COOP_SIGNALING_TOKEN=", "COOP_SIGNALING_URL=",  "COOP_REQUIRE_TLS=",
		                    "COOP_MASTER_PORT=",     "COOP_MASTER_TLS_PORT", "COOP_LATEST_PROTO=",
		                    "COOP_TURN_SECRET=",     "COOP_MAX_BUILD=",      NULL };
	struct conf       c;

	write_file("coopd.conf", "[latest]\nproto = 5\n");
	const struct conf_args args = { .env = environment(env) };
	cr_assert(load(&c, &args, ""));
	cr_expect_str_eq(c.signal_token, "");
	cr_expect_not(c.tls_require);
	cr_expect_str_eq(c.http_listen.words[0], "127.0.0.1:10001");
	cr_expect_str_eq(c.http_tls_listen.words[0], "127.0.0.1:10443");
	cr_expect_eq(c.latest_proto, 5);
	conf_fini(&c);
}

Test(conf, our_own_names_win_over_those_of_the_documents)
{
	const char *const env[] = {
		"COOP_SIGNALING_TOKEN=theirs",  "COOP_SIGNAL_TOKEN=ours",    "COOP_TLS_REQUIRE=no",
		"COOP_REQUIRE_TLS=1",           "COOP_MASTER_PORT=1",        "COOP_MASTER_TLS_PORT=2",
		"COOP_HTTP_LISTEN=127.0.0.1:3", "COOP_SIGNALING_URL=by:env", NULL
	};
	const char *sets[] = { "http.tls_listen=127.0.0.1:4", "signal.url=by.set:1" };
	struct conf c;

	write_file("coopd.conf", "[signal]\ntoken = files\nurl = by:file\n");
	const struct conf_args args = { .env = environment(env), .sets = sets, .set_count = COUNT_OF(sets) };
	cr_assert(load(&c, &args,
	               "environment COOP_SIGNALING_TOKEN: changes nothing, because signal.token is set already "
	               "(environment COOP_SIGNAL_TOKEN)\n"
	               "environment COOP_REQUIRE_TLS: changes nothing, because tls.require is set already "
	               "(environment COOP_TLS_REQUIRE)\n"
	               "environment COOP_MASTER_PORT: changes nothing, because http.listen is set already "
	               "(environment COOP_HTTP_LISTEN)\n"
	               "environment COOP_MASTER_TLS_PORT: changes nothing, because http.tls_listen is set already "
	               "(--set)\n"));
	cr_expect_str_eq(c.signal_token, "ours");
	cr_expect_str_eq(c.signal_url, "by.set:1");
	cr_expect_not(c.tls_require);
	cr_expect_str_eq(c.http_listen.words[0], "127.0.0.1:3");
	cr_expect_str_eq(c.http_tls_listen.words[0], "127.0.0.1:4");
	conf_fini(&c);
}

Test(conf, a_port_that_is_none_is_refused)
{
	const char *const env[] = { "COOP_MASTER_PORT=65536", "COOP_MASTER_TLS_PORT=80 81", "COOP_REQUIRE_TLS=perhaps",
		                    "COOP_LATEST_PROTO=new", NULL };
	struct conf       c;

	const struct conf_args args = { .env = environment(env) };
	cr_expect_not(load(&c, &args,
	                   "environment COOP_LATEST_PROTO: latest.proto: \"new\" is not a number from 0 to 65535\n"
	                   "environment COOP_REQUIRE_TLS: tls.require: \"perhaps\" is neither yes (true, on, 1) "
	                   "nor no (false, off, 0)\n"
	                   "environment COOP_MASTER_PORT: \"65536\" is no port from 0 to 65535\n"
	                   "environment COOP_MASTER_TLS_PORT: \"80 81\" is no port from 0 to 65535\n"));
}
