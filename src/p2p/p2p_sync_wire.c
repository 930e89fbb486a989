/*
 * A payload is walked twice by the same function: first to see that all of it is right, then to give its users away.
 */
#include "p2p/p2p_sync_wire.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "base/text.h"

#define SIZE_BYTES 4
#define LIST_BYTES ((SIZE_BYTES + P2P_ADDRESS_TEXT_BYTES) * P2P_ADDRESSES_MAX)

static bool is_user_id(const char *id, size_t len)
{
	return len > 0 && len <= P2P_USER_ID_BYTES && text_is_utf8(id, len);
}

static void write_sized(struct wr *w, const void *data, size_t len)
{
	wr_be(w, len, SIZE_BYTES);
	wr_bytes(w, data, len);
}

static enum p2p_sync_says write_user(struct wr *w, const struct p2p_sync_user *u)
{
	uint8_t   list[LIST_BYTES];
	char      text[BASE64_BYTES(LIST_BYTES)];
	struct wr in_list = wr_over(list, sizeof(list));

	if (!is_user_id(u->id, u->id_len))
		return P2P_SYNC_BAD_USER_ID;
	if (u->address_count > P2P_ADDRESSES_MAX)
		return P2P_SYNC_TOO_LARGE;
	for (size_t i = 0; i < u->address_count; i++) {
		size_t len = u->addresses[i].len;

		if (len == 0 || len > P2P_ADDRESS_TEXT_BYTES)
			return P2P_SYNC_BAD_ADDRESS;
		write_sized(&in_list, u->addresses[i].text, len);
	}
	base64_encode(text, list, wr_len(&in_list));
	write_sized(w, u->id, u->id_len);
	write_sized(w, text, BASE64_BYTES(wr_len(&in_list)) - 1);
	return P2P_SYNC_FINE;
}

enum p2p_sync_says p2p_sync_build(uint8_t *out, size_t cap, size_t *len, const uint8_t keys[P2P_SYNC_KEYS_BYTES],
                                  const struct p2p_sync_user *users, size_t count)
{
	struct wr w = wr_over(out, cap < P2P_SYNC_BYTES_MAX ? cap : P2P_SYNC_BYTES_MAX);

	if (count > P2P_USERS_MAX)
		return P2P_SYNC_TOO_LARGE;
	wr_bytes(&w, keys, P2P_SYNC_KEYS_BYTES);
	for (size_t i = 0; i < count; i++) {
		enum p2p_sync_says says = write_user(&w, &users[i]);

		if (says != P2P_SYNC_FINE)
			return says;
	}
	if (!wr_ok(&w))
		return P2P_SYNC_TOO_LARGE;
	*len = wr_len(&w);
	return P2P_SYNC_FINE;
}

/* A size and so many bytes. The size is compared with what is left and never added to anything. */
static const uint8_t *read_sized(struct rd *r, size_t *len)
{
	*len = (size_t)rd_be(r, SIZE_BYTES);
	return rd_bytes(r, *len);
}

static enum p2p_sync_says read_list(struct p2p_sync_user *u, const uint8_t *list, size_t list_len)
{
	struct rd r = rd_over(list, list_len);

	while (rd_left(&r) > 0) {
		size_t         len  = 0;
		bool           cut  = rd_left(&r) < SIZE_BYTES;
		const uint8_t *text = read_sized(&r, &len);

		if (cut)
			return P2P_SYNC_TRUNCATED;
		if (!text || len == 0 || len > P2P_ADDRESS_TEXT_BYTES)
			return P2P_SYNC_BAD_ADDRESS;
		if (u->address_count == P2P_ADDRESSES_MAX)
			return P2P_SYNC_TOO_LARGE;
		u->addresses[u->address_count].text  = (const char *)text;
		u->addresses[u->address_count++].len = len;
	}
	return P2P_SYNC_FINE;
}

/* The next user; its addresses lie in list, which has room for what the payload has left. */
static enum p2p_sync_says read_user(struct p2p_sync_user *u, struct rd *r, uint8_t *list, size_t *list_len)
{
	size_t      text_len;
	const char *id   = (const char *)read_sized(r, &u->id_len);
	const char *text = (const char *)read_sized(r, &text_len);

	if (id && !is_user_id(id, u->id_len))
		return P2P_SYNC_BAD_USER_ID;
	if (!text)
		return P2P_SYNC_TRUNCATED;
	u->id = id;
	if (base64_decode(list, list_len, text, text_len) != ERR_OK)
		return P2P_SYNC_BAD_BASE64;
	return read_list(u, list, *list_len);
}

static enum p2p_sync_says walk(struct rd r, uint8_t *scratch, void (*each)(void *arg, const struct p2p_sync_user *user),
                               void *arg)
{
	for (size_t count = 0; rd_left(&r) > 0; count++) {
		struct p2p_sync_user user     = { 0 };
		size_t               list_len = 0;
		enum p2p_sync_says   says     = read_user(&user, &r, scratch, &list_len);

		if (says != P2P_SYNC_FINE)
			return says;
		if (count == P2P_USERS_MAX)
			return P2P_SYNC_TOO_LARGE;
		if (each)
			each(arg, &user);
		scratch += list_len;
	}
	return P2P_SYNC_FINE;
}

enum p2p_sync_says p2p_sync_parse(const uint8_t *payload, size_t len, uint8_t *scratch,
                                  void (*each)(void *arg, const struct p2p_sync_user *user), void *arg)
{
	struct rd r = rd_over(payload, len);

	if (len > P2P_SYNC_BYTES_MAX)
		return P2P_SYNC_TOO_LARGE;
	if (!rd_bytes(&r, P2P_SYNC_KEYS_BYTES))
		return P2P_SYNC_SHORT_KEYS;

	enum p2p_sync_says says = walk(r, scratch, NULL, NULL);

	return says == P2P_SYNC_FINE ? walk(r, scratch, each, arg) : says;
}
