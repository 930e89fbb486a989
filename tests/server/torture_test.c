/*
 * Death at every call of an upload that changes a file or the database (fake/kill_at.h). After the restart the campaign
 * is as it was before or as it is afterwards, never a third thing; whoever was told that his checkpoint is stored finds
 * it; and the server that people run takes the next one.
 *
 * `make test` tries a few calls, chosen by a seed that it prints (TORTURE_SEED repeats a run). `make torture` tries
 * them all: tests/torture/run sets
 *
 *	TORTURE_KIND=fresh|again|first	what is uploaded (below)
 *	TORTURE_FROM=17			the first call to die at; then all that follow
 *	TORTURE_RESULT=FILE		a line for each call: its number, what became of the upload, what the call was
 */
#include "fake/kill_at.h"
#include "support/preload.h"
#include "support/transfer.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLE      5 /* calls per test in `make test` */
#define BEFORE      6 /* checkpoints the campaign has seen */
#define KEPT        2 /* cloud.keep, so that each upload pushes one out and leaves garbage */
#define SAVE_BYTES  100000
#define SETTLED_MS  300 /* without a call after the answer, the upload's traces are all on disk */
#define PATIENCE_MS 20000

#define OWNER    "owner"
#define CAMPAIGN "war"

static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.store_lazy_ms=20", "cloud.keep=2",
	                            "limits.store_free_floor=0", NULL };

/* What is uploaded: new bytes; those of the version it pushes out, so that a file is written over; a new campaign's. */
enum kind { FRESH, AGAIN, FIRST, KINDS };

static const char *const kind_names[KINDS] = { "fresh", "again", "first" };

/* Which numbers a campaign's versions hold, as REST shows them; 0: no such version. */
struct shelf {
	unsigned number[BEFORE + 2];
};

/* One upload that is to die, again and again, from the same beginning. */
struct series {
	enum transfer_way     way;
	enum kind             kind;
	bool                  after;
	const char           *campaign;
	struct transfer_bytes upload;
	struct server *template; /* stopped; its data folder is the beginning */
	struct shelf before, done;
	struct shelf beside; /* of the first campaign, which an upload to another leaves alone */
	int64_t      calls;  /* of one upload */
};

struct victim {
	struct server  *server;
	struct kill_at *kill;
};

/* --- Checkpoints of the campaign --- */

static struct transfer_bytes numbered(const char *campaign, unsigned number)
{
	return transfer_make(campaign, number, SAVE_BYTES + 1000 * (size_t)number);
}

static void expect_stored(struct server *s, enum transfer_way way, const struct transfer_bytes *c)
{
	struct transfer_end end = transfer_put(s, way, OWNER, c);

	cr_assert_eq(end.what, TRANSFER_DONE, "refused: fault %d, status %d %s", end.fault, end.status, end.code);
}

static void store_number(struct server *s, enum transfer_way way, const char *campaign, unsigned number)
{
	struct transfer_bytes c = numbered(campaign, number);

	expect_stored(s, way, &c);
	transfer_unmake(&c);
}

/* Whose bytes these are; ends the test when they are nobody's. */
static unsigned number_of(const char *campaign, int version, const uint8_t *bytes, size_t len)
{
	for (unsigned number = 1; number <= BEFORE + 2; number++) {
		struct transfer_bytes c    = numbered(campaign, number);
		bool                  same = c.len == len && memcmp(c.bytes, bytes, len) == 0;

		transfer_unmake(&c);
		if (same)
			return number;
	}
	cr_assert_fail("version %d is none of the checkpoints that were stored", version);
	return 0;
}

static struct shelf look_at_shelf(struct server *s, const char *campaign)
{
	struct shelf shelf = { 0 };

	for (int version = 1; version <= BEFORE + 2; version++) {
		size_t   len;
		uint8_t *bytes = transfer_get(&len, s, OWNER, campaign, version);

		if (bytes)
			shelf.number[version - 1] = number_of(campaign, version, bytes, len);
		free(bytes);
	}
	return shelf;
}

static bool is_same(const struct shelf *a, const struct shelf *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static const char *show(char out[160], const struct shelf *shelf)
{
	size_t len = 0;

	for (int i = 0; i < BEFORE + 2; i++)
		len += (size_t)snprintf(out + len, 160 - len, " %d:%u", i + 1, shelf->number[i]);
	return out;
}

/* --- The server that dies --- */

static void __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
	char    command[2 * SERVER_PATH_BYTES + 300];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	int status = system(command); /* NOLINT(cert-env33-c): of our own making */

	cr_assert_eq(status, 0, "%s: status %d", command, status);
}

static void use_plain_server(void)
{
	const char *plain = getenv("COOPD_PLAIN_BIN");

	cr_assert_not_null(plain, "COOPD_PLAIN_BIN must name the server that people run");
	setenv("COOPD_BIN", plain, 1);
}

