/*
 * Link groups: the members of a room sorted by their latency to the server and cut into pieces, each with a leader who passes
 * messages on to the others.  Pure.
 */
#ifndef P2P_P2P_GROUP_STATE_H
#define P2P_P2P_GROUP_STATE_H

#include "p2p/p2p_room_state.h"

struct p2p_group {
	struct list        in_room;                  /* of the room's groups, in order */
	struct p2p_member *members[P2P_MEMBERS_MAX]; /* by latency */
	size_t             count;
	struct p2p_member *leader; /* NULL: none */
};

/* Cuts the room anew; gen counts up. False: out of memory, and nothing has changed. max is 1 to P2P_MEMBERS_MAX. */
bool p2p_groups_make(struct p2p_room *room, size_t max);

/*
 * Before p2p_room_leave. True: the groups have changed (gen counted up), and everybody is to be told. The leader of its group may
 * be another one then, also when m was not it: one that has lost its links to all that are left. m's group may be gone.
 */
bool p2p_groups_leave(struct p2p_member *m);

/*
 * The links of a leader have changed. True: it was replaced, for all its links are down (gen counted up). Who comes after it has
 * a link, or may still get one.
 */
bool p2p_groups_look(struct p2p_group *g);

void p2p_groups_clear(struct p2p_room *room);

bool p2p_member_can_lead(const struct p2p_member *m);

#endif
