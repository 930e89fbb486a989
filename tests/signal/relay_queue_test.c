/*
 * What waits for a peer that does not read, or reads slowly: how much, whose, and that nobody else notices.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/signal_client.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL_RCVBUF 4096
#define LONG_BYTES   8100 /* of a payload; so the bytes of a queue are what fills it */
#define SHORT_BYTES  1000 /* and so the lines */

static struct server *s;

static void start_with(const char *const *sets)
{
	s = server_start(signal_tls_sets(sets));
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(relay_queue, .timeout = 300);

static const char *const no_budget[] = { "limits.signal_lines=10000000", NULL };

/* A payload that begins with a number and has so many bytes in all. */
static const char *numbered(int number, size_t bytes)
{
	static char payload[8192];

	memset(payload, 'a', bytes);
	payload[bytes]                                                      = '\0';
	payload[(size_t)snprintf(payload, sizeof(payload), "%08d", number)] = 'a';
	return payload;
}

/* Everything that is there for it, up to a self test; how many lines of `from`, whole and in order. */
static int read_in_order(struct signal_client *c, const struct identity *self, const struct identity *from,
                         size_t bytes)
{
	int  count = 0, last = -1;
	char echo[80];

	snprintf(echo, sizeof(echo), "%s ", self->text);
	for (;;) {
		cr_assert_eq(signal_read_line(c, DIAL_PATIENCE_MS), SIGNAL_GOT_LINE);
		if (strcmp(c->in, echo) == 0)
			return count;
		if (memcmp(c->in, from->text, 68) != 0)
			continue;
		cr_assert_eq(c->line_len, 69 + bytes, "a line was cut");

		int number = atoi(c->in + 69);

		cr_assert_gt(number, last, "out of order");
		cr_expect_str_eq(c->in + 69, numbered(number, bytes));
		last = number;
		count++;
	}
}

/* The kernel's bytes on the server's side of this connection that the peer has not taken. */
static long kernel_bytes(const struct signal_client *c)
{
	struct sockaddr_in me;
	socklen_t          len = sizeof(me);
	char               line[512];
	long               bytes = -1;
	FILE              *f     = fopen("/proc/net/tcp", "re");

	cr_assert(f && getsockname(c->ws ? c->ws->fd : c->fd, (struct sockaddr *)&me, &len) == 0);
	while (fgets(line, sizeof(line), f)) {
		unsigned remote, state, waiting;

		if (sscanf(line, " %*u: %*8x:%*4x %*8x:%4x %2x %8x:", &remote, &state, &waiting) == 3 && state == 1 &&
		    remote == ntohs(me.sin_port))
			bytes = waiting;
	}
	fclose(f);
	return bytes;
}

/* Fills the queue of `to` with what it does not read. */
static void flood(struct signal_client *c, const struct identity *to, int lines, size_t bytes)
{
	for (int i = 0; i < lines; i++)
		signal_say(c, "%s %s", to->text, numbered(i, bytes));
}

/* The longest that a self test takes, of several. */
static int64_t self_test_ms(struct signal_client *c, const struct identity *who, int times)
{
	int64_t longest = 0;

	for (int i = 0; i < times; i++) {
		int64_t at_ms = real_now_ms();

		signal_test_self(c, who);
		if (real_now_ms() - at_ms > longest)
			longest = real_now_ms() - at_ms;
	}
	return longest;
}

static void stops_reading(enum signal_way way)
{
	struct identity       deaf_name = identity_of(1), sender_name = identity_of(2), other_name = identity_of(3);
	struct signal_client *sender  = signal_registered(s, SIGNAL_PLAIN, &sender_name);
	struct signal_client *other   = signal_registered(s, SIGNAL_PLAIN, &other_name);
	struct signal_client *deaf    = signal_dial_from(s, way, NULL, SMALL_RCVBUF);
	int64_t               longest = 0;

	signal_register(deaf, &deaf_name);
	/* Memory that the server once needs to have and keeps is none of this peer's. */
	for (int i = 0; i < 8; i++) {
		flood(sender, &other_name, 1, LONG_BYTES);
		signal_test_self(sender, &sender_name);
		signal_test_self(other, &other_name);
	}

	size_t rss = server_rss_bytes(s);

	for (int i = 0; i < 64; i++) { /* 16 MB */
		flood(sender, &deaf_name, 32, LONG_BYTES);
		int64_t took_ms = self_test_ms(other, &other_name, 1);

		longest = took_ms > longest ? took_ms : longest;
	}
	signal_test_self(sender, &sender_name);

	long   kernel = kernel_bytes(deaf);
	size_t grown  = server_rss_bytes(s) - rss;

	fprintf(stderr,
	        "[%s] a peer that does not read: %zu bytes in the server, %ld in the kernel; others' self tests took "
	        "%d ms at most\n",
	        signal_way_names[way], grown, kernel, (int)longest);
	cr_expect_geq(kernel, 0);
	cr_expect_lt(grown + (size_t)kernel, (size_t)256 * 1024, "%s", signal_way_names[way]);
	cr_expect_lt(longest, 2000);

	/* It reads again: whole lines, in order, and then it is reachable as before. */
	signal_say(deaf, "%s ", deaf_name.text);
	int lines = read_in_order(deaf, &deaf_name, &sender_name, LONG_BYTES);

	cr_expect_geq(lines, 8, "%d lines", lines);
	signal_say(other, "%s back", deaf_name.text);
	signal_expect(deaf, "%s back", other_name.text);
	signal_client_free(sender);
	signal_client_free(other);
	signal_client_free(deaf);
	server_await_metric(s, "coopd_signal_peers", NULL, 0, DIAL_PATIENCE_MS);
}

Test(relay_queue, a_peer_that_stops_reading_costs_little_and_hinders_nobody)
{
	use_plain_server();
	start_with(no_budget);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		stops_reading((enum signal_way)way);
	stop();
}

/* Lines of the other arrive, whatever one sender does to the queue. */
static void flooded(enum signal_way way)
{
	struct identity       deaf_name = identity_of(1), flooder_name = identity_of(2), other_name = identity_of(3);
	struct signal_client *flooder = signal_registered(s, SIGNAL_PLAIN, &flooder_name);
	struct signal_client *other   = signal_registered(s, SIGNAL_PLAIN, &other_name);
	struct signal_client *deaf    = signal_dial_from(s, way, NULL, SMALL_RCVBUF);

	signal_register(deaf, &deaf_name);
	flood(flooder, &deaf_name, 10000, 1000);
	signal_test_self(flooder, &flooder_name);
	signal_say(other, "%s I am here", deaf_name.text);
	signal_test_self(other, &other_name);
	signal_say(deaf, "%s ", deaf_name.text); /* its self test has a place, too */

	bool has_seen = false;
	char echo[80], want[128];

	snprintf(echo, sizeof(echo), "%s ", deaf_name.text);
	snprintf(want, sizeof(want), "%s I am here", other_name.text);
	do {
		cr_assert_eq(signal_read_line(deaf, DIAL_PATIENCE_MS), SIGNAL_GOT_LINE);
		has_seen |= strcmp(deaf->in, want) == 0;
	} while (strcmp(deaf->in, echo) != 0);
	cr_expect(has_seen, "%s", signal_way_names[way]);
	signal_client_free(flooder);
	signal_client_free(other);
	signal_client_free(deaf);
	server_await_metric(s, "coopd_signal_peers", NULL, 0, DIAL_PATIENCE_MS);
	server_advance(s, 11000);
}

Test(relay_queue, a_flooder_leaves_room_for_another_sender_s_line)
{
	start_with(no_budget);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		flooded((enum signal_way)way);
	cr_expect_gt(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"share\""), 1000);
	stop();
}

