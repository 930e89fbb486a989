/*
 * Base64, with the examples of RFC 4648.
 */
#include "base/base64.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

Test(base64, says_what_the_rfc_says)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfb\xef\xbe", "//77774=" },
	};
	char out[BASE64_BYTES(6)];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		base64_encode(out, rows[i].in, strlen(rows[i].in));
		cr_expect_str_eq(out, rows[i].out);
		cr_expect_eq(strlen(out) + 1, BASE64_BYTES(strlen(rows[i].in)));
	}
}
