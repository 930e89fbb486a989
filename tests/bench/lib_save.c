#include "lib_save.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib_bytes.h"

enum { OP_PART = 24, OP_END = 25 };
enum { HEAD_MAX = 14, HEX_BYTES = 16, NONCE_BYTES = 16 };

/* Any will do that is not zero; the same for all frames, so that they can be made before. */
static const uint8_t mask[SAVE_MASK_BYTES] = { 0x3a, 0x91, 0x5c, 0xe7 };

static const char text[] = "version=1\ncampaign=0000000000000000\nname=bench\nlevel=Island\ncheckpoint=beach\n"
			   "stamp=1700000000\nhostname=bench\n";

static size_t put_head(uint8_t *out, size_t len)
{
	size_t at = 2;

	out[0] = 0x82;
	if (len < 126) {
		out[1] = (uint8_t)(0x80 | len);
	} else {
		out[1] = 0x80 | 126;
		out[2] = (uint8_t)(len >> 8);
		out[3] = (uint8_t)len;
		at     = 4;
	}
	memcpy(out + at, mask, sizeof(mask));
	return at + sizeof(mask);
}

static void put_masked(uint8_t *out, size_t at, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[at + i] = bytes[i] ^ mask[(at + i) % sizeof(mask)];
}

size_t save_small_frame(uint8_t *out, const uint8_t *message, size_t len)
{
	size_t head = put_head(out, len);

	put_masked(out + head, 0, message, len);
	return head + len;
}

static void make_frames(struct save *s)
{
	const uint8_t part = OP_PART, end = OP_END;
	uint8_t      *out = s->frames = malloc(s->len + (s->len / SAVE_PART_BYTES + 2) * (HEAD_MAX + 1));

	if (!s->frames)
		err(1, "frames");
	for (size_t at = 0; at < s->len; at += SAVE_PART_BYTES) {
		size_t len = s->len - at < SAVE_PART_BYTES ? s->len - at : SAVE_PART_BYTES;

		out += put_head(out, 1 + len);
		put_masked(out, 0, &part, 1);
		put_masked(out, 1, s->body + at, len);
		out += 1 + len;
	}
	out += save_small_frame(out, &end, 1);
	s->frames_len = (size_t)(out - s->frames);
}

void save_init(struct save *s, size_t len)
{
	size_t text_len = sizeof(text) - 1;
	size_t save_len = len - 16 - text_len;

	s->len  = len;
	s->body = malloc(len);
	if (!s->body || len < 1024 || len > 16 << 20)
		errx(1, "no checkpoint of %zu bytes", len);
	memcpy(s->body, "CCSV", 4);
	put_u32(s->body + 4, 1);
	put_u32(s->body + 8, (uint32_t)text_len);
	memcpy(s->body + 12, text, text_len);
	put_u32(s->body + 12 + text_len, (uint32_t)save_len);
	if (getrandom(s->body + 16 + text_len, save_len, 0) != (ssize_t)save_len)
		err(1, "getrandom");
	make_frames(s);
}

/* Within the first part. */
static void change(struct save *s, size_t at, const void *bytes, size_t len)
{
	size_t head = s->len + 1 < 126 ? 6 : 8;

	memcpy(s->body + at, bytes, len);
	put_masked(s->frames + head, 1 + at, bytes, len);
}

void save_change(struct save *s, const uint8_t campaign[SAVE_CAMPAIGN_BYTES])
{
	char    hex[HEX_BYTES + 1];
	uint8_t nonce[8];

	for (size_t i = 0; i < SAVE_CAMPAIGN_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", campaign[i]);
	change(s, 12 + (size_t)(strstr(text, "campaign=") - text) + strlen("campaign="), hex, HEX_BYTES);
	put_u64(nonce, ++s->changes);
	change(s, 16 + sizeof(text) - 1, nonce, sizeof(nonce));
}

/* Frames of a server are not masked: two bytes of head, or four for over 125 bytes. */
size_t save_wire_bytes(size_t len)
{
	size_t whole = len / SAVE_PART_BYTES, rest = len % SAVE_PART_BYTES;
	size_t bytes = whole * (4 + 1 + SAVE_PART_BYTES);

	if (rest > 0)
		bytes += (rest + 1 < 126 ? 3U : 5U) + rest;
	return bytes + 2 + 1;
}
