/*
 * The n-th piece of memory that our code asks for is not there, or the n-th system call fails (fake/fail_at.h), while a
 * server starts, or while a session touches all of it (support/session.h). It neither crashes nor hangs, the sanitizers
 * find nothing, it goes on or ends with status 1 and a sentence; and a server that starts over the same folder has
 * all that was promised.
 *
 * `make test` tries a few numbers, chosen by a seed that it prints (TORTURE_SEED repeats a run). `make torture` tries
 * them all: tests/torture/run sets
 *
 *	FAULTS_PART=heap-start|...	what fails and when (parts, below)
 *	FAULTS_FROM=17			the first call to fail; then
 *	FAULTS_STEP=1			so many on, until a session has no such call any more, or it is
 *	FAULTS_UNTIL=1793534400		so late, in Unix seconds
 *	TORTURE_RESULT=FILE		a line for each: its number, what became of the server, what the call was
 *
 * Memory that a library does not get (the parts "library-") is not ours to answer for: what comes of it is told, and
 * fails nothing.
 */
#include "base/auto.h"
#include "fake/fail_at.h"
#include "support/dial.h"
#include "support/preload.h"
#include "support/session.h"

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
#include <time.h>
#include <unistd.h>

#define END_MS       15000 /* for connections to be closed, and more than one part that has to give up waiting */
#define STATUS_FOUND 99    /* of a sanitizer */
#define WHAT_BYTES   1600

enum source { HEAP, CALLS, LIBRARY };

/* about: how many such calls there are, for choosing some of them. */
static const struct part {
	const char   *name;
	enum source   source;
	enum fail_how how;
	bool          at_start;
	int           about;
} parts[] = {
	{ "heap-start", HEAP, FAIL_ENOMEM, true, 1000 },
	{ "heap-session", HEAP, FAIL_ENOMEM, false, 2150 },
	{ "eio-start", CALLS, FAIL_EIO, true, 2000 },
	{ "eio-session", CALLS, FAIL_EIO, false, 1450 },
	{ "enospc-start", CALLS, FAIL_ENOSPC, true, 800 },
	{ "enospc-session", CALLS, FAIL_ENOSPC, false, 400 },
	{ "eintr-start", CALLS, FAIL_EINTR, true, 40 },
	{ "eintr-session", CALLS, FAIL_EINTR, false, 700 },
	{ "emfile-start", CALLS, FAIL_EMFILE, true, 80 },
	{ "emfile-session", CALLS, FAIL_EMFILE, false, 85 },
	{ "enomem-start", CALLS, FAIL_ENOMEM, true, 250 },
	{ "enomem-session", CALLS, FAIL_ENOMEM, false, 360 },
	{ "short-start", CALLS, FAIL_SHORT, true, 300 },
	{ "short-session", CALLS, FAIL_SHORT, false, 650 },
	{ "library-start", LIBRARY, FAIL_ENOMEM, true, 40000 },
	{ "library-session", LIBRARY, FAIL_ENOMEM, false, 42000 },
};

/* One server that has a failure. */
struct patient {
	const struct part *part;
	struct server     *s;
	struct fail_at    *fail;
	struct session    *session;
	bool               ended_well, ended_early;
	char               died[60]; /* of a library: how; "": not */
};

static struct server *template; /* stopped: a folder in which nothing has to be made */

static const char *const sets[] = { SESSION_SETS, NULL };

/* --- Before --- */

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

/* The next servers are of this build. */
static void use(const char *name)
{
	const char *program = getenv(name);

	cr_assert_not_null(program, "%s must name a server", name);
	setenv("COOPD_BIN", program, 1);
}

