/*
 * The rooms protocol as bytes: frames over TCP, datagrams over UDP.  src/rooms/PROTOCOL.md says what they mean.
 *
 *	frame	type u8 | length u16 | payload (length bytes)
 *
 * Integers are big endian.  Requests and replies begin their payload with req u32; pushes (0xA0 to 0xAF) have none.
 */
#ifndef ROOMS_ROOMS_WIRE_H
#define ROOMS_ROOMS_WIRE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOMS_HEAD_BYTES  3
#define ROOMS_PAYLOAD_MAX 65535
#define ROOMS_FRAME_MAX   (ROOMS_HEAD_BYTES + ROOMS_PAYLOAD_MAX)
#define ROOMS_REQ_BYTES   4 /* a payload that is shorter has no req, and is ignored */
#define ROOMS_TITLE_BYTES 12
#define ROOMS_NAME_BYTES  16
#define ROOMS_COMMENT_MAX 64
#define ROOMS_RANKS_MAX   100 /* rows, and names asked for, in one request */

/* What is not blobs in the payload of a ROOM_JOINED, with req, and in each member entry; u16 lengths of blobs are counted. */
#define ROOMS_JOINED_FIXED_BYTES 26
#define ROOMS_MEMBER_FIXED_BYTES 31

enum rooms_type {
	ROOMS_HELLO             = 0x01,
	ROOMS_HEARTBEAT         = 0x02,
	ROOMS_CREATE_ROOM       = 0x10,
	ROOMS_SEARCH_ROOMS      = 0x11,
	ROOMS_JOIN_ROOM         = 0x12,
	ROOMS_LEAVE_ROOM        = 0x13,
	ROOMS_SET_ROOM_DATA     = 0x14,
	ROOMS_ROOM_MESSAGE      = 0x15,
	ROOMS_KICK_MEMBER       = 0x16,
	ROOMS_RECORD_SCORE      = 0x20,
	ROOMS_GET_RANKING       = 0x21,
	ROOMS_GET_RANKING_BY_ID = 0x22,
	ROOMS_STREAM_CONNECT    = 0x30,
	ROOMS_STREAM_ACCEPT     = 0x31,
	ROOMS_HELLO_ACK         = 0x81,
	ROOMS_ERROR             = 0x8F,
	ROOMS_ROOM_JOINED       = 0x90,
	ROOMS_ROOM_LIST         = 0x91,
	ROOMS_OK                = 0x93,
	ROOMS_STREAM_READY      = 0x96,
	ROOMS_MEMBER_JOINED     = 0xA1,
	ROOMS_MEMBER_LEFT       = 0xA2,
	ROOMS_ROOM_DATA         = 0xA3,
	ROOMS_ROOM_MSG          = 0xA4,
	ROOMS_KICKED            = 0xA5,
	ROOMS_STREAM_OFFER      = 0xA6,
	ROOMS_ROUTE             = 0xA7,
	ROOMS_SCORE_RECORDED    = 0xB0,
	ROOMS_RANKING           = 0xB1
};

/* What ERROR says. */
enum rooms_code {
	ROOMS_FINE        = 0,
	ROOMS_BAD         = 1,
	ROOMS_NOT_FOUND   = 2,
	ROOMS_FULL        = 3,
	ROOMS_NOT_OWNER   = 4,
	ROOMS_NOT_IN_ROOM = 5,
	ROOMS_LIMIT       = 6,
	ROOMS_NO_HELLO    = 7,
	ROOMS_TAKEN       = 8,
	ROOMS_NO_RELAY    = 9
};

enum { ROOMS_WHICH_EXTERNAL, ROOMS_WHICH_INTERNAL, ROOMS_WHICH_FLAGS, ROOMS_WHICH_COUNT };

struct rooms_blob { /* into the frame */
	const uint8_t *bytes;
	size_t         len;
};

