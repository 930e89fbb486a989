/*
 * A disk that has no room for the database's log: who is new is refused, who plays goes on, the operator is told, and
 * all is well again when there is room.
 */
#include "support/faulty_server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <sched.h>

#define NEW_PLAYERS 100

static void fill_disk(struct faulty_server *f)
{
	f->disk->write_errno = ENOSPC;
	f->disk->fail_writes = -1;
}

static void make_room(struct faulty_server *f)
{
	f->disk->fail_writes = 0;
}

/* Asked from an address of his own, which no limit per address has seen. */
static struct ws_client *ask_new(const struct faulty_server *f, int number)
{
	return ask_open(f->server->tunnel_port, name_number("203.0.113.", number), name_number("new ", number));
}

/* The server and all its threads, which then change over at the most awkward moments. */
static void use_one_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	cr_assert_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* On one processor the disk's answer is there before the one who asked has put down his pen. */
Test(full_disk, nobody_gets_a_code_that_is_not_kept)
{
	struct faulty_server f;

	use_one_processor();
	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	fill_disk(&f);
	for (int i = 0; i < NEW_PLAYERS; i++) {
		struct ws_client *c = ask_new(&f, i);

		ws_expect_closed(c);
		ws_client_free(c);
	}
	cr_expect_eq(server_metric(f.server, "coopd_tunnel_closed_total", "reason=\"store\""), NEW_PLAYERS);
	server_finish(f.server);
}

Test(full_disk, it_is_said_and_forgotten_when_there_is_room)
{
	struct faulty_server f;
	uint32_t             code, new_code, again;

	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	int               port   = f.server->tunnel_port;
	struct ws_client *host   = host_open(port, "A", &code);
	struct ws_client *friend = friend_join(port, code, "visit B", "B");

	host_expect_friend(host, 1, "B");
	fill_disk(&f);
	struct ws_client *fresh = ask_new(&f, 1);

	ws_expect_closed(fresh);
	ws_client_free(fresh);
	faulty_expect_health(&f, "failing");
	faulty_expect_log(&f, "disk is full");
	faulty_expect_log(&f, "make room");

	/* The game goes on, for a friend who is new to it too, and its host may leave and come back. */
	friend_send(friend, "up", 2);
	host_expect_datagram(host, 1, "up", 2);
	struct ws_client *late = friend_join(port, code, "visit D", "D");

	host_expect_friend(host, 2, "D");
	ws_client_free(host);
	friend_expect_state(friend, STATE_LOST);
	host = host_open(port, "A", &again);
	cr_expect_eq(again, code);
	host_expect_friend(host, 1, "B");
	host_expect_friend(host, 2, "D");

	make_room(&f);
	ws_client_free(host_open(port, "new 1", &new_code));
	faulty_expect_health(&f, "ok");

	ws_client_free(late);
	ws_client_free(friend);
	ws_client_free(host);
	server_restart(f.server);
	port = f.server->tunnel_port;
	host = host_open(port, "A", &again);
	cr_expect_eq(again, code);
	host_expect_friend(host, 1, "B");
	ws_client_free(host_open(port, "new 1", &again));
	cr_expect_eq(again, new_code);
	ws_client_free(host);
	server_finish(f.server);
}

/* A client comes back every few seconds, for as long as the disk is full: that is no reason to refuse him afterwards. */
Test(full_disk, who_was_refused_has_used_up_no_limit)
{
	static const char *const one[] = { "limits.tunnel_new_per_address=1", "limits.tunnel_new_total=1", NULL };
	struct faulty_server     f;

	faulty_prepare(&f, "coop.db-wal", one);
	faulty_start(&f);
	fill_disk(&f);
	for (int i = 0; i < 3; i++) {
		struct ws_client *c = ask_new(&f, 1);

		ws_expect_closed(c);
		ws_client_free(c);
	}
	make_room(&f);
	struct ws_client *c = ask_new(&f, 1);

	cr_expect_eq(ask_answer(c), 0);
	ws_client_free(c);
	cr_expect_eq(ask_open_once(f.server->tunnel_port, "203.0.113.2", "another"), 1, "who was not counts");
	server_finish(f.server);
}
