/*
 * The data folder of the Python relay, read without trusting it: plain files only, no links, none larger than it may be.
 *
 *	codes.json		{"16 hex digits": [code, last use in Unix seconds], ...}
 *	campaigns/16 hex/	meta.json, last.bin, perhaps prev.bin (containers: container_wire.h)
 */
#ifndef CLOUD_RELAY_FOLDER_H
#define CLOUD_RELAY_FOLDER_H

#include "base/err.h"
#include "base/json.h"
#include "store/campaign.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_CODES_BYTES (64 << 20) /* over a million codes */
#define RELAY_META_BYTES  (1 << 20)

/* Why a thing is left out, as it stands behind its name: "is no plain file". NULL: it is fine. */
typedef const char *relay_why;

/* Opens a file below the folder for reading; *bytes is its size, *changed_ms when it was last written. */
relay_why relay_open(int *fd, int64_t *bytes, int64_t *changed_ms, int dir, const char *name, int64_t max);

/* A file that is one object of JSON, for json_free. */
relay_why relay_json(struct json **out, int dir, const char *name, int64_t max);

/* The same with its text, for free() whatever the answer is. */
relay_why relay_json_text(struct json **out, char **text, size_t *len, int dir, const char *name, int64_t max);

/* Whether it is there at all, whatever it is. */
bool relay_has(int dir, const char *name);

/* An id as the relay writes it: 16 hex digits. */
bool relay_id(uint8_t out[8], const char *text);

/* One member of codes.json. used_ms is never later than now_ms. */
struct relay_code {
	uint8_t id[PLAYER_ID_BYTES];
	int64_t code, used_ms;
};
relay_why relay_code(struct relay_code *out, const struct json *codes, const char *name, int64_t now_ms);

/* What meta.json says. Times are never later than now_ms, and made_ms is not later than stored_ms. */
struct relay_meta {
	uint8_t owner[PLAYER_ID_BYTES];
	uint8_t members[CAMPAIGN_NAMED_MAX][PLAYER_ID_BYTES];
	size_t  member_count;
	size_t  odd_members;        /* that are no ids, or do not fit */
	int64_t size, prev_size;    /* of last.bin and prev.bin; -1: not said */
	int64_t made_ms, stored_ms; /* stored_ms 0: not said */
};
relay_why relay_meta(struct relay_meta *out, int dir, int64_t now_ms);

#endif
