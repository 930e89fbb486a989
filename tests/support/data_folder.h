/*
 * A data folder for one test, below /tmp, and the store or the bare database in it. Removed when the test's process
 * ends.
 */
#ifndef TESTS_DATA_FOLDER_H
#define TESTS_DATA_FOLDER_H

#include "conf/conf.h"
#include "store/db.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folder, made at the first call. */
const char *data_folder(void);

/* folder/name; valid until the eighth call after this one. */
const char *data_path(const char *name);

/* Every limit at its default, and the data folder; change what the test needs before opening. */
struct conf *data_conf(void);

/* Open it with everything applied, or end the test. */
struct store *data_open_store(void); /* not started */
struct store *data_start_store(void);
struct db    *data_open_db(void); /* without a store: no lock, no thread, no notes about the clock */

/* The same sentence that store_open would give the operator; ends the test when it opens. */
const char *data_open_fails(enum err expected);

/* One number from the database, with any statement: for what no query of the server asks. */
int64_t data_ask(struct db *db, const char *sql);

/* Runs any statements; ends the test when they fail. */
void data_exec(struct db *db, const char *sql);

/* The first step of the statement's plan that goes over all of a table or index; NULL when there is none. */
const char *data_plan_scans(struct db *db, const char *sql);

/* Makes the process's clock one that the test moves; both are added to what the machine says. */
struct data_clock {
	int64_t both_ms, wall_ms;
};
struct data_clock *data_take_clock(void);

/* How many files in folder/below have names with this beginning. */
size_t data_count_files(const char *below, const char *prefix);

/* Waits until the condition holds, at most ten seconds; false then. */
bool data_await(bool (*holds)(void *arg), void *arg);

#endif
