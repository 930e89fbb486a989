/*
 * Boards and scores, written behind: a score is answered at once and on disk within a second.  Here what has changed waits for
 * the store, each row once however often it changed; the loop never waits for it.
 *
 *	recorded -> changed rows (at most limits.rooms_keep_rows) -> one job after another -> store
 *	                \__ the disk is full or cannot be written: they stay and are tried again, and new scores are refused
 */
#ifndef ROOMS_ROOMS_KEEP_H
#define ROOMS_ROOMS_KEEP_H

#include "base/err.h"
#include "conf/conf.h"
#include "net/loop.h"
#include "rooms/rooms_board_state.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rooms_keep;

/*
 * Between store_open and store_start: loads every board into boards. ERR_NOMEM, ERR_STORE with a sentence in report. Rows and
 * boards beyond the limits are loaded all the same.
 */
enum err rooms_keep_new(struct rooms_keep **out, struct loop *loop, struct store *store, const struct conf *conf,
                        struct rooms_boards *boards, FILE *report);
/* After store_stop and loop_drain: all that was handed over is committed, and its results are in. NULL is fine. */
void rooms_keep_free(struct rooms_keep *k);

/*
 * Room for what one more score may change. False also from the first try that failed on, until one has succeeded; while the
 * store fails for others; and once it has failed for good.
 */
bool rooms_keep_can(const struct rooms_keep *k);

/* What host.recorded says, of the board as it is now. */
void rooms_keep_recorded(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES],
                         const struct rooms_recorded *what);

/*
 * What an operator changes, written for itself: between the rows of players, so that what was recorded before is on disk before,
 * and what is recorded from rooms_keep_visit on waits until rooms_keep_visit_over. One at a time.
 *
 *	visit -> (a job is under way: waits for it) -> run, on disk -> done -> the boards are made so -> visit_over
 *
 * done comes on the loop, once, perhaps within rooms_keep_visit: with the error of run, or without run having been called where
 * rows of players cannot be written at the moment, or ever.
 */
struct rooms_keep_guest {
	enum err (*run)(struct rooms_keep_guest *g, struct db *db);
	void (*done)(struct rooms_keep_guest *g, enum err result);

	/* the keeper's */
	struct rooms_keep *keep;
	struct job         job;
	struct loop_post   post;
	bool               is_submitted;
};
void rooms_keep_visit(struct rooms_keep *k, struct rooms_keep_guest *g);
void rooms_keep_visit_over(struct rooms_keep *k);

/* During a visit: the board has another row of this name, or none any more, and what waits of it from before must not undo that. */
void rooms_keep_follow(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES]);
/* The same where nothing may wait of it: it is written anew, as the board has it. */
void rooms_keep_rewrite(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES]);

/* Before store_stop: hands over all that waits, so that nothing is lost. What is recorded later is not kept. */
void rooms_keep_stop(struct rooms_keep *k);

/* After store_stop and loop_drain: whether something of it was lost all the same; the log says how much, and why. */
bool rooms_keep_has_lost(const struct rooms_keep *k);

#endif
