/*
 * A disk that does nothing, or everything slowly, and an output that nobody reads: who plays notices nothing, whoever
 * asks how the server is gets an answer, and nothing that was promised is lost afterwards.
 */
#include "support/faulty_server.h"
#include "support/party.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <signal.h>

#define STALL_MS   30000
#define STEP_MS    5000
#define PLAY_MS    2500
#define PER_S      60
#define CALL_MS    2000
#define P99_MS_MAX 250 /* with the sanitizers, on a machine that has other tests to run */

struct stalled {
	struct faulty_server f;
	struct ws_client    *host, *friend;
	uint32_t             code;
};

static bool play_on(void *arg)
{
	struct stalled *s = arg;

	friend_send(s->friend, "up", 2);
	host_expect_datagram(s->host, 1, "up", 2);
	host_send(s->host, 1, "down", 4);
	friend_expect_datagram(s->friend, "down", 4);
	tunnel_echo(s->host);
	tunnel_echo(s->friend);
	return true;
}

Test(slow_disk, a_store_that_stands_still_for_30_s_keeps_only_new_players_waiting)
{
	struct stalled s;
	struct pattern opened;
	uint32_t       new_code, code;

	/* Longer than usual, so that a busy machine's own time does not count. */
	faulty_prepare(&s.f, NULL, (const char *[]){ "limits.tunnel_keep_wait_ms=10000", NULL });
	faulty_start(&s.f);
	int port = s.f.server->tunnel_port;

	s.host   = host_open(port, "A", &s.code);
	s.friend = friend_join(port, s.code, "visit B", "B");
	host_expect_friend(s.host, 1, "B");
	faulty_hold_disk(&s.f);
	struct ws_client *fresh = ask_open(port, NULL, "new");
	struct ws_client *late  = ask_join(port, NULL, s.code, "visit D", "D");

	ws_expect_nothing(late, 50);
	server_advance(s.f.server, 5000);
	ws_expect_nothing(late, 20);
	server_advance(s.f.server, 5000);
	cr_expect_eq(ask_answer(late), 0, "he plays without his place being kept");
	host_expect_friend(s.host, 2, "D");

	server_advance_steps(s.f.server, STALL_MS, STEP_MS, play_on, &s);
	faulty_expect_health(&s.f, "slow");
	ws_expect_nothing(fresh, 20);

	faulty_let_go(&s.f);
	msg_host_opened(&opened, "new");
	struct ws_client_event e = ws_client_receive(fresh, DIAL_PATIENCE_MS);

	cr_assert(e.what == WS_MESSAGE && pattern_matches(&opened, e.data, e.len));
	new_code = read_u32(e.data + 1);
	server_await_metric(s.f.server, "coopd_store_queue", NULL, 0, 5000);
	faulty_expect_health(&s.f, "ok");

	/* The friend who did not wait was kept as well, once that was possible. */
	server_kill(s.f.server);
	ws_client_free(fresh);
	ws_client_free(late);
	ws_client_free(s.friend);
	ws_client_free(s.host);
	faulty_start(&s.f);
	port   = s.f.server->tunnel_port;
	s.host = host_open(port, "A", &code);
	cr_expect_eq(code, s.code);
	host_expect_friend(s.host, 1, "B");
	host_expect_friend(s.host, 2, "D");
	ws_client_free(host_open(port, "new", &code));
	cr_expect_eq(code, new_code);
	ws_client_free(s.host);
	server_finish(s.f.server);
}

/* Who hangs up and asks again while he waits takes his own place in the queue. */
Test(slow_disk, a_new_player_who_asks_twice_gets_one_code)
{
	struct faulty_server f;
	struct pattern       opened;
	uint32_t             code;

	faulty_prepare(&f, NULL, NULL);
	faulty_start(&f);
	int port = f.server->tunnel_port;

	faulty_hold_disk(&f);
	struct ws_client *impatient = ask_open(port, NULL, "new");
	struct ws_client *again     = ask_open(port, NULL, "new");

	ws_expect_closed(impatient);
	ws_client_free(impatient);
	faulty_let_go(&f);
	msg_host_opened(&opened, "new");
	struct ws_client_event e = ws_client_receive(again, DIAL_PATIENCE_MS);

	cr_assert(e.what == WS_MESSAGE && pattern_matches(&opened, e.data, e.len));
	uint32_t told = read_u32(e.data + 1);

	ws_client_free(again);
	server_restart(f.server);
	ws_client_free(host_open(f.server->tunnel_port, "new", &code));
	cr_expect_eq(code, told);
	server_finish(f.server);
}

static int count_closed(struct faulty_server *f)
{
	return (int)server_metric(f->server, "coopd_tunnel_closed_total", "reason=\"store\"");
}

