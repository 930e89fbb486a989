/*
 * Doing it: on the loop, in the store, on a reader's connection.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "store/ask.h"
#include "store/readers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum err api_on_loop(const struct api_call *c, void (*run)(void *arg), void *arg)
{
	return loop_ask(c->api->loop, run, arg);
}

/* The asker's and the store's: whoever lets go last frees it. */
struct change {
	struct job  job;
	atomic_int  users;
	atomic_bool is_given_up; /* the asker has been told that nothing was done */
	enum err (*change)(struct db *db, void *arg);
	_Alignas(max_align_t) unsigned char arg[];
};

static void drop(struct change *ch)
{
	if (atomic_fetch_sub(&ch->users, 1) == 1)
		free(ch);
}

/* One that nobody waits for any more would come as a surprise: it is left out. */
static enum err run_change(struct job *job, struct db *db)
{
	struct change *ch = CONTAINER(job, struct change, job);

	return atomic_load(&ch->is_given_up) ? ERR_BUSY : ch->change(db, ch->arg);
}

static void let_go(struct job *job, enum err result)
{
	(void)result;
	drop(CONTAINER(job, struct change, job));
}

enum err api_change(const struct api_call *c, enum err (*change)(struct db *db, void *arg), void *arg, size_t len)
{
	struct change *ch   = calloc(1, sizeof(*ch) + len);
	bool           gone = false;
	enum err       e;

	if (!ch)
		return ERR_NOMEM;
	ch->job.surface = SURFACE_ADMIN;
	ch->job.run     = run_change;
	ch->change      = change;
	atomic_init(&ch->users, 2);
	memcpy(ch->arg, arg, len);
	e = store_ask(c->api->store, &ch->job, &gone, let_go);
	if (gone) {
		atomic_store(&ch->is_given_up, true);
		drop(ch);
		return ERR_BUSY;
	}
	memcpy(arg, ch->arg, len);
	free(ch);
	return e;
}

enum err api_read(const struct api_call *c, enum err (*read)(struct db *db, void *arg), void *arg)
{
	struct db *db;
	enum err   e = readers_take(&db, c->api->store);

	if (e != ERR_OK)
		return e;
	e = read(db, arg);
	readers_give(c->api->store, db);
	return e;
}
