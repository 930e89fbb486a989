/*
 * The data folder: what is made, kept, refused, and what is never removed.
 */
#include "store/store.h"

#include "base/hex.h"
#include "base/metric.h"
#include "os/file.h"
#include "store/copies.h"
#include "store/game.h"
#include "store/upkeep.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAY UPTIME_DAY_MS

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(data_path(name), &st) == 0 ? st.st_mode & 07777 : 0;
}

static bool exists(const char *name)
{
	return access(data_path(name), F_OK) == 0;
}

static void put_file(const char *name, const char *text)
{
	cr_assert_eq(file_write(data_path(name), text, strlen(text), 0600), ERR_OK);
}

static void close_store(struct store *s)
{
	store_stop(s);
}

Test(store, a_first_start_makes_everything_for_us_alone)
{
	static const struct {
		const char *name;
		mode_t      mode;
	} files[] = { { "", 0700 },      { "coop.db", 0600 },    { "secrets", 0600 }, { "lock", 0600 },
		      { "blobs", 0700 }, { "blobs/.tmp", 0700 }, { "copies", 0700 },  { "blobs/store-id", 0600 } };

	umask(0);
	rmdir(data_folder());
	struct store *s = data_open_store();
	for (size_t i = 0; i < COUNT_OF(files); i++)
		cr_expect_eq(mode_of(files[i].name), files[i].mode, "%s: %o", files[i].name, mode_of(files[i].name));
	close_store(s);
}

Test(store, ids_and_keys_stay)
{
	uint8_t       id[STORE_ID_BYTES], key[STORE_ADDR_KEY_BYTES];
	struct store *s = data_open_store();

	memcpy(id, store_id(s), sizeof(id));
	memcpy(key, store_addr_key(s), sizeof(key));
	close_store(s);
	s = data_open_store();
	cr_expect_arr_eq(store_id(s), id, sizeof(id));
	cr_expect_arr_eq(store_addr_key(s), key, sizeof(key));
	cr_expect_arr_neq(id, ((const uint8_t[STORE_ID_BYTES]){ 0 }), sizeof(id));
	close_store(s);
}

/* Another process, since a lock is no obstacle to the one that holds it. */
Test(store, a_folder_in_use_is_refused_and_its_holder_named)
{
	int  pipes[2], said[2];
	char byte;

	cr_assert_eq(pipe(pipes) + pipe(said), 0);
	data_folder();
	pid_t pid = fork();
	if (pid == 0) {
		struct store *s = NULL;

		close(pipes[1]);
		if (store_open(&s, data_conf(), stderr) == ERR_OK && write(said[1], "x", 1) == 1 &&
		    read(pipes[0], &byte, 1) == 0)
			_exit(0);
		_exit(1);
	}
	close(said[1]);
	cr_assert_eq(read(said[0], &byte, 1), 1);

	char holder[32];
	snprintf(holder, sizeof(holder), "process %d;", (int)pid);
	const char *text = data_open_fails(ERR_HELD);
	cr_expect_not_null(strstr(text, holder), "%s", text);
	close(pipes[1]);
	waitpid(pid, NULL, 0);
	close_store(data_open_store());
}

Test(store, a_start_removes_unfinished_files_and_nothing_else)
{
	static const char *const gone[] = { "secrets.Ab12Cd.tmp", "copies/new-daily-2026-11-01.db",
		                            "copies/new-daily-2026-11-01.db-journal", "blobs/.tmp/upload" };
	static const char *const kept[] = { "letter", "copies/daily-2026-11-01.db", "blobs/ab/cdef",
		                            "blobs/.tmp/folder/x", "blobs/x.tmp" };

	close_store(data_open_store());
	file_make_dirs(data_path("blobs/ab"), 0700);
	file_make_dirs(data_path("blobs/.tmp/folder"), 0700);
	for (size_t i = 0; i < COUNT_OF(gone); i++)
		put_file(gone[i], "x");
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		put_file(kept[i], "x");
	close_store(data_open_store());
	for (size_t i = 0; i < COUNT_OF(gone); i++)
		cr_expect_not(exists(gone[i]), "%s", gone[i]);
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		cr_expect(exists(kept[i]), "%s", kept[i]);
}

Test(store, blobs_are_known_from_the_second_start_on)
{
	struct store *s = data_open_store();

	cr_expect_not(store_blobs_are_known(s), "the database was just made");
	close_store(s);
	file_make_dirs(data_path("blobs/ab"), 0700);
	put_file("blobs/ab/cdef", "x");
	s = data_open_store();
	cr_expect(store_blobs_are_known(s));
	close_store(s);
}

