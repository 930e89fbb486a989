/*
 * After the disk has once failed to sync the database's log, nobody is promised anything any more until a restart; who
 * plays notices nothing, and what was promised before is kept.
 */
#include "support/faulty_server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdio.h>

#define PLAYERS_MAX 500

/* As the server closes when the reason is its own: no FAULT, and the client comes back by himself. */
static void expect_refused(struct ws_client *c)
{
	ws_expect_closed(c);
	ws_client_free(c);
}

/* Host "A" with his friend "B", who was told number 1, and player "C", who has a code and no game. */
struct company {
	struct ws_client *host, *friend;
	uint32_t          code, other_code;
};

static void gather(struct company *c, int port)
{
	c->host   = host_open(port, "A", &c->code);
	c->friend = friend_join(port, c->code, "visit B", "B");
	host_expect_friend(c->host, 1, "B");
	ws_client_free(host_open(port, "C", &c->other_code));
}

static void expect_datagrams(struct company *c)
{
	friend_send(c->friend, "up", 2);
	host_expect_datagram(c->host, 1, "up", 2);
	host_send(c->host, 1, "down", 4);
	friend_expect_datagram(c->friend, "down", 4);
	tunnel_echo(c->friend);
	tunnel_echo(c->host);
}

static void leave(struct company *c)
{
	ws_client_free(c->friend);
	ws_client_free(c->host);
}

static void fail_one_sync(struct faulty_server *f, const char *victim)
{
	f->disk->fail_syncs = 1;
	expect_refused(ask_open(f->server->tunnel_port, NULL, victim));
	cr_assert_eq(f->disk->fail_syncs, 0, "the disk says that it is well again");
}

Test(failed_sync, no_new_player_gets_a_code_before_a_restart)
{
	struct faulty_server f;

	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	faulty_expect_health(&f, "ok");
	fail_one_sync(&f, "new 1");
	expect_refused(ask_open(f.server->tunnel_port, NULL, "new 2"));
	expect_refused(ask_open(f.server->tunnel_port, NULL, "new 1"));

	faulty_expect_health(&f, "failing");
	cr_expect_eq(server_metric(f.server, "coopd_store_failing", NULL), 1);
	faulty_expect_log(&f, "check the disk");
	faulty_expect_log(&f, "restart coopd");

	server_restart(f.server);
	faulty_expect_health(&f, "ok");
	ws_client_free(host_open(f.server->tunnel_port, "new 1", NULL));
	ws_client_free(host_open(f.server->tunnel_port, "new 2", NULL));
	server_finish(f.server);
}

/* Asks until one is refused, and returns how many were not. */
static int ask_until_refused(int port)
{
	for (int asked = 0; asked < PLAYERS_MAX; asked++) {
		struct ws_client   *c    = ask_open(port, NULL, name_number("early ", asked));
		enum ws_client_what what = ws_client_receive(c, DIAL_PATIENCE_MS).what;

		ws_client_free(c);
		if (what == WS_CLOSED)
			return asked;
		cr_assert_eq(what, WS_MESSAGE);
	}
	cr_assert_fail("nobody was refused");
	return 0;
}

/* The log is folded into the database itself once it is long enough, behind the answers: enough players see to that. */
Test(failed_sync, of_the_database_itself_is_as_final)
{
	static const char *const many[] = { "limits.tunnel_new_per_address=1000",
		                            "limits.tunnel_games_per_address=1000", NULL };
	struct faulty_server     f;
	char                     loads[64];

	faulty_prepare(&f, "coop.db", many);
	faulty_start(&f);
	f.disk->fail_syncs = 1;
	snprintf(loads, sizeof(loads), "loads players=%d ", ask_until_refused(f.server->tunnel_port));
	faulty_expect_health(&f, "failing");
	server_restart(f.server);
	faulty_expect_log(&f, loads);
	server_finish(f.server);
}

Test(failed_sync, games_go_on_and_let_in_known_hosts_and_new_friends)
{
	struct faulty_server f;
	struct company       c;
	uint32_t             code;

	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	int port = f.server->tunnel_port;

	gather(&c, port);
	fail_one_sync(&f, "new");
	expect_datagrams(&c);

	/* A host who comes back, and one who begins. */
	ws_client_free(c.host);
	friend_expect_state(c.friend, STATE_LOST);
	c.host = host_open(port, "A", &code);
	cr_expect_eq(code, c.code);
	host_expect_friend(c.host, 1, "B");
	host_send_state(c.host, STATE_READY);
	friend_expect_state(c.friend, STATE_READY);
	struct ws_client *other = host_open(port, "C", &code);

	cr_expect_eq(code, c.other_code);

	/* A friend whose place cannot be kept plays all the same. */
	struct ws_client *late = friend_join(port, c.code, "visit D", "D");

	host_expect_friend(c.host, 2, "D");
	friend_send(late, "late", 4);
	host_expect_datagram(c.host, 2, "late", 4);
	faulty_expect_log(&f, "plays-unkept");
	expect_datagrams(&c);

	ws_client_free(late);
	ws_client_free(other);
	leave(&c);
	server_finish(f.server);
}

Test(failed_sync, a_restart_finds_all_that_was_promised)
{
	struct faulty_server f;
	struct company       c;
	uint32_t             code, other_code;

	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	gather(&c, f.server->tunnel_port);
	fail_one_sync(&f, "new");
	leave(&c);

	server_restart(f.server);
	int               port = f.server->tunnel_port;
	struct ws_client *host = host_open(port, "A", &code);

	host_expect_friend(host, 1, "B");
	ws_client_free(friend_join_state(port, code, "visit B", "B", STATE_LOST));
	ws_client_free(host_open(port, "C", &other_code));
	cr_expect_eq(code, c.code);
	cr_expect_eq(other_code, c.other_code);
	ws_client_free(host);
	server_finish(f.server);
}
