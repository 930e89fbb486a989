/*
 * Death of coopd --restore at every call that changes a file (fake/kill_at.h), and death once more of the start that comes
 * behind it. Whatever is left then, the next start has the old state or the new one, wholly.
 *
 * `make test` tries a few calls, chosen by a seed that it prints (TORTURE_SEED repeats a run). `make torture` tries
 * them all: tests/torture/run sets TORTURE_FROM and TORTURE_RESULT, as for uploads (torture_test.c).
 */
#include "base/auto.h"
#include "fake/kill_at.h"
#include "support/await.h"
#include "support/campaign_client.h"
#include "support/dial.h"
#include "support/dice.h"
#include "support/preload.h"
#include "support/rest_client.h"
#include "support/restore.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAMPLE 8                  /* calls per test in `make test` */
#define BOTH   "00112233445566aa" /* in the backup, and in another version in the data folder */
#define LOST   "00112233445566bb" /* in the backup only */
#define LATE   "00112233445566cc" /* in the data folder only */

static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.store_free_floor=0", NULL };

struct series {
	bool after;
	struct server *template; /* stopped; its data folder is the old state */
	char    place[SERVER_PATH_BYTES + 32];
	int64_t calls; /* of one restore */
};

struct victim {
	struct server  *server;
	struct kill_at *kill;
	char            control[SERVER_PATH_BYTES + 8];
};

/* --- The two states --- */

static void put(struct server *s, const char *campaign, size_t save_len)
{
	campaign_put(s, "A", campaign, "", save_len);
}

/* What had LOST is replaced by what it was before, so that a restore has a blob to bring back. */
static void begin_series(struct series *x)
{
	struct server *s = server_start(sets);

	snprintf(x->place, sizeof(x->place), "%s/backup", s->root);
	put(s, BOTH, 5000);
	server_stop(s);
	restore_shell("cp -a '%s' '%s/then'", s->data, s->root);
	server_restart(s);
	put(s, LOST, 60000);
	restore_backup(s, x->place);
	server_stop(s);
	restore_shell("rm -r '%s' && mv '%s/then' '%s'", s->data, s->root, s->data);
	server_restart(s);
	put(s, BOTH, 7000);
	put(s, LATE, 8000);
	server_kill(s); /* its log is not folded: that has to move with the database */
	x->template = s;
}

static bool has(struct server *s, const char *campaign)
{
	char path[80];

	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint", campaign);
	AUTO(rest_freep) struct http_result r = rest_get(s, "A", path);

	cr_assert(r.status == 200 || r.status == 404, "%s: %d %s", campaign, r.status, r.body ? r.body : "");
	return r.status == 200;
}

static int64_t versions_of(struct server *s, const char *campaign)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
	         "SELECT count(*) FROM checkpoints k JOIN campaigns c ON c.number = k.campaign WHERE hex(c.id) = "
	         "upper('%s')",
	         campaign);
	return campaign_ask(s, sql);
}

/* True: the new one. */
static bool look(struct server *s)
{
	bool    lost = has(s, LOST), late = has(s, LATE);
	int64_t both = versions_of(s, BOTH);

	cr_assert((lost && !late && both == 1) || (!lost && late && both == 2), "a third thing: %d %d %d", lost, late,
	          (int)both);
	return lost;
}

/* --- Dying --- */