Test(relay_queue, a_flooder_is_held_to_his_budget)
{
	start_with(NULL);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		flooded((enum signal_way)way);
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"budget\""), SIGNAL_WAYS * 9800);
	stop();
}

/* Two names of one address share what one address may have; on loopback that counts in production only. */
Test(relay_queue, two_names_of_one_address_have_one_share_together)
{
	static const char *const sets[]    = { "server.production=yes", "limits.signal_lines=10000000",
		                               "limits.signal_lines_per_address=10000000", NULL };
	struct identity          deaf_name = identity_of(1), names[3];
	struct signal_client    *deaf, *c[3];

	start_with(sets);
	deaf = signal_dial_from(s, SIGNAL_PLAIN, "127.0.1.1", SMALL_RCVBUF);
	signal_register(deaf, &deaf_name);
	for (unsigned i = 0; i < 3; i++) {
		names[i] = identity_of(10 + i);
		c[i]     = signal_dial_from(s, SIGNAL_PLAIN, i < 2 ? "127.0.2.1" : "127.0.3.1", 0);
		signal_register(c[i], &names[i]);
	}
	/* So much that the kernel is full, and the two have their share in the queue. */
	flood(c[0], &deaf_name, 300, LONG_BYTES);
	flood(c[1], &deaf_name, 300, LONG_BYTES);
	signal_test_self(c[1], &names[1]);
	signal_say(c[2], "%s third", deaf_name.text);
	signal_test_self(c[2], &names[2]);
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"full\""), 0);
	signal_say(deaf, "%s ", deaf_name.text);

	char want[128];

	snprintf(want, sizeof(want), "%s third", names[2].text);
	do
		cr_assert_eq(signal_read_line(deaf, DIAL_PATIENCE_MS), SIGNAL_GOT_LINE);
	while (strcmp(deaf->in, want) != 0);
	for (int i = 0; i < 3; i++)
		signal_client_free(c[i]);
	signal_client_free(deaf);
	stop();
}

