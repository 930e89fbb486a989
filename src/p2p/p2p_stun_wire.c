/*
 * A message is a head of 20 bytes and attributes, each with its type and the length of its value, which is filled up to a
 * multiple of 4 bytes:
 *
 *	type (16)  length of the attributes (16)  cookie (32)  transaction id (96)	RFC 8489, section 5
 *	type (16)  length of the attributes (16)  transaction id (128)		RFC 3489, section 11.1
 *
 * No answer says which software gives it: that would only make it larger than its request, and forged requests are where
 * that matters.
 */
#include "p2p/p2p_stun_wire.h"

#include "base/bytes.h"
#include "base/gzip.h"

#define COOKIE          UINT32_C(0x2112A442)
#define COOKIE_HIGH     0x2112
#define FINGERPRINT_XOR UINT32_C(0x5354554E)
#define FAMILY_IPV4     1

#define CHANGE_ADDRESS 0x04
#define CHANGE_PORT    0x02

#define HEAD_BYTES        20
#define LENGTH_OFFSET     2
#define VALUE_OFFSET      4 /* in an attribute */
#define FINGERPRINT_BYTES 8 /* the whole attribute */

enum message { BINDING = 0x0001, BINDING_SUCCESS = 0x0101, BINDING_ERROR = 0x0111 };

enum attribute {
	MAPPED_ADDRESS     = 0x0001,
	CHANGE_REQUEST     = 0x0003,
	SOURCE_ADDRESS     = 0x0004,
	CHANGED_ADDRESS    = 0x0005,
	USERNAME           = 0x0006,
	INTEGRITY          = 0x0008,
	ERROR_CODE         = 0x0009,
	UNKNOWN_ATTRIBUTES = 0x000A,
	REALM              = 0x0014,
	NONCE              = 0x0015,
	INTEGRITY_SHA256   = 0x001C,
	XOR_MAPPED_ADDRESS = 0x0020,
	PRIORITY           = 0x0024,
	USE_CANDIDATE      = 0x0025,
	OPTIONAL_FIRST     = 0x8000, /* from here on types may be passed over by who does not know them */
	FINGERPRINT        = 0x8028,
	RESPONSE_ORIGIN    = 0x802B,
	OTHER_ADDRESS      = 0x802C,
};

static size_t filled(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* In */

/*
 * Whether a type means nothing here, but is known: there is no authentication and no ICE, and what belongs into answers
 * is ignored in a request (RFC 8489, 6.3).
 */
static bool is_ignored(uint16_t type)
{
	static const uint16_t types[] = { MAPPED_ADDRESS, SOURCE_ADDRESS,   CHANGED_ADDRESS,    USERNAME,
		                          INTEGRITY,      ERROR_CODE,       UNKNOWN_ATTRIBUTES, REALM,
		                          NONCE,          INTEGRITY_SHA256, XOR_MAPPED_ADDRESS, PRIORITY,
		                          USE_CANDIDATE };

	if (type >= OPTIONAL_FIRST)
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i] == type)
			return true;
	return false;
}

static void add_unknown(struct stun_request *q, uint16_t type)
{
	for (size_t i = 0; i < q->unknown_count; i++)
		if (q->unknown[i] == type)
			return;
	if (q->unknown_count < STUN_UNKNOWN_MAX)
		q->unknown[q->unknown_count++] = type;
}

/* The first of them counts (RFC 8489, section 14). */
static bool take_change(struct stun_request *q, const uint8_t *value, size_t len)
{
	if (len != 4)
		return false;
	if (!q->has_change) {
		q->has_change     = true;
		q->change_address = value[3] & CHANGE_ADDRESS;
		q->change_port    = value[3] & CHANGE_PORT;
	}
	return true;
}

static uint32_t fingerprint(const uint8_t *message, size_t len)
{
	return gzip_crc(message, len) ^ FINGERPRINT_XOR;
}

/* It is of everything before it, and nothing comes behind it. */
static bool take_fingerprint(struct stun_request *q, const uint8_t *message, const struct rd *r, const uint8_t *value,
                             size_t len)
{
	struct rd v = rd_over(value, len);

	q->has_fingerprint = true;
	return len == 4 && rd_left(r) == 0 &&
	       rd_be(&v, 4) == fingerprint(message, (size_t)(value - VALUE_OFFSET - message));
}

static bool take_attribute(struct stun_request *q, const uint8_t *message, struct rd *r)
{
	uint16_t       type  = (uint16_t)rd_be(r, 2);
	size_t         len   = (size_t)rd_be(r, 2);
	const uint8_t *value = rd_bytes(r, filled(len));

	if (!value)
		return false;
	if (type == CHANGE_REQUEST)
		return take_change(q, value, len);
	if (type == FINGERPRINT)
		return take_fingerprint(q, message, r, value, len);
	if (!is_ignored(type))
		add_unknown(q, type);
	return true;
}