static struct kill_at *map_control(const char *path)
{
	int   fd  = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *mem = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct kill_at)) == 0)
		mem = mmap(NULL, sizeof(struct kill_at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(mem, MAP_FAILED, "cannot map %s: %s", path, strerror(errno));
	close(fd);
	return mem;
}

static void victim_start(struct victim *v, const struct series *x)
{
	char path[SERVER_PATH_BYTES + 8];

	v->server = server_prepare(sets);
	run("cp -a '%s/.' '%s/'", x->template->data, v->server->data);
	snprintf(path, sizeof(path), "%s/kill", v->server->root);
	v->kill = map_control(path);
	preload_library("kill_at.so");
	setenv("FAULT_KILL_DIR", v->server->data, 1);
	setenv("FAULT_KILL_CONTROL", path, 1);
	server_launch(v->server);
	unsetenv("LD_PRELOAD");
	server_await_ready(v->server);
}

static void victim_finish(struct victim *v)
{
	server_finish(v->server);
	munmap(v->kill, sizeof(*v->kill));
}

/* Waits until it is dead, or has had nothing to do for a while. */
static void settle(struct victim *v)
{
	int64_t count = v->kill->count, since_ms = real_now_ms();

	while (server_is_running(v->server) && real_now_ms() - since_ms < SETTLED_MS) {
		real_sleep_ms(5);
		if (v->kill->count != count) {
			count    = v->kill->count;
			since_ms = real_now_ms();
		}
	}
}

/* Uploads with death at this call (0: none), and waits for what comes of it. */
static struct transfer_end upload(struct victim *v, const struct series *x, int64_t at)
{
	struct transfer t;

	transfer_open(&t, v->server, x->way, OWNER);
	settle(v); /* what opening and starting left to do is not the upload's */
	v->kill->after = x->after;
	v->kill->at    = at;
	v->kill->count = 0;
	v->kill->armed = 1;

	struct transfer_end end = transfer_store(&t, &x->upload);

	if (end.what == TRANSFER_LOST)
		server_await_exit(v->server, PATIENCE_MS);
	else
		settle(v);
	v->kill->armed = 0;
	return end;
}

/* --- What must hold afterwards --- */

static int take_text(void *out, int columns, char **values, char **names)
{
	(void)columns, (void)names;
	snprintf(out, 100, "%s", values[0] ? values[0] : "nothing");
	return 0;
}

static void check_database(const struct server *s)
{
	char     path[SERVER_PATH_BYTES + 16], says[100] = "nothing";
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA integrity_check", take_text, says, NULL);
	cr_assert_str_eq(says, "ok", "the database: %s", says);
	strcpy(says, "ok");
	sqlite3_exec(db, "PRAGMA foreign_key_check", take_text, says, NULL);
	cr_assert_str_eq(says, "ok", "the database has rows that point nowhere: %s", says);
	sqlite3_close(db);
}

static void check_no_temporary_file(const struct server *s)
{
	char           path[SERVER_PATH_BYTES + 16];
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/blobs/.tmp", s->data);
	DIR *dir = opendir(path);

	cr_assert_not_null(dir, "there is no %s", path);
	while ((entry = readdir(dir)))
		cr_assert_eq(entry->d_name[0], '.', "a temporary file is left: %s", entry->d_name);
	closedir(dir);
}

static void check_next_upload(struct server *s, const struct series *x)
{
	size_t len;

	store_number(s, x->way, x->campaign, BEFORE + 2);
	uint8_t *bytes = transfer_get_ws(&len, s, OWNER, x->campaign);

	cr_assert_not_null(bytes, "the checkpoint after the death is gone");
	cr_assert_eq(number_of(x->campaign, 0, bytes, len), BEFORE + 2);
	free(bytes);
}

/* Whether the upload is there. */
static bool check_campaign(struct server *s, const struct series *x, bool was_told)
{
	struct shelf now = look_at_shelf(s, x->campaign);
	char         a[160], b[160], c[160];

	cr_assert(is_same(&now, &x->before) || is_same(&now, &x->done), "a third thing:%s, which is neither%s nor%s",
	          show(a, &now), show(b, &x->before), show(c, &x->done));
	cr_assert(!was_told || is_same(&now, &x->done), "stored, and lost:%s", show(a, &now));
	if (x->kind == FIRST) {
		struct shelf beside = look_at_shelf(s, CAMPAIGN);

		cr_assert(is_same(&beside, &x->beside), "another campaign has changed:%s", show(a, &beside));
	}
	return is_same(&now, &x->done);
}

static bool check_all(struct victim *v, const struct series *x, bool was_told)
{
	server_launch(v->server);
	server_await_ready(v->server);
	check_no_temporary_file(v->server);

	bool is_there = check_campaign(v->server, x, was_told);

	check_database(v->server);
	check_next_upload(v->server, x);
	server_stop(v->server);
	run("'%s' --data '%s' --verify-blobs >/dev/null", getenv("COOPD_BIN"), v->server->data);
	return is_there;
}

/* --- One series --- */

static void make_template(struct series *x)
{
	struct server *s = server_start(sets);

	for (unsigned number = 1; number <= BEFORE; number++)
		store_number(s, number % 2 ? TRANSFER_WS : TRANSFER_REST, CAMPAIGN, number);
	x->campaign = x->kind == FIRST ? "another war" : CAMPAIGN;
	x->upload   = numbered(x->campaign, x->kind == AGAIN ? BEFORE - KEPT + 1 : BEFORE + 1);
	x->before   = look_at_shelf(s, x->campaign);
	x->beside   = look_at_shelf(s, CAMPAIGN);
	server_stop(s);
	x->template = s;
}

/* The upload to its end, with everybody alive. */
static void count_calls(struct series *x)
{
	struct victim v;

	victim_start(&v, x);
	cr_assert_eq(upload(&v, x, 0).what, TRANSFER_DONE, "an upload to a healthy server");
	x->calls = v.kill->count;
	x->done  = look_at_shelf(v.server, x->campaign);
	cr_assert_not(is_same(&x->done, &x->before));
	victim_finish(&v);
}

static void begin_series(struct series *x)
{
	make_template(x);
	count_calls(x);
}

static void end_series(struct series *x)
{
	transfer_unmake(&x->upload);
	server_finish(x->template);
}

/* Dies at this call. False when the upload has no such call; *what then says nothing. */
static bool die_at(const struct series *x, int64_t at, char what[160])
{
	struct victim       v;
	struct transfer_end end;

	victim_start(&v, x);
	end       = upload(&v, x, at);
	bool died = !server_is_running(v.server);

	cr_assert_neq(end.what, TRANSFER_REFUSED, "call %lld: refused: fault %d, status %d %s", (long long)at,
	              end.fault, end.status, end.code);
	if (died) {
		cr_assert_eq(v.server->status, 256 + SIGKILL, "the server ended with %d by itself", v.server->status);
		bool is_there = check_all(&v, x, end.what == TRANSFER_DONE);

		snprintf(what, 160, "%s %s",
		         end.what == TRANSFER_DONE ? "told"
		         : is_there                ? "new"
		                                   : "old",
		         v.kill->what);
	}
	victim_finish(&v);
	return died;
}

/* --- All of it, for tests/torture/run --- */

static void note(long long number, const char *what)
{
	FILE *file = fopen(getenv("TORTURE_RESULT"), "ae");

	cr_assert_not_null(file, "TORTURE_RESULT must name a file");
	fprintf(file, "%lld %s\n", number, what);
	fclose(file);
}

static enum kind named_kind(const char *name)
{
	for (int kind = 0; kind < KINDS; kind++)
		if (name && strcmp(name, kind_names[kind]) == 0)
			return (enum kind)kind;
	cr_assert_fail("TORTURE_KIND is none of fresh, again and first");
	return FRESH;
}

static void die_at_all(struct series *x, int64_t from)
{
	char what[160];

	x->kind = named_kind(getenv("TORTURE_KIND"));
	begin_series(x);
	while (die_at(x, from, what))
		note((long long)from++, what);
	/* Threads take turns as they like, but a series must not end because one upload was quick. */
	cr_assert_geq(from + 5, x->calls, "the upload has %lld calls and is through before %lld", (long long)x->calls,
	              (long long)from);
	note((long long)from - 1, "end");
	end_series(x);
}

/* --- A few of it --- */

static unsigned take_seed(void)
{
	const char *given = getenv("TORTURE_SEED");
	unsigned    seed  = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)real_now_ms() ^ (unsigned)getpid();

	fprintf(stderr, "torture: TORTURE_SEED=%u\n", seed);
	return seed;
}

static void torture(enum transfer_way way, bool after)
{
	struct series x    = { .way = way, .after = after };
	const char   *from = getenv("TORTURE_FROM");
	char          what[160];

	use_plain_server();
	if (from) {
		die_at_all(&x, strtoll(from, NULL, 10));
		return;
	}
	unsigned seed = take_seed();

	x.kind = (enum kind)(rand_r(&seed) % KINDS);
	begin_series(&x);
	for (int i = 0; i < SAMPLE; i++) {
		int64_t at = 1 + rand_r(&seed) % x.calls;

		fprintf(stderr, "torture: %s, call %lld of %lld\n", kind_names[x.kind], (long long)at,
		        (long long)x.calls);
		die_at(&x, at, what);
	}
	end_series(&x);
}

Test(torture, over_websocket_before)
{
	torture(TRANSFER_WS, false);
}

Test(torture, over_websocket_after)
{
	torture(TRANSFER_WS, true);
}

Test(torture, over_rest_before)
{
	torture(TRANSFER_REST, false);
}

Test(torture, over_rest_after)
{
	torture(TRANSFER_REST, true);
}
