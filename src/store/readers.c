/*
 * Connections are opened when first needed and kept: what opening costs, a busy server pays once. A waiting taker is
 * woken by whoever gives one back.
 */
#include "store/readers.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "store/inside.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

struct reader {
	struct db *db; /* NULL: not opened yet */
	bool       lent;
};

struct readers {
	char            path[PATH_MAX];
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t  free;
	struct reader   list[READERS_MAX];
};

struct readers *readers_new(const char *path)
{
	pthread_condattr_t attr;
	struct readers    *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	if (!text_copy(r->path, sizeof(r->path), path)) {
		free(r);
		return NULL;
	}
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->free, &attr);
	pthread_condattr_destroy(&attr);
	return r;
}

void readers_free(struct readers *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < READERS_MAX; i++) {
		assert(!r->list[i].lent);
		db_close(r->list[i].db);
	}
	pthread_cond_destroy(&r->free);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* Under the lock: one that is free, rather an open one. */
static struct reader *find_free(struct readers *r)
{
	struct reader *found = NULL;

	for (size_t i = 0; i < READERS_MAX; i++) {
		if (!r->list[i].lent && (!found || (!found->db && r->list[i].db)))
			found = &r->list[i];
	}
	return found;
}

static struct reader *borrow(struct readers *r)
{
	struct timespec until;
	struct reader  *found;
	int             rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += READERS_WAIT_MS / 1000;
	pthread_mutex_lock(&r->lock);
	while (!(found = find_free(r)) && rc == 0)
		rc = pthread_cond_timedwait(&r->free, &r->lock, &until);
	if (found)
		found->lent = true;
	pthread_mutex_unlock(&r->lock);
	return found;
}

/* db: its connection, if it has one. */
static void set(struct readers *r, struct reader *reader, struct db *db, bool lent)
{
	pthread_mutex_lock(&r->lock);
	assert(reader->lent);
	reader->db   = db;
	reader->lent = lent;
	if (!lent)
		pthread_cond_signal(&r->free);
	pthread_mutex_unlock(&r->lock);
}

enum err readers_take(struct db **out, struct store *s)
{
	struct readers *r      = store_readers(s);
	struct reader  *reader = borrow(r);

	if (!reader) {
		metric_inc(M_STORE_REFUSED);
		return ERR_BUSY;
	}
	struct db *db = reader->db;
	enum err   e  = db ? ERR_OK : db_open_reader(&db, r->path);
	if (e == ERR_OK)
		e = db_run(db, Q_READ_BEGIN);
	set(r, reader, db, e == ERR_OK);
	if (e == ERR_OK)
		*out = db;
	return e;
}

static struct reader *find_lent(struct readers *r, const struct db *db)
{
	struct reader *found = NULL;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < READERS_MAX; i++) {
		if (r->list[i].db == db)
			found = &r->list[i];
	}
	pthread_mutex_unlock(&r->lock);
	return found;
}

void readers_give(struct store *s, struct db *db)
{
	struct readers *r      = store_readers(s);
	struct reader  *reader = find_lent(r, db);

	assert(reader);
	/* A transaction left open would keep the log from ever being folded: rather no connection than such a one. */
	if (db_run(db, Q_READ_END) != ERR_OK || db_in_transaction(db))
		db_close(TAKE(db));
	set(r, reader, db, false);
}