/* Somebody lost coop.db, or put back the one of last year, and starts the server to see what is left. */
Test(store, another_database_beside_full_blobs_loses_nothing)
{
	char  *id = NULL, *id_now = NULL;
	size_t len;

	close_store(data_open_store());
	file_make_dirs(data_path("blobs/ab"), 0700);
	put_file("blobs/ab/cdef", "x");
	cr_assert_eq(file_read(&id, &len, data_path("blobs/store-id"), 100), ERR_OK);
	unlink(data_path("coop.db"));

	for (int start = 0; start < 2; start++) {
		struct store *s = data_open_store();

		cr_expect_not(store_blobs_are_known(s), "start %d", start);
		close_store(s);
		cr_expect(exists("blobs/ab/cdef"));
		free(id_now);
		cr_assert_eq(file_read(&id_now, &len, data_path("blobs/store-id"), 100), ERR_OK);
		cr_expect_str_eq(id_now, id, "whose blobs they are is not forgotten");
	}
	free(id);
	free(id_now);
}

Test(store, a_newer_database_is_refused)
{
	struct store *s = data_open_store();

	data_exec(store_db(s), "PRAGMA user_version = 9999");
	close_store(s);
	const char *text = data_open_fails(ERR_NEWER);
	cr_expect_not_null(strstr(text, "9999"), "%s", text);
}

Test(store, a_folder_that_cannot_be_made_is_reported)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/data", data_path("letter"));
	put_file("letter", "x");
	data_conf()->server_data = path;
	const char *text         = data_open_fails(ERR_IO);
	cr_expect_not_null(strstr(text, "cannot make the folder"), "%s", text);
	cr_expect_not_null(strstr(text, "--data"), "%s", text);
}

Test(store, a_failed_start_leaves_the_folder_free)
{
	put_file("coop.db", "this is not a database at all, but somebody's notes.................................");
	data_open_fails(ERR_STORE);
	unlink(data_path("coop.db"));
	close_store(data_open_store());
}

Test(store, a_stop_leaves_one_whole_file)
{
	struct stat   st;
	struct store *s = data_start_store();

	store_stop(s);
	cr_expect(stat(data_path("coop.db-wal"), &st) != 0 || st.st_size == 0);
	struct db *db = data_open_db();
	cr_expect_eq(data_ask(db, "SELECT quick_check = 'ok' FROM pragma_quick_check"), 1);
	db_close(db);
}

Test(store, each_start_notes_the_day)
{
	struct data_clock *clock = data_take_clock();

	close_store(data_open_store());
	close_store(data_open_store());
	clock->both_ms  = 3 * DAY;
	struct store *s = data_open_store();
	cr_expect_eq(data_ask(store_db(s), "SELECT max(day) FROM uptime_days"), 2);
	close_store(s);
}

static bool has_day(void *arg)
{
	struct db *db = data_open_db();
	bool       is = data_ask(db, "SELECT max(day) FROM uptime_days") == *(int *)arg;

	db_close(db);
	return is;
}

Test(store, the_thread_notes_days_without_being_asked)
{
	struct data_clock *clock = data_take_clock();
	struct store      *s     = data_start_store();

	for (int day = 2; day <= 4; day++) {
		clock->both_ms += DAY;
		store_poke(s);
		clock->both_ms += 2000; /* the note is lazy */
		store_poke(s);
		cr_expect(data_await(has_day, &day), "day %d", day);
	}
	store_stop(s);
}

static bool has_copies(void *arg)
{
	return data_count_files("copies", COPIES_DAILY) == *(size_t *)arg;
}

Test(store, a_copy_is_made_every_day)
{
	struct data_clock *clock  = data_take_clock();
	struct store      *s      = data_start_store();
	size_t             wanted = 0;

	clock->both_ms = 59000;
	store_poke(s);
	usleep(50000);
	cr_expect(has_copies(&wanted), "first the players come back");
	for (wanted = 1; wanted <= 3; wanted++) {
		clock->both_ms += DAY;
		store_poke(s);
		cr_expect(data_await(has_copies, &wanted), "%zu", wanted);
	}
	clock->both_ms += 120000;
	store_poke(s);
	usleep(50000);
	wanted = 3;
	cr_expect(has_copies(&wanted), "one a day");
	store_stop(s);
}

