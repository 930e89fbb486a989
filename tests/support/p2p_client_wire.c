#include "support/p2p_client_wire.h"

#include "base/base64.h"
#include "base/bytes.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC     0xc00d
#define VERSION   1
#define TAG_BYTES 16
#define SEEN_IPV4 1

/* --- Addresses --- */

bool p2p_client_address_is(const struct p2p_client_address *a, const struct p2p_client_address *b)
{
	return a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

bool p2p_client_address_read(struct p2p_client_address *out, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	char        ip[16], port[6];
	char       *end;

	if (!colon || (size_t)(colon - text) >= sizeof(ip) || (size_t)(text + len - colon - 1) >= sizeof(port))
		return false;
	snprintf(ip, sizeof(ip), "%.*s", (int)(colon - text), text);
	snprintf(port, sizeof(port), "%.*s", (int)(text + len - colon - 1), colon + 1);

	unsigned long number = strtoul(port, &end, 10);

	out->port = (uint16_t)number;
	return *end == '\0' && number > 0 && number <= UINT16_MAX && inet_pton(AF_INET, ip, out->ip) == 1;
}

const char *p2p_client_address_show(char out[P2P_CLIENT_ADDRESS_TEXT], const struct p2p_client_address *a)
{
	snprintf(out, P2P_CLIENT_ADDRESS_TEXT, "%u.%u.%u.%u:%u", a->ip[0], a->ip[1], a->ip[2], a->ip[3], a->port);
	return out;
}

/* --- Tags --- */

static void put_tag(struct wr *w, const uint8_t *key, size_t key_len)
{
	uint8_t tag[TAG_BYTES];

	crypto_generichash(tag, sizeof(tag), w->start, wr_len(w), key, key_len);
	wr_bytes(w, tag, sizeof(tag));
}

/* The last 16 bytes are the tag of all that stands before them. */
static bool tag_is_right(const uint8_t *bytes, size_t len, const uint8_t *key, size_t key_len)
{
	uint8_t tag[TAG_BYTES];

	if (len < TAG_BYTES)
		return false;
	crypto_generichash(tag, sizeof(tag), bytes, len - TAG_BYTES, key, key_len);
	return sodium_memcmp(tag, bytes + len - TAG_BYTES, TAG_BYTES) == 0;
}

static void put_start(struct wr *w, unsigned type)
{
	wr_be(w, MAGIC, 2);
	wr_u8(w, VERSION);
	wr_u8(w, (uint8_t)type);
}

/* The type; 0: it is no packet of ours. */
static uint8_t read_start(struct rd *r)
{
	bool is_ours = rd_be(r, 2) == MAGIC;

	is_ours = rd_u8(r) == VERSION && is_ours;
	return is_ours ? rd_u8(r) : 0;
}

/* --- 64 bytes --- */

void p2p_client_packet_build(uint8_t out[P2P_CLIENT_PACKET_BYTES], const struct p2p_client_packet *p,
                             const struct p2p_client_session *s)
{
	static const uint8_t nothing[22];
	struct wr            w = wr_over(out, P2P_CLIENT_PACKET_BYTES);

	put_start(&w, p->type);
	wr_bytes(&w, s->sid, sizeof(s->sid));
	wr_bytes(&w, p->nonce, sizeof(p->nonce));
	wr_u8(&w, p->step);
	wr_u8(&w, p->try);
	wr_bytes(&w, nothing, sizeof(nothing)); /* a client tells nobody an address */
	wr_be(&w, p->time, 4);
	put_tag(&w, s->key, sizeof(s->key));
}

static bool read_seen(struct p2p_client_packet *out, struct rd *r, const struct p2p_client_session *s)
{
	uint8_t family = rd_u8(r);

	rd_u8(r);
	out->seen.port = (uint16_t)(rd_be(r, 2) ^ MAGIC);
	rd_be(r, 2);
	rd_copy(r, out->seen.ip, sizeof(out->seen.ip));
	for (size_t i = 0; i < sizeof(out->seen.ip); i++)
		out->seen.ip[i] ^= s->sid[i];
	rd_bytes(r, 12);
	if (family != SEEN_IPV4)
		out->seen = (struct p2p_client_address){ 0 };
	return family == SEEN_IPV4 || out->type != P2P_CLIENT_HELLO_ACK;
}

bool p2p_client_packet_read(struct p2p_client_packet *out, const uint8_t *bytes, size_t len,
                            const struct p2p_client_session *s)
{
	struct rd r = rd_over(bytes, len);

	if (len != P2P_CLIENT_PACKET_BYTES || !tag_is_right(bytes, len, s->key, sizeof(s->key)))
		return false;
	out->type = (enum p2p_client_packet_type)read_start(&r);
	if (out->type != P2P_CLIENT_HELLO_ACK && out->type != P2P_CLIENT_PING_TRY)
		return false;
	const uint8_t *sid = rd_bytes(&r, sizeof(s->sid));

	if (!sid || memcmp(sid, s->sid, sizeof(s->sid)) != 0)
		return false;
	rd_copy(&r, out->nonce, sizeof(out->nonce));
	out->step = rd_u8(&r);
	out->try  = rd_u8(&r);
	if (!read_seen(out, &r, s))
		return false;
	out->time = (uint32_t)rd_be(&r, 4);
	return true;
}

/* --- Between players --- */

void p2p_client_punch_build(uint8_t out[P2P_CLIENT_PUNCH_BYTES], const struct p2p_client_punch *p,
                            const uint8_t mac[P2P_CLIENT_MAC_BYTES])
{
	struct wr w = wr_over(out, P2P_CLIENT_PUNCH_BYTES);

	put_start(&w, p->type);
	wr_be(&w, p->epoch, 4);
	wr_be(&w, p->from, 2);
	wr_be(&w, p->to, 2);
	wr_be(&w, p->nonce, 4);
	wr_be(&w, p->time, 4);
	put_tag(&w, mac, P2P_CLIENT_MAC_BYTES);
}

bool p2p_client_punch_read(struct p2p_client_punch *out, const uint8_t *bytes, size_t len,
                           const uint8_t mac[P2P_CLIENT_MAC_BYTES])
{
	struct rd r = rd_over(bytes, len);

	if (len != P2P_CLIENT_PUNCH_BYTES || !tag_is_right(bytes, len, mac, P2P_CLIENT_MAC_BYTES))
		return false;
	out->type  = read_start(&r);
	out->epoch = (uint32_t)rd_be(&r, 4);
	out->from  = (uint16_t)rd_be(&r, 2);
	out->to    = (uint16_t)rd_be(&r, 2);
	out->nonce = (uint32_t)rd_be(&r, 4);
	out->time  = (uint32_t)rd_be(&r, 4);
	return out->type == P2P_CLIENT_PUNCH || out->type == P2P_CLIENT_PUNCH_ACK;
}

size_t p2p_client_link_build(uint8_t out[P2P_CLIENT_DATAGRAM_MAX], const struct p2p_client_link *p,
                             const uint8_t mac[P2P_CLIENT_MAC_BYTES])
{
	struct wr w = wr_over(out, P2P_CLIENT_DATAGRAM_MAX);

	if (p->len > P2P_CLIENT_LINK_MAX)
		return 0;
	put_start(&w, P2P_CLIENT_LINK);
	wr_be(&w, p->epoch, 4);
	wr_be(&w, p->seat, 2);
	wr_be(&w, p->leader, 2);
	wr_u8(&w, p->flags);
	wr_u8(&w, p->ver);
	wr_be(&w, p->cmd, 2);
	wr_be(&w, p->number, 4);
	wr_bytes(&w, p->message, p->len);
	put_tag(&w, mac, P2P_CLIENT_MAC_BYTES);
	return wr_len(&w);
}

bool p2p_client_link_read(struct p2p_client_link *out, const uint8_t *bytes, size_t len,
                          const uint8_t mac[P2P_CLIENT_MAC_BYTES])
{
	struct rd r = rd_over(bytes, len);

	if (len < P2P_CLIENT_LINK_HEAD + TAG_BYTES || !tag_is_right(bytes, len, mac, P2P_CLIENT_MAC_BYTES) ||
	    read_start(&r) != P2P_CLIENT_LINK)
		return false;
	out->epoch   = (uint32_t)rd_be(&r, 4);
	out->seat    = (uint16_t)rd_be(&r, 2);
	out->leader  = (uint16_t)rd_be(&r, 2);
	out->flags   = rd_u8(&r);
	out->ver     = rd_u8(&r);
	out->cmd     = (uint16_t)rd_be(&r, 2);
	out->number  = (uint32_t)rd_be(&r, 4);
	out->len     = rd_left(&r) - TAG_BYTES;
	out->message = rd_bytes(&r, out->len);
	return rd_ok(&r);
}

/* --- Frames --- */

void p2p_client_frame_head(uint8_t out[P2P_CLIENT_FRAME_HEAD], const struct p2p_client_frame *f)
{
	struct wr w = wr_over(out, P2P_CLIENT_FRAME_HEAD);

	wr_u8(&w, f->kind);
	wr_u8(&w, f->flags);
	wr_u8(&w, f->ver);
	wr_u8(&w, 0);
	wr_be(&w, f->cmd, 2);
	wr_be(&w, f->seat, 2);
	wr_be(&w, f->number, 4);
}

bool p2p_client_frame_read(struct p2p_client_frame *out, const uint8_t *bytes, size_t len)
{
	struct rd r = rd_over(bytes, len);

	out->kind  = rd_u8(&r);
	out->flags = rd_u8(&r);
	out->ver   = rd_u8(&r);
	rd_u8(&r);
	out->cmd     = (uint16_t)rd_be(&r, 2);
	out->seat    = (uint16_t)rd_be(&r, 2);
	out->number  = (uint32_t)rd_be(&r, 4);
	out->content = rd_rest(&r, &out->len);
	return rd_ok(&r);
}

/* --- The sync payload --- */

/* A size and so many bytes; NULL: they are not there, or none. */
static const uint8_t *read_sized(struct rd *r, size_t *len)
{
	*len = (size_t)rd_be(r, 4);
	return *len > 0 ? rd_bytes(r, *len) : NULL;
}

/* Those that are no IPv4 addresses are of no use here, and no fault. */
static bool read_addresses(struct p2p_client_sync_user *u, const uint8_t *list, size_t len)
{
	struct rd r = rd_over(list, len);

	u->address_count = 0;
	while (rd_left(&r) > 0) {
		size_t         size;
		const uint8_t *text = read_sized(&r, &size);

		if (!text)
			return false;
		if (u->address_count < P2P_CLIENT_ADDRESSES_MAX &&
		    p2p_client_address_read(&u->addresses[u->address_count], (const char *)text, size))
			u->address_count++;
	}
	return true;
}

static bool read_list(struct p2p_client_sync_user *u, struct rd *r)
{
	size_t         chars = (size_t)rd_be(r, 4), len;
	const uint8_t *text  = rd_bytes(r, chars);
	uint8_t       *list;
	bool           is_good;

	if (!text)
		return false;
	list = malloc(BASE64_DECODED_BYTES(chars) + 1);
	is_good =
		list && base64_decode(list, &len, (const char *)text, chars) == ERR_OK && read_addresses(u, list, len);
	free(list);
	return is_good;
}

bool p2p_client_sync_read(struct p2p_client_sync *out, const uint8_t *bytes, size_t len)
{
	struct rd r = rd_over(bytes, len);

	rd_copy(&r, out->keys, sizeof(out->keys));
	out->user_count = 0;
	while (rd_left(&r) > 0) {
		struct p2p_client_sync_user *u = &out->users[out->user_count];
		size_t                       uid_len;
		const uint8_t               *uid = read_sized(&r, &uid_len);

		if (out->user_count == P2P_CLIENT_PEERS_MAX || !uid || uid_len >= sizeof(u->uid))
			return false;
		memcpy(u->uid, uid, uid_len);
		u->uid[uid_len] = '\0';
		if (!read_list(u, &r))
			return false;
		out->user_count++;
	}
	return rd_done(&r);
}
