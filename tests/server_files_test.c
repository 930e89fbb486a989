/*
 * How descriptors are shared out: at each bound and one past it.
 */
#include "server_files.h"

#include "net/http.h"
#include "net/tcp.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct conf conf;
static char       *address[] = { NULL };
static char        none[] = "", some[] = "127.0.0.1";

static void prepare(void)
{
	limits_default(&conf.limits);
	conf.http_enable         = true;
	conf.admin_enable        = true;
	conf.tunnel_enable       = true;
	conf.cloud_enable        = true;
	conf.signal_enable       = true;
	conf.tls_cert            = none;
	conf.http_listen         = (struct conf_list){ .words = address, .count = 1 };
	conf.admin_listen        = (struct conf_list){ .words = address, .count = 1 };
	conf.admin_events_listen = (struct conf_list){ .words = address, .count = 1 };
	conf.tunnel_listen       = (struct conf_list){ .words = address, .count = 1 };
	conf.signal_listen       = (struct conf_list){ .words = address, .count = 1 };
	conf.rooms_enable        = true;
	conf.rooms_listen        = (struct conf_list){ .words = address, .count = 1 };
	conf.p2p_enable          = true;
	conf.p2p_listen1         = some;
	conf.p2p_listen2         = some;
}

TestSuite(server_files, .init = prepare);

/* What is said when it does not fit, "" otherwise. */
static const char *share(struct server_files *out, int64_t files)
{
	static char said[512];
	FILE       *report = fmemopen(said, sizeof(said), "w");
	enum err    e;

	said[0] = '\0';
	cr_assert_not_null(report);
	e = server_files_share(out, &conf, files, 4, report);
	fclose(report);
	cr_expect_eq(e == ERR_OK, said[0] == '\0');
	return said;
}

/* All that can be open at once. */
static int64_t total(const struct server_files *f)
{
	const struct limits *l = &conf.limits;

	return l->http_connections + f->http_leaving + 2 * l->http_transfers + 2 * f->admin_connections +
	       2 * f->admin_tcp_connections + 2 * f->admin_viewers + f->ws_connections + 2 * f->cloud_vaults +
	       l->signal_unproved + f->signal_peers + f->rooms_connections +
	       (conf.rooms_relay ? 4 * f->rooms_streams : 0) + TCP_LEAVING_MAX;
}

/* The fewest with which it starts. */
static int64_t fewest(void)
{
	struct server_files f;
	int64_t             files = 1;

	while (files < 100000 && *share(&f, files))
		files++;
	return files;
}

Test(server_files, with_room_for_all_nothing_is_lowered)
{
	struct server_files f;

	share(&f, 1);
	int64_t wanted = f.wanted;

	cr_expect_str_empty(share(&f, wanted));
	cr_expect_eq(f.ws_connections, 16384);
	cr_expect_eq(f.cloud_vaults, 4096);
	cr_expect_eq(f.signal_peers, 512);
	cr_expect_eq(f.rooms_connections, 4096);
	cr_expect_eq(f.rooms_streams, 1024);
	cr_expect_eq(f.http_leaving, HTTP_LEAVING_MAX);
	cr_expect_leq(total(&f), wanted - 32);

	cr_expect_str_empty(share(&f, wanted - 1));
	cr_expect_lt(f.ws_connections + f.cloud_vaults + f.http_leaving, 16384 + 4096 + HTTP_LEAVING_MAX);
}

static void expect_all_to_fit(void)
{
	struct server_files f;

	for (int64_t files = fewest(); files < 30000; files += 37) {
		cr_assert_str_empty(share(&f, files));
		cr_assert_leq(total(&f), files - 32, "%d", (int)files);
		cr_assert_geq(f.ws_connections, 128, "%d", (int)files);
		cr_assert_geq(f.cloud_vaults, 24, "%d", (int)files);
		cr_assert_geq(f.signal_peers, 32, "%d", (int)files);
		cr_assert_geq(f.rooms_connections, 32, "%d", (int)files);
		cr_assert_leq(f.rooms_connections, 4096, "%d", (int)files);
		cr_assert_geq(f.rooms_streams, 4, "%d", (int)files);
		cr_assert_geq(f.admin_connections, 4, "%d", (int)files);
		cr_assert_geq(f.admin_tcp_connections, 4, "%d", (int)files);
		cr_assert_geq(f.admin_viewers, 4, "%d", (int)files);
		cr_assert_leq(f.admin_viewers, 16, "%d", (int)files);
		cr_assert_leq(f.admin_tcp_connections, 32, "%d", (int)files);
		cr_assert_leq(f.rooms_streams, 1024, "%d", (int)files);
	}
}

