/*
 * Peer to peer as bytes: the 64-byte packets between a client and the server, and the head of binary frames on the control
 * channel.  src/p2p/PROTOCOL.md says what they mean.  Tags are computed and compared by the caller (crypt/hash), over the first
 * P2P_TAGGED_BYTES.  Integers are big endian.
 */
#ifndef P2P_P2P_WIRE_H
#define P2P_P2P_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define P2P_PACKET_BYTES 64
#define P2P_TAGGED_BYTES 48
#define P2P_TAG_BYTES    16
#define P2P_SID_BYTES    8
#define P2P_KEY_BYTES    32
#define P2P_NONCE_BYTES  8

enum p2p_packet_type { P2P_HELLO = 1, P2P_HELLO_ACK = 2, P2P_PING_TRY = 3, P2P_PING_REPLY = 4, P2P_OPEN = 5 };

/* An outside address: IPv4. */
struct p2p_endpoint {
	bool     is_set;
	uint8_t  ip[4];
	uint16_t port;
};

struct p2p_packet {
	enum p2p_packet_type type;
	uint8_t              sid[P2P_SID_BYTES];
	uint8_t              nonce[P2P_NONCE_BYTES];
	uint8_t              step, try;
	struct p2p_endpoint  address; /* in clear; on the wire it is disguised */
	uint32_t             time;    /* of HELLO: the client's counter; of HELLO_ACK: the cookie */
	uint8_t              tag[P2P_TAG_BYTES];
};

/*
 * False: another length, magic or version, a family that is neither none nor IPv4, or a type that does not come from that
 * side. Bytes that are 0 today are not looked at.
 */
bool p2p_packet_parse(struct p2p_packet *out, const uint8_t *bytes, size_t len, bool from_client);

/* All but the tag, which the caller puts behind it (at P2P_TAGGED_BYTES). */
void p2p_packet_build(uint8_t out[P2P_PACKET_BYTES], const struct p2p_packet *p);

bool p2p_endpoint_is_same(const struct p2p_endpoint *a, const struct p2p_endpoint *b);

/* Binary frames. */
#define P2P_FRAME_HEAD_BYTES 12
#define P2P_SEAT_ALL         65535
#define P2P_SEAT_MAX         65534

enum p2p_frame_kind { P2P_SYNC = 1, P2P_LINK = 2, P2P_LINK_ACK = 3, P2P_RELAY = 4 };
enum { P2P_FLAG_RELIABLE = 1, P2P_FLAG_PASS_ON = 2, P2P_FLAG_YOURS = 4, P2P_FLAG_AGAIN = 8 };

struct p2p_frame {
	uint8_t        kind, flags, ver;
	uint16_t       cmd, seat;
	uint32_t       number;
	const uint8_t *content;
	size_t         content_len;
};

bool p2p_frame_parse(struct p2p_frame *out, const uint8_t *bytes,
                     size_t len); /* false: shorter than the head, unknown kind */
void p2p_frame_head(uint8_t out[P2P_FRAME_HEAD_BYTES], const struct p2p_frame *f);

#endif
