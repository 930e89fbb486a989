/*
 * Bytes as gzip: what others unpack is what went in.
 */
#include "base/gzip.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The whole of one member, by zlib's own hand. */
static size_t unpack(char *out, size_t cap, const char *gz, size_t gz_len)
{
	z_stream z = { .next_in   = (Bytef *)(uintptr_t)gz,
		       .avail_in  = (uInt)gz_len,
		       .next_out  = (Bytef *)out,
		       .avail_out = (uInt)cap };

	cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
	cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	cr_expect_eq(z.avail_in, 0, "%u bytes behind the end", z.avail_in);
	inflateEnd(&z);
	return z.total_out;
}

Test(gzip, what_was_packed_is_unpacked_again)
{
	static const size_t lens[] = { 0, 1, 2, 1000, 400000 };
	static char         data[400000], back[400001];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)("{\"lobbyId\":"[i % 11] + (i % 97 == 0));
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		char  *gz     = NULL;
		size_t gz_len = 0;

		cr_assert_eq(gzip_bytes(&gz, &gz_len, data, lens[i]), ERR_OK);
		cr_expect_eq(unpack(back, sizeof(back), gz, gz_len), lens[i]);
		cr_expect_eq(memcmp(back, data, lens[i]), 0);
		cr_expect(lens[i] < 1000 || gz_len < lens[i] / 4, "%zu bytes became %zu", lens[i], gz_len);
		free(gz);
	}
}

Test(gzip, bytes_that_cannot_be_made_shorter_fit_all_the_same)
{
	char    *gz     = NULL;
	size_t   gz_len = 0;
	uint32_t state  = 1;
	char     data[5000], back[5001];

	for (size_t i = 0; i < sizeof(data); i++) {
		state   = state * 1664525u + 1013904223u;
		data[i] = (char)(state >> 24);
	}
	cr_assert_eq(gzip_bytes(&gz, &gz_len, data, sizeof(data)), ERR_OK);
	cr_expect_geq(gz_len, sizeof(data));
	cr_expect_eq(unpack(back, sizeof(back), gz, gz_len), sizeof(data));
	cr_expect_eq(memcmp(back, data, sizeof(data)), 0);
	free(gz);
}

Test(gzip, the_checksum_is_the_one_that_everybody_knows)
{
	cr_expect_eq(gzip_crc("123456789", 9), 0xcbf43926);
	cr_expect_eq(gzip_crc("", 0), 0);
}
