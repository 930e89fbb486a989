/*
 * What a rooms server sends, taken apart.  Written from the protocol document alone, and not with the server's own codec,
 * which it is to test: a frame that is not to the letter of the document ends the test.
 */
#ifndef TESTS_ROOMS_MESSAGE_H
#define TESTS_ROOMS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ASK_HELLO             = 0x01,
	ASK_HEARTBEAT         = 0x02,
	ASK_CREATE_ROOM       = 0x10,
	ASK_SEARCH_ROOMS      = 0x11,
	ASK_JOIN_ROOM         = 0x12,
	ASK_LEAVE_ROOM        = 0x13,
	ASK_SET_ROOM_DATA     = 0x14,
	ASK_ROOM_MESSAGE      = 0x15,
	ASK_KICK_MEMBER       = 0x16,
	ASK_RECORD_SCORE      = 0x20,
	ASK_GET_RANKING       = 0x21,
	ASK_GET_RANKING_BY_ID = 0x22,
	ASK_STREAM_CONNECT    = 0x30,
	ASK_STREAM_ACCEPT     = 0x31,

	ANSWER_HELLO_ACK      = 0x81,
	ANSWER_ERROR          = 0x8F,
	ANSWER_ROOM_JOINED    = 0x90,
	ANSWER_ROOM_LIST      = 0x91,
	ANSWER_OK             = 0x93,
	ANSWER_STREAM_READY   = 0x96,
	ANSWER_SCORE_RECORDED = 0xB0,
	ANSWER_RANKING        = 0xB1,

	PUSH_MEMBER_JOINED = 0xA1,
	PUSH_MEMBER_LEFT   = 0xA2,
	PUSH_ROOM_DATA     = 0xA3,
	PUSH_ROOM_MSG      = 0xA4,
	PUSH_KICKED        = 0xA5,
	PUSH_STREAM_OFFER  = 0xA6,
	PUSH_ROUTE         = 0xA7
};

/* Codes of ERROR. */
enum {
	SAYS_BAD         = 1,
	SAYS_NOT_FOUND   = 2,
	SAYS_FULL        = 3,
	SAYS_NOT_OWNER   = 4,
	SAYS_NOT_IN_ROOM = 5,
	SAYS_LIMIT       = 6,
	SAYS_NO_HELLO    = 7,
	SAYS_TAKEN       = 8,
	SAYS_NO_RELAY    = 9
};

#define GAMER_HEAD_BYTES    3
#define GAMER_PAYLOAD_MAX   65535
#define GAMER_TITLE_BYTES   12
#define GAMER_NAME_BYTES    16
#define GAMER_ADDRESS_BYTES 16 /* "203.0.113.200" */

struct gamer_blob {
	const void *bytes;
	size_t      len;
};

/* A blob of a literal's characters, one of bytes, and the empty one. */
#define TEXT(literal)     ((struct gamer_blob){ literal, sizeof(literal) - 1 })
#define BYTES(start, len) ((struct gamer_blob){ start, len })
#define NOTHING           ((struct gamer_blob){ NULL, 0 })

struct gamer_member {
	uint16_t          id;
	uint32_t          user_id;
	char              name[GAMER_NAME_BYTES + 1];
	char              ip[GAMER_ADDRESS_BYTES];
	uint16_t          port;
	bool              is_owner;
	struct gamer_blob data;
};

/* One of ROOM_LIST. */
struct gamer_found {
	uint64_t          room_id;
	char              owner[GAMER_NAME_BYTES + 1];
	uint8_t           members, max;
	uint32_t          flags;
	struct gamer_blob external;
};

/* One of RANKING. */
struct gamer_row {
	uint32_t          rank;
	char              name[GAMER_NAME_BYTES + 1];
	int64_t           score;
	struct gamer_blob comment;
	uint64_t          recorded;
};

/* What a type does not have is 0. Blobs point into the payload. */
struct gamer_message {
	uint8_t  type;
	size_t   number; /* the how manieth frame of its connection it is, from 1 */
	uint8_t *payload;
	size_t   len;

	uint32_t          req;  /* all replies */
	uint32_t          code; /* ERROR */
	uint32_t          user_id, token;
	char              ip[GAMER_ADDRESS_BYTES];
	uint8_t           relay_flags; /* HELLO_ACK, ROUTE */
	uint64_t          room_id;
	uint16_t          my_member, owner; /* member ids */
	uint8_t           max;
	uint32_t          flags;
	struct gamer_blob external, internal;
	uint16_t          member_id; /* MEMBER_LEFT */
	uint8_t           which;
	struct gamer_blob data;
	uint16_t          from, to; /* ROOM_MSG */
	uint32_t          stream_id;
	uint16_t          vport;
	uint32_t          rank, total; /* total: of rooms or rows */
	size_t            count;       /* of the one of these that there are */

	struct gamer_member *members; /* MEMBER_JOINED: one */
	struct gamer_found  *found;
	struct gamer_row    *rows;

	struct gamer_message *next;
};

bool gamer_is_push(uint8_t type);

/* payload: from malloc; the message has it from now on. */
struct gamer_message *gamer_message_new(uint8_t type, uint8_t *payload, size_t len);
void                  gamer_message_free(struct gamer_message *m);

/* Its type in words, for sentences of tests. */
const char *gamer_type_name(uint8_t type);

bool gamer_blob_is(struct gamer_blob got, struct gamer_blob wanted);

#endif
