/*
 * What an operator changes on a board: a score removed, all of them, rows put. It is on disk when it is answered, and what players
 * record meanwhile is neither lost nor waits.
 *
 *	HTTP thread --> queue on the loop: one at a time --> looked at --> written (rooms_keep_visit) --> the board made so --> answered
 *	                                     \__ not possible, or a dry run __________________________________________________/
 *
 * What fails has changed nothing. A row that a player records between writing and making it so is newer than the change, and stays
 * if it is better than what was put; so it is as if the change had come first.
 */
#ifndef ROOMS_ROOMS_CHANGE_H
#define ROOMS_ROOMS_CHANGE_H

#include "api/api.h"
#include "rooms/rooms_csv.h"
#include "rooms/rooms_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rooms;

struct rooms_change {
	/* What is to be done. */
	enum rooms_change_kind { ROOMS_CHANGE_REMOVE, ROOMS_CHANGE_RESET, ROOMS_CHANGE_IMPORT } what;
	uint8_t               title[ROOMS_TITLE_BYTES];
	uint32_t              number;
	uint8_t               name[ROOMS_NAME_BYTES]; /* REMOVE */
	struct rooms_csv_row *rows;                   /* IMPORT; from malloc */
	size_t                row_count;
	bool                  is_dry_run;

	/* What was done: rows removed or put; rows that are as they were; the line that does not fit any more (ERR_INVALID). */
	size_t   changed, skipped;
	uint32_t full_line;
};

/*
 * On an HTTP thread: does it. Takes over rows, also on errors. ERR_NOT_FOUND: no such board or score; ERR_INVALID: an import is
 * more than limits.rooms_rows or limits.rooms_rows_per_board allow; errors of the store; ERR_BUSY: it took over 5 s (about a
 * whole board: 30 s), and happens later, or not; ERR_DRAINING: the server ends, the same.
 */
enum err rooms_change_do(struct api_call *c, struct rooms *r, struct rooms_change *change);

/* On the loop: nobody waits any more, and none begins. */
void rooms_changes_stop(struct rooms *r);

#endif
