/*
 * Three bytes become four characters; what is missing of the last three is padding.
 */
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(char *out, const void *data, size_t len)
{
	const uint8_t *in = data;

	for (size_t i = 0; i < len; i += 3) {
		size_t   left = len - i;
		uint32_t bits = (uint32_t)in[i] << 16;

		if (left > 1)
			bits |= (uint32_t)in[i + 1] << 8;
		if (left > 2)
			bits |= in[i + 2];
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[bits & 63] : '=';
	}
	*out = '\0';
}

#define NO_DIGIT 0x80

static unsigned value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0') + 52;
	return c == '+' ? 62 : c == '/' ? 63 : NO_DIGIT;
}

enum err base64_decode(uint8_t *out, size_t *len, const char *text, size_t text_len)
{
	size_t padding = 0, bytes = BASE64_DECODED_BYTES(text_len);

	if (text_len % 4 != 0)
		return ERR_MALFORMED;
	while (padding < 2 && padding < text_len && text[text_len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < text_len; i += 4) {
		size_t   digit_count = i + 4 == text_len ? 4 - padding : 4;
		uint32_t bits        = 0;

		for (size_t k = 0; k < digit_count; k++) {
			unsigned value = value_of(text[i + k]);

			if (value == NO_DIGIT)
				return ERR_MALFORMED;
			bits |= value << (18 - 6 * k);
		}
		/* 4 digits are 3 bytes, 3 are 2, 2 are 1; what is below them has to be zero. */
		for (size_t k = 0; k < 3; k++) {
			uint8_t byte = (uint8_t)(bits >> (16 - 8 * k));

			if (k + 1 < digit_count)
				*out++ = byte;
			else if (byte != 0)
				return ERR_MALFORMED;
		}
	}
	*len = bytes - padding;
	return ERR_OK;
}