Test(relay_queue, a_full_queue_still_brings_the_self_test_of_its_owner)
{
	struct identity       deaf_name = identity_of(1), names[4];
	struct signal_client *deaf, *c[4];

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		start_with(no_budget);
		deaf = signal_dial_from(s, (enum signal_way)way, NULL, SMALL_RCVBUF);
		signal_register(deaf, &deaf_name);
		for (unsigned i = 0; i < COUNT_OF(c); i++) {
			names[i] = identity_of(10 + i);
			c[i]     = signal_registered(s, SIGNAL_PLAIN, &names[i]);
			flood(c[i], &deaf_name, 200, SHORT_BYTES);
			signal_test_self(c[i], &names[i]);
		}
		cr_expect_gt(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"full\""), 0);
		double tests = server_metric(s, "coopd_signal_self_tests_total", NULL);

		for (int i = 0; i < 5; i++)
			signal_say(deaf, "%s ", deaf_name.text);
		server_await_metric(s, "coopd_signal_self_tests_total", NULL, tests + 1,
		                    DIAL_PATIENCE_MS); /* one is kept */
		read_in_order(deaf, &deaf_name, &names[0], SHORT_BYTES);
		for (unsigned i = 0; i < COUNT_OF(c); i++)
			signal_client_free(c[i]);
		signal_client_free(deaf);
		stop();
	}
}

/* Peers that take nothing */

