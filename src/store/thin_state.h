/*
 * Which checkpoints of a campaign stay, and which of those may go when room is short. Told all of them; no clock.
 *
 * What stays:
 *
 *	- the newest keep, at least two: games may load the last and the one before it;
 *	- the newest of each of the last THIN_DAYS days (UTC) on which something was stored. Days without play do not
 *	  count, so that a campaign that rested for a month still has its past, and a clock that jumps removes nothing;
 *	- the owner's last THIN_OWNER: nobody else's uploads push those out;
 *	- what was there before the checkpoints became suspiciously small (a lost save looks like that), until THIN_CALM
 *	  that are not small came after it;
 *	- of those kept beside the newest (conflicts, which are in none of these counts): THIN_CONFLICTS, at most
 *	  THIN_CONFLICTS_EACH of one player, the later ones.
 *
 * When room is short (spare), of what stays first those go that are there only for being among the newest keep, and
 * conflicts; then the newest of each day and the one before the small ones. Never the newest two, nor any of the owner's
 * last THIN_OWNER, nor his conflicts.
 */
#ifndef STORE_THIN_STATE_H
#define STORE_THIN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THIN_DAYS           7
#define THIN_OWNER          2
#define THIN_NEWEST         2 /* never spare */
#define THIN_CALM           2
#define THIN_CONFLICTS      6
#define THIN_CONFLICTS_EACH 2
#define THIN_KEEP_MAX       16 /* a higher keep counts as this, one under THIN_NEWEST as that */

/* No more than so many ever stay. */
#define THIN_MAX (THIN_KEEP_MAX + THIN_DAYS + THIN_OWNER + 1 + THIN_CONFLICTS)

enum thin_spare { THIN_STAYS, THIN_FIRST, THIN_LAST };

struct thin_row {
	/* told */
	int64_t stored_ms;
	uint8_t player[8]; /* who stored it */
	bool    is_small, is_conflict;
	/* answered */
	bool            keep;
	enum thin_spare spare; /* THIN_STAYS unless keep */
};

/* rows: all of the campaign, newest version first. */
void thin_decide(struct thin_row *rows, size_t count, const uint8_t owner[8], int64_t keep);

/* Whether a checkpoint of so many bytes after one of before bytes is suspiciously small. before 0: there is none. */
bool thin_is_small(int64_t bytes, int64_t before, int64_t percent);

#endif
