/*
 * A client of a TURN server on loopback, over UDP, with no more of the protocol (RFC 8656) than asking for a relay address
 * and for permissions takes. Answers are error numbers: 0 when it was granted, else what the server said (401, 403, ...).
 */
#ifndef TESTS_TURN_CLIENT_H
#define TESTS_TURN_CLIENT_H

#include <stddef.h>
#include <stdint.h>

struct turn_client {
	int         fd;
	const char *user, *pass;
	char        realm[128], nonce[128];
	uint8_t     key[16]; /* MD5 of user:realm:pass: what the protocol calls a long-term key */
	uint32_t    next_id;
};

/* No request yet. user and pass must outlive it. */
void turn_client_open(struct turn_client *c, int port, const char *user, const char *pass);
void turn_client_close(struct turn_client *c); /* gives the relay address back, too */

/* family: AF_INET or AF_INET6, of the relay address. The first request makes the server tell its realm. */
int turn_client_allocate(struct turn_client *c, int family);

/* Whether what comes from this address may pass: a permission, which is what a relay begins with. */
int turn_client_permit(struct turn_client *c, const char *address);

#endif
