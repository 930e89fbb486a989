/*
 * A new process takes over: games go on after one reconnect, nobody is turned away, and when anything is wrong with the new one, the
 * old one stays.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/lobby_client.h"
#include "support/next_server.h"
#include "support/p2p_peer.h"
#include "support/party.h"
#include "support/rooms_client.h"
#include "support/signal_client.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER      AUTO(rest_freep) struct http_result
#define GAMES       100
#define COMES_MS    2000 /* a game's mod tries again after so long */
#define GAP_MS      4000 /* on a machine that has time */
#define PATIENCE_MS 30000

static struct server *s;

static void stop(void)
{
	if (s)
		server_finish(s);
}

TestSuite(handover, .fini = stop);

/* It is gone soon after. */
static void advance_until_it_hands_over(int64_t by_ms)
{
	for (int i = 0; i < 20 && server_is_running(s) && !server_log_contains(s, "hands-over to="); i++) {
		server_advance(s, by_ms);
		real_sleep_ms(20);
	}
}

/* --- An upgrade under traffic --- */

struct crossing {
	struct party *party;
	int64_t       down_ms[2 * GAMES], heard_ms[2 * GAMES]; /* 0: is up; when the last datagram came back */
	uint32_t      answered[2 * GAMES];
	int           reconnects[2 * GAMES];
	int64_t       gap_ms; /* the longest */
};

/* What happened to this one since the last look. */
static void look_at(struct crossing *x, int at, int64_t now_ms)
{
	struct party_member *m = &x->party->members[at];

	if (m->peer.phase == CROWD_DOWN && !x->down_ms[at]) {
		x->down_ms[at] = now_ms;
		x->reconnects[at]++;
	}
	if (m->in)
		x->down_ms[at] = 0;
	if (m->answered == x->answered[at])
		return;
	if (x->heard_ms[at] && now_ms - x->heard_ms[at] > x->gap_ms)
		x->gap_ms = now_ms - x->heard_ms[at];
	x->answered[at] = m->answered;
	x->heard_ms[at] = now_ms;
}

static bool is_anybody_due(const struct crossing *x, int64_t now_ms)
{
	for (int i = 0; i < 2 * GAMES; i++) {
		if (x->party->members[i].peer.phase == CROWD_DOWN && x->down_ms[i] &&
		    now_ms - x->down_ms[i] >= COMES_MS)
			return true;
	}
	return false;
}

static void play_on(struct crossing *x, int ms)
{
	int64_t end_ms = real_now_ms() + ms;

	while (real_now_ms() < end_ms) {
		int64_t now_ms;

		party_play(x->party, 20, 10);
		now_ms = real_now_ms();
		for (int i = 0; i < 2 * GAMES; i++)
			look_at(x, i, now_ms);
		if (is_anybody_due(x, now_ms)) {
			party_dial(x->party, s->tunnel_port, true);
			party_dial(x->party, s->tunnel_port, false);
		}
	}
}

static bool has_everybody_come_back(const struct crossing *x)
{
	for (int i = 0; i < 2 * GAMES; i++) {
		if (x->reconnects[i] == 0)
			return false;
	}
	return party_is_gathered(x->party);
}

static bool has_everybody_heard_since(const struct crossing *x, int64_t since_ms)
{
	for (int g = 0; g < GAMES; g++) {
		if (x->heard_ms[2 * g + 1] < since_ms)
			return false;
	}
	return true;
}

static void expect_all_surfaces(void)
{
	struct identity       alice = identity_of(1), bob = identity_of(2);
	struct signal_client *a   = signal_registered(s, SIGNAL_PLAIN, &alice);
	struct signal_client *b   = signal_registered(s, SIGNAL_PLAIN, &bob);
	struct gamer         *ann = gamer_new(s, "title", "ann"), *bert = gamer_new(s, "title", "bert");
	uint64_t              room = gamer_create(ann, 4, NOTHING)->room_id;
	struct p2p_peer       peer;
	ANSWER                health = http_get(s->http_port, "/healthz");
	ANSWER                admin  = admin_get(s, "/admin/v1/status");

	cr_expect_eq(health.status, 200);
	admin_expect(&admin, 200, NULL);
	signal_say(a, "%s c0ffee", bob.text);
	signal_expect(b, "%s c0ffee", alice.text);
	gamer_join(bert, room, NOTHING);
	p2p_peer_open(&peer, s, 1);
	p2p_peer_free(&peer);
	gamer_free(ann);
	gamer_free(bert);
	signal_client_free(a);
	signal_client_free(b);
}