/* Each report of a sanitizer becomes a file in the server's folder, and the server's status. */
static void watch(const struct server *s)
{
	char options[SERVER_PATH_BYTES + 200];

	snprintf(options, sizeof(options),
	         "log_path=%s/"
	         "report:exitcode=%d:detect_leaks=1:detect_stack_use_after_return=1:verify_asan_link_order=0",
	         s->root, STATUS_FOUND);
	setenv("ASAN_OPTIONS", options, 1);
	snprintf(options, sizeof(options), "log_path=%s/report:exitcode=%d", s->root, STATUS_FOUND);
	setenv("LSAN_OPTIONS", options, 1);
	snprintf(options, sizeof(options), "log_path=%s/report:print_stacktrace=1", s->root);
	setenv("UBSAN_OPTIONS", options, 1);
}

static struct fail_at *map_control(const char *path)
{
	int   fd  = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *mem = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct fail_at)) == 0)
		mem = mmap(NULL, sizeof(struct fail_at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(mem, MAP_FAILED, "cannot map %s: %s", path, strerror(errno));
	close(fd);
	return mem;
}

static void make_template(void)
{
	const char *program = getenv("COOPD_BIN");

	cr_assert_not_null(program, "COOPD_BIN must name the server's program");
	setenv("COOPD_TEST_BIN", program, 0);
	use("COOPD_PLAIN_BIN");
	template = server_start(sets);
	server_stop(template);
}

static void choose_build(const struct part *part)
{
	static const char *const builds[] = {
		[HEAP] = "COOPD_FAULTS_BIN", [CALLS] = "COOPD_TEST_BIN", [LIBRARY] = "COOPD_PLAIN_BIN"
	};
	static const char *const fakes[] = { [CALLS] = "fail_call.so", [LIBRARY] = "fail_library.so" };

	use(builds[part->source]);
	if (part->source != HEAP)
		preload_library(fakes[part->source]);
}

static void admit(struct patient *p, const struct part *part, int64_t at)
{
	char path[SERVER_PATH_BYTES + 8];

	*p = (struct patient){ .part = part, .s = server_prepare(sets) };
	if (!part->at_start)
		run("cp -a '%s/.' '%s/'", template->data, p->s->data);
	snprintf(path, sizeof(path), "%s/fail", p->s->root);
	p->fail        = map_control(path);
	p->fail->how   = part->how;
	p->fail->at    = at;
	p->fail->armed = part->at_start;
	p->session     = session_new(p->s);
	choose_build(part);
	watch(p->s);
	setenv("FAIL_AT_CONTROL", path, 1);
	server_launch(p->s);
	unsetenv("LD_PRELOAD");
	unsetenv("FAIL_AT_CONTROL");
}

static void discharge(struct patient *p)
{
	munmap(p->fail, sizeof(*p->fail));
	session_free(p->session);
	server_finish(p->s);
}

/* --- During --- */

/* The first line of a sanitizer's report that names what was found; "": there is none. */
static void find_report(const struct server *s, char out[200])
{
	char           path[SERVER_PATH_BYTES + 300], line[400];
	struct dirent *entry;
	DIR           *dir = opendir(s->root);

	out[0] = '\0';
	cr_assert_not_null(dir);
	while ((entry = readdir(dir)) && !*out) {
		if (strncmp(entry->d_name, "report", 6) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", s->root, entry->d_name);
		FILE *file = fopen(path, "re");

		cr_assert_not_null(file);
		while (fgets(line, sizeof(line), file)) {
			fputs(line, stderr);
			if (strstr(line, "ERROR:") || strstr(line, "runtime error:"))
				snprintf(out, 200, "%.*s", (int)strcspn(line, "\n"), line);
		}
		fclose(file);
	}
	closedir(dir);
}

/* Whether its log has a line with one of these in it. */
static bool has_said(const struct server *s, const char *some, const char *other)
{
	char  line[2048];
	bool  found = false;
	FILE *log   = fopen(s->log_path, "re");

	cr_assert_not_null(log);
	while (!found && fgets(line, sizeof(line), log))
		found = strstr(line, some) || strstr(line, other);
	fclose(log);
	return found;
}

/*
 * A library gave up: nothing that our code could have answered. Of those that we use libuv calls abort() when the kernel
 * refuses to wake or watch, and libmicrohttpd does so with a sentence. An assertion of ours names a file of src/.
 */
static bool is_of_library(struct patient *p)
{
	int status = p->s->status;

	if (has_said(p->s, "Fatal error in GNU libmicrohttpd", "Fatal error in GNU libmicrohttpd"))
		snprintf(p->died, sizeof(p->died), "libmicrohttpd gave up");
	else if (p->part->source == CALLS && status == 256 + SIGABRT && !has_said(p->s, ": src/", "ERROR:"))
		snprintf(p->died, sizeof(p->died), "libuv gave up");
	else if (p->part->source == LIBRARY && status >= 256)
		snprintf(p->died, sizeof(p->died), "signal %d", status - 256);
	else if (p->part->source == LIBRARY && status > 1)
		snprintf(p->died, sizeof(p->died), "status %d", status);
	if (p->part->source == LIBRARY)
		p->ended_well = status == 0;
	return *p->died || p->part->source == LIBRARY;
}

/* It has ended, in a way that is allowed. */
static void look_at_end(struct patient *p)
{
	char report[200];
	int  status = p->s->status;

	if (is_of_library(p))
		return;
	find_report(p->s, report);
	cr_assert_str_empty(report, "%s: %s", p->fail->what, report);
	cr_assert_lt(status, 256, "%s: the server died of signal %d", p->fail->what, status - 256);
	cr_assert(status == 0 || status == 1, "%s: the server ended with status %d", p->fail->what, status);
	cr_assert(status == 0 || has_said(p->s, "coopd: ", " error ") ||
	                  has_said(p->s, "out of memory", "out of memory"),
	          "%s: the server ended without a word", p->fail->what);
	p->ended_well = status == 0 && !p->ended_early;
}

/* Nothing fails while it is asked how it is. */
static void look_at_health(struct patient *p)
{
	bool store_is_ok = false, answers;

	p->fail->armed = 0;
	answers        = session_is_healthy(p->session, &store_is_ok);
	if (!server_is_running(p->s))
		return;
	cr_assert(answers || p->part->source == LIBRARY, "%s: the server goes on and does not answer:%s", p->fail->what,
	          p->session->said);
	p->ended_well  = store_is_ok;
	p->fail->armed = 1;
}

static void live(struct patient *p)
{
	bool store_was_ok;

	if (server_await_start(p->s)) {
		p->fail->armed = 1;
		if (!p->part->at_start)
			session_run(p->session);
		look_at_health(p);
	}
	store_was_ok = p->ended_well;
	if (server_is_running(p->s)) {
		kill(p->s->pid, SIGTERM);
		server_await_exit(p->s, END_MS);
	} else {
		p->ended_early = true;
	}
	p->fail->armed = 0;
	look_at_end(p);
	p->ended_well = p->ended_well && store_was_ok;
}

/* --- After --- */

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

static void convalesce(struct patient *p)
{
	use("COOPD_PLAIN_BIN");
	server_launch(p->s);
	cr_assert(server_await_start(p->s), "%s: the next start ended with status %d", p->fail->what, p->s->status);
	session_check(p->session, p->ended_well);
	check_database(p->s);
	server_stop(p->s);
	run("'%s' --data '%s' --verify-blobs >/dev/null", getenv("COOPD_BIN"), p->s->data);
	if (p->session->p->backup)
		run("'%s' --data '%s/backup' --verify-blobs >/dev/null", getenv("COOPD_BIN"), p->s->root);
}

/* Lets call number `at` fail. False when there is none; what says how it went. */
static bool fail_one(const struct part *part, int64_t at, char what[WHAT_BYTES])
{
	struct patient p;

	admit(&p, part, at);
	live(&p);

	bool struck = p.fail->what[0];

	convalesce(&p);
	snprintf(what, WHAT_BYTES, "%s %s%s%s %lld",
	         *p.died              ? "died"
	         : p.ended_early      ? "ended"
	         : p.session->late    ? "late"
	         : p.session->refused ? "refused"
	         : p.s->status == 1   ? "lossy"
	                              : "fine",
	         p.fail->what, *p.died ? ", " : "", *p.died ? p.died : p.session->said, (long long)p.fail->count);
	discharge(&p);
	return struck;
}

/* --- All of them, for tests/torture/run --- */

static const struct part *named_part(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (name && strcmp(name, parts[i].name) == 0)
			return &parts[i];
	cr_assert_fail("FAULTS_PART is none of them");
	return NULL;
}

static void note(long long number, const char *what)
{
	FILE *file = fopen(getenv("TORTURE_RESULT"), "ae");

	cr_assert_not_null(file, "TORTURE_RESULT must name a file");
	fprintf(file, "%lld %s\n", number, what);
	fclose(file);
}

static int64_t number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoll(text, NULL, 10) : 1;
}

static bool is_out_of_time(void)
{
	return getenv("FAULTS_UNTIL") && time(NULL) >= number_of("FAULTS_UNTIL");
}

Test(faults_all, part, .timeout = 36000)
{
	char               what[WHAT_BYTES];
	int64_t            at = number_of("FAULTS_FROM"), step = number_of("FAULTS_STEP");
	const struct part *part;

	if (!getenv("FAULTS_PART"))
		return; /* only tests/torture/run asks for it */
	part = named_part(getenv("FAULTS_PART"));
	make_template();
	while (!is_out_of_time() && fail_one(part, at, what)) {
		note((long long)at, what);
		at += step;
	}
	fprintf(stderr, "faults: nothing fails at %lld: %s\n", (long long)at, what);
	note((long long)at, is_out_of_time() ? "stopped" : "end");
	server_finish(template);
}

/* --- A few of them --- */

static unsigned take_seed(const char *name)
{
	const char *given = getenv("TORTURE_SEED");
	unsigned    seed  = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)real_now_ms() ^ (unsigned)getpid();

	fprintf(stderr, "faults: %s with TORTURE_SEED=%u\n", name, seed);
	return seed;
}