Test(server_files, what_is_shared_out_always_fits)
{
	expect_all_to_fit();
	conf.rooms_relay = true;
	expect_all_to_fit();
}

Test(server_files, streams_need_pipes_only_where_there_is_a_relay)
{
	struct server_files f;
	int64_t             least = fewest();

	share(&f, least);
	int64_t wanted = f.wanted;

	conf.rooms_relay = true;
	cr_expect_eq(fewest(), least + 4 * 4);
	cr_expect_lt(fewest(), 1024, "the usual limit is enough");
	share(&f, fewest());
	cr_expect_eq(f.wanted, wanted + 4 * 1024);
	cr_expect_eq(f.rooms_connections, 32);
	cr_expect_eq(f.rooms_streams, 4);
}

Test(server_files, peer_to_peer_has_two_sockets_for_each_address)
{
	int64_t both = fewest();

	conf.p2p_listen2 = none;
	cr_expect_eq(fewest(), both - 2);
	conf.p2p_listen1 = none;
	cr_expect_eq(fewest(), both - 4);
	conf.p2p_listen2 = some;
	cr_expect_eq(fewest(), both - 4, "the second alone is not used");
	conf.p2p_listen1 = some;
	conf.p2p_enable  = false;
	cr_expect_eq(fewest(), both - 4);
}

Test(server_files, the_status_page_of_the_rooms_needs_its_connections_twice)
{
	int64_t before = fewest();

	conf.rooms_status_listen = (struct conf_list){ .words = address, .count = 1 };
	cr_expect_eq(fewest(), before + 3 + 2 * 16);
}

Test(server_files, a_server_of_rooms_alone_gives_them_what_is_left)
{
	struct server_files f;

	conf.tunnel_enable = false;
	conf.http_enable   = false;
	conf.signal_enable = false;
	cr_expect_str_empty(share(&f, fewest() + 1000));
	cr_expect_geq(f.rooms_connections, 32 + 800);
	cr_expect_eq(f.admin_connections, 16);
	cr_expect_leq(f.rooms_connections, 32 + 1000);
}

Test(server_files, without_room_for_some_games_one_sentence_says_what_is_needed)
{
	struct server_files f;
	int64_t             least = fewest();
	char                words[80];

	cr_expect_lt(least, 1024, "the usual limit is enough");
	cr_expect_str_empty(share(&f, least));
	cr_expect_eq(f.ws_connections, 128, "64 games");
	snprintf(words, sizeof(words), "may have %d files and connections open and needs at least %d", (int)least - 1,
	         (int)least);
	cr_expect(strstr(share(&f, least - 1), words), "%s", share(&f, least - 1));
	cr_expect(strstr(share(&f, least - 1), "raise LimitNOFILE= (systemd) or ulimit -n"));
}

Test(server_files, fewer_http_connections_leave_more_for_games)
{
	int64_t before = fewest();

	conf.limits.http_connections = 56;
	cr_expect_eq(fewest(), before - 200);
}

Test(server_files, what_is_not_wanted_needs_nothing)
{
	struct server_files f;

	conf.limits.ws_connections = 20;
	conf.limits.cloud_vaults   = 10;
	share(&f, fewest());
	cr_expect_eq(f.ws_connections, 20);
	cr_expect_eq(f.cloud_vaults, 10);
	conf.tunnel_enable         = false;
	conf.limits.ws_connections = 16384;
	conf.rooms_enable          = false;
	share(&f, fewest());
	cr_expect_eq(f.ws_connections, 16384, "nobody looks at it");
	cr_expect_eq(f.rooms_connections, 4096, "the same");
}
