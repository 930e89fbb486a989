/*
 * Three bytes become four characters; what is missing of the last three is padding.
 */
#include "base/base64.h"

#include <stdint.h>

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
