/*
 * Hex digits, without the C library's locale.
 */
#include "base/hex.h"

void hex_encode(char *out, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t    *bytes    = data;

	for (size_t i = 0; i < len; i++) {
		out[2 * i]     = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * len] = '\0';
}

/* 16 for what is no digit. */
static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

enum err hex_decode(uint8_t *out, size_t len, const char *text, size_t text_len)
{
	if (text_len % 2 != 0 || text_len / 2 != len)
		return ERR_MALFORMED;

	/* All digits are looked at before the first byte is written: out stays untouched on failure. */
	for (size_t i = 0; i < text_len; i++) {
		if (digit_value(text[i]) > 15)
			return ERR_MALFORMED;
	}
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
	return ERR_OK;
}
