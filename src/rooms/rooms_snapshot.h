/*
 * How the rooms are, for people: copied on the loop, as it is, and made into text by other threads.
 */
#ifndef ROOMS_ROOMS_SNAPSHOT_H
#define ROOMS_ROOMS_SNAPSHOT_H

#include "conf/limits.h"
#include "rooms/rooms_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rooms_shown_room {
	uint64_t id;
	uint8_t  title[ROOMS_TITLE_BYTES];
	uint8_t  max;
	int64_t  age_ms;
	size_t   first, count; /* its members, in names */
};

struct rooms_shown_board {
	uint8_t  title[ROOMS_TITLE_BYTES];
	uint32_t number, rows;
	uint8_t  leader[ROOMS_NAME_BYTES]; /* nobody when there are no rows */
	int64_t  best;
};

struct rooms_snapshot {
	const struct limits     *limits;
	bool                     relays;
	int64_t                  uptime_ms;
	size_t                   clients;
	int64_t                  connections, tcp_refused, udp_dropped, relayed_bytes; /* since the start */
	int64_t                  streams;
	struct rooms_shown_room *rooms; /* by id */
	size_t                   room_count, room_cap;
	uint8_t (*names)[ROOMS_NAME_BYTES];
	size_t                    name_count, name_cap;
	struct rooms_shown_board *boards; /* by title, then number */
	size_t                    board_count;
};

/*
 * On the loop: copies the rooms, a helping at a time, so that those who play do not wait for those who look; in the last helping
 * the boards and all figures but uptime_ms. Each room is as it was at one moment. From all zeros on, until it says WHOLE; after
 * NOMEM only rooms_snapshot_fini is left to do.
 */
enum rooms_snapshot_says { ROOMS_SNAPSHOT_WHOLE, ROOMS_SNAPSHOT_MORE, ROOMS_SNAPSHOT_NOMEM };
enum rooms_snapshot_says rooms_snapshot_copy(struct rooms_snapshot *s, const struct rooms_state *state, int64_t now_ms);
void                     rooms_snapshot_fini(struct rooms_snapshot *s);

/*
 * As one object of JSON, and as a page. For free(); NULL when out of memory. Any thread. Text of peers is cleaned; in the page it
 * stands in text nodes only.
 */
char *rooms_snapshot_json(size_t *len, const struct rooms_snapshot *s);
char *rooms_snapshot_page(size_t *len, const struct rooms_snapshot *s);

/* The style sheet that is in the page, for whoever says in its head that this one may be used. */
extern const char rooms_page_style[];

#endif
