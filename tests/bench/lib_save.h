/*
 * Checkpoints to upload: contents that are made once, and changed in a few places so that no two are equal.
 *
 * Each is a container of the vault's protocol, kept twice: as it is, for REST, and as the masked WebSocket frames that
 * carry it (PART messages of 49,152 bytes and END).
 */
#ifndef BENCH_LIB_SAVE_H
#define BENCH_LIB_SAVE_H

#include <stddef.h>
#include <stdint.h>

enum { SAVE_PART_BYTES = 49152, SAVE_CAMPAIGN_BYTES = 8, SAVE_MASK_BYTES = 4 };

struct save {
	uint8_t *body;
	size_t   len;
	uint8_t *frames;
	size_t   frames_len;
	uint64_t changes;
};

/* The whole container has this many bytes. Ends the program when there is no memory. */
void save_init(struct save *s, size_t len);

/* Makes it one of this campaign, and different from all before. */
void save_change(struct save *s, const uint8_t campaign[SAVE_CAMPAIGN_BYTES]);

/* Writes a masked frame with one whole message of fewer than 126 bytes to out; returns its size. */
size_t save_small_frame(uint8_t *out, const uint8_t *message, size_t len);

/* How many bytes of frames a server takes for a download of len bytes, from GET_SIZE (excluded) to END (included). */
size_t save_wire_bytes(size_t len);

#endif
