/*
 * Greeting, proof and relay line: what is read builds back to what was sent, apart from white space at the ends.
 */
#include "base/hex.h"
#include "signal/signal_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

/* The text stands somewhere in the line, between white space only. */
static void expect_within(const uint8_t *line, size_t len, const char *text, size_t text_len)
{
	const uint8_t *at = memmem(line, len, text, text_len);

	expect(at != NULL);
	for (const uint8_t *p = line; p < line + len; p++)
		if (p < at || p >= at + text_len)
			expect(*p == ' ' || (*p >= '\t' && *p <= '\r'));
}

static void greeting(const uint8_t *line, size_t len)
{
	struct signal_hello  hello;
	enum signal_greeting read = signal_read_greeting(&hello, line, len);
	char                 identity[SIGNAL_IDENTITY_CHARS + 1];

	if (read == SIGNAL_BAD_SHAPE)
		return;
	expect(hello.token >= line && hello.token_len > 0 && hello.token + hello.token_len + 1 == hello.identity);
	expect(hello.identity_len > 0 && hello.identity + hello.identity_len <= line + len);
	expect(!memchr(hello.token, ' ', hello.token_len) && !memchr(hello.identity, ' ', hello.identity_len));
	expect((read == SIGNAL_BAD_LENGTH) == (hello.identity_len > SIGNAL_IDENTITY_MAX));
	expect_within(line, len, (const char *)hello.token, hello.token_len + 1 + hello.identity_len);
	if (read != SIGNAL_GOOD_GREETING)
		return;
	signal_identity(identity, hello.key);
	expect(hello.identity_len == SIGNAL_IDENTITY_CHARS &&
	       memcmp(identity, hello.identity, SIGNAL_IDENTITY_CHARS) == 0);
}

static void proof(const uint8_t *line, size_t len)
{
	uint8_t sig[SIGNAL_SIG_BYTES];
	char    text[5 + 2 * SIGNAL_SIG_BYTES + 1] = "auth ";

	if (!signal_read_proof(sig, line, len))
		return;
	hex_encode(text + 5, sig, sizeof(sig));
	expect_within(line, len, text, sizeof(text) - 1);
}

static void relay(const uint8_t *line, size_t len)
{
	struct signal_relay_line r;
	char                     identity[SIGNAL_IDENTITY_CHARS + 1];

	if (signal_read_relay(&r, line, len) != SIGNAL_RELAYED)
		return;
	expect(r.payload + r.payload_len == line + len && r.payload[-1] == ' ');
	signal_identity(identity, r.key);
	expect_within(line, (size_t)(r.payload - line), identity, SIGNAL_IDENTITY_CHARS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len >= SIGNAL_LINE_MAX)
		return 0;
	greeting(data, len);
	proof(data, len);
	relay(data, len);
	return 0;
}
