/*
 * What the files of the rooms' state share, for them alone.
 *
 * A request is answered by its handler: FINE when it has sent the reply (and what else there is to send); any other code is
 * sent as ERROR, and nothing has changed.
 */
#ifndef ROOMS_ROOMS_STATE_INSIDE_H
#define ROOMS_ROOMS_STATE_INSIDE_H

#include "base/auto.h"
#include "rooms/rooms_state.h"

typedef enum rooms_code rooms_handler(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                      struct rooms_now now);

rooms_handler rooms_do_create, rooms_do_search, rooms_do_join, rooms_do_leave, rooms_do_set, rooms_do_message,
	rooms_do_kick;                                                   /* rooms_room_state.c */
rooms_handler rooms_do_record, rooms_do_ranking, rooms_do_ranking_by_id; /* rooms_rank_state.c */

/* A frame under way in s->frame; there is one at a time. */
struct rooms_letter {
	struct wr w;
	size_t    at;
};

struct rooms_letter rooms_letter_begin(struct rooms_state *s, enum rooms_type type);
struct rooms_letter rooms_letter_reply(struct rooms_state *s, enum rooms_type type, const struct rooms_request *r);
size_t              rooms_letter_end(struct rooms_letter *l); /* its length; what does not fit is a bug */
void                rooms_letter_send(struct rooms_state *s, struct rooms_letter *l, struct rooms_player *to);
void rooms_send(struct rooms_state *s, struct rooms_player *to, size_t len); /* once more, what was ended */
void rooms_send_ok(struct rooms_state *s, struct rooms_player *to, const struct rooms_request *r);

/* The host's may, for whoever is not exempt; not for NAME. */
bool rooms_may(const struct rooms_state *s, const struct rooms_player *p, enum rooms_ask what, int64_t now_ms);

/* Whether they share an address: a router, or a machine. */
bool rooms_are_neighbours(const struct rooms_player *a, const struct rooms_player *b);

/* rooms_member_state.c: rooms and who is in them. What takes memory says NULL, or false, when there is none. */

static inline struct rooms_member *rooms_owner_of(const struct rooms_room *room)
{
	return CONTAINER(room->members.next, struct rooms_member, in_room);
}

static inline bool rooms_is_owner(const struct rooms_member *m)
{
	return rooms_owner_of(m->room) == m;
}

/* Nobody can come in: no seat, no number, or no place in the frame that would show even one without data. */
bool rooms_is_full(const struct rooms_room *room);

/* NULL: he is not in that room, or there is none. */
struct rooms_member *rooms_find_own(const struct rooms_player *p, uint64_t room_id);

/* A room as asked for, and the player in it. */
struct rooms_member *rooms_room_open(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                     int64_t now_ms);
/* There is place for him, and a number. */
struct rooms_member *rooms_member_add(struct rooms_state *s, struct rooms_room *room, struct rooms_player *p,
                                      const struct rooms_blob *data);
/* The others are told; the last one takes the room with him. */
void rooms_member_remove(struct rooms_state *s, struct rooms_member *m);
void rooms_leave_all(struct rooms_state *s, struct rooms_player *p);

/* The frame that was ended, to all but one (or NULL). */
void rooms_tell(struct rooms_state *s, const struct rooms_room *room, const struct rooms_player *but, size_t len);

/* Whether all that a room says to one who joins it fits a frame. */
bool rooms_fits(size_t members, size_t blob_bytes);
/* The most data that the next one may bring into a room that is not full. */
size_t rooms_data_max(const struct rooms_room *room);
/* Whether limits.rooms_blob_total leaves place for more. */
bool rooms_has_place_for(const struct rooms_state *s, size_t more);
/* Searchers find it if it is not full: after whatever changes that. */
void rooms_room_list(struct rooms_room *room);
/* It counts for its owner's address from here on; the host knows. */
void rooms_room_count_for(struct rooms_room *room, const struct rooms_player *owner);
/* What is held for the room, in all. */
void rooms_count_blob(struct rooms_state *s, struct rooms_room *room, size_t more, size_t less);
/* A copy, NULL when empty. */
bool rooms_copy_blob(uint8_t **out, size_t *len, const struct rooms_blob *blob);

/* rooms_path_state.c: the ROUTEs of a join, once everybody knows of it. */
void rooms_tell_routes(struct rooms_state *s, struct rooms_member *joiner);

/* rooms_name_state.c */

struct rooms_name {
	uint8_t              folded[ROOMS_NAME_BYTES];
	struct rooms_player *holder; /* NULL: it is only remembered */
	int64_t              taken_ms;
	struct list          in_taken; /* of the state; in no list when it was not taken over lately */
};

struct rooms_title {
	uint8_t             title[ROOMS_TITLE_BYTES];
	size_t              players;
	size_t              room_count;
	struct rooms_room **open; /* its rooms that are not full, by id; there is place for all of them */
	size_t              open_count, open_cap;
	uint8_t             bringer[ROOMS_ADDR_BYTES]; /* whose address it counts for */
	bool                is_counted;                /* for it */
	struct list         in_titles;
};

/* Whether the operator wants it to be played. */
bool rooms_title_is_allowed(const struct rooms_state *s, const uint8_t title[ROOMS_TITLE_BYTES]);
/* The title for a player who wants to be in it: he is not yet. NULL: over a limit, or out of memory. */
struct rooms_title *rooms_title_get(struct rooms_state *s, const struct rooms_player *p,
                                    const uint8_t title[ROOMS_TITLE_BYTES]);
void                rooms_title_enter(struct rooms_player *p, struct rooms_title *title);
void                rooms_title_leave(struct rooms_state *s, struct rooms_player *p);
/* Forgets it when nobody is in it and it has no board. */
void rooms_title_drop_unused(struct rooms_state *s, struct rooms_title *title);

/* Both may forget names. Get makes one that is not there; NULL: out of memory. */
struct rooms_name *rooms_name_find(const struct rooms_state *s, const uint8_t folded[ROOMS_NAME_BYTES]);
struct rooms_name *rooms_name_get(struct rooms_state *s, const uint8_t folded[ROOMS_NAME_BYTES]);
void               rooms_name_hold(struct rooms_name *name, struct rooms_player *p);
void               rooms_name_let(struct rooms_state *s, struct rooms_player *p);
/* It was taken over, is remembered for limits.rooms_takeover_ms, and until then: */
void rooms_name_note_taken(struct rooms_state *s, struct rooms_name *name, int64_t now_ms);
bool rooms_name_is_taken(const struct rooms_state *s, const struct rooms_name *name, int64_t now_ms);
void rooms_names_forget(struct rooms_state *s, int64_t now_ms);

#endif