Test(handover, a_hundred_games_go_on_after_one_reconnect, .timeout = 120)
{
	static const char *const sets[] = { "limits.ws_accept_rate=1000", "limits.ws_accept_burst=1000",
		                            "limits.handover_close_ms=500", NULL };
	struct crossing          x      = { .party = NULL };
	int                      most   = 0;
	int64_t                  until_ms, back_ms = 0;
	pid_t                    pid;

	s       = next_start(sets);
	x.party = party_new("upgrade", GAMES, 1);
	party_gather(x.party, s->tunnel_port, PARTY_HOSTS_FIRST, PATIENCE_MS);
	play_on(&x, 500);
	server_signal(s, SIGUSR1); /* nobody waits for it, so that all play on */
	for (until_ms = real_now_ms() + PATIENCE_MS; real_now_ms() < until_ms;) {
		play_on(&x, 100);
		if (!back_ms && has_everybody_come_back(&x))
			back_ms = real_now_ms();
		if (back_ms && has_everybody_heard_since(&x, back_ms))
			break;
	}
	pid = next_await(s);
	server_adopt(s, pid);
	party_check(x.party); /* same codes, same numbers */
	cr_assert(party_is_gathered(x.party), "a game is lost");
	cr_expect(back_ms && has_everybody_heard_since(&x, back_ms), "a game is silent");
	for (int i = 0; i < 2 * GAMES; i++)
		most = x.reconnects[i] > most ? x.reconnects[i] : most;
	fprintf(stderr, "hand-over with %d games: longest gap %lld ms, at most %d reconnects\n", GAMES,
	        (long long)x.gap_ms, most);
	cr_expect_eq(most, 1);
	cr_expect_leq(x.gap_ms, 4 * GAP_MS, "%lld ms are too many even for a busy machine", (long long)x.gap_ms);
	expect_all_surfaces();
	party_free(x.party);
}

Test(handover, and_once_more_with_what_is_kept)
{
	s = next_start(NULL);

	ANSWER lobby = master_post(s, "203.0.113.9", "/v1/host",
	                           J("{'game':'" LOBBY_GAME "','proto':1,'name':'stays','world':'w',"
	                             "'identity':'" LOBBY_IDENTITY "'}"));

	cr_assert_eq(lobby.status, 200, "%s", lobby.body);
	for (int i = 0; i < 2; i++) {
		server_expect_successor(s);
		server_adopt(s, next_hand_over(s));
		ANSWER list = http_get(s->http_port, "/v1/lobbies");
		cr_expect_not_null(strstr(list.body, "stays"), "%s", list.body);
	}
	expect_all_surfaces();
	cr_expect_eq(admin_audited(s, "server.handover", NULL, "ok"), 2);
	server_stop(s);
	cr_expect_neq(access(s->admin_socket, F_OK), 0, "the last one removes the sockets of the first");
}

/* --- A new process that is not good --- */

Test(handover, one_that_cannot_start_changes_nothing)
{
	FILE *file;

	s = next_start(NULL);

	struct ws_client *host = host_open(s->tunnel_port, "A", NULL);

	file = fopen("coopd.conf", "w");
	cr_assert_not_null(file);
	fputs("[latest]\nproto = many\n", file);
	fclose(file);
	next_expect_refused(s, "coopd.conf:2: latest.proto");
	next_await_log(s, "latest.proto");
	unlink("coopd.conf");

	next_is_script("exit 3");
	next_expect_refused(s, "status 3");
	next_is_script("kill -9 $$");
	next_expect_refused(s, "signal 9");
	next_is("/nonexistent");
	next_expect_refused(s, "cannot be run");
	cr_expect_eq(admin_audited(s, "server.handover", NULL, "invalid"), 4);

	tunnel_echo(host);
	ws_client_free(host);
	next_is_real();
	server_adopt(s, next_hand_over(s));
}

Test(handover, a_second_one_waits_for_nobody_and_a_slow_one_is_ended)
{
	s = next_start((const char *[]){ "limits.handover_check_ms=3000", NULL });
	next_is_script("echo $$ >slow.pid; exec sleep 100");
	server_signal(s, SIGUSR1);
	while (access("slow.pid", F_OK) != 0)
		real_sleep_ms(5);

	ANSWER second = admin_ask(s, "POST", "/admin/v1/handover", NULL);

	admin_expect(&second, 409, "exists");
	cr_expect_not_null(strstr(second.body, "or a dry run of one"), "%s", second.body);
	server_signal(s, SIGUSR1);
	next_await_log(s, "already");
	next_await_log(s, "handover_check_ms");
	next_is_real();
	server_signal(s, SIGUSR1);
	server_adopt(s, next_await(s));
	expect_all_surfaces();
}

Test(handover, a_stop_ends_one_that_is_tried)
{
	s = next_start(NULL);
	next_is_script("echo $$ >slow.pid; exec sleep 100");
	server_signal(s, SIGUSR1);
	while (access("slow.pid", F_OK) != 0)
		real_sleep_ms(5);
	server_stop(s);
	cr_expect_neq(access(s->admin_socket, F_OK), 0);
}

Test(handover, one_that_is_only_tried)
{
	s = next_start(NULL);

	ANSWER r = admin_ask(s, "POST", "/admin/v1/handover?dry_run=true", NULL);

	admin_expect(&r, 200, NULL);
	cr_expect(rest_bool(&r, "dry_run"));
	cr_expect(rest_bool(&r, "hand_over"), "it would");
	cr_expect_not_null(strstr(r.body, "\"since_at\":null"), "nothing drains: %s", r.body);
	next_is_script("exit 3");
	ANSWER bad = admin_ask(s, "POST", "/admin/v1/handover?dry_run=true", NULL);
	admin_expect(&bad, 422, "invalid");
	ANSWER odd = admin_ask(s, "POST", "/admin/v1/handover", "{\"deadline\":1}");
	admin_expect(&odd, 422, "unknown_member");
	ANSWER drain = admin_get(s, "/admin/v1/drain");
	cr_expect_not(rest_bool(&drain, "draining"));
	expect_all_surfaces();
}