/* A request; what its type does not have is 0. Texts are padded with NULs, and what followed the first NUL is gone. */
struct rooms_request {
	uint8_t           type;
	uint32_t          req;
	uint8_t           title[ROOMS_TITLE_BYTES];
	uint8_t           name[ROOMS_NAME_BYTES];
	uint16_t          p2p_port;
	uint8_t           max;   /* CREATE_ROOM */
	uint32_t          flags; /* the same */
	struct rooms_blob external, internal, member_data;
	uint16_t          start, want; /* SEARCH_ROOMS */
	uint64_t          room_id;
	uint8_t           which;
	struct rooms_blob data;
	uint16_t          to, member_id;
	uint32_t          board;
	uint8_t           order;
	int64_t           score;
	struct rooms_blob comment;
	uint32_t          rank_start;
	uint16_t          count; /* GET_RANKING: rows; GET_RANKING_BY_ID: names */
	const uint8_t    *names; /* count times ROOMS_NAME_BYTES, as they are in the frame */
	uint32_t          user_id, token, to_user, stream_id;
	uint16_t          vport;
};

/*
 * Reads the payload of a frame; bytes behind the last field are ignored. FINE; else the code that a truncated one of this
 * type is answered with: BAD; for LEAVE_ROOM NOT_IN_ROOM; for the stream requests BAD when user_id or token is missing, else
 * NOT_FOUND; for a type that is no request, and where even req is missing, BAD. out->type and, if there are so many bytes,
 * out->req are set on any of these; other fields are not to be relied on then. Ranges are the state's to judge.
 */
enum rooms_code rooms_parse(struct rooms_request *out, uint8_t type, const uint8_t *payload, size_t len);

/* A request as a whole frame, as clients and tests send it. The writer fails when it does not fit, or its type is none. */
void rooms_request_build(struct wr *w, const struct rooms_request *request);

/* The text of a field: up to the first NUL. */
size_t rooms_text_len(const uint8_t *field, size_t cap);

/* To lower case, ASCII only; out may be in. */
void rooms_fold(uint8_t out[ROOMS_NAME_BYTES], const uint8_t name[ROOMS_NAME_BYTES]);

/*
 * Frames out, one writer for each: begin one, put its fields with wr_*, rooms_blob_put and rooms_member_put, end it.
 *
 *	size_t at = rooms_frame_begin(&w, ROOMS_OK);
 *	wr_be(&w, req, 4);
 *	rooms_frame_end(&w, at);
 *
 * A frame that does not fit, or of more than ROOMS_PAYLOAD_MAX, leaves the writer failed.
 */
size_t rooms_frame_begin(struct wr *w, enum rooms_type type);
void   rooms_frame_end(struct wr *w, size_t at);
void   rooms_blob_put(struct wr *w, const void *bytes, size_t len);

struct rooms_member_entry {
	uint16_t       member_id;
	uint32_t       user_id;
	const uint8_t *name; /* ROOMS_NAME_BYTES */
	uint8_t        ip[4];
	uint16_t       port;
	bool           is_owner;
	const uint8_t *data;
	size_t         data_len;
};
void rooms_member_put(struct wr *w, const struct rooms_member_entry *m);

/* UDP: "PSNR", a type byte, and what follows. */
#define ROOMS_PROBE_BYTES       17
#define ROOMS_PROBE_REPLY_BYTES 11
#define ROOMS_RELAY_IN_BYTES    17 /* before the payload */
#define ROOMS_RELAY_OUT_BYTES   9

enum rooms_udp_type { ROOMS_UDP_PROBE = 1, ROOMS_UDP_PUNCH = 2, ROOMS_UDP_RELAY = 3, ROOMS_UDP_PROBE_REPLY = 0x81 };

struct rooms_packet {
	enum rooms_udp_type type; /* PROBE or RELAY */
	uint32_t            user_id, token, to_user;
	uint8_t             local_ip[4];
};

/* False: too short, of another protocol, or of a type that no server is sent. */
bool rooms_packet_parse(struct rooms_packet *out, const uint8_t *bytes, size_t len);

void rooms_probe_reply_build(uint8_t out[ROOMS_PROBE_REPLY_BYTES], const uint8_t ip[4], uint16_t port);

/* Turns a RELAY packet that parsed into what the target gets, in place; *len becomes its length, returns where it begins. */
uint8_t *rooms_relay_turn(uint8_t *bytes, size_t *len, uint32_t from_user);

#endif
