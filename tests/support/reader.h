/*
 * A host who reads again after he did not for a while: what he finds.
 */
#ifndef TESTS_READER_H
#define TESTS_READER_H

#include "support/tunnel_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READER_SAID_MAX   128
#define READER_SAID_BYTES 16

/* A host or friend with a receive buffer so small that the server soon feels when he does not read. */
struct ws_client *reader_connect(int port);
struct ws_client *reader_open(int port, const char *key, uint32_t *code); /* as a host */

/* A datagram that carries its number in its first three bytes; bytes is at least 3. */
void     reader_send_numbered(struct ws_client *friend, uint32_t number, size_t bytes);
uint32_t reader_number(const uint8_t *payload);

struct reader_found {
	size_t   datagrams;
	uint32_t first, last; /* the numbers they carried */
	bool     in_order;    /* rising */
	size_t   said_count;  /* messages that are neither datagrams nor answers to ECHO, in the order they came */
	uint8_t  said[READER_SAID_MAX][READER_SAID_BYTES]; /* their first bytes */
	size_t   echoes;                                   /* answers to ECHO */
	bool     gone[65536];                              /* FRIEND_GONE came for that client number */
	size_t   from_gone;                                /* datagrams of a number behind its FRIEND_GONE */
};

/*
 * Reads up to the answer to an ECHO that is sent now. The end of the connection ends the test. Free with free.
 */
struct reader_found *reader_read_all(struct ws_client *host);

/* The index-th thing said was a message of this opcode about this client number. */
void reader_expect_said(const struct reader_found *f, size_t index, uint8_t opcode, unsigned number);

#endif