static void fail_some(const char *test, enum source source, int tries)
{
	char     what[WHAT_BYTES];
	unsigned seed = take_seed(test);

	make_template();
	for (int i = 0; i < tries;) {
		const struct part *part = &parts[(size_t)rand_r(&seed) % COUNT_OF(parts)];
		int64_t            at   = 1 + rand_r(&seed) % part->about;

		if (part->source != source)
			continue;
		fail_one(part, at, what);
		fprintf(stderr, "faults: %s %lld: %s\n", part->name, (long long)at, what);
		i++;
	}
	server_finish(template);
}

Test(faults, of_memory, .timeout = 300)
{
	fail_some("of_memory", HEAP, 3);
}

Test(faults, of_calls, .timeout = 300)
{
	fail_some("of_calls", CALLS, 6);
}

/* --- What is no failure at all --- */

/* A call that was interrupted, or did a part of it, is made again or goes on: nobody notices. */
static void expect_unnoticed(enum fail_how how, int64_t every)
{
	const struct part part = { .name = "all", .source = CALLS, .how = how };
	struct patient    p;

	make_template();
	admit(&p, &part, 1);
	p.fail->every = every;
	live(&p);
	cr_expect_eq(p.session->refused + p.session->late, 0, "refused:%s", p.session->said);
	cr_expect(p.ended_well);
	cr_expect_gt(p.fail->count, 100);
	convalesce(&p);
	discharge(&p);
	server_finish(template);
}

Test(faults, every_third_call_is_interrupted, .timeout = 120)
{
	expect_unnoticed(FAIL_EINTR, 3);
}

Test(faults, every_second_read_and_write_is_short, .timeout = 120)
{
	expect_unnoticed(FAIL_SHORT, 2);
}