enum stun_says stun_parse(struct stun_request *out, const uint8_t *bytes, size_t len)
{
	struct stun_request q = { 0 };
	struct rd           r = rd_over(bytes, len);
	uint16_t            type;
	size_t              attributes;

	if (len < STUN_REQUEST_BYTES_MIN || len > STUN_REQUEST_BYTES_MAX)
		return STUN_MALFORMED;
	type       = (uint16_t)rd_be(&r, 2);
	attributes = (size_t)rd_be(&r, 2);
	rd_copy(&r, q.id, sizeof(q.id));
	if (attributes != len - HEAD_BYTES)
		return STUN_MALFORMED;
	if (type != BINDING)
		return STUN_IGNORED;

	struct rd id = rd_over(q.id, sizeof(q.id));

	q.is_old = rd_be(&id, 4) != COOKIE;
	while (rd_left(&r) > 0)
		if (!take_attribute(&q, bytes, &r))
			return STUN_MALFORMED;
	*out = q;
	return STUN_REQUEST;
}

/* Out */

static void put_attribute(struct wr *w, enum attribute type, size_t len)
{
	wr_be(w, type, 2);
	wr_be(w, len, 2);
}

static void put_address(struct wr *w, enum attribute type, const struct p2p_endpoint *e)
{
	put_attribute(w, type, 8);
	wr_be(w, FAMILY_IPV4, 2);
	wr_be(w, e->port, 2);
	wr_bytes(w, e->ip, sizeof(e->ip));
}

/* Routers that rewrite an address which they recognise in a payload do not see this one. */
static void put_xor_address(struct wr *w, const struct p2p_endpoint *e)
{
	struct rd ip = rd_over(e->ip, sizeof(e->ip));

	put_attribute(w, XOR_MAPPED_ADDRESS, 8);
	wr_be(w, FAMILY_IPV4, 2);
	wr_be(w, e->port ^ COOKIE_HIGH, 2);
	wr_be(w, rd_be(&ip, 4) ^ COOKIE, 4);
}

static void put_addresses(struct wr *w, const struct stun_request *q, const struct stun_place *place)
{
	put_address(w, MAPPED_ADDRESS, &place->source);
	if (!q->is_old)
		put_xor_address(w, &place->source);
	put_address(w, q->is_old ? SOURCE_ADDRESS : RESPONSE_ORIGIN, &place->origin);
	if (place->other.is_set)
		put_address(w, q->is_old ? CHANGED_ADDRESS : OTHER_ADDRESS, &place->other);
}

/* RFC 3489 has no filling: a reason is made longer by blanks there, and an odd list by its last type once more. */
static void put_error(struct wr *w, const struct stun_request *q)
{
	static const char reason[] = "Unknown Attribute   ";
	size_t            all = sizeof(reason) - 1, used = all - 3;
	size_t            count = q->unknown_count, listed = count + (count & 1);

	put_attribute(w, ERROR_CODE, 4 + (q->is_old ? all : used));
	wr_be(w, 4 << 8 | 20, 4);
	wr_bytes(w, reason, used);
	wr_bytes(w, q->is_old ? reason + used : "\0\0\0", all - used);

	put_attribute(w, UNKNOWN_ATTRIBUTES, 2 * (q->is_old ? listed : count));
	for (size_t i = 0; i < count; i++)
		wr_be(w, q->unknown[i], 2);
	if (listed > count)
		wr_be(w, q->is_old ? q->unknown[count - 1] : 0, 2);
}

static void put_length(uint8_t *message, size_t attributes)
{
	struct wr w = wr_over(message + LENGTH_OFFSET, 2);

	wr_be(&w, attributes, 2);
}

size_t stun_build(uint8_t out[STUN_ANSWER_BYTES_MAX], const struct stun_request *q, const struct stun_place *place)
{
	struct wr w                = wr_over(out, STUN_ANSWER_BYTES_MAX);
	bool      is_error         = q->unknown_count > 0;
	bool      with_fingerprint = q->has_fingerprint && !q->is_old;
	size_t    len;

	wr_be(&w, is_error ? BINDING_ERROR : BINDING_SUCCESS, 2);
	wr_be(&w, 0, 2);
	wr_bytes(&w, q->id, sizeof(q->id));
	if (is_error)
		put_error(&w, q);
	else
		put_addresses(&w, q, place);

	/* The length is of all attributes, also when it goes into the sum of those before the last. */
	len = wr_len(&w);
	put_length(out, len - HEAD_BYTES + (with_fingerprint ? FINGERPRINT_BYTES : 0));
	if (with_fingerprint) {
		put_attribute(&w, FINGERPRINT, 4);
		wr_be(&w, fingerprint(out, len), 4);
	}
	return wr_len(&w);
}
