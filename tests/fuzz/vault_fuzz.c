/*
 * The vault's messages: whatever parses builds back to the same bytes, up to those that are ignored behind it. And a
 * connection that gets them: never more bytes of an upload are taken than were declared, and nothing while it is busy.
 */
#include "cloud/vault_state.h"
#include "cloud/vault_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void build_back(const struct vault_msg *msg, const uint8_t *data, size_t len)
{
	static uint8_t buf[1 << 17];
	struct wr      w = wr_over(buf, sizeof(buf));

	vault_build(&w, msg);
	if (!wr_ok(&w) || wr_len(&w) > len || memcmp(buf, data, wr_len(&w)) != 0)
		abort();
}

/* The input as messages: each a length byte and so many bytes. Every request is granted and answered at once. */
static void converse(const uint8_t *data, size_t len)
{
	struct vault_state s;
	struct vault_msg   msg;
	uint64_t           taken = 0, declared = 0;

	vault_init(&s, 1000, 0);
	while (len > 0) {
		size_t take = data[0] < len - 1 ? data[0] : len - 1;

		if (vault_parse_client(&msg, data + 1, take) == VAULT_PARSED) {
			enum vault_what what = vault_on_message(&s, &msg, 1);

			if (what == VAULT_DO_BEGIN) {
				vault_on_granted(&s, msg.size);
				declared = msg.size;
				taken    = 0;
			}
			if (what == VAULT_DO_TAKE)
				taken += msg.rest_len;
			if (taken > declared || (what == VAULT_DO_END && taken != declared))
				abort();
			if (s.busy)
				vault_on_answered(&s, 2);
		}
		data += 1 + take;
		len -= 1 + take;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct vault_msg msg;

	if (len > 65552)
		return 0;
	if (vault_parse_client(&msg, data, len) == VAULT_PARSED)
		build_back(&msg, data, len);
	if (vault_parse_server(&msg, data, len) == VAULT_PARSED)
		build_back(&msg, data, len);
	converse(data, len);
	return 0;
}