/*
 * QUEUE jobs wait behind one that the disk holds, which may be an older one of the server's own; whoever is beyond, in
 * whatever order they came in, hears at once that waiting is of no use.
 */
Test(slow_disk, beyond_a_full_queue_new_players_are_closed_and_new_friends_play)
{
	enum { QUEUE = 4, ASKED = 12 };
	static const char *const small[] = { "limits.store_jobs=4", "limits.store_batch=1", NULL };
	struct faulty_server     f;
	struct ws_client        *fresh[ASKED];
	uint32_t                 code;
	int                      answered = 0;

	faulty_prepare(&f, NULL, small);
	faulty_start(&f);
	int               port = f.server->tunnel_port;
	struct ws_client *host = host_open(port, "A", &code);

	server_await_metric(f.server, "coopd_store_queue", NULL, 0, DIAL_PATIENCE_MS);
	faulty_hold_disk(&f);
	for (int i = 0; i < ASKED; i++)
		fresh[i] = ask_open(port, name_number("203.0.113.", i), name_number("new ", i));

	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (count_closed(&f) < ASKED - QUEUE - 1)
		cr_assert_lt(real_now_ms(), deadline_ms, "%d were closed", count_closed(&f));
	struct ws_client *friend = friend_join(port, code, "visit D", "D");

	host_expect_friend(host, 1, "D");
	faulty_expect_health(&f, "slow");
	int closed = count_closed(&f);

	faulty_let_go(&f);
	for (int i = 0; i < ASKED; i++) {
		answered += ws_client_receive(fresh[i], DIAL_PATIENCE_MS).what == WS_MESSAGE;
		ws_client_free(fresh[i]);
	}
	cr_expect_eq(answered, ASKED - closed, "%d answered, %d closed", answered, closed);
	ws_client_free(friend);
	ws_client_free(host);
	server_finish(f.server);
}

/* Not one of the round trips waited for the disk, and nearly all are as usual. */
static void expect_undisturbed(struct party *p)
{
	cr_log_info("round trips: median %u us, 99 %% under %u us, slowest %u us", party_trip_us(p, 500),
	            party_trip_us(p, 990), party_trip_us(p, 999));
	cr_expect_lt(party_trip_us(p, 990), P99_MS_MAX * 1000);
	cr_expect_lt(party_trip_us(p, 999), CALL_MS * 1000);
}

Test(slow_disk, reads_writes_and_syncs_of_2_s_delay_no_datagram_and_no_answer_about_health)
{
	struct faulty_server f;
	struct party        *p = party_new("p", 8, 3);

	faulty_prepare(&f, NULL, (const char *[]){ "log.level=debug", NULL });
	faulty_start(&f);
	int port = f.server->tunnel_port;

	party_gather(p, port, PARTY_HOSTS_FIRST, 10000);
	party_play(p, 200, PER_S);
	party_forget_trips(p);

	f.disk->delay_ms        = CALL_MS;
	struct ws_client *fresh = ask_open(port, NULL, "new");

	for (int played_ms = 0; played_ms < PLAY_MS; played_ms += PLAY_MS / 5) {
		party_play(p, PLAY_MS / 5, PER_S);
		faulty_expect_health(&f, NULL);
	}
	faulty_expect_health(&f, "slow");
	ws_expect_nothing(fresh, 1);
	expect_undisturbed(p);

	faulty_let_go(&f);
	cr_expect_eq(ask_answer(fresh), 0);
	ws_client_free(fresh);
	party_free(p);
	server_finish(f.server);
}

/* Connections that come and go are worth some lines each, in a log of everything. */
static void fill_output(const struct faulty_server *f)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (!faulty_is_output_full(f)) {
		cr_assert_lt(real_now_ms(), deadline_ms, "the output does not become full");
		cr_assert_eq(ask_join_once(f->server->tunnel_port, "203.0.113.9", 100000, "x", "x"), 3);
	}
}

Test(slow_disk, an_output_that_nobody_reads_holds_up_nothing_and_no_stop)
{
	struct faulty_server f;
	struct party        *p = party_new("p", 8, 3);

	faulty_prepare(&f, NULL,
	               (const char *[]){ "log.level=debug", "limits.ws_accept_burst=10000",
	                                 "limits.tunnel_join_fails=1000", NULL });
	faulty_pipe_output(&f);
	faulty_start(&f);
	int port = f.server->tunnel_port;

	party_gather(p, port, PARTY_HOSTS_FIRST, 10000);
	faulty_stop_reading(&f);
	fill_output(&f);
	party_forget_trips(p);
	party_play(p, 500, PER_S);
	expect_undisturbed(p);
	faulty_expect_health(&f, "ok");

	uint32_t code;

	ws_client_free(host_open(port, "new", &code));
	cr_expect(faulty_is_output_full(&f));
	party_free(p);
	server_finish(f.server);
}
