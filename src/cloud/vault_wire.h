/*
 * The messages of the vault, as bytes and as structs, both ways. PROTOCOL.md beside this file has the layouts; the table
 * in vault_wire.c is the same in code.
 *
 * Integers are little endian. A message is one opcode byte and the fields of its row; bytes after the last field are
 * ignored unless that field is the rest.
 */
#ifndef CLOUD_VAULT_WIRE_H
#define CLOUD_VAULT_WIRE_H

#include "base/bytes.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define VAULT_KEY_BYTES     16
#define VAULT_ID_BYTES      8
#define VAULT_VERSION       2
#define VAULT_ECHO_BYTES    16    /* of an ECHO, opcode included, that are sent back */
#define VAULT_PART_BYTES    49152 /* of a checkpoint in each PART the server sends; the last may have fewer */
#define VAULT_MESSAGE_BYTES 50176 /* the most a client can take, opcode included */
#define VAULT_BUILT_BYTES   32    /* of any message but PART and LISTING */

enum vault_op {
	VAULT_ECHO      = 3,
	VAULT_FAULT     = 7,
	VAULT_OPEN      = 20,
	VAULT_OPENED    = 21,
	VAULT_PUT       = 22,
	VAULT_PUT_GO    = 23,
	VAULT_PART      = 24,
	VAULT_END       = 25,
	VAULT_PUT_DONE  = 26,
	VAULT_LIST      = 27,
	VAULT_LISTING   = 28,
	VAULT_GET       = 29,
	VAULT_GET_SIZE  = 30,
	VAULT_FORGET    = 33,
	VAULT_FORGOTTEN = 34,
};

/* One message; only the fields of its opcode count, the others are 0. */
struct vault_msg {
	enum vault_op  op;
	uint8_t        version; /* OPEN */
	uint8_t        fault;
	uint8_t        which; /* GET: 0 the last checkpoint, else the one before it */
	uint32_t       size;
	uint8_t        key[VAULT_KEY_BYTES];
	uint8_t        id[VAULT_ID_BYTES];
	uint8_t        campaign[VAULT_ID_BYTES];
	const uint8_t *rest; /* PART, LISTING, ECHO: inside the message */
	size_t         rest_len;
};

enum vault_parse {
	VAULT_PARSED,
	VAULT_UNKNOWN, /* not an opcode of that direction: ignored */
	VAULT_SHORT,   /* too short for its opcode: ignored */
};

enum vault_parse vault_parse_client(struct vault_msg *out, const uint8_t *bytes, size_t len);
enum vault_parse vault_parse_server(struct vault_msg *out, const uint8_t *bytes, size_t len);

/* Writes the message, of either direction. The writer fails when it does not fit, and for an opcode without a row. */
void vault_build(struct wr *w, const struct vault_msg *msg);

#endif
