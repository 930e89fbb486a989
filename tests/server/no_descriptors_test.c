/*
 * A server that runs out of descriptors while it runs, because the system has none or somebody took them away: who is in
 * plays on, who comes waits, the processor rests, and it goes on as before once there are some. The whole server.
 */
#include "support/honest.h"
#include "support/lobby_client.h"
#include "support/rooms_client.h"
#include "support/signal_client.h"
#include "support/transfer.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOOK_MS 1500
#define BUSY_MS 500 /* of the processor, in that time: a loop that asks without end takes all of it */
#define WAITING 3   /* at each door */

static struct honest h;

static void start(void)
{
	honest_begin(&h, (const char *[]){ LOBBY_PROMPT, "limits.cloud_interval_ms=0", NULL });
}

TestSuite(no_descriptors, .init = start, .timeout = 120);

/* So many more than it has; it asks the kernel for the lowest number that is free. */
static rlim_t allow(rlim_t files)
{
	struct rlimit was, is;

	cr_assert_eq(prlimit(h.s->pid, RLIMIT_NOFILE, NULL, &was), 0);
	is = (struct rlimit){ .rlim_cur = files, .rlim_max = was.rlim_max };
	cr_assert_eq(prlimit(h.s->pid, RLIMIT_NOFILE, &is, NULL), 0);
	return was.rlim_cur;
}

/* What it has used of the processor so far. */
static int64_t used_ms(void)
{
	char          path[64], line[1024];
	unsigned long user, system;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)h.s->pid);
	FILE *file = fopen(path, "re");

	cr_assert(file && fgets(line, sizeof(line), file));
	fclose(file);

	/* Behind the name, which ends with the last parenthesis, 11 fields come before these two. */
	char *at = strrchr(line, ')') + 1;

	for (int i = 0; i < 12; i++)
		at = strchr(at + 1, ' ');
	user   = strtoul(at, &at, 10);
	system = strtoul(at, NULL, 10);
	return (int64_t)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

static int waiting[4 * WAITING];

static void knock_everywhere(void)
{
	const int ports[] = { h.s->tunnel_port, h.s->http_port, h.s->signal_port, h.s->rooms_port };

	for (size_t i = 0; i < COUNT_OF(waiting); i++) {
		waiting[i] = dial_tcp(ports[i % COUNT_OF(ports)], 0);
		cr_assert_geq(waiting[i], 0);
	}
}

static void expect_rest(void)
{
	int64_t began_ms = used_ms();

	for (int ms = 0; ms < LOOK_MS; ms += 100) {
		honest_play(&h);
		real_sleep_ms(100);
	}
	cr_expect_lt(used_ms() - began_ms, BUSY_MS, "%lld ms of the processor in %d ms",
	             (long long)(used_ms() - began_ms), LOOK_MS);
}

static void expect_all_served(void)
{
	struct transfer_bytes c    = transfer_make("war", 1, 100000);
	struct identity       who  = identity_of(1);
	struct gamer         *g    = gamer_new(h.s, "NPWR00860_00", "alice");
	struct signal_client *peer = signal_registered(h.s, SIGNAL_PLAIN, &who);
	struct master_host    lobby;

	cr_expect_eq(transfer_put(h.s, TRANSFER_WS, "A", &c).what, TRANSFER_DONE);
	master_open(&lobby, h.s, "203.0.113.7", J("'name':'island'"));
	cr_expect_geq(master_health(h.s), 1);
	cr_expect_eq(server_metric(h.s, "coopd_store_failing", NULL), 0);
	transfer_unmake(&c);
	gamer_free(g);
	signal_client_free(peer);
}

Test(no_descriptors, who_plays_plays_on_and_who_comes_waits)
{
	rlim_t was = allow(1);

	knock_everywhere();
	expect_rest();
	allow(was);
	for (size_t i = 0; i < COUNT_OF(waiting); i++)
		close(waiting[i]);
	expect_all_served();
	honest_play(&h);
	ws_client_free(h.friend);
	ws_client_free(h.host);
	server_finish(h.s);
}

Test(no_descriptors, an_upload_that_finds_none_is_refused_and_leaves_the_store_well)
{
	struct transfer_bytes c = transfer_make("war", 2, 100000);
	struct transfer       t;

	transfer_open(&t, h.s, TRANSFER_WS, "A"); /* connected before they are gone */
	rlim_t was = allow(1);

	cr_expect_neq(transfer_store(&t, &c).what, TRANSFER_DONE);
	honest_play(&h);
	allow(was);
	expect_all_served();
	transfer_unmake(&c);
	ws_client_free(h.friend);
	ws_client_free(h.host);
	server_finish(h.s);
}