static bool has_no_space(void *arg)
{
	return !store_has_space(arg);
}

Test(store, under_the_floor_there_is_no_space_for_large_things)
{
	struct data_clock *clock  = data_take_clock();
	size_t             wanted = 0;

	data_conf()->limits.store_free_floor = INT64_C(1) << 60;
	struct store *s                      = data_start_store();
	cr_expect(data_await(has_no_space, s));
	cr_expect_gt(metric_get(M_STORE_FREE_BYTES), 0);
	clock->both_ms = DAY;
	store_poke(s);
	usleep(50000);
	cr_expect(has_copies(&wanted), "no copy either");
	store_stop(s);
}

Test(store, over_the_largest_log_there_is_no_space_either)
{
	data_conf()->limits.store_wal_max = 1;
	struct store *s                   = data_start_store();

	cr_expect(data_await(has_no_space, s));
	cr_expect_gt(metric_get(M_STORE_WAL_BYTES), 1);
	store_stop(s);
}

Test(store, health_has_words)
{
	cr_expect_str_eq(store_health_text(STORE_OK), "ok");
	cr_expect_str_eq(store_health_text(STORE_SLOW), "slow");
	cr_expect_str_eq(store_health_text(STORE_FAILING), "failing");
}

static void expect_shell(const char *sql, const char *wanted)
{
	char command[600], line[300] = "";

	snprintf(command, sizeof(command), "sqlite3 -readonly '%s' \"%s\"", data_path("coop.db"), sql);
	FILE *shell = popen(command, "r");
	cr_assert_not_null(shell);
	if (!fgets(line, sizeof(line), shell))
		line[0] = '\0';
	cr_expect_eq(pclose(shell), 0);
	cr_expect_str_eq(line, wanted, "%s", sql);
}

/* While the server runs, as an operator would. */
Test(store, views_are_for_people_with_the_plain_shell)
{
	struct store     *s      = data_open_store();
	struct player_row player = { .digest = { 0xbe, 0x45, 0xcb }, .code = 123456, .used_ms = 1700000000000 };
	struct game_row   game   = {
		    .code = 123456, .version = 2, .player = { 0xbe, 0x45, 0xcb }, .made_ms = 1700000000000
	};
	struct friend_row friend = { .code = 123456, .number = 1 };

	player_add(store_db(s), &player, (const uint8_t[PLAYER_ADDR_BYTES]){ 0 });
	game_put(store_db(s), &game);
	friend_put(store_db(s), &friend);
	cr_assert_eq(store_start(s), ERR_OK);
	expect_shell("SELECT * FROM games", "123456|2|be45cb0000000000|1|2023-11-14 22:13:20\n");
	expect_shell("SELECT * FROM player_list", "be45cb0000000000|123456|2023-11-14 22:13:20|no|no\n");
	store_stop(s);
}

Test(store, a_secret_as_text_is_made_once_and_kept_beside_the_others)
{
	char          first[STORE_SECRET_TEXT_BYTES], again[STORE_SECRET_TEXT_BYTES], other[STORE_SECRET_TEXT_BYTES];
	struct store *s = data_open_store();

	cr_assert_eq(store_secret_text(first, s, "turn_secret", stderr), ERR_OK);
	cr_assert_eq(store_secret_text(other, s, "signaling_token", stderr), ERR_OK);
	cr_expect_eq(strlen(first), 64);
	cr_expect_eq(strspn(first, "0123456789abcdef"), 64);
	cr_expect_str_neq(first, other);
	store_stop(s);
	s = data_open_store();
	cr_assert_eq(store_secret_text(again, s, "turn_secret", stderr), ERR_OK);
	cr_expect_str_eq(first, again);
	cr_expect_eq(mode_of("secrets"), 0600);
	store_stop(s);
}

Test(store, a_secret_that_is_none_is_told)
{
	char          out[STORE_SECRET_TEXT_BYTES], said[512] = "";
	struct store *s      = data_open_store();
	FILE         *report = fmemopen(said, sizeof(said), "w");

	cr_assert_eq(file_write(data_path("secrets"), "turn_secret = short\n", 20, 0600), ERR_OK);
	cr_expect_eq(store_secret_text(out, s, "turn_secret", report), ERR_MALFORMED);
	fclose(report);
	cr_expect_not_null(strstr(said, "the value of turn_secret must be 64 hex digits"), "%s", said);
	store_stop(s);
}
