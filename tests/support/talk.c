#include "support/talk.h"

#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void talk_say(int fd, const void *bytes, size_t len)
{
	cr_assert(dial_send(fd, bytes, len, DIAL_PATIENCE_MS));
}

void talk_hear(int fd, const void *bytes, size_t len)
{
	uint8_t got[256];
	size_t  have = 0;

	cr_assert_leq(len, sizeof(got));
	while (have < len) {
		ssize_t n = dial_read(fd, got + have, len - have, real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(n, 0, "%zu of %zu bytes came", have, len);
		have += (size_t)n;
	}
	cr_assert_arr_eq(got, bytes, len);
}

ssize_t talk_next(int fd)
{
	uint8_t byte[1];

	return dial_read(fd, byte, sizeof(byte), real_now_ms() + DIAL_PATIENCE_MS);
}

ssize_t talk_read_out(int fd, size_t *len)
{
	static uint8_t bytes[65536];
	ssize_t        n;

	*len = 0;
	while ((n = dial_read(fd, bytes, sizeof(bytes), real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		*len += (size_t)n;
	return n;
}

uint8_t *talk_big_bytes(size_t len)
{
	uint8_t *bytes = malloc(len);

	cr_assert_not_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)((i ^ i >> 6 ^ i >> 12) & 0x3f);
	return bytes;
}
