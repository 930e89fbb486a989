/*
 * The link relay: one message to everybody in a room, through the leaders of the groups where that saves the server frames; who
 * has confirmed what, and what has to be sent again.  Pure: frames are handed to the host.
 */
#ifndef P2P_P2P_LINK_STATE_H
#define P2P_P2P_LINK_STATE_H

#include "p2p/p2p_group_state.h"

#define P2P_LINK_LEADERS_BYTES 1024  /* a longer message goes straight to everybody */
#define P2P_LINK_BYTES_MAX     16384 /* of a message at all */
#define P2P_LINK_FRAME_MAX     (P2P_FRAME_HEAD_BYTES + P2P_LINK_BYTES_MAX)

/* None of these may call back in here, or make a member leave. */
struct p2p_link_host {
	void *arg;
	/*
	 * A frame with these flags for this member, whole and ready; len is at most P2P_LINK_FRAME_MAX, and the same bytes serve
	 * many members. A reliable one is never dropped (who has too much waiting is closed), an unreliable one is when much waits.
	 */
	void (*send)(void *arg, struct p2p_member *to, unsigned flags, const uint8_t *frame, size_t len);
	/* May the sender make the server send so many bytes more? False: not now, and nothing was taken. */
	bool (*charge)(void *arg, struct p2p_member *sender, size_t bytes);
	/* Everybody has confirmed, is gone, or 5 s are over: missing are the ids that have not. Not called for a sender that left. */
	void (*done)(void *arg, struct p2p_member *sender, uint32_t number, const char (*missing)[P2P_UID_BYTES],
	             size_t missing_count);
};

struct p2p_link_sent {
	uint32_t number;
	size_t   leaders, straight; /* frames with and without flag 2 */
	size_t   receivers;
};

/* BUSY: host->charge says no, or as much is kept for repeats in this room as may be. Whatever is not FINE sent nothing. */
enum p2p_link_says { P2P_LINK_FINE, P2P_LINK_TOO_LARGE, P2P_LINK_OFF, P2P_LINK_BUSY, P2P_LINK_NOMEM };

/*
 * A LINK frame of this member, who is in a room; only ver, cmd, the flag "reliable" and the content of f count. The charge is a
 * frame for each receiver, whatever leaders save, so that repeats are paid for. Alone in the room, done is the caller's to say.
 */
enum p2p_link_says p2p_link_send(struct p2p_link_sent *out, struct p2p_member *from, const struct p2p_frame *f,
                                 const struct p2p_link_host *host, const struct limits *limits, int64_t now_ms);

/* A LINK_ACK of this member. */
void p2p_link_ack(struct p2p_member *from, const uint8_t *content, size_t len, const struct p2p_link_host *host);

/* Before p2p_room_leave (and before p2p_groups_leave): it confirms nothing any more, and what it led is sent straight. */
void p2p_link_leave(struct p2p_member *m, const struct p2p_link_host *host);

/* A leader was replaced without leaving: what went to it is sent straight to those who have not confirmed. */
void p2p_link_replaced(struct p2p_member *leader, const struct p2p_link_host *host);

/* When p2p_link_tick has something to do in this room, or earlier; 0: nothing waits. */
int64_t p2p_link_due(const struct p2p_room *room);

/* What is due in this room. Returns p2p_link_due of then. */
int64_t p2p_link_tick(struct p2p_room *room, const struct p2p_link_host *host, int64_t now_ms);

/* With its last member; the numbers begin anew. */
void p2p_link_clear(struct p2p_room *room);

#endif