/* --- Deaths half-way --- */

/* It hands over and is held up by a client who does not answer its close. */
static pid_t hand_over_held_up(struct ws_client **slow)
{
	struct ws_client_options mute = { .mute = true };
	pid_t                    pid;

	s     = next_start((const char *[]){ "limits.handover_close_ms=60000", "limits.ws_close_ms=60000", NULL });
	*slow = ws_client_open(s->tunnel_port, &mute);
	pid   = next_hand_over(s);
	cr_assert_eq(ws_client_receive(*slow, PATIENCE_MS).what, WS_CLOSED);
	return pid;
}

/* Sent to the port while nobody accepts there: the answer comes from who does next. */
static int knock(void)
{
	static const char ask[] = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	int               fd    = dial_tcp(s->http_port, 0);

	cr_assert_geq(fd, 0, "connections wait while it hands over");
	cr_assert(dial_send(fd, ask, strlen(ask), PATIENCE_MS));
	return fd;
}

static void expect_answered(int fd)
{
	struct http_result r = http_exchange_on(fd, "", 0, PATIENCE_MS);

	cr_expect_eq(r.status, 200, "%d", r.status);
	http_result_free(&r);
}

Test(handover, the_new_one_dies_while_it_stands_by)
{
	struct ws_client *slow;
	pid_t             pid = hand_over_held_up(&slow);
	int               fd  = knock();

	cr_assert_eq(kill(pid, SIGKILL), 0);
	ws_client_free(slow);
	server_await_ready(s); /* the same process, anew */
	expect_answered(fd);
	expect_all_surfaces();
}

Test(handover, the_old_one_dies_half_way)
{
	struct ws_client *slow;
	pid_t             pid = hand_over_held_up(&slow);
	int               fd  = knock();

	server_kill(s);
	s->pid = pid;
	server_await_ready(s);
	expect_answered(fd);
	expect_all_surfaces();
	ws_client_free(slow);
}

Test(handover, a_stop_half_way_stops_both)
{
	struct ws_client *slow;
	pid_t             pid = hand_over_held_up(&slow);

	server_stop(s);
	cr_expect_eq(kill(pid, 0), -1, "the new one is gone");
	ws_client_free(slow);
}

/* --- After a drain --- */

Test(handover, comes_when_nobody_is_left)
{
	s = next_start(NULL);

	struct ws_client *host = host_open(s->tunnel_port, "A", NULL);

	server_advance(s, 6000); /* figures are set by a tick */
	server_await_metric(s, "coopd_tunnel_games", NULL, 1, PATIENCE_MS);
	ANSWER r = admin_ask(s, "POST", "/admin/v1/handover", "{\"deadline_s\":86400}");
	admin_expect(&r, 200, NULL);
	cr_expect(rest_bool(&r, "draining"));
	cr_expect(rest_bool(&r, "hand_over"));
	cr_expect_eq(rest_int(&r, "left.hosts"), 1);
	for (int i = 0; i < 5; i++) {
		server_advance(s, 6000);
		tunnel_echo(host);
	}
	ANSWER still = admin_get(s, "/admin/v1/drain");
	cr_expect(rest_bool(&still, "draining"));
	ws_client_free(host);
	server_await_metric(s, "coopd_tunnel_hosts", NULL, 0, PATIENCE_MS);
	advance_until_it_hands_over(6000);
	server_adopt(s, next_await(s));
	ANSWER now = admin_get(s, "/admin/v1/drain");
	cr_expect_not(rest_bool(&now, "draining"));
}

Test(handover, comes_at_the_deadline_and_takes_the_drain_back_when_it_fails)
{
	s = next_start(NULL);

	struct ws_client *host = host_open(s->tunnel_port, "A", NULL);

	server_advance(s, 6000);
	ANSWER r = admin_ask(s, "POST", "/admin/v1/handover", "{\"deadline_s\":60}");
	admin_expect(&r, 200, NULL);
	next_is_script("exit 3");
	for (int i = 0; i < 13; i++) {
		server_advance(s, 5000);
		tunnel_echo(host);
	}
	next_await_log(s, "status 3");
	next_await_log(s, "drains-no-more");

	next_is_real();
	ANSWER again = admin_ask(s, "POST", "/admin/v1/handover", "{\"deadline_s\":60}");
	admin_expect(&again, 200, NULL);
	for (int i = 0; i < 11; i++) {
		server_advance(s, 5000);
		tunnel_echo(host);
	}
	advance_until_it_hands_over(5000);
	server_adopt(s, next_await(s));
	ws_client_free(host);
	host = host_open(s->tunnel_port, "A", NULL);
	ws_client_free(host);
}
