/*
 * What was answered is on the disk: order of system calls, failing syncs, full disks, slow disks, and kill -9. The
 * store runs in a program of its own (store_probe.c) behind a library that plays the bad disk (fake/disk_fault.h).
 */
#include "fake/disk_fault.h"

#include "base/hex.h"
#include "base/text.h"
#include "os/file.h"
#include "store/copies.h"
#include "support/blob_folder.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 20000

struct probe {
	pid_t              pid;
	int                to;
	int                from;
	char               said[4096]; /* what came and was not taken yet */
	size_t             said_len;
	struct disk_fault *fault;
};

/* Beside the test program: build/test/NAME. */
static const char *beside(const char *name)
{
	static char   paths[2][PATH_MAX];
	static size_t turn;
	char         *path = paths[turn++ % 2];
	char          self[PATH_MAX];
	ssize_t       len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	cr_assert_gt(len, 0);
	self[len]                 = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	cr_assert(text_format(path, PATH_MAX, "%s%s", self, name));
	cr_assert_eq(access(path, F_OK), 0, "%s must be built first", path);
	return path;
}

static const char *data(void)
{
	return data_path("data");
}

static struct disk_fault *make_control(void)
{
	int fd = open(data_path("fault"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_eq(ftruncate(fd, sizeof(struct disk_fault)), 0);
	void *mem = mmap(NULL, sizeof(struct disk_fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(mem, MAP_FAILED);
	close(fd);
	return mem;
}

static void exec_probe(const char *program, const char *library, const char *match, int in, int out)
{
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	setenv("LD_PRELOAD", library, 1);
	setenv("COOP_FAULT_DIR", data(), 1);
	setenv("COOP_FAULT_MATCH", match, 1);
	setenv("COOP_FAULT_CONTROL", data_path("fault"), 1);
	setenv("COOP_FAULT_LOG", data_path("calls"), 1);

	char        options[1024];
	const char *given = getenv("ASAN_OPTIONS");
	snprintf(options, sizeof(options), "%s%sverify_asan_link_order=0", given ? given : "", given ? ":" : "");
	setenv("ASAN_OPTIONS", options, 1);
	execl(program, program, data(), (char *)NULL);
	_exit(127);
}

/* match: the end of the name of the files that errors are for. */
static struct probe start_with(const char *match)
{
	struct probe p = { .fault = make_control() };
	int          to[2], from[2];
	const char  *program = beside("store_probe"), *library = beside("disk_fault.so");

	cr_assert_eq(pipe2(to, O_CLOEXEC) + pipe2(from, O_CLOEXEC), 0);
	p.pid = fork();
	if (p.pid == 0)
		exec_probe(program, library, match, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	p.to   = to[1];
	p.from = from[0];
	return p;
}

static struct probe start(void)
{
	return start_with("-wal");
}

static void tell(struct probe *p, const char *line)
{
	cr_assert_eq(write(p->to, line, strlen(line)), (ssize_t)strlen(line));
}

/* The next line within so long; NULL when none came or the program ended. */
static const char *hear(struct probe *p, int patience_ms)
{
	static char   line[256];
	struct pollfd ready = { .fd = p->from, .events = POLLIN };
	char         *end;

	while (!(end = memchr(p->said, '\n', p->said_len))) {
		if (poll(&ready, 1, patience_ms) != 1)
			return NULL;
		ssize_t n = read(p->from, p->said + p->said_len, sizeof(p->said) - p->said_len);
		if (n <= 0)
			return NULL;
		p->said_len += (size_t)n;
	}
	size_t len = (size_t)(end - p->said);
	memcpy(line, p->said, len);
	line[len] = '\0';
	p->said_len -= len + 1;
	memmove(p->said, end + 1, p->said_len);
	return line;
}

#define expect_hears(p, wanted)                                       \
	do {                                                          \
		const char *heard_ = hear(p, ANSWER_MS);              \
		cr_assert_not_null(heard_, "waited for: %s", wanted); \
		cr_expect_str_eq(heard_, wanted);                     \
	} while (0)

static void end(struct probe *p)
{
	int status;

	close(p->to);
	cr_assert_eq(waitpid(p->pid, &status, 0), p->pid);
	cr_expect_eq(status, 0, "status %x", status);
	close(p->from);
}

/* What the next start finds in the database, after recovery. */
static int64_t ask_after(const char *sql)
{
	struct db *db = NULL;

	cr_assert_eq(db_open(&db, NULL, data_path("data/coop.db"), stderr), ERR_OK);
	cr_expect_eq(data_ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
	int64_t value = data_ask(db, sql);
	db_close(db);
	return value;
}

static void forget_players(void)
{
	struct db *db = NULL;

	cr_assert_eq(db_open(&db, NULL, data_path("data/coop.db"), stderr), ERR_OK);
	data_exec(db, "DELETE FROM codes; DELETE FROM players");
	db_close(db);
}

static char *read_calls(void)
{
	char  *text = NULL;
	size_t len;

	cr_assert_eq(file_read(&text, &len, data_path("calls"), 10000000), ERR_OK);
	return text;
}

/* Cuts the text after the line and returns what follows; ends the test when it is not there. */
static char *after_line(char *text, const char *line)
{
	size_t len = strlen(line);

	for (char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (strncmp(at, line, len) == 0 && at[len] == '\n') {
			*at = '\0';
			return at + len + 1;
		}
	}
	cr_assert_fail("no line \"%s\" in:\n%s", line, text);
	return NULL;
}

static const char *last_match(const char *text, const char *what)
{
	const char *found = NULL;

	for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
		found = at;
	return found;
}

Test(durable, the_log_is_synced_between_its_last_write_and_the_answer)
{
	struct probe p = start();

	expect_hears(&p, "started");
	for (int i = 1; i <= 5; i++) {
		char line[32], answer[32];

		snprintf(line, sizeof(line), "put %d\n", i);
		snprintf(answer, sizeof(answer), "put %d OK", i);
		tell(&p, line);
		expect_hears(&p, answer);
	}
	end(&p);

	AUTO(auto_free) char *calls = read_calls();
	char                 *at    = after_line(calls, "says started");
	for (int i = 1; i <= 5; i++) {
		char says[32];

		snprintf(says, sizeof(says), "says put %d OK", i);
		char       *rest    = after_line(at, says);
		const char *written = last_match(at, "write coop.db-wal = ");
		const char *synced  = last_match(at, "sync coop.db-wal = 0");
		cr_expect(written && synced && written < synced, "before \"%s\":\n%s", says, at);
		at = rest;
	}
}

/* Every file that a start makes, and the copy of a day, is synced before and its folder after it got its name. */
Test(durable, files_are_synced_before_they_get_their_names)
{
	struct probe p = start();

	expect_hears(&p, "started");
	end(&p);

	AUTO(auto_free) char *calls   = read_calls();
	const char           *renamed = strstr(calls, " secrets = 0");
	cr_assert_not_null(renamed, "%s", calls);
	const char *synced = strstr(calls, "sync secrets.");
	cr_expect(synced && synced < renamed, "%s", calls);
	cr_expect_not_null(strstr(renamed, "sync . = 0"), "%s", calls);
	cr_expect_not_null(strstr(calls, "sync blobs = 0"), "%s", calls);
}

Test(durable, after_a_failed_sync_nothing_is_answered_as_kept)
{
	struct probe p = start();

	expect_hears(&p, "started");
	tell(&p, "put 1\n");
	expect_hears(&p, "put 1 OK");
	p.fault->fail_syncs = 1;
	tell(&p, "both 2 3\n");
	expect_hears(&p, "put 2 STORE");
	expect_hears(&p, "put 3 STORE");
	cr_expect_eq(p.fault->fail_syncs, 0, "the disk says it is fine again");
	tell(&p, "put 4\n");
	expect_hears(&p, "put 4 STORE");
	tell(&p, "health\n");
	expect_hears(&p, "health failing");
	end(&p);

	/* A restart looks at what the disk really has, and goes on. */
	cr_expect_eq(ask_after("SELECT count(*) FROM codes WHERE code = 100001"), 1);
	p = start();
	expect_hears(&p, "started");
	tell(&p, "put 5\n");
	expect_hears(&p, "put 5 OK");
	end(&p);
	cr_expect_eq(ask_after("SELECT count(*) FROM codes WHERE code IN (100001, 100005)"), 2);
}

/* Folding the log into the database happens after the answers. Those stand; the next ones do not. */
Test(durable, a_failed_sync_of_the_database_file_is_as_final)
{
	struct probe p     = start_with("coop.db");
	const char  *heard = NULL;
	int64_t      kept  = 0;

	expect_hears(&p, "started");
	p.fault->fail_syncs = 1;
	tell(&p, "flood\n");
	while ((heard = hear(&p, ANSWER_MS)) && strstr(heard, " OK"))
		kept++;
	cr_assert_not_null(heard);
	cr_expect_not_null(strstr(heard, " STORE"), "%s", heard);
	cr_expect_eq(p.fault->fail_syncs, 0, "it was the sync");
	kill(p.pid, SIGKILL);
	waitpid(p.pid, NULL, 0);
	close(p.to);
	close(p.from);
	cr_expect_eq(ask_after("SELECT count(*) FROM codes"), kept);
}

Test(durable, a_log_that_cannot_be_written_is_as_final)
{
	struct probe p = start();

	expect_hears(&p, "started");
	p.fault->fail_writes = 1;
	tell(&p, "put 1\n");
	expect_hears(&p, "put 1 STORE");
	tell(&p, "put 2\n");
	expect_hears(&p, "put 2 STORE");
	end(&p);
	cr_expect_eq(ask_after("SELECT count(*) FROM codes"), 0);
}

Test(durable, a_full_disk_refuses_and_is_forgiven)
{
	struct probe p = start();

	expect_hears(&p, "started");
	p.fault->write_errno = ENOSPC;
	p.fault->fail_writes = -1;
	tell(&p, "put 1\n");
	expect_hears(&p, "put 1 SPACE");
	p.fault->fail_writes = 0;
	tell(&p, "put 2\n");
	expect_hears(&p, "put 2 OK");
	tell(&p, "health\n");
	expect_hears(&p, "health ok");
	end(&p);
	cr_expect_eq(ask_after("SELECT count(*) FROM codes"), 1);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The answer waits for the disk; whoever submits, or asks how the store is, does not. */
Test(durable, a_slow_disk_delays_answers_and_nothing_else)
{
	struct probe p = start();

	expect_hears(&p, "started");
	p.fault->delay_ms = 60000;
	tell(&p, "put 1\n");
	cr_expect_null(hear(&p, 300), "not while the disk waits");
	int64_t let_go_ms = now_ms();
	p.fault->delay_ms = 0;
	expect_hears(&p, "put 1 OK");
	cr_expect_lt(now_ms() - let_go_ms, 5000);
	end(&p);
}

/* Whether the next player was put, the one after *last. */
static bool hear_next(struct probe *p, int64_t *last)
{
	const char *heard = hear(p, ANSWER_MS);
	char        wanted[32];

	snprintf(wanted, sizeof(wanted), "put %lld OK", (long long)(*last + 1));
	if (!heard || strcmp(heard, wanted) != 0)
		return false;
	(*last)++;
	return true;
}

/* Everything that was answered before the kill is there after it, and the database is whole. */
Test(durable, kill_9_loses_nothing_that_was_answered)
{
	for (int round = 0; round < 5; round++) {
		struct probe p    = start();
		int64_t      last = -1;
		char         sql[128];

		expect_hears(&p, "started");
		tell(&p, "flood\n");
		for (int i = 0; i < 200 + 150 * round; i++)
			cr_assert(hear_next(&p, &last), "after %lld", (long long)last);
		kill(p.pid, SIGKILL);
		waitpid(p.pid, NULL, 0);
		/* What it had said before it died counts, too. */
		while (hear_next(&p, &last))
			;
		close(p.to);
		close(p.from);

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM codes WHERE code <= 100000 + %lld", (long long)last);
		cr_expect_eq(ask_after(sql), last + 1, "round %d", round);
		forget_players();
	}
}

/* --- Blobs --- */

/* Below the data folder: "blobs/ab/cdef..." and "/ab". */
static void name_blob(char path[100], char folder[4], int n)
{
	char hex[2 * BLOB_HASH_BYTES + 1];

	hex_encode(hex, blob_hash(n), BLOB_HASH_BYTES);
	snprintf(path, 100, "blobs/%.2s/%s", hex, hex + 2);
	snprintf(folder, 4, "/%.2s", hex);
}

static bool has_file(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "data/%s", name);
	return access(data_path(path), F_OK) == 0;
}

/* The first line from there on that begins so; a test's step by step. */
static const char *next_line(const char *from, const char *begin, const char *what, const char *calls)
{
	size_t len = strlen(begin);

	for (const char *at = from; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (strncmp(at, begin, len) == 0)
			return strchr(at, '\n') ? strchr(at, '\n') + 1 : at + len;
	}
	cr_assert_fail("no %s (\"%s\") in its place in:\n%s", what, begin, calls);
	return NULL;
}

Test(durable, a_blob_is_answered_after_data_rename_folder_and_log)
{
	struct probe p = start();
	char         path[100], folder[4], renamed[250], synced[50];

	expect_hears(&p, "started");
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 OK");
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 OK");
	end(&p);

	AUTO(auto_free) char *calls = read_calls();
	const char           *at    = next_line(calls, "says started", "start", calls);
	name_blob(path, folder, 1);
	snprintf(synced, sizeof(synced), "sync blobs%s = 0", folder);
	/* The folders of all blobs are made at the start, and safe before it is over. */
	const char *folders = strstr(calls, "sync blobs = 0");
	cr_assert_not_null(folders);
	cr_expect_lt(folders, at);
	/* The second time folder, file and row are there: nothing is taken for safe because of that. */
	for (int i = 0; i < 2; i++) {
		char name[100] = "";

		const char *written = strstr(at, "write blobs/.tmp/");
		cr_assert_not_null(written);
		cr_assert_eq(sscanf(written, "write %99s", name), 1);
		snprintf(renamed, sizeof(renamed), "sync %s = 0", name);
		at = next_line(written, renamed, "data sync", calls);
		snprintf(renamed, sizeof(renamed), "rename %s %s = 0", name, path);
		at = next_line(at, renamed, "rename", calls);
		at = next_line(at, synced, "sync of the folder", calls);
		if (i == 0) {
			at = next_line(at, "write coop.db-wal = ", "rows", calls);
			at = next_line(at, "sync coop.db-wal = 0", "sync of the log", calls);
		}
		at = next_line(at, "says blob 1 OK", "answer", calls);
	}
}

Test(durable, a_failed_sync_of_the_blobs_folder_is_final)
{
	char         path[100], folder[4];
	struct probe p;

	name_blob(path, folder, 1);
	p = start_with(folder);
	expect_hears(&p, "started");
	tell(&p, "put 1\n");
	expect_hears(&p, "put 1 OK");
	p.fault->fail_syncs = 1;
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 STORE");
	cr_expect_eq(p.fault->fail_syncs, 0, "the disk says it is fine again");
	tell(&p, "put 2\n");
	expect_hears(&p, "put 2 STORE");
	tell(&p, "health\n");
	expect_hears(&p, "health failing");
	end(&p);
	cr_expect_eq(ask_after("SELECT count(*) FROM blobs"), 0);
	cr_expect_eq(ask_after("SELECT count(*) FROM codes"), 1);
	cr_expect_eq(data_count_files("data/blobs/.tmp", ""), 0);
}

Test(durable, a_failed_sync_of_a_blobs_data_refuses_that_blob)
{
	struct probe p = start_with("");
	char         path[100], folder[4];

	expect_hears(&p, "started");
	p.fault->fail_syncs = 1;
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 IO");
	name_blob(path, folder, 1);
	cr_expect_not(has_file(path));
	cr_expect_eq(data_count_files("data/blobs/.tmp", ""), 0);
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 OK");
	cr_expect(has_file(path));
	tell(&p, "health\n");
	expect_hears(&p, "health ok");
	end(&p);
}

Test(durable, a_full_disk_refuses_a_blob_and_keeps_nothing_of_it)
{
	struct probe p = start_with("");
	char         path[100], folder[4];

	expect_hears(&p, "started");
	p.fault->write_errno = ENOSPC;
	p.fault->fail_writes = 1;
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 SPACE");
	name_blob(path, folder, 1);
	cr_expect_not(has_file(path));
	cr_expect_eq(data_count_files("data/blobs/.tmp", ""), 0);
	end(&p);
}

/* The file has its name by then. */
Test(durable, a_blob_whose_rows_find_no_room_goes_again)
{
	struct probe p = start();
	char         path[100], folder[4];

	expect_hears(&p, "started");
	p.fault->write_errno = ENOSPC;
	p.fault->fail_writes = -1;
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 SPACE");
	p.fault->fail_writes = 0;
	tell(&p, "put 2\n");
	expect_hears(&p, "put 2 OK");
	name_blob(path, folder, 1);
	cr_expect_not(has_file(path));
	tell(&p, "blob 1\n");
	expect_hears(&p, "blob 1 OK");
	cr_expect(has_file(path));
	end(&p);
	cr_expect_eq(ask_after("SELECT count(*) FROM blobs"), 1);
}
