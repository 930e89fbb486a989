/*
 * Peer to peer as bytes, on a client's side, written from src/p2p/PROTOCOL.md alone: packets with their tags, frames, and the
 * sync payload. Integers are big endian. Readers take nothing that the document says to drop.
 */
#ifndef TESTS_P2P_CLIENT_WIRE_H
#define TESTS_P2P_CLIENT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define P2P_CLIENT_PEERS_MAX     64
#define P2P_CLIENT_UID_BYTES     17 /* 16 hex digits and a NUL */
#define P2P_CLIENT_ADDRESSES_MAX 12 /* of a peer: of the list, and learned */
#define P2P_CLIENT_ADDRESS_TEXT  22

/* IPv4. port 0: none. */
struct p2p_client_address {
	uint8_t  ip[4];
	uint16_t port;
};

bool p2p_client_address_is(const struct p2p_client_address *a, const struct p2p_client_address *b);
bool p2p_client_address_read(struct p2p_client_address *out, const char *text, size_t len); /* "203.0.113.1:3478" */
const char *p2p_client_address_show(char out[P2P_CLIENT_ADDRESS_TEXT], const struct p2p_client_address *a);

/* --- Between the client and the server: 64 bytes --- */

#define P2P_CLIENT_PACKET_BYTES 64

enum p2p_client_packet_type {
	P2P_CLIENT_HELLO      = 1,
	P2P_CLIENT_HELLO_ACK  = 2,
	P2P_CLIENT_PING_TRY   = 3,
	P2P_CLIENT_PING_REPLY = 4,
	P2P_CLIENT_OPEN       = 5
};

struct p2p_client_packet {
	enum p2p_client_packet_type type;
	uint8_t                     nonce[8];
	uint8_t                     step, try;
	struct p2p_client_address   seen; /* of HELLO_ACK */
	uint32_t                    time; /* of HELLO a counter, of HELLO_ACK the cookie */
};

struct p2p_client_session {
	uint8_t sid[8], key[32];
};

void p2p_client_packet_build(uint8_t out[P2P_CLIENT_PACKET_BYTES], const struct p2p_client_packet *p,
                             const struct p2p_client_session *s);
/* One of the server's, for this session, with the right tag. */
bool p2p_client_packet_read(struct p2p_client_packet *out, const uint8_t *bytes, size_t len,
                            const struct p2p_client_session *s);

/* --- Between players --- */

#define P2P_CLIENT_MAC_BYTES     16 /* of the key */
#define P2P_CLIENT_PUNCH_BYTES   36
#define P2P_CLIENT_LINK_HEAD     20
#define P2P_CLIENT_LINK_MAX      1024 /* of a message in a LINK packet */
#define P2P_CLIENT_DATAGRAM_MAX  2048
#define P2P_CLIENT_IS_OF_PLAYERS 16 /* types from here on */

enum { P2P_CLIENT_PUNCH = 16, P2P_CLIENT_PUNCH_ACK = 17, P2P_CLIENT_LINK = 18 };

struct p2p_client_punch {
	uint8_t  type; /* PUNCH or PUNCH_ACK */
	uint32_t epoch;
	uint16_t from, to;
	uint32_t nonce, time;
};

struct p2p_client_link {
	uint32_t       epoch;
	uint16_t       seat, leader;
	uint8_t        flags, ver;
	uint16_t       cmd;
	uint32_t       number;
	const uint8_t *message;
	size_t         len;
};

void p2p_client_punch_build(uint8_t out[P2P_CLIENT_PUNCH_BYTES], const struct p2p_client_punch *p,
                            const uint8_t mac[P2P_CLIENT_MAC_BYTES]);
bool p2p_client_punch_read(struct p2p_client_punch *out, const uint8_t *bytes, size_t len,
                           const uint8_t mac[P2P_CLIENT_MAC_BYTES]);
/* The length; 0 when the message is too long. */
size_t p2p_client_link_build(uint8_t out[P2P_CLIENT_DATAGRAM_MAX], const struct p2p_client_link *p,
                             const uint8_t mac[P2P_CLIENT_MAC_BYTES]);
bool   p2p_client_link_read(struct p2p_client_link *out, const uint8_t *bytes, size_t len,
                            const uint8_t mac[P2P_CLIENT_MAC_BYTES]);

/* --- Frames on the control channel --- */

#define P2P_CLIENT_FRAME_HEAD 12
#define P2P_CLIENT_EVERYBODY  65535

enum { P2P_CLIENT_KIND_SYNC = 1, P2P_CLIENT_KIND_LINK = 2, P2P_CLIENT_KIND_LINK_ACK = 3, P2P_CLIENT_KIND_RELAY = 4 };
enum { P2P_CLIENT_RELIABLE = 1, P2P_CLIENT_PASS_ON = 2, P2P_CLIENT_YOURS = 4, P2P_CLIENT_AGAIN = 8 };

struct p2p_client_frame {
	uint8_t        kind, flags, ver;
	uint16_t       cmd, seat;
	uint32_t       number;
	const uint8_t *content;
	size_t         len;
};

void p2p_client_frame_head(uint8_t out[P2P_CLIENT_FRAME_HEAD], const struct p2p_client_frame *f);
bool p2p_client_frame_read(struct p2p_client_frame *out, const uint8_t *bytes, size_t len);

/* --- The sync payload --- */

struct p2p_client_sync_user {
	char                      uid[65];
	size_t                    address_count; /* those that are IPv4 */
	struct p2p_client_address addresses[P2P_CLIENT_ADDRESSES_MAX];
};

struct p2p_client_sync {
	uint8_t                     keys[48]; /* of encryption 16, its IV 16, of MACs 16 */
	size_t                      user_count;
	struct p2p_client_sync_user users[P2P_CLIENT_PEERS_MAX];
};

/* False when there is a fault anywhere in it; *out may hold anything then. */
bool p2p_client_sync_read(struct p2p_client_sync *out, const uint8_t *bytes, size_t len);

#endif
