/*
 * Boards and scores, written behind: a score is answered at once and on disk within a second.  Here what has changed waits for
 * the store, each row once however often it changed; the loop never waits for it.
 *
 *	recorded -> changed rows (at most limits.rooms_keep_rows) -> one job per limits.rooms_keep_ms -> store
 *	                \__ the store is full or cannot write: they stay, and new scores are refused once there is no room
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
/* After store_stop: all that was handed over is committed. NULL is fine. */
void rooms_keep_free(struct rooms_keep *k);

/* Room for one more changed row; false also once the store has failed for good. */
bool rooms_keep_can(const struct rooms_keep *k);

/* What host.recorded says. */
void rooms_keep_recorded(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES],
                         const struct rooms_recorded *what);

/* Hands over what waits, at once; then before store_stop nothing is lost. */
void rooms_keep_stop(struct rooms_keep *k);

#endif
