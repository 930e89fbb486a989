/*
 * Hex digits both ways.
 */
#include "base/hex.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

Test(hex, bytes_become_lower_case_digits)
{
	char out[2 * 4 + 1];

	hex_encode(out, "\x00\x7f\xab\xff", 4);
	cr_expect_str_eq(out, "007fabff");
	hex_encode(out, "", 0);
	cr_expect_str_eq(out, "");
}

Test(hex, digits_of_either_case_become_bytes)
{
	uint8_t out[4];

	cr_expect_eq(hex_decode(out, 4, "007fABfF", 8), ERR_OK);
	cr_expect_arr_eq(out, "\x00\x7f\xab\xff", 4);
	cr_expect_eq(hex_decode(out, 0, "", 0), ERR_OK);
}

Test(hex, every_byte_survives_the_way_there_and_back)
{
	uint8_t in[256], out[256];
	char    text[513];

	for (int i = 0; i < 256; i++)
		in[i] = (uint8_t)i;
	hex_encode(text, in, sizeof(in));
	cr_expect_eq(strlen(text), 512);
	cr_expect_eq(hex_decode(out, 256, text, 512), ERR_OK);
	cr_expect_arr_eq(in, out, 256);
}

Test(hex, what_is_not_exactly_hex_is_refused_and_leaves_out_alone)
{
	static const struct {
		const char *text;
		size_t      len;
	} cases[] = {
		{ "0011", 3 }, /* another length than asked for */
		{ "0011", 1 }, { "001", 2 },  { "00112", 2 }, { "", 1 },           { "00 1", 2 },
		{ "0x11", 2 }, { "001g", 2 }, { "001G", 2 },  { "001/", 2 },       { "001:", 2 },
		{ "001@", 2 }, { "001`", 2 }, { "+011", 2 },  { "00\xe9\x31", 2 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint8_t out[3] = { 9, 9, 9 };

		cr_expect_eq(hex_decode(out, cases[i].len, cases[i].text, strlen(cases[i].text)), ERR_MALFORMED, "%s",
		             cases[i].text);
		cr_expect_arr_eq(out, "\x09\x09\x09", 3);
	}
}

Test(hex, a_nul_among_the_digits_is_no_digit)
{
	uint8_t out[2];

	cr_expect_eq(hex_decode(out, 2, "00\0001", 4), ERR_MALFORMED);
}
