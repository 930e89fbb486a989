/*
 * Asking for a role without knowing the answer yet, from any client address; and counting what a connection is sent.
 * For tests of limits, which are about yes and no.
 *
 *	for (int i = 0; i < 20; i++)
 *		cr_expect_eq(ask_open_once(port, "203.0.113.1", name(i)), 0);
 *	cr_expect_eq(ask_open_once(port, "203.0.113.1", name(20)), 1);
 */
#ifndef TESTS_TUNNEL_ASK_H
#define TESTS_TUNNEL_ASK_H

#include "support/tunnel_client.h"

#include <stddef.h>
#include <stdint.h>

/*
 * HOST_OPEN or JOIN of protocol 2 on a new connection that comes from this client address (NULL: from loopback, which
 * no proxy names). Nothing is waited for.
 */
struct ws_client *ask_open(int port, const char *from, const char *key);
struct ws_client *ask_join(int port, const char *from, uint32_t code, const char *token, const char *key);

/*
 * The answer to one of them: 0 for HOST_OPENED or JOINED, else the FAULT's code, behind which the server must have
 * closed. Anything else, or nothing within DIAL_PATIENCE_MS, ends the test.
 */
unsigned ask_answer(struct ws_client *c);

/* Both in one, and the connection is dropped. */
unsigned ask_open_once(int port, const char *from, const char *key);
unsigned ask_join_once(int port, const char *from, uint32_t code, const char *token, const char *key);

/* ("friend ", 17) is "friend 17": names of many keys, tokens, addresses. Valid until the eighth call after this one. */
const char *name_number(const char *prefix, int number);

/*
 * Sends ECHO and reads up to its answer. An ECHO's answer waits in line with the datagrams, so this is all that was
 * forwarded to the connection before: messages of this opcode are counted, with the bytes behind it and behind a
 * host's client number. Others are thrown away.
 */
struct tally {
	size_t count, bytes;
};
void tally_up_to_echo(struct tally *t, struct ws_client *c, unsigned opcode);

#endif
