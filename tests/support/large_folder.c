#include "support/large_folder.h"

#include "base/hex.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HASH_BYTES 32

/* The numbers stand in a table of one row, since only the first statement could be given parameters. */
static const char numbers[] =
	"CREATE TEMP TABLE wanted AS SELECT ?1 AS codes, ?2 AS campaigns, ?3 AS each, ?4 AS bytes, "
	"unixepoch() * 1000 AS now_ms, 900000 / ?1 AS apart";

static const char rows[] =
	"BEGIN;"
	"CREATE TEMP TABLE people AS "
	"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n, wanted WHERE i + 1 < codes) "
	"SELECT i, randomblob(32) AS digest FROM n;"

	"INSERT INTO players (id, digest, made_ms) SELECT substr(digest, 1, 8), digest, now_ms FROM people, wanted "
	"ORDER BY digest;"
	"INSERT INTO codes (player, code, used_ms, used_day, joined) "
	"SELECT substr(digest, 1, 8), 100000 + i * apart, now_ms, 1, i % 2 FROM people, wanted ORDER BY digest;"
	"INSERT INTO holders (player, made_ms) "
	"SELECT substr(digest, 1, 8), now_ms FROM people, wanted WHERE i < (campaigns + 1) / 2 ORDER BY digest;"

	"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n, wanted WHERE i + 1 < campaigns) "
	"INSERT INTO campaigns (number, id, owner, made_ms, stored_ms, used_ms, used_day) "
	"SELECT n.i + 1, randomblob(8), substr(digest, 1, 8), now_ms, now_ms, now_ms, 1 "
	"FROM n, wanted CROSS JOIN people ON people.rowid = n.i / 2 + 1;"

	"WITH RECURSIVE v(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM v, wanted WHERE i < each) "
	"INSERT INTO checkpoints (campaign, version, sha256, bytes, stored_ms, player, is_small, is_conflict, "
	"is_container, "
	"spare, stamp, name, level, checkpoint, hostname) "
	"SELECT number, v.i, randomblob(32), wanted.bytes, now_ms, owner, 0, 0, 1, 0, 0, 'The island', 'mines', "
	"'checkpoint ' || v.i, 'a host' FROM campaigns, v, wanted;"
	"INSERT INTO versions (id, last) SELECT id, each FROM campaigns, wanted;"
	"INSERT INTO blobs (hash, bytes) SELECT sha256, bytes FROM checkpoints ORDER BY sha256;"
	"COMMIT";

static bool say(const char *what, const char *why)
{
	fprintf(stderr, "large folder: %s: %s\n", what, why);
	return false;
}

static bool set_numbers(sqlite3 *db, const struct large_folder *what)
{
	sqlite3_stmt *stmt = NULL;
	bool          ok   = sqlite3_prepare_v2(db, numbers, -1, &stmt, NULL) == SQLITE_OK;

	ok = ok && sqlite3_bind_int64(stmt, 1, what->codes) == SQLITE_OK &&
	     sqlite3_bind_int64(stmt, 2, what->campaigns) == SQLITE_OK &&
	     sqlite3_bind_int64(stmt, 3, what->each) == SQLITE_OK &&
	     sqlite3_bind_int64(stmt, 4, what->bytes) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_DONE;
	sqlite3_finalize(stmt);
	return ok;
}

/* Nobody minds when a power cut ends it half way. */
static bool add_rows(sqlite3 *db, const struct large_folder *what)
{
	return sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536",
	                    NULL, NULL, NULL) == SQLITE_OK &&
	       set_numbers(db, what) && sqlite3_exec(db, rows, NULL, NULL, NULL) == SQLITE_OK;
}

/* The folders of blobs were made by the server. */
static bool make_blob(int blobs, const uint8_t *hash, int64_t bytes)
{
	char hex[2 * HASH_BYTES + 1], name[2 * HASH_BYTES + 2];

	hex_encode(hex, hash, HASH_BYTES);
	text_format(name, sizeof(name), "%.2s/%s", hex, hex + 2);
	int fd = openat(blobs, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return false;

	bool ok = ftruncate(fd, bytes) == 0;

	close(fd);
	return ok;
}

static bool make_blobs(sqlite3 *db, const char *data)
{
	char          path[PATH_MAX];
	sqlite3_stmt *stmt = NULL;
	bool          ok   = text_format(path, sizeof(path), "%s/blobs", data);
	int           at   = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ok = ok && at >= 0 && sqlite3_prepare_v2(db, "SELECT hash, bytes FROM blobs", -1, &stmt, NULL) == SQLITE_OK;
	while (ok && sqlite3_step(stmt) == SQLITE_ROW)
		ok = make_blob(at, sqlite3_column_blob(stmt, 0), sqlite3_column_int64(stmt, 1));
	if (!ok)
		say(path, strerror(errno));
	sqlite3_finalize(stmt);
	if (at >= 0)
		close(at);
	return ok;
}

bool large_folder_fill(const char *data, const struct large_folder *what)
{
	char     path[PATH_MAX];
	sqlite3 *db = NULL;

	if (!text_format(path, sizeof(path), "%s/coop.db", data))
		return say(data, "the name is too long");

	bool ok = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK && add_rows(db, what);

	if (!ok)
		say(path, db ? sqlite3_errmsg(db) : "no memory");
	ok = ok && make_blobs(db, data);
	return sqlite3_close(db) == SQLITE_OK && ok;
}
