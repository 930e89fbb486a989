/*
 * The messages of the game tunnel, as bytes and as structs, both ways. PROTOCOL.md beside this file has the layouts; the
 * table in tunnel_wire.c is the same in code.
 *
 * Integers are little endian. A message is one opcode byte and the fields of its row; bytes after the last field are
 * ignored unless that field is the rest.
 */
#ifndef TUNNEL_TUNNEL_WIRE_H
#define TUNNEL_TUNNEL_WIRE_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TUNNEL_KEY_BYTES    16
#define TUNNEL_ID_BYTES     8
#define TUNNEL_TOKEN_BYTES  8
#define TUNNEL_SECRET_BYTES 8

#define TUNNEL_CODE_MIN    100000 /* protocol 2 */
#define TUNNEL_CODE_MAX    999999
#define TUNNEL_CODE_V1_MIN 64101 /* protocol 1 */
#define TUNNEL_CODE_V1_MAX 64164

#define TUNNEL_ECHO_BYTES            16  /* of an ECHO, opcode included, that are sent back */
#define TUNNEL_PATHS_TO_HOST_BYTES   63  /* of token, count and candidates that are passed on */
#define TUNNEL_PATHS_TO_FRIEND_BYTES 61  /* of count and candidates */
#define TUNNEL_BUILT_BYTES_MAX       128 /* of any message but datagrams and parts */

enum tunnel_op {
	TUNNEL_HOST_OPEN         = 1,
	TUNNEL_HOST_OPENED       = 2,
	TUNNEL_ECHO              = 3,
	TUNNEL_TO_HOST           = 4,
	TUNNEL_FROM_HOST         = 5,
	TUNNEL_FRIEND_GONE       = 6,
	TUNNEL_FAULT             = 7,
	TUNNEL_JOIN              = 8,
	TUNNEL_JOINED            = 9,
	TUNNEL_FROM_FRIEND       = 10,
	TUNNEL_TO_FRIEND         = 11,
	TUNNEL_PATHS_FROM_FRIEND = 12,
	TUNNEL_PATHS_TO_HOST     = 13,
	TUNNEL_PATHS_FROM_HOST   = 14,
	TUNNEL_PATHS_TO_FRIEND   = 15,
	TUNNEL_GAME_STATE        = 16,
	TUNNEL_FRIEND_IS         = 17,
	TUNNEL_VAULT_OPEN        = 20,
};

enum tunnel_game_state {
	TUNNEL_RESTARTING = 1, /* the host loads a level or a checkpoint */
	TUNNEL_READY      = 2,
	TUNNEL_HOST_LOST  = 3, /* said by the server only, like the next */
	TUNNEL_GAME_OVER  = 4,
};

/* One message; only the fields of its opcode and version count, the others are 0. */
struct tunnel_msg {
	enum tunnel_op op;
	uint8_t        version; /* 1 or 2, where the layouts differ */
	uint8_t        fault;
	uint8_t        state;
	bool           has_token; /* JOIN of protocol 1 may come without */
	uint16_t       number;    /* a friend's client number */
	uint32_t       code;      /* u16 on the wire in protocol 1 */
	uint8_t        key[TUNNEL_KEY_BYTES];
	uint8_t        id[TUNNEL_ID_BYTES];
	uint8_t        token[TUNNEL_TOKEN_BYTES];
	uint8_t        secret[TUNNEL_SECRET_BYTES]; /* protocol 1 */
	const uint8_t *rest;                        /* datagram, candidates, echo: inside the message */
	size_t         rest_len;
};

enum tunnel_parse {
	TUNNEL_PARSED,
	TUNNEL_UNKNOWN,     /* not an opcode of that direction: ignored */
	TUNNEL_SHORT,       /* too short for its opcode: ignored */
	TUNNEL_BAD_VERSION, /* HOST_OPEN, JOIN, VAULT_OPEN of another version, or too short for theirs: FAULT 2 */
};

/* A message from a client. */
enum tunnel_parse tunnel_parse_client(struct tunnel_msg *out, const uint8_t *bytes, size_t len);

/* A message from the server, as a client of this protocol version reads it. */
enum tunnel_parse tunnel_parse_server(struct tunnel_msg *out, uint8_t version, const uint8_t *bytes, size_t len);

/*
 * Writes the message, of either direction. The writer fails when it does not fit; for an opcode without a row it fails too.
 */
void tunnel_build(struct wr *w, const struct tunnel_msg *msg);

/* The opcode's name in PROTOCOL.md, "?" for an unknown one. */
const char *tunnel_op_name(uint8_t op);

#endif
