/*
 * As many slow readers as there may be, over REST and over WebSocket: they hold little memory, here and in the kernel,
 * and nobody else waits for them. The whole server, without the sanitizers, since memory is measured.
 */
#include "support/await.h"
#include "support/dial.h"
#include "support/party.h"
#include "support/rest_client.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAMPAIGN "00112233445566aa"
#define MIB      ((size_t)1024 * 1024)

#define READERS      64
#define RCVBUF_BYTES 4096
#define HELD_MAX     (20 * MIB)          /* by all of them in the server */
#define UNSENT_MAX   (READERS * MIB / 2) /* for all of them in the kernel; it would like to have five times that */

#define GAMES     10
#define FRIENDS   2
#define PER_S     50
#define ROUNDS    10
#define ROUND_MS  200
#define PROMPT_MS 10000 /* 50 ms are asked for on a quiet machine; this one may be slow, and busy with other tests */

struct readers {
	int fds[READERS];
};

static struct server *s;
static struct party  *party;

static void stop(void)
{
	party_free(party);
	server_finish(s);
}

TestSuite(slow_readers, .fini = stop);

/* --- The readers --- */

static int dial(int port, const char *request, size_t len)
{
	int fd = dial_tcp(port, RCVBUF_BYTES);

	cr_assert_geq(fd, 0);
	cr_assert(dial_send(fd, request, len, DIAL_PATIENCE_MS));
	return fd;
}

/* Until this much has come. The rest comes no faster than somebody reads. */
static void read_some(int fd, size_t bytes)
{
	char    some[4096];
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	for (size_t came = 0; came < bytes;) {
		ssize_t n = dial_read(fd, some, bytes - came < sizeof(some) ? bytes - came : sizeof(some), deadline_ms);

		cr_assert_gt(n, 0, "%zu bytes came", came);
		came += (size_t)n;
	}
}

static int begin_rest(void)
{
	char   head[600];
	size_t len = rest_head(head, sizeof(head), "A", "GET", "/v1/campaigns/" CAMPAIGN "/checkpoint", "");

	return dial(s->http_port, head, len);
}

/* Frames with a mask of zeros. */
static int begin_vault(void)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
				   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
	uint8_t           open[6 + 18]   = { 0x82, 0x80 | 18, 0, 0, 0, 0, 20, 2 };
	static const uint8_t get[6 + 10] = { 0x82, 0x80 | 10, 0,    0,    0,    0,    29,   0x00,
		                             0x11, 0x22,      0x33, 0x44, 0x55, 0x66, 0xaa, 0 };
	int                  fd          = dial(s->tunnel_port, head, sizeof(head) - 1);

	read_some(fd, 64); /* of 101 */
	key_of(open + 8, "A");
	cr_assert(dial_send(fd, open, sizeof(open), DIAL_PATIENCE_MS));
	cr_assert(dial_send(fd, get, sizeof(get), DIAL_PATIENCE_MS));
	return fd;
}

static void begin(struct readers *r, int (*begin_one)(void))
{
	for (size_t i = 0; i < READERS; i++)
		r->fds[i] = begin_one();
	for (size_t i = 0; i < READERS; i++)
		read_some(r->fds[i], RCVBUF_BYTES);
}

/* --- Who else is there --- */

static int64_t ask(const char *player, const char *path)
{
	int64_t            from = real_now_ms();
	struct http_result r    = rest_get(s, player, path);

	cr_assert_eq(r.status, 200, "%s: %d", path, r.status);
	rest_freep(&r);
	return real_now_ms() - from;
}

/* Games go on, the readers read a little each time, and whoever asks is answered. */
static void expect_undisturbed(struct readers *r)
{
	int64_t slowest_ms = 0;

	party_forget_trips(party);
	for (int round = 0; round < ROUNDS; round++) {
		party_play(party, ROUND_MS, PER_S);
		for (size_t i = 0; i < READERS; i++)
			read_some(r->fds[i], 1000); /* in 200 ms: 5 KB/s */

		int64_t health_ms = ask(NULL, "/healthz"), list_ms = ask("A", "/v1/campaigns");

		slowest_ms = health_ms > slowest_ms ? health_ms : slowest_ms;
		slowest_ms = list_ms > slowest_ms ? list_ms : slowest_ms;
	}
	cr_expect_eq(party_unanswered(party), 0, "datagrams are lost");
	cr_expect_lt(slowest_ms, PROMPT_MS, "an answer took %lld ms", (long long)slowest_ms);
	cr_log_info("round trips: median %u us, 99 %% under %u us; slowest answer %lld ms", party_trip_us(party, 500),
	            party_trip_us(party, 990), (long long)slowest_ms);
}

/* What the server's side of connections to this port has not yet got rid of. */
static size_t unsent_bytes(int port)
{
	FILE    *f = fopen("/proc/net/tcp", "r");
	char     line[256];
	unsigned local, out;
	size_t   sum = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %*u: %*8X:%X %*8X:%*X %*X %X:", &local, &out) == 2 && local == (unsigned)port)
			sum += out;
	fclose(f);
	return sum;
}

static void start(void)
{
	struct checkpoint cp;

	use_plain_server();
	s     = server_start((const char *const[]){ "limits.ws_accept_burst=1000", NULL });
	party = party_new("p", GAMES, FRIENDS);
	party_gather(party, s->tunnel_port, PARTY_HOSTS_FIRST, 10000);
	checkpoint_make(&cp, CAMPAIGN, NULL, 8 * MIB, 1);

	struct ws_client *c = vault_client(s->tunnel_port, "A", NULL);

	cr_assert_eq(vault_client_put(c, CAMPAIGN, &cp), 0);
	cr_assert_eq(vault_client_check(c, CAMPAIGN, 0, &cp), 0);
	ws_client_free(c);
	checkpoint_free(&cp);
	ask("A", "/v1/campaigns");
	party_play(party, ROUND_MS, PER_S);
}

static void expect_slow_readers_to_be_harmless(int (*begin_one)(void), int port)
{
	struct readers r;
	size_t         before = server_rss_bytes(s);

	begin(&r, begin_one);
	expect_undisturbed(&r);

	size_t during = server_rss_bytes(s), unsent = unsent_bytes(port);

	cr_expect_lt(during, before + HELD_MAX, "from %zu to %zu bytes", before, during);
	cr_expect_lt(unsent, UNSENT_MAX, "%zu bytes in the kernel", unsent);
	cr_log_info("memory: %zu KiB more, %zu KiB in the kernel", (during - before) / 1024, unsent / 1024);
	for (size_t i = 0; i < READERS; i++)
		close(r.fds[i]);
}

Test(slow_readers, over_rest_hold_little_and_delay_nobody)
{
	start();
	expect_slow_readers_to_be_harmless(begin_rest, s->http_port);
}

Test(slow_readers, over_websocket_hold_little_and_delay_nobody)
{
	start();
	expect_slow_readers_to_be_harmless(begin_vault, s->tunnel_port);
}
