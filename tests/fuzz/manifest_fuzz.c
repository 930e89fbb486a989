/*
 * Update manifests: what parses says the same when it is written again, in the usual order and in its own; what does not
 * has a reason that a person can read.
 */
#include "base/hex.h"
#include "update/manifest_wire.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must_say(const struct manifest *want, size_t signed_len, const char *text, size_t len)
{
	static struct manifest m;
	const char            *why = NULL;

	if (manifest_parse(&m, &why, text, len) != ERR_OK || m.signed_len != signed_len)
		abort();
	m.signed_len = want->signed_len;
	/* The parser leaves nothing of it unwritten, and it has no padding. NOLINTNEXTLINE */
	if (memcmp(&m, want, sizeof(m)) != 0)
		abort();
}

static void write_again(const struct manifest *m, const uint8_t *data)
{
	char text[MANIFEST_BYTES_MAX + 1], sha256[65], signature[129];

	hex_encode(sha256, m->sha256, 32);
	hex_encode(signature, m->signature, 64);

	int body = snprintf(text, sizeof(text), "Crysis Coop update\nversion %s\npackage %s\nsize %lld\nsha256 %s\n",
	                    m->version, m->package, (long long)m->size, sha256);
	int all  = body + snprintf(text + body, sizeof(text) - (size_t)body, "signature %s \r\n\n", signature);

	must_say(m, (size_t)body, text, (size_t)all);

	/* The signed bytes as they came, and the signature in its shortest form. */
	memcpy(text, data, m->signed_len);
	all = (int)m->signed_len +
	      snprintf(text + m->signed_len, sizeof(text) - m->signed_len, "signature %s", signature);
	must_say(m, m->signed_len, text, (size_t)all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct manifest m;
	const char            *why = NULL;

	if (manifest_parse(&m, &why, data, len) != ERR_OK) {
		if (!why || strlen(why) < 10)
			abort();
		return 0;
	}
	if (why || m.size < 1 || m.size > MANIFEST_PACKAGE_BYTES_MAX || m.package[0] == '.' || m.package[0] == '\0')
		abort();
	if (m.signed_len >= len || data[m.signed_len - 1] != '\n' || memcmp(data + m.signed_len, "signature ", 10) != 0)
		abort();
	write_again(&m, data);
	return 0;
}
