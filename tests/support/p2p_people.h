/*
 * People in one peer-to-peer room, for tests that tell the state what happens: no session, no socket.
 *
 *	struct p2p_people p;
 *
 *	p2p_people_init(&p);
 *	p2p_people_join(&p, "ann", 48, P2P_NAT_PORT);
 *	p2p_people_fini(&p);
 */
#ifndef TESTS_P2P_PEOPLE_H
#define TESTS_P2P_PEOPLE_H

#include "p2p/p2p_group_state.h"

#define P2P_PEOPLE_UNMEASURED (-1)

struct p2p_people {
	struct limits     limits;
	struct p2p_rooms  rooms;
	struct p2p_room  *room;
	struct p2p_member people[2 * P2P_MEMBERS_MAX]; /* in the order of joining, also those who have left */
	size_t            count;
};

void p2p_people_init(struct p2p_people *p);
void p2p_people_fini(struct p2p_people *p); /* the room has no links any more; groups are cleared here */

/* Joins, with a mapped address; latency_ms may be P2P_PEOPLE_UNMEASURED. Ends the test when the room is full. */
struct p2p_member *p2p_people_join(struct p2p_people *p, const char *uid, int latency_ms, enum p2p_nat_type nat);

/* The seven of the document's examples: ann, ben, cid, dee, eve, fay, gus, on the seats 0 to 6. */
void p2p_people_seven(struct p2p_people *p);

struct p2p_member *p2p_people_find(struct p2p_people *p, const char *uid); /* ends the test when nobody has it */

/* Every pair says that its link is up. */
void p2p_people_link_all(struct p2p_people *p);

/* The groups as one text: "fay ben* cid | gus* ann | dee", a star behind each leader. Until the next call. */
const char *p2p_people_groups(const struct p2p_people *p);

#endif
