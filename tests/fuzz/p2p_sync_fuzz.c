/*
 * The sync payload: whatever parses builds back to the same bytes, and nobody is given away when it does not.
 *
 * Each input is read as a payload, and then, because hardly a change of base64 is base64 again, as the list of addresses of
 * one user.
 */
#include "p2p/p2p_sync_wire.h"

#include "base/base64.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX 4096

struct users {
	size_t               count;
	struct p2p_sync_user all[P2P_USERS_MAX];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void take(void *arg, const struct p2p_sync_user *user)
{
	struct users *u = arg;

	if (u->count == P2P_USERS_MAX)
		abort();
	u->all[u->count++] = *user;
}

static void build_back(const uint8_t *payload, size_t len, const struct users *users)
{
	static uint8_t buf[P2P_SYNC_BYTES_MAX];
	size_t         built = 0;

	if (p2p_sync_build(buf, sizeof(buf), &built, payload, users->all, users->count) != P2P_SYNC_FINE)
		abort();
	if (built != len || memcmp(buf, payload, len) != 0)
		abort();
}

static void read_payload(const uint8_t *payload, size_t len)
{
	static struct users users;
	uint8_t            *scratch = malloc(len ? len : 1);

	users.count = 0;
	if (p2p_sync_parse(payload, len, scratch, take, &users) == P2P_SYNC_FINE)
		build_back(payload, len, &users);
	else if (users.count > 0)
		abort();
	free(scratch);
}

static void read_list(const uint8_t *list, size_t len)
{
	static uint8_t buf[P2P_SYNC_KEYS_BYTES + 16 + BASE64_BYTES(LIST_MAX)];
	static char    text[BASE64_BYTES(LIST_MAX)];
	struct wr      w = wr_over(buf, sizeof(buf));

	memset(buf, 0, P2P_SYNC_KEYS_BYTES);
	w.at += P2P_SYNC_KEYS_BYTES;
	base64_encode(text, list, len);
	wr_be(&w, 1, 4);
	wr_u8(&w, 'u');
	wr_be(&w, BASE64_BYTES(len) - 1, 4);
	wr_bytes(&w, text, BASE64_BYTES(len) - 1);
	read_payload(buf, wr_len(&w));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	read_payload(data, len);
	if (len <= LIST_MAX)
		read_list(data, len);
	return 0;
}
