/*
 * A client of the vault, and the checkpoints it stores, put together here a second time, without the server's code.
 *
 *	struct ws_client *c = vault_client(s->tunnel_port, "A", NULL);
 *
 *	checkpoint_make(&cp, ISLAND, "level=Island", 1000, 7);
 *	cr_expect_eq(vault_client_put(c, ISLAND, &cp), 0);
 *	cr_expect_str_eq(vault_client_list(c), "...");
 */
#ifndef TESTS_VAULT_CLIENT_H
#define TESTS_VAULT_CLIENT_H

#include "support/ws_client.h"

#include <stddef.h>
#include <stdint.h>

enum { FAULT_NOT_ALLOWED = 8, FAULT_NO_ROOM, FAULT_NOT_FOUND, FAULT_TOO_OFTEN, FAULT_BAD_DATA };

#define VAULT_CLIENT_PART 49152

struct checkpoint {
	uint8_t *bytes; /* from malloc */
	size_t   len;
};

/*
 * A container of this campaign (16 hex digits) with further lines of text (lines: with LF between; NULL: none) and so many
 * bytes of savegame, different for each seed.
 */
void checkpoint_make(struct checkpoint *out, const char *campaign, const char *lines, size_t save_len, unsigned seed);
void checkpoint_free(struct checkpoint *cp);

/* Connects and opens the vault, which must answer. from: X-Forwarded-For; NULL: none. */
struct ws_client *vault_client(int port, const char *key, const char *from);

/* The same up to VAULT_OPEN, which is sent. */
struct ws_client *vault_client_ask(int port, const char *key, const char *from);

/* PUT; the answer: 0 for PUT_GO, else the fault. */
unsigned vault_client_begin(struct ws_client *c, const char *campaign, size_t len);

/* PARTs of at most part bytes. */
void vault_client_parts(struct ws_client *c, const uint8_t *bytes, size_t len, size_t part);

/* END; the answer: 0 for PUT_DONE, else the fault. */
unsigned vault_client_end(struct ws_client *c);

/* All three. */
unsigned vault_client_put(struct ws_client *c, const char *campaign, const struct checkpoint *cp);

/* The text of LISTING; valid until the next call. */
const char *vault_client_list(struct ws_client *c);

/* GET; 0 and *out, else the fault. What the protocol says of the answer is asserted. */
unsigned vault_client_get(struct checkpoint *out, struct ws_client *c, const char *campaign, unsigned which);

/* 0 when the checkpoint is exactly this one, else the fault, or 99 for another one. */
unsigned vault_client_check(struct ws_client *c, const char *campaign, unsigned which,
                            const struct checkpoint *expected);

/* 0 for FORGOTTEN, else the fault. */
unsigned vault_client_forget(struct ws_client *c, const char *campaign);

/* The next message, which must be a FAULT: its code. */
unsigned vault_client_fault(struct ws_client *c);

#endif
