/*
 * LISTING, the answer to LIST: UTF-8 text, one line for each campaign, with LF between lines and none at the end.
 *
 *	campaign  own|member  stamp  level  checkpoint  name  hostname  0|1		a tab between
 *
 * The message is cut at the end of a line so that a client can take it (VAULT_MESSAGE_BYTES).
 */
#ifndef CLOUD_LISTING_WIRE_H
#define CLOUD_LISTING_WIRE_H

#include "cloud/vault_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listing_line {
	const uint8_t *campaign; /* VAULT_ID_BYTES */
	bool           is_owner;
	int64_t        stamp; /* clients read 32 bits; what lies beyond is shown as the nearest */
	const char    *level, *checkpoint, *name, *hostname; /* control characters are shown as blanks */
	bool           has_previous;
};

struct listing {
	bool    is_cut;
	size_t  len; /* of message */
	uint8_t message[VAULT_MESSAGE_BYTES];
};

void listing_init(struct listing *l);

/* False: it does not fit; nothing is added from there on. */
bool listing_add(struct listing *l, const struct listing_line *line);

#endif
