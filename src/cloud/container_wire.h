/*
 * The checkpoint container, read as it comes.
 *
 *	0	4	"CCSV"
 *	4	4	version u32 LE, 1
 *	8	4	P u32 LE, at most 65,536
 *	12	P	progress text: lines key=value, ended by LF or CR LF
 *	12 + P	4	S u32 LE
 *	16 + P	S	savegame, opaque
 *
 * 16 + P + S must be the whole size. Pure: no memory is taken, no text outlives the struct.
 */
#ifndef CLOUD_CONTAINER_WIRE_H
#define CLOUD_CONTAINER_WIRE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTAINER_TEXT_MAX    65536
#define CONTAINER_ID_BYTES    8
#define CONTAINER_SHOWN       257 /* 64 code points and a NUL */
#define CONTAINER_MEMBERS_MAX 256

struct container {
	uint64_t total, seen; /* bytes announced; come so far */
	bool     is_bad;
	uint32_t text_len, save_len;
	size_t   head_len; /* of head: 12 + text_len + 4, as far as it has come */
	uint8_t  head[12 + CONTAINER_TEXT_MAX + 4];
};

/* What the text says. Shown texts are valid UTF-8 (bad bytes as U+FFFD), at most 64 code points, controls as blanks. */
struct container_text {
	bool    has_campaign;
	uint8_t campaign[CONTAINER_ID_BYTES];
	char    name[CONTAINER_SHOWN], level[CONTAINER_SHOWN], checkpoint[CONTAINER_SHOWN], hostname[CONTAINER_SHOWN];
	int64_t stamp;        /* 0: missing or no number; INT64_MAX: that, or more than fits */
	size_t  member_count; /* those beyond the array are ignored */
	uint8_t members[CONTAINER_MEMBERS_MAX][CONTAINER_ID_BYTES];
};

/* total: the announced size; 0 while it is unknown (chunked), then container_end gets it. */
void container_init(struct container *c, uint64_t total);

/* ERR_CONTENT once it can be no container, whatever follows. */
enum err container_add(struct container *c, const void *bytes, size_t len);

/* The whole text is there, for container_parse_text: *len bytes inside c. NULL: not yet. */
const uint8_t *container_text_bytes(size_t *len, const struct container *c);

/* All has come: ERR_CONTENT unless it was a whole container of exactly so many bytes; *out is filled. */
enum err container_end(struct container_text *out, const struct container *c);

/* The text alone. */
void container_parse_text(struct container_text *out, const uint8_t *text, size_t len);

#endif
