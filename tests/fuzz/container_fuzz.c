/*
 * The checkpoint container: however the bytes are cut, and whether their number was announced or not, the verdict and
 * what the text says are the same.
 */
#include "cloud/container_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct container c;

/* The text is compared byte by byte, so all of it has to be written. */
static enum err take(struct container_text *out, const uint8_t *data, size_t len, uint64_t total, size_t piece)
{
	memset(out, 0, sizeof(*out));
	container_init(&c, total);
	for (size_t at = 0; at < len; at += piece)
		container_add(&c, data + at, piece < len - at ? piece : len - at);
	return container_end(out, &c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct container_text whole, cut;

	enum err verdict = take(&whole, data, len, len, len ? len : 1);

	for (size_t piece = 1; piece <= 7; piece += 2)
		for (uint64_t total = 0; total <= len; total += len ? len : 1)
			/* Both are static, so that what lies between the members is zero. NOLINTNEXTLINE */
			if (take(&cut, data, len, total, piece) != verdict || memcmp(&whole, &cut, sizeof(cut)) != 0)
				abort();

	container_parse_text(&cut, data, len);
	if (cut.member_count > CONTAINER_MEMBERS_MAX)
		abort();
	return 0;
}
