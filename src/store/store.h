/*
 * The store: the data folder, the database in it, and the one thread that writes.
 *
 * Work comes as jobs. A job's run is called on the store thread inside a savepoint of a transaction that many jobs
 * share; its done is called, through its port, only after the transaction is safely on disk (synchronous=FULL), with
 * the result. An error of run undoes that job alone; an error of COMMIT is the result of every job of the batch. After
 * a failed sync nothing durable is answered any more until a restart: every job ends in ERR_STORE.
 *
 *	submit (any thread) --> queue per surface --> batch: BEGIN, SAVEPOINT run RELEASE ..., COMMIT --> port --> done
 *
 * Lazy jobs wait for a durable one to ride along with, or limits.store_lazy_ms.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/err.h"
#include "conf/conf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define STORE_ID_BYTES       16
#define STORE_ADDR_KEY_BYTES 32

struct db;
struct store;
struct job;

/* Each has its own share of the queue (limits.store_jobs), and they are served in turn. */
enum store_surface {
	SURFACE_TUNNEL,
	SURFACE_UPKEEP,
	SURFACE_CLOUD,
	SURFACE_LOBBY,
	SURFACE_ROOMS,
	SURFACE_P2P,
	SURFACE_ADMIN,
	SURFACE_COUNT
};

/* How the results of jobs get back to the thread that asked. */
struct job_port {
	/*
	 * Store thread: takes over a list of finished jobs (through job->next, in the order they ran), and has
	 * job->done(job, job->result) called for each where it belongs.
	 */
	void (*deliver)(struct job *first, void *arg);
	void *arg;
};

/* Embedded in the caller's own struct with what run needs and gives. The caller's until submitted and from done on. */
struct job {
	struct job            *next;
	const struct job_port *port; /* NULL: nobody waits; done is called on the store thread */
	enum store_surface     surface;
	bool                   lazy;
	/*
	 * Promises nothing durable: its result goes out as soon as it ran, before the commit, and like a lazy job it does
	 * not ask for a commit of its own; but it begins a batch at once.
	 */
	bool     eager;
	int64_t  queued_us; /* the store's: when it was submitted */
	enum err result;    /* set by the store before deliver: what done is to be called with */
	enum err (*run)(struct job *job, struct db *db);
	void (*done)(struct job *job, enum err result); /* owns the job; must not be NULL */
};

/*
 * Opens the data folder: makes it (0700) when missing, takes its lock, removes temporary files, opens coop.db, applies
 * migrations after a checked copy, prepares every query, reads or makes data/secrets. No thread runs yet.
 *
 * On failure one clear sentence for the operator, with what to do, was written to report.
 * ERR_HELD: another process has the folder. ERR_NEWER: the database is newer than this program. ERR_IO, ERR_STORE,
 * ERR_SPACE, ERR_MALFORMED (data/secrets), ERR_NOMEM.
 */
enum err store_open(struct store **out, const struct conf *conf, FILE *report);

/* Between store_open and store_start, the caller may use the database itself, to load what is kept. */
struct db *store_db(struct store *s);

/* Random, made with the database; the same value stands in the blob folder. */
const uint8_t *store_id(const struct store *s);

/* The key under which client addresses are hashed before they are kept. */
const uint8_t *store_addr_key(const struct store *s);

/*
 * A secret that the operator did not set, as 64 hex digits: made at the first call with this name and kept in
 * data/secrets. Between store_open and store_start. ERR_IO, ERR_MALFORMED, ERR_NOMEM with a sentence in report.
 */
#define STORE_SECRET_TEXT_BYTES 65
enum err store_secret_text(char out[STORE_SECRET_TEXT_BYTES], struct store *s, const char *name, FILE *report);

enum err store_start(struct store *s);

/*
 * Adds a job and never waits. ERR_BUSY: the surface's share is full; ERR_STORE: the store has failed. The job is the
 * caller's still then, and done is not called.
 */
enum err store_submit(struct store *s, struct job *job);

/*
 * Any thread; never waits. SLOW: a batch takes over 2 s, or a queue is over half full. FAILING: after a failed sync, and
 * also while the last batch could not be kept (the disk is full or read-only), until one can, and for a minute after a
 * blob could not.
 */
enum store_health { STORE_OK, STORE_SLOW, STORE_FAILING };
enum store_health store_health(const struct store *s);
const char       *store_health_text(enum store_health h); /* "ok", "slow", "failing" */

/*
 * Any thread; never waits. For how long the store's thread has been busy with one thing, in real time: about a second at most while
 * it has nothing to do, and also when it fails at everything; much, when a disk or a bug holds it.
 */
int64_t store_silent_ms(const struct store *s);

/*
 * Any thread; never waits. Whether something large may be taken: free space is over limits.store_free_floor, and the
 * write-ahead log under limits.store_wal_max. Codes, games and removals go on without.
 */
bool store_has_space(const struct store *s);

/*
 * Whether blobs that no row names may be removed without asking: database and blob folder belong together, and the
 * database was neither made nor migrated by this run.
 */
bool store_blobs_are_known(const struct store *s);

/* Looks at its timers now: after the test clock was moved. */
void store_poke(struct store *s);

/*
 * Does all that waits, commits, calls their done, folds the log into the database, closes, releases the lock and
 * frees s. What is submitted after this began is refused with ERR_STORE.
 */
void store_stop(struct store *s);

#endif
