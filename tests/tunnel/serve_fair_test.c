/*
 * One who takes all he can get: the others of his game, and the other games, keep theirs.
 */
#include "support/await.h"
#include "support/crowd.h"
#include "support/dial.h"
#include "support/party.h"
#include "support/server.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A game with a greedy friend (number 1) and a modest one (number 2), all in one crowd. */

enum { HOST, GREEDY, MODEST, PLAYERS };

static struct game {
	struct crowd      crowd;
	struct crowd_peer peers[PLAYERS];
	uint32_t          code;
	int               in;            /* who has a role */
	size_t            up[PLAYERS];   /* datagrams that the host got from them */
	size_t            down[PLAYERS]; /* that they got from him */
} game;

static const char *const names[PLAYERS] = { "host", "greedy", "modest" };

static void introduce(struct crowd_peer *p, int who)
{
	struct pattern hello;

	if (who == HOST)
		msg_host_open(&hello, names[who]);
	else
		msg_join(&hello, game.code, names[who], names[who]);
	crowd_send(p, hello.value, hello.len);
}

static void on_news(struct crowd_peer *p, enum crowd_news news, const uint8_t *data, size_t len)
{
	int who = (int)(p - game.peers);

	cr_assert_neq(news, CROWD_ENDED, "%s was closed", names[who]);
	if (news == CROWD_OPENED) {
		introduce(p, who);
	} else if (data[0] == 2 && len == 13) {
		game.code = read_u32(data + 1);
		game.in++;
	} else if (data[0] == 9) {
		game.in++;
	} else if (data[0] == 4) {
		unsigned number = read_u16(data + 1);

		cr_assert(number == GREEDY || number == MODEST);
		game.up[number]++;
	} else if (data[0] == 11) {
		game.down[who]++;
	}
}

static bool are_in(void *arg)
{
	return game.in == *(int *)arg;
}

static void gather(int port)
{
	memset(&game, 0, sizeof(game));
	crowd_init(&game.crowd, on_news);
	for (int who = HOST; who < PLAYERS; who++) {
		int wanted = who + 1;

		crowd_dial(&game.crowd, &game.peers[who], port, NULL);
		cr_assert(crowd_run(&game.crowd, are_in, &wanted, 5000), "%s is not in", names[who]);
	}
}

static void leave(void)
{
	for (int who = HOST; who < PLAYERS; who++)
		crowd_drop(&game.peers[who], false);
	crowd_fini(&game.crowd);
}

/* As many as the connection takes. */
static void flood(struct crowd_peer *from, const uint8_t *message, size_t len)
{
	for (int i = 0; i < 2000 && crowd_waiting(from) < 64 * 1024; i++)
		crowd_send(from, message, len);
}

/* One floods for a while, 60 datagrams a second come or go for the other. How many of those there were. */
static size_t play(struct crowd_peer *greedy, const uint8_t *large, size_t large_len, struct crowd_peer *modest,
                   const uint8_t *small, size_t small_len)
{
	int64_t from_ms = real_now_ms();
	size_t  sent    = 0;

	for (int64_t ms = 0; ms < 1500; ms = real_now_ms() - from_ms) {
		flood(greedy, large, large_len);
		while ((int64_t)sent < ms * 60 / 1000)
			sent += crowd_send(modest, small, small_len);
		crowd_run(&game.crowd, NULL, NULL, 1);
	}
	for (int i = 0; i < 200 && crowd_waiting(greedy) + crowd_waiting(modest) > 0; i++)
		crowd_run(&game.crowd, NULL, NULL, 10);
	crowd_run(&game.crowd, NULL, NULL, 300);
	return sent;
}