static void victim_make(struct victim *v, const struct series *x)
{
	int fd;

	v->server = server_prepare(sets);
	restore_shell("cp -a '%s/.' '%s/'", x->template->data, v->server->data);
	snprintf(v->control, sizeof(v->control), "%s/kill", v->server->root);
	fd = open(v->control, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && ftruncate(fd, sizeof(struct kill_at)) == 0, "%s: %s", v->control, strerror(errno));
	v->kill = mmap(NULL, sizeof(*v->kill), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(v->kill, MAP_FAILED);
	close(fd);
}

static void victim_free(struct victim *v)
{
	munmap(v->kill, sizeof(*v->kill));
	server_finish(v->server);
}

/* The next program dies at this call; 0: it lives. */
static void arm(struct victim *v, int64_t at, bool after)
{
	v->kill->after = after;
	v->kill->at    = at;
	v->kill->count = 0;
	v->kill->armed = 1;
	preload_library("kill_at.so");
	setenv("FAULT_KILL_DIR", v->server->data, 1);
	setenv("FAULT_KILL_CONTROL", v->control, 1);
}

static void disarm(void)
{
	unsetenv("LD_PRELOAD");
	unsetenv("FAULT_KILL_DIR");
	unsetenv("FAULT_KILL_CONTROL");
}

static int restore_dying(struct victim *v, const struct series *x, int64_t at)
{
	char *said = NULL;
	int   status;

	arm(v, at, x->after);
	status = restore_into(&said, v->server->data, x->place, "");
	disarm();
	cr_assert(status == 0 || status == 256 + SIGKILL, "%d: %s", status, said);
	free(said);
	return status;
}

/* A start that may die as well, early: while it ends the restore. */
static void start_dying(struct victim *v, int64_t at)
{
	arm(v, at, false);
	server_launch(v->server);
	disarm();
	for (int i = 0; i < 2000 && server_is_running(v->server) && v->kill->count <= at + 1; i++)
		real_sleep_ms(5);
	if (server_is_running(v->server))
		server_kill(v->server);
}

static void count_calls(struct series *x)
{
	struct victim v;

	victim_make(&v, x);
	cr_assert_eq(restore_dying(&v, x, 0), 0);
	x->calls = v.kill->count;
	server_launch(v.server);
	server_await_ready(v.server);
	cr_assert(look(v.server), "a restore that nobody disturbed");
	victim_free(&v);
}

/* False: the restore has no such call. */
static bool die_at(const struct series *x, int64_t at, char what[160])
{
	struct victim v;
	bool          died, is_new, is_new_again;

	victim_make(&v, x);
	died = restore_dying(&v, x, at) != 0;
	snprintf(what, 160, "%s", v.kill->what);
	if (died) {
		start_dying(&v, 1 + (int64_t)dice_below(20));
		server_launch(v.server);
		server_await_ready(v.server);
		is_new = look(v.server);
		server_stop(v.server);
		restore_check_whole(v.server);
		restore_shell("test ! -e '%s/.restore'", v.server->data);
		/* And once more from the beginning: it leads to the new one. */
		cr_assert_eq(restore_into(NULL, v.server->data, x->place, ""), 0);
		server_launch(v.server);
		server_await_ready(v.server);
		is_new_again = look(v.server);
		cr_assert(is_new_again);
		memmove(what + 4, what, 155);
		memcpy(what, is_new ? "new " : "old ", 4);
	}
	victim_free(&v);
	return died;
}

/* --- All of it, for tests/torture/run --- */

static void note(int64_t number, const char *what)
{
	FILE *file = fopen(getenv("TORTURE_RESULT"), "ae");

	cr_assert_not_null(file, "TORTURE_RESULT must name a file");
	fprintf(file, "%lld %s\n", (long long)number, what);
	fclose(file);
}

static void die_at_all(const struct series *x, int64_t from)
{
	char what[160];

	while (die_at(x, from, what))
		note(from++, what);
	cr_assert_geq(from + 5, x->calls, "a restore has %lld calls and is through before %lld", (long long)x->calls,
	              (long long)from);
	note(from - 1, "end");
}

/* --- A few of it --- */

static void torture(bool after)
{
	struct series x    = { .after = after };
	const char   *from = getenv("TORTURE_FROM"), *given = getenv("TORTURE_SEED");
	uint32_t      seed = given ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)real_now_ms() ^ (uint32_t)getpid();
	char          what[160];

	use_plain_server();
	dice_seed(seed);
	begin_series(&x);
	count_calls(&x);
	if (from) {
		die_at_all(&x, strtoll(from, NULL, 10));
	} else {
		fprintf(stderr, "restore_torture: TORTURE_SEED=%u\n", seed);
		/* One of each part of its way, the last of which is where files change places. */
		for (int64_t i = 0; i < SAMPLE; i++) {
			int64_t at = 1 + (i * x.calls + (int64_t)dice_below((uint32_t)x.calls)) / SAMPLE;

			fprintf(stderr, "restore_torture: call %lld of %lld\n", (long long)at, (long long)x.calls);
			die_at(&x, at, what);
		}
	}
	server_finish(x.template);
}

Test(restore_torture, before)
{
	torture(false);
}

Test(restore_torture, after)
{
	torture(true);
}
