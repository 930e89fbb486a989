/*
 * What a player of the rooms has besides the control connection: the game's UDP socket, and streams through the server.
 *
 *	gamer_open_udp(alice, 0);
 *	gamer_probe(alice);
 *	gamer_relay(alice, bob->user_id, TEXT("hi"));
 *	gamer_expect_relayed(bob, alice->user_id, TEXT("hi"));
 *
 *	struct gamer_leg *a, *b;
 *
 *	gamer_stream(&a, &b, alice, bob, 3658);
 *	gamer_leg_send(a, TEXT("hello"));
 *	gamer_leg_expect(b, TEXT("hello"));
 */
#ifndef TESTS_ROOMS_PATH_H
#define TESTS_ROOMS_PATH_H

#include "support/rooms_client.h"

#define GAMER_DATAGRAM_MAX 65507

enum { PACKET_PROBE = 0x01, PACKET_PUNCH = 0x02, PACKET_RELAY = 0x03, PACKET_PROBE_REPLY = 0x81 };

/* --- UDP --- */

struct gamer_datagram {
	char     ip[GAMER_ADDRESS_BYTES]; /* where it came from */
	uint16_t port;
	size_t   len;
	uint8_t  bytes[GAMER_DATAGRAM_MAX];
};

/* At his own address; port 0: a free one, c->udp_port tells which. Closes the one before. */
void gamer_open_udp(struct gamer *c, uint16_t port);

/* To the server, and to anybody. */
void gamer_send_udp(struct gamer *c, const void *bytes, size_t len);
void gamer_send_udp_to(struct gamer *c, const char *ip, uint16_t port, const void *bytes, size_t len);

/* The packets of the protocol: bytes and their number. */
#define GAMER_PACKET_HEAD 17
size_t gamer_probe_packet(uint8_t out[GAMER_PACKET_HEAD], uint32_t user_id, uint32_t token, const uint8_t local_ip[4]);
size_t gamer_relay_packet(uint8_t out[GAMER_PACKET_HEAD], uint32_t user_id, uint32_t token, uint32_t to_user);
size_t gamer_punch_packet(uint8_t out[GAMER_PACKET_HEAD], uint32_t user_id);

/* One PROBE with his ids and the address of his connection; the second with another local_ip. */
void gamer_send_probe(struct gamer *c);
void gamer_send_probe_saying(struct gamer *c, const uint8_t local_ip[4]);

/*
 * Probes, every half second, until the server has answered, and remembers what it saw. What else comes on the socket
 * meanwhile is lost.
 */
void gamer_probe(struct gamer *c);
void gamer_probe_saying(struct gamer *c, const uint8_t local_ip[4]);

/* Through the server, once. */
void gamer_relay(struct gamer *c, uint32_t to_user, struct gamer_blob payload);

/* The next datagram; false: none within so long. */
bool gamer_next_datagram(struct gamer *c, struct gamer_datagram *out, int patience_ms);

/* Whether it is the server's answer to a probe; what it says goes to ip and port. Ends the test when it is cut or too long. */
bool gamer_is_probe_reply(const struct gamer *c, const struct gamer_datagram *d, char ip[GAMER_ADDRESS_BYTES],
                          uint16_t *port);

#define gamer_expect_relayed(c, from_user, payload) gamer_expect_relayed_at(GAMER_HERE, c, from_user, payload)
#define gamer_expect_no_datagram(c)                 gamer_expect_no_datagram_at(GAMER_HERE, c)

/* The next datagram is this one, from the server. */
void gamer_expect_relayed_at(struct gamer_place at, struct gamer *c, uint32_t from_user, struct gamer_blob payload);

/* As gamer_expect_silence, with a probe: so it is only for one who may have probed. */
void gamer_expect_no_datagram_at(struct gamer_place at, struct gamer *c);

/* --- Streams --- */

struct gamer_leg {
	int               fd; /* -1 once it has ended */
	struct gamer     *of;
	struct gamer_leg *next; /* of his */
};

/* A connection from his address on which nothing was said. It goes with its gamer, if not before. */
struct gamer_leg *gamer_leg_dial(struct gamer *c);
struct gamer_leg *gamer_leg_own(struct gamer *c, int fd); /* one that the test has made or accepted by itself */
void              gamer_leg_free(struct gamer_leg *l);    /* closes */
void              gamer_leg_abort(struct gamer_leg *l);   /* the same so that the server sees a reset */

/* With the first frame sent, as he is: req 1, his user id and his token. */
struct gamer_leg *gamer_leg_connect(struct gamer *c, uint32_t to_user, uint16_t vport);
struct gamer_leg *gamer_leg_accept(struct gamer *c, uint32_t stream_id);

/* With any first frame. */
struct gamer_leg *gamer_leg_frame(struct gamer *c, uint8_t type, const void *payload, size_t len);

/* A stream from a to b: offered, accepted, and ready on both legs. */
void gamer_stream(struct gamer_leg **of_a, struct gamer_leg **of_b, struct gamer *a, struct gamer *b, uint16_t vport);

bool gamer_leg_send(struct gamer_leg *l, struct gamer_blob bytes); /* false: the server takes no more */
void gamer_leg_end_output(struct gamer_leg *l);

#define gamer_leg_expect_ready(l)             gamer_leg_expect_ready_at(GAMER_HERE, l, 1)
#define gamer_leg_expect_ready_req(l, req)    gamer_leg_expect_ready_at(GAMER_HERE, l, req)
#define gamer_leg_expect_error(l, code)       gamer_leg_expect_error_at(GAMER_HERE, l, 1, code)
#define gamer_leg_expect_refused(l, rq, code) gamer_leg_expect_error_at(GAMER_HERE, l, rq, code)
#define gamer_leg_expect(l, bytes)            gamer_leg_expect_at(GAMER_HERE, l, bytes)
#define gamer_leg_expect_end(l)               gamer_leg_expect_end_at(GAMER_HERE, l)

/* STREAM_READY, and not a byte of what follows is taken. */
void gamer_leg_expect_ready_at(struct gamer_place at, struct gamer_leg *l, uint32_t req);

/* ERROR, then the end. */
void gamer_leg_expect_error_at(struct gamer_place at, struct gamer_leg *l, uint32_t req, uint32_t code);

/* These bytes come next. */
void gamer_leg_expect_at(struct gamer_place at, struct gamer_leg *l, struct gamer_blob bytes);

/* Not a byte more, then the end; a reset is none. */
void gamer_leg_expect_end_at(struct gamer_place at, struct gamer_leg *l);

#endif
