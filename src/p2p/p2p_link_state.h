/*
 * The link relay: one message to everybody in a room, through the leaders of the groups where that saves the server frames; who
 * has confirmed what, and what has to be sent again.  Pure: frames are handed to the host.
 */
#ifndef P2P_P2P_LINK_STATE_H
#define P2P_P2P_LINK_STATE_H

#include "p2p/p2p_group_state.h"

#define P2P_LINK_LEADERS_BYTES 1024  /* a longer message goes straight to everybody */
#define P2P_LINK_BYTES_MAX     16384 /* of a message at all */

struct p2p_link_host {
	void *arg;
	/*
	 * A LINK frame for this member: head and message; targets (count of them, in front of the message) with PASS_ON. A reliable
	 * one is never dropped (who has too much waiting is closed), an unreliable one is when much waits.
	 */
	void (*send)(void *arg, struct p2p_member *to, const struct p2p_frame *head,
	             const struct p2p_member *const *targets, size_t target_count);
	/* Everybody has confirmed, is gone, or 5 s are over: missing are the ids that have not. */
	void (*done)(void *arg, struct p2p_member *sender, uint32_t number, const char (*missing)[P2P_UID_BYTES],
	             size_t missing_count);
};

struct p2p_link_sent {
	uint32_t number;
	size_t   leaders, straight, receivers;
};

enum p2p_link_says { P2P_LINK_FINE, P2P_LINK_TOO_LARGE, P2P_LINK_OFF, P2P_LINK_NOMEM };

/* A LINK frame of this member, who is in a room. The message is copied when it is reliable. */
enum p2p_link_says p2p_link_send(struct p2p_link_sent *out, struct p2p_member *from, const struct p2p_frame *f,
                                 const struct p2p_link_host *host, const struct limits *limits, int64_t now_ms);

/* A LINK_ACK of this member. */
void p2p_link_ack(struct p2p_member *from, const uint8_t *content, size_t len, const struct p2p_link_host *host,
                  int64_t now_ms);

/* Before p2p_room_leave (and before p2p_groups_leave): it confirms nothing any more, and what it led is sent straight. */
void p2p_link_leave(struct p2p_member *m, const struct p2p_link_host *host, int64_t now_ms);

/* A leader was replaced without leaving: the same for what went to it. */
void p2p_link_replaced(struct p2p_member *leader, const struct p2p_link_host *host, int64_t now_ms);

/* What is due in this room. Returns when it is to be called next; 0: nothing waits. */
int64_t p2p_link_tick(struct p2p_room *room, const struct p2p_link_host *host, int64_t now_ms);

void p2p_link_clear(struct p2p_room *room);

#endif
