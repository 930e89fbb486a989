/*
 * Strangers in crowds, who hang up at every moment or send noise: the server (under the sanitizers) lives on, lets others
 * in, and an honest game beside them goes on.
 */
#include "support/await.h"
#include "support/crowd.h"
#include "support/honest.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB 1024

/* Crowds */

static size_t opened, ended;

static void count_news(struct crowd_peer *p, enum crowd_news news, const uint8_t *data, size_t len)
{
	(void)p, (void)data, (void)len;
	opened += news == CROWD_OPENED;
	ended += news == CROWD_ENDED;
}

static bool is_wave_over(void *arg)
{
	return opened + ended == *(size_t *)arg;
}

/* Connects from another loopback address than all the others. */
static struct ws_client *dial_from(const char *address, int port)
{
	struct ws_client  *c    = ws_client_dial(port, NULL);
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to   = { .sin_family      = AF_INET,
		                    .sin_port        = htons((uint16_t)port),
		                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	close(c->fd);
	inet_pton(AF_INET, address, &from.sin_addr);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(bind(c->fd, (struct sockaddr *)&from, sizeof(from)) == 0, "bind: %s", strerror(errno));
	cr_assert(connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect: %s", strerror(errno));
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	return c;
}

Test(serve_crowd, ten_thousand_connections_from_one_address)
{
	enum { WAVE = 500, WAVES = 20, CAP = 64 };
	static struct crowd_peer peers[WAVE];
	struct crowd             crowd;
	struct honest            h;
	size_t                   wave = WAVE;
	size_t                   in   = 0;

	honest_begin(&h, (const char *[]){ "server.production=yes", "http.trusted_proxies=none", NULL });

	int fds = server_fd_count(h.s);

	crowd_init(&crowd, count_news);
	for (int w = 0; w < WAVES; w++) {
		opened = ended = 0;
		for (int i = 0; i < WAVE; i++)
			crowd_dial(&crowd, &peers[i], h.s->tunnel_port, NULL);
		cr_assert(crowd_run(&crowd, is_wave_over, &wave, 20000), "wave %d: %zu in, %zu refused", w, opened,
		          ended);
		cr_expect_leq(opened, CAP - 2, "never more than the cap at once");
		in += opened;
		honest_play(&h);

		/* Somebody else gets in as if they were not there. */
		if (w % 5 == 0) {
			struct ws_client *c = dial_from("127.0.0.2", h.s->tunnel_port);

			cr_assert_eq(ws_client_upgrade(c, NULL), 101);
			tunnel_echo(c);
			ws_client_free(c);
		}
		for (int i = 0; i < WAVE; i++)
			crowd_drop(&peers[i], w % 2);
	}
	cr_expect_gt(in, 40);
	cr_expect_geq(server_metric(h.s, "coopd_ws_refused_total", NULL), (double)(WAVE * WAVES - in));
	crowd_fini(&crowd);
	server_await_metric(h.s, "coopd_ws_connections", NULL, 2, 10000);
	await_fds(h.s, fds);
	honest_finish(&h);
}

Test(serve_crowd, a_thousand_connections_of_one_client_behind_the_proxy)
{
	enum { WAVE = 250, WAVES = 4, CAP = 64 };
	static struct crowd_peer peers[WAVE];
	struct crowd             crowd;
	struct honest            h;
	size_t                   wave = WAVE;

	honest_begin(&h, NULL);
	crowd_init(&crowd, count_news);
	for (int w = 0; w < WAVES; w++) {
		opened = ended = 0;
		for (int i = 0; i < WAVE; i++)
			crowd_dial(&crowd, &peers[i], h.s->tunnel_port, "203.0.113.66");
		cr_assert(crowd_run(&crowd, is_wave_over, &wave, 20000), "wave %d: %zu in, %zu refused", w, opened,
		          ended);
		cr_expect_leq(opened, CAP);
		honest_play(&h);

		struct ws_client *c = tunnel_connect(h.s->tunnel_port, "203.0.113.67");

		tunnel_echo(c);
		ws_client_free(c);
		for (int i = 0; i < WAVE; i++)
			crowd_drop(&peers[i], w % 2);
	}
	crowd_fini(&crowd);
	honest_finish(&h);
}

/* Ends */

Test(serve_crowd, a_reset_is_survived_at_every_byte_of_a_session)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
				   "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	static const char open[] = "\x82\x92\0\0\0\0\x01\x02................"
				   "\x82\x85\0\0\0\0\x05\x01\0hi"
				   "\x89\x84\0\0\0\0ping"
				   "\x02\x81\0\0\0\0\x03\x80\x81\0\0\0\0\x03"
				   "\x88\x82\0\0\0\0\x03\xe8";
	char              session[sizeof(head) + sizeof(open)];
	size_t            len = sizeof(head) - 1 + sizeof(open) - 1;
	struct honest     h;

	memcpy(session, head, sizeof(head) - 1);
	memcpy(session + sizeof(head) - 1, open, sizeof(open) - 1);
	honest_begin(&h, NULL);
	for (size_t cut = 0; cut <= len; cut++)
		for (int wait_ms = 0; wait_ms < 2; wait_ms++) {
			struct ws_client *c = ws_client_dial(h.s->tunnel_port, NULL);

			ws_client_send_raw(c, session, cut);
			real_sleep_ms(wait_ms);
			ws_client_drop(c);
			ws_client_free(c);
		}
	honest_finish(&h);
}

Test(serve_crowd, a_reset_is_survived_in_every_role)
{
	struct honest h;

	honest_begin(&h, NULL);
	for (int i = 0; i < 40; i++) {
		struct ws_client *host   = tunnel_connect(h.s->tunnel_port, NULL);
		struct ws_client *friend = tunnel_connect(h.s->tunnel_port, NULL);
		struct ws_client *wrong  = tunnel_connect(h.s->tunnel_port, NULL);
		struct pattern    p;

		/* Before the store has answered, mostly. */
		msg_host_open(&p, i % 2 ? "C" : "D");
		ws_client_send_pattern(host, &p);
		msg_join(&p, h.code, "other", "E");
		ws_client_send_pattern(friend, &p);
		ws_client_send(wrong, "01 09");
		real_sleep_ms(i % 4);
		ws_client_drop(friend);
		ws_client_drop(host);
		ws_client_drop(wrong);
		ws_client_free(friend);
		ws_client_free(host);
		ws_client_free(wrong);
		tunnel_echo(h.friend);
	}
	host_expect_friend(h.host, 2, "E");
	honest_finish(&h);
}

Test(serve_crowd, noise_is_survived)
{
	uint8_t       noise[4 * KIB];
	uint64_t      state = 88172645463325252u;
	struct honest h;

	honest_begin(&h, NULL);
	for (int i = 0; i < 300; i++) {
		struct ws_client *c =
			i % 10 ? tunnel_connect(h.s->tunnel_port, NULL) : ws_client_dial(h.s->tunnel_port, NULL);

		/* Half of them begin like a frame, so that they get further. */
		for (size_t n = 0; n < sizeof(noise); n++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			noise[n] = (uint8_t)(state >> 32);
		}
		if (i % 2)
			memcpy(noise, "\x82\xfe\x01\x00", 4);
		ws_client_send_raw(c, noise, sizeof(noise));
		ws_client_free(c);
		if (i % 50 == 0)
			honest_play(&h);
	}
	honest_finish(&h);
}
