/*
 * Streams before they are open: offers, and who may accept them.  Pure.  An open stream is two sockets that net/splice joins,
 * and no business of this file.
 *
 *	STREAM_CONNECT (leg A) --> offered to the target --STREAM_ACCEPT (leg B)--> both are joined, A and B are the caller's
 *	                              \__ 10 s, A's leg gone, the target's connection gone: withdrawn
 */
#ifndef ROOMS_ROOMS_STREAM_STATE_H
#define ROOMS_ROOMS_STREAM_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "rooms/rooms_state.h"

#include <stdbool.h>
#include <stdint.h>

/* An offer that stands; embedded in the leg that waits. */
struct rooms_offer {
	uint32_t    id;   /* from 1, never used again; 0: none stands */
	uint32_t    req;  /* of its STREAM_CONNECT */
	uint32_t    from; /* user ids */
	uint32_t    to;
	int64_t     until_ms;
	struct list in_offers; /* in order of until_ms */
};

struct rooms_streams {
	struct rooms_state *rooms;
	struct map          by_id;
	struct list         offers;
	size_t              count; /* offers that stand */
	size_t              open;  /* streams: the caller's to write */
	uint32_t            next_id;
};

void rooms_streams_init(struct rooms_streams *s, struct rooms_state *rooms, uint64_t seed);
void rooms_streams_fini(struct rooms_streams *s);

/*
 * The first frame of a leg (its type is one of the two). FINE: for STREAM_CONNECT the offer stands and STREAM_OFFER was sent to
 * the target (by the rooms' host); for STREAM_ACCEPT *accepted is the offer, taken out: the caller joins both legs. An offer has
 * a place in limits.rooms_streams, so accepting it is never one too many. Otherwise the ERROR that the leg is sent before it is closed. *req is set on any of these (0 when there was none).
 */
enum rooms_code rooms_on_leg(struct rooms_streams *s, struct rooms_offer *mine, struct rooms_offer **accepted,
                             uint32_t *req, uint8_t type, const uint8_t *payload, size_t len, int64_t now_ms);

/* The leg of a standing offer is gone. */
void rooms_offer_withdraw(struct rooms_streams *s, struct rooms_offer *o);

/* The next offer that is over, taken out: its time is up, or (gone) its target's connection is. NULL: none (more). */
struct rooms_offer *rooms_offers_late(struct rooms_streams *s, int64_t now_ms, int64_t *next_ms);
struct rooms_offer *rooms_offers_of(struct rooms_streams *s, const struct rooms_player *gone);

/* The frames of a leg, for the caller to send: STREAM_READY or ERROR. Returns the length. */
#define ROOMS_LEG_FRAME_BYTES 11
size_t rooms_ready_build(uint8_t out[ROOMS_LEG_FRAME_BYTES], uint32_t req);
size_t rooms_error_build(uint8_t out[ROOMS_LEG_FRAME_BYTES], uint32_t req, enum rooms_code code);

#endif
