/*
 * How the rooms are at one moment, for people: copied on the loop, as it is, and made into text by other threads.
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
	size_t                   room_count;
	uint8_t (*names)[ROOMS_NAME_BYTES];
	size_t                    name_count;
	struct rooms_shown_board *boards; /* by title, then number */
	size_t                    board_count;
};

/* Everything but uptime_ms and what it points to is taken from the figures of base/metric. NULL when out of memory. */
struct rooms_snapshot *rooms_snapshot_new(const struct rooms_state *s, int64_t now_ms);
void                   rooms_snapshot_free(struct rooms_snapshot *s); /* NULL is fine */
void                   rooms_snapshot_freep(struct rooms_snapshot **s);

/*
 * As one object of JSON, and as a page. For free(); NULL when out of memory. Any thread. Text of peers is cleaned; in the page it
 * stands in text nodes only.
 */
char *rooms_snapshot_json(size_t *len, const struct rooms_snapshot *s);
char *rooms_snapshot_page(size_t *len, const struct rooms_snapshot *s);

/* The style sheet that is in the page, for whoever says in its head that this one may be used. */
extern const char rooms_page_style[];

#endif