Test(relay_queue, who_takes_nothing_for_two_minutes_is_reset_and_who_takes_a_little_is_not)
{
	struct identity       deaf_name = identity_of(1), slow_name = identity_of(2), sender_name = identity_of(3);
	struct signal_client *deaf, *slow, *sender;

	start_with(no_budget);
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		deaf   = signal_dial_from(s, (enum signal_way)way, NULL, SMALL_RCVBUF);
		slow   = signal_dial_from(s, (enum signal_way)way, NULL, SMALL_RCVBUF);
		sender = signal_registered(s, SIGNAL_PLAIN, &sender_name);
		signal_register(deaf, &deaf_name);
		signal_register(slow, &slow_name);
		flood(sender, &deaf_name, 200, LONG_BYTES);
		flood(sender, &slow_name, 200, LONG_BYTES);
		signal_test_self(sender, &sender_name);
		for (int i = 0; i < 11; i++) {
			server_advance(s, 10000);
			for (int lines = 0; lines < 4; lines++) /* more than its kernel holds, in the end */
				cr_assert_eq(signal_read_line(slow, DIAL_PATIENCE_MS), SIGNAL_GOT_LINE);
			flood(sender, &slow_name, 4, LONG_BYTES);
			signal_test_self(sender, &sender_name);
		}
		cr_expect_eq(server_metric(s, "coopd_signal_peers", NULL), 3, "%s", signal_way_names[way]);
		/* It is looked at now and then only; and its kernel may still have taken a little, late. */
		for (int i = 0; i < 50 && server_metric(s, "coopd_signal_peers", NULL) > 2; i++) {
			server_advance(s, 10000);
			cr_assert_eq(signal_read_line(slow, DIAL_PATIENCE_MS), SIGNAL_GOT_LINE);
			flood(sender, &slow_name, 1, LONG_BYTES);
			signal_test_self(sender, &sender_name);
		}
		cr_expect_eq(server_metric(s, "coopd_signal_peers", NULL), 2, "%s", signal_way_names[way]);
		cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"stalled\""), way + 1);
		signal_test_self(slow, &slow_name);
		signal_client_free(deaf);
		signal_client_free(slow);
		signal_client_free(sender);
		server_await_metric(s, "coopd_signal_peers", NULL, 0, DIAL_PATIENCE_MS);
	}
	await_log(s, ": disconnected reason=stalled");
	stop();
}

/* A crowd */

#define CROWD  500
#define DESTS  10
#define ROUNDS 300

/* 300 lines each at 15 a second, the clock moved along; nothing is lost, and from each sender all comes in order. */
Test(relay_queue, five_hundred_peers_exchange_lines_and_none_is_lost)
{
	static struct signal_client *crowd[CROWD], *dests[DESTS];
	static struct identity       names[CROWD], dest_names[DESTS];
	static int                   next[DESTS][CROWD];

	start_with(NULL);
	for (unsigned i = 0; i < DESTS; i++) {
		dest_names[i] = identity_of(5000 + i);
		dests[i]      = signal_registered(s, (enum signal_way)(i % SIGNAL_WAYS), &dest_names[i]);
	}
	for (unsigned i = 0; i < CROWD; i++) {
		names[i] = identity_of(i);
		crowd[i] = signal_registered(s, SIGNAL_PLAIN, &names[i]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CROWD; i++)
			signal_say(crowd[i], "%s %d %d", dest_names[(i + round) % DESTS].text, i, round);
		for (int d = 0; d < DESTS; d++) {
			for (int k = 0; k < CROWD / DESTS; k++) {
				int from, number;

				cr_assert_eq(signal_read_line(dests[d], DIAL_PATIENCE_MS), SIGNAL_GOT_LINE,
				             "a line was lost in round %d", round);
				cr_assert_eq(sscanf(dests[d]->in + 68, " %d %d", &from, &number), 2);
				cr_assert(from >= 0 && from < CROWD && number <= round);
				cr_assert_eq(memcmp(dests[d]->in, names[from].text, 68), 0);
				cr_assert_geq(number, next[d][from], "out of order");
				next[d][from] = number + 1;
			}
		}
		server_advance(s, 1000 / 15);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_lines_total", NULL), CROWD * ROUNDS);
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", NULL), 0);
	for (int i = 0; i < CROWD; i++)
		signal_client_free(crowd[i]);
	for (int i = 0; i < DESTS; i++)
		signal_client_free(dests[i]);
	stop();
}
