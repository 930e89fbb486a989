#include "support/blob_folder.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "os/file.h"
#include "store/ask.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *blob_text(int n)
{
	static char   texts[8][64];
	static size_t turn;
	char         *text = texts[turn++ % COUNT_OF(texts)];

	text_format(text, sizeof(texts[0]), "blob number %d", n);
	return text;
}

const uint8_t *blob_hash(int n)
{
	static uint8_t hashes[8][BLOB_HASH_BYTES];
	static size_t  turn;
	uint8_t       *hash = hashes[turn++ % COUNT_OF(hashes)];
	const char    *text = blob_text(n);

	cr_assert_eq(crypt_init(), ERR_OK);
	hash_sha256(hash, text, strlen(text));
	return hash;
}

const char *blob_path(int n)
{
	char hex[2 * BLOB_HASH_BYTES + 1], name[100];

	hex_encode(hex, blob_hash(n), BLOB_HASH_BYTES);
	text_format(name, sizeof(name), "blobs/%.2s/%s", hex, hex + 2);
	return data_path(name);
}

bool blob_is_there(int n)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len;

	return file_read(&text, &len, blob_path(n), 1000) == ERR_OK && strcmp(text, blob_text(n)) == 0;
}

struct call {
	struct job job;
	enum err (*run)(struct db *db, void *arg);
	void *arg;
};

static enum err run_call(struct job *job, struct db *db)
{
	struct call *c = CONTAINER(job, struct call, job);

	return c->run(db, c->arg);
}

enum err blob_in_job(struct store *s, enum err (*run)(struct db *db, void *arg), void *arg)
{
	struct call c = { .job = { .surface = SURFACE_CLOUD, .run = run_call }, .run = run, .arg = arg };
	bool        gone;

	return store_ask_within(s, &c.job, &gone, NULL, -1);
}

void blob_write(struct blob_writer *w, struct store *s, int n)
{
	const char *text = blob_text(n);

	cr_assert_eq(blob_writer_open(w, s), ERR_OK);
	cr_assert_eq(blob_writer_put(w, text, strlen(text)), ERR_OK);
	cr_assert_eq(blob_writer_finish(w), ERR_OK);
}

void blob_name(struct db *db, int n)
{
	char hex[2 * BLOB_HASH_BYTES + 1], sql[2000];

	hex_encode(hex, blob_hash(n), BLOB_HASH_BYTES);
	text_format(
		sql, sizeof(sql),
		"INSERT OR IGNORE INTO players (id, digest, made_ms) VALUES (zeroblob(8), zeroblob(32), 1);"
		"INSERT OR IGNORE INTO campaigns (number, id, owner, made_ms, stored_ms, used_ms, used_day) "
		"VALUES (1, x'c0ffee0000000001', zeroblob(8), 1, 1, 1, 1);"
		"INSERT INTO checkpoints (campaign, version, sha256, bytes, stored_ms, player, is_small, is_conflict, "
		"is_container, spare, stamp, name, level, checkpoint, hostname) "
		"VALUES (1, (SELECT coalesce(max(version), 0) + 1 FROM checkpoints), x'%s', %zu, 1, zeroblob(8), 0, "
		"0, 1, 0, 0, '', '', '', '')",
		hex, strlen(blob_text(n)));
	data_exec(db, sql);
}

void blob_unname(struct db *db, int n)
{
	char hex[2 * BLOB_HASH_BYTES + 1], sql[200];

	hex_encode(hex, blob_hash(n), BLOB_HASH_BYTES);
	text_format(sql, sizeof(sql), "DELETE FROM checkpoints WHERE sha256 = x'%s'", hex);
	data_exec(db, sql);
}

struct storing {
	struct blob_writer writer;
	int                n;
};

static enum err run_store(struct db *db, void *arg)
{
	struct storing *st = arg;

	enum err e = blob_take(db, &st->writer);
	if (e == ERR_OK)
		blob_name(db, st->n);
	return e;
}

enum err blob_store(struct store *s, int n)
{
	struct storing st = { .n = n };

	blob_write(&st.writer, s, n);
	enum err e = blob_in_job(s, run_store, &st);
	blob_writer_fini(&st.writer);
	return e;
}

static enum err run_forget(struct db *db, void *arg)
{
	const int *n = arg;

	blob_unname(db, *n);
	return blob_let_go(db, blob_hash(*n));
}

enum err blob_forget(struct store *s, int n)
{
	return blob_in_job(s, run_forget, &n);
}

void blob_put_stranger(int n)
{
	const char *text = blob_text(n);
	char        folder[PATH_MAX];

	cr_assert(text_copy(folder, sizeof(folder), blob_path(n)));
	*strrchr(folder, '/') = '\0';
	cr_assert_eq(file_make_dirs(folder, 0700), ERR_OK);
	cr_assert_eq(file_write(blob_path(n), text, strlen(text), 0600), ERR_OK);
}

struct wait {
	int  n;
	bool there;
};

static bool is_as_wanted(void *arg)
{
	const struct wait *w = arg;

	return (access(blob_path(w->n), F_OK) == 0) == w->there;
}

bool blob_await(int n, bool there)
{
	struct wait w = { n, there };

	return data_await(is_as_wanted, &w);
}