Test(serve_fair, sixty_datagrams_a_second_arrive_beside_a_friend_who_floods)
{
	static const size_t  sizes[]         = { 0, 1, 1500 };
	static const uint8_t large[1 + 1500] = { 10 };
	static const uint8_t small[1 + 200]  = { 10 };
	struct server       *s               = server_start(NULL);

	for (size_t i = 0; i < 3; i++) {
		gather(s->tunnel_port);

		size_t sent = play(&game.peers[GREEDY], large, 1 + sizes[i], &game.peers[MODEST], small, sizeof(small));

		cr_expect_geq(sent, 80);
		cr_expect_eq(game.up[MODEST], sent, "%zu of %zu beside datagrams of %zu bytes, of which %zu came",
		             game.up[MODEST], sent, sizes[i], game.up[GREEDY]);
		cr_expect_gt(game.up[GREEDY], 500, "he gets what the others leave");
		leave();
	}
	cr_expect_gt(server_metric(s, "coopd_tunnel_datagrams_dropped_total", NULL), 1000, "it was a flood");
	server_finish(s);
}

Test(serve_fair, sixty_datagrams_a_second_go_to_a_friend_beside_one_whom_the_host_floods)
{
	static const size_t  sizes[]         = { 0, 1, 1500 };
	static const uint8_t large[3 + 1500] = { 5, GREEDY };
	static const uint8_t small[3 + 200]  = { 5, MODEST };
	struct server       *s               = server_start(NULL);

	for (size_t i = 0; i < 3; i++) {
		gather(s->tunnel_port);

		size_t sent = play(&game.peers[HOST], large, 3 + sizes[i], &game.peers[HOST], small, sizeof(small));

		cr_expect_geq(sent, 80);
		cr_expect_eq(game.down[MODEST], sent, "%zu of %zu beside datagrams of %zu bytes", game.down[MODEST],
		             sent, sizes[i]);
		leave();
	}
	cr_expect_gt(server_metric(s, "coopd_tunnel_datagrams_dropped_total", NULL), 1000, "it was a flood");
	server_finish(s);
}

/* A storm of connections */

/* A process that connects 2,000 times a second from 127.0.0.2, until it is killed. */
static pid_t start_storm(int port)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
	struct sockaddr_in to   = { .sin_family      = AF_INET,
		                    .sin_port        = htons((uint16_t)port),
		                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	pid_t              test = getpid();
	pid_t              pid  = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int64_t begin_ms = real_now_ms(), count = 0; getppid() == test;) {
		for (; count < (real_now_ms() - begin_ms) * 2; count++) {
			int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

			if (fd >= 0 && bind(fd, (struct sockaddr *)&from, sizeof(from)) == 0)
				(void)connect(fd, (struct sockaddr *)&to, sizeof(to));
			dial_abort(fd);
		}
		real_sleep_ms(1);
	}
	_exit(0);
}

/* The 99th percentile of the round trips of a second and a half. */
static uint32_t play_p99(struct party *p)
{
	party_forget_trips(p);
	party_play(p, 1500, 50);
	return party_trip_us(p, 990);
}

/* How much slower it gets is printed, and measured by hand on a quiet machine; a test only sees whether games go on. */
Test(serve_fair, two_thousand_connects_a_second_from_one_address_do_not_stop_the_games)
{
	enum { PATIENCE_US = 500000 };

	use_plain_server();

	struct server *s = server_start((const char *[]){ "server.production=yes", NULL });
	struct party  *p = party_new("p", 20, 2);

	party_gather(p, s->tunnel_port, PARTY_HOSTS_FIRST, 5000);
	party_play(p, 300, 50);

	uint32_t calm_us = play_p99(p);
	pid_t    storm   = start_storm(s->tunnel_port);
	uint32_t now_us  = play_p99(p);

	kill(storm, SIGKILL);
	waitpid(storm, NULL, 0);
	cr_log_info("p99 %u us, in the storm %u us", calm_us, now_us);
	cr_expect_lt(now_us, PATIENCE_US);
	cr_expect_gt(server_metric(s, "coopd_ws_refused_total", "\"rate\""), 1000, "the storm was one");
	cr_expect_eq(party_unanswered(p), 0);
	party_free(p);
	server_finish(s);
}
