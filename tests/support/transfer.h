/*
 * Checkpoints on their way to the server and back, over WebSocket or REST, with a server that may die in the middle.
 *
 *	struct transfer      t;
 *	struct transfer_end  end;
 *	struct transfer_bytes    c = transfer_make("A's war", 7, 100000);
 *
 *	transfer_open(&t, s, TRANSFER_WS, "A");
 *	end = transfer_store(&t, &c);
 *	cr_expect_eq(end.what, TRANSFER_DONE);
 *
 * Campaigns go by name, as keys do (tunnel_message.h). What breaks the protocol ends the test; a server that refuses or
 * is gone does not.
 */
#ifndef TESTS_TRANSFER_H
#define TESTS_TRANSFER_H

#include "support/http_client.h"
#include "support/server.h"
#include "support/ws_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A container of tunnel's section 9.4. Number and size decide all of its bytes. */
struct transfer_bytes {
	const char *campaign;
	uint8_t    *bytes; /* transfer_unmake */
	size_t      len;
};

/* bytes: of the savegame; the container is some hundred longer. */
struct transfer_bytes transfer_make(const char *campaign, unsigned number, size_t bytes);
void                  transfer_unmake(struct transfer_bytes *c);

enum transfer_way { TRANSFER_WS, TRANSFER_REST };

struct transfer {
	enum transfer_way way;
	const char       *key;
	struct ws_client *ws; /* WS */
	int               fd; /* REST */
};

/* Connects, and over WebSocket opens the vault; nothing is asked yet. */
void transfer_open(struct transfer *t, const struct server *s, enum transfer_way way, const char *key);

enum transfer_what {
	TRANSFER_DONE,    /* PUT_DONE or 201 */
	TRANSFER_REFUSED, /* a FAULT or another status */
	TRANSFER_LOST     /* the connection ended without an answer */
};

struct transfer_end {
	enum transfer_what what;
	int                fault;    /* of a REFUSED over WebSocket */
	int                status;   /* of a REFUSED over REST */
	char               code[32]; /* the same: error.code */
};

/* Stores it and ends the connection. */
struct transfer_end transfer_store(struct transfer *t, const struct transfer_bytes *c);

/* Both in one. */
struct transfer_end transfer_put(const struct server *s, enum transfer_way way, const char *key,
                                 const struct transfer_bytes *c);

/* A version over REST, 0: the newest. NULL when there is none (404); for free(). Anything but 200 and 404 ends the test. */
uint8_t *transfer_get(size_t *len, const struct server *s, const char *key, const char *campaign, int version);

/* The newest over WebSocket; NULL for FAULT 10. */
uint8_t *transfer_get_ws(size_t *len, const struct server *s, const char *key, const char *campaign);

#endif
