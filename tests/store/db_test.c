/*
 * The connection: how it is set up, and what errors its queries give.
 */
#include "store/db.h"

#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

static const uint8_t id[8] = { 1 };

static enum err add_player(struct db *db, const uint8_t *digest)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_INSERT);

	q_blob(&q, ":id", digest, 8);
	q_blob(&q, ":digest", digest, 32);
	q_int(&q, ":now_ms", 1);
	return q_done(&q);
}

static enum err add_code(struct db *db, int64_t code, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_CODE_INSERT);

	q_int(&q, ":code", code);
	q_blob(&q, ":player", player, 8);
	q_int(&q, ":used_ms", 1);
	q_int(&q, ":joined", 0);
	return q_done(&q);
}

Test(db, it_is_set_up_to_lose_nothing_and_trust_nothing)
{
	static const struct {
		const char *sql;
		int64_t     want;
	} settings[] = {
		{ "PRAGMA synchronous", 2 },        { "PRAGMA foreign_keys", 1 },
		{ "PRAGMA secure_delete", 1 },      { "PRAGMA cell_size_check", 1 },
		{ "PRAGMA trusted_schema", 0 },     { "PRAGMA temp_store", 2 },
		{ "PRAGMA wal_autocheckpoint", 0 }, { "SELECT journal_mode = 'wal' FROM pragma_journal_mode", 1 },
	};
	struct db  *db = data_open_db();
	struct stat st;

	for (size_t i = 0; i < COUNT_OF(settings); i++)
		cr_expect_eq(data_ask(db, settings[i].sql), settings[i].want, "%s", settings[i].sql);
	cr_assert_eq(stat(data_path("coop.db-wal"), &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600, "the log is for nobody else either");
	db_close(db);
}

Test(db, a_taken_key_exists_and_a_reference_to_nothing_is_not_found)
{
	struct db    *db         = data_open_db();
	const uint8_t digest[32] = { 1 };

	cr_expect_eq(add_code(db, 123456, id), ERR_NOT_FOUND);
	cr_expect_eq(add_player(db, digest), ERR_OK);
	cr_expect_eq(add_code(db, 123456, id), ERR_OK);
	cr_expect_eq(add_code(db, 123456, id), ERR_EXISTS);
	cr_expect_eq(add_code(db, 123457, id), ERR_EXISTS, "one code each");
	cr_expect_not(db_has_failed(db));
	db_close(db);
}

Test(db, a_broken_rule_is_our_own_mistake)
{
	struct db *db = data_open_db();

	cr_expect_eq(add_code(db, 1, id), ERR_INTERNAL);
	db_close(db);
}

Test(db, a_query_that_does_not_fit_the_schema_is_named)
{
	struct db *db        = NULL;
	char       text[512] = "";
	FILE      *report    = fmemopen(text, sizeof(text), "w");

	cr_assert_eq(db_open(&db, NULL, data_path("coop.db"), stderr), ERR_OK);
	cr_expect_eq(db_prepare(db, report), ERR_STORE);
	fclose(report);
	cr_expect_not_null(strstr(text, "no such table"), "%s", text);
	db_close(db);
}

Test(db, a_file_that_is_no_database_is_refused_and_left_alone)
{
	struct db *db        = NULL;
	FILE      *f         = fopen(data_path("coop.db"), "w");
	char       text[512] = "", line[64] = "";

	for (int i = 0; i < 200; i++)
		fputs("a letter to somebody\n", f);
	fclose(f);
	FILE *report = fmemopen(text, sizeof(text), "w");
	cr_expect_eq(db_open(&db, NULL, data_path("coop.db"), report), ERR_STORE);
	fclose(report);
	cr_expect_not_null(strstr(text, "not a database"), "%s", text);
	f = fopen(data_path("coop.db"), "r");
	cr_expect_str_eq(fgets(line, sizeof(line), f), "a letter to somebody\n");
	fclose(f);
}

Test(db, a_blob_of_another_length_reads_as_zeros)
{
	struct db           *db = data_open_db();
	uint8_t              out[4];
	static const uint8_t zeros[4];

	cr_assert_eq(add_player(db, (const uint8_t[32]){ 1 }), ERR_OK);
	cr_assert_eq(add_code(db, 123456, id), ERR_OK);
	AUTO_QUERY q = db_query(db, Q_CODE_EACH);
	cr_assert_eq(q_row(&q), ERR_OK);
	memset(out, 9, sizeof(out));
	q_get_blob(&q, 0, out, sizeof(out));
	cr_expect_arr_eq(out, zeros, sizeof(out));
	q_end(&q);
	db_close(db);
}

Test(db, what_was_undone_is_gone_and_what_was_committed_stays)
{
	struct db *db = data_open_db();

	cr_assert_eq(db_run(db, Q_BATCH_BEGIN), ERR_OK);
	cr_expect(db_in_transaction(db));
	add_player(db, (const uint8_t[32]){ 1 });
	db_undo(db);
	cr_expect_not(db_in_transaction(db));
	db_undo(db);

	cr_assert_eq(db_run(db, Q_BATCH_BEGIN), ERR_OK);
	add_player(db, (const uint8_t[32]){ 2 });
	cr_expect_eq(db_commit(db), ERR_OK);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM players"), 1);
	cr_expect_not(db_has_failed(db));
	db_close(db);
}

static off_t file_bytes(const char *name)
{
	struct stat st;

	return stat(data_path(name), &st) == 0 ? st.st_size : -1;
}

/* Many commits: without folding, the log would grow by a page or more for each. */
Test(db, checkpoints_keep_the_log_small_and_folding_empties_it)
{
	struct db *db = data_open_db();

	for (uint8_t i = 0; i < 250; i++) {
		for (uint8_t k = 0; k < 10; k++) {
			db_run(db, Q_BATCH_BEGIN);
			add_player(db, (const uint8_t[32]){ i, k });
			cr_assert_eq(db_commit(db), ERR_OK);
			db_checkpoint(db);
		}
	}
	cr_expect_gt(file_bytes("coop.db-wal"), 0);
	cr_expect_lt(file_bytes("coop.db-wal"), 1100 * 4120);
	cr_expect_gt(file_bytes("coop.db"), 2500 * 48);
	db_fold(db);
	cr_expect_eq(file_bytes("coop.db-wal"), 0);
	db_close(db);
}
