#include "support/turn_client.h"

#include "base/bytes.h"
#include "support/dial.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define COOKIE       0x2112a442u
#define MESSAGE_MAX  1500
#define HEAD_BYTES   20
#define ID_BYTES     12
#define REPEAT_MS    500 /* UDP may lose something even here, when the machine is busy */
#define CLASS_ERROR  0x0110
#define CLASS_ANSWER 0x0100

enum { ALLOCATE = 0x003, REFRESH = 0x004, PERMIT = 0x008 };

enum {
	USERNAME       = 0x0006,
	INTEGRITY      = 0x0008,
	ERROR_CODE     = 0x0009,
	LIFETIME       = 0x000d,
	PEER_ADDRESS   = 0x0012,
	REALM          = 0x0014,
	NONCE          = 0x0015,
	ADDRESS_FAMILY = 0x0017,
	TRANSPORT      = 0x0019,
};

/* --- Requests --- */

static void put(struct wr *w, unsigned type, const void *value, size_t len)
{
	static const uint8_t zeros[4];

	wr_be(w, type, 2);
	wr_be(w, len, 2);
	wr_bytes(w, value, len);
	wr_bytes(w, zeros, (4 - len % 4) % 4);
}

static void put_length(struct wr *w, size_t len)
{
	w->start[2] = (uint8_t)(len >> 8);
	w->start[3] = (uint8_t)len;
}

static struct wr begin(struct turn_client *c, uint8_t out[MESSAGE_MAX], unsigned method)
{
	struct wr w = wr_over(out, MESSAGE_MAX);

	wr_be(&w, method, 2);
	wr_be(&w, 0, 2);
	wr_be(&w, COOKIE, 4);
	wr_be(&w, 0, ID_BYTES - 8);
	wr_be(&w, 0, 4);
	wr_be(&w, ++c->next_id, 4);
	return w;
}

/* Who asks, and the proof over everything before it; the length in the head counts the proof already then. */
static void sign(struct turn_client *c, struct wr *w)
{
	uint8_t  mac[20];
	unsigned len = sizeof(mac);

	if (c->nonce[0]) {
		put(w, USERNAME, c->user, strlen(c->user));
		put(w, REALM, c->realm, strlen(c->realm));
		put(w, NONCE, c->nonce, strlen(c->nonce));
		put_length(w, wr_len(w) - HEAD_BYTES + 4 + sizeof(mac));
		HMAC(EVP_sha1(), c->key, sizeof(c->key), w->start, wr_len(w), mac, &len);
		put(w, INTEGRITY, mac, sizeof(mac));
	}
	cr_assert(wr_ok(w));
	put_length(w, wr_len(w) - HEAD_BYTES);
}

/* --- Answers --- */

static void remember(char out[128], const uint8_t *value, size_t len)
{
	cr_assert_lt(len, 128);
	memcpy(out, value, len);
	out[len] = '\0';
}

/* Takes realm and nonce from it. The error number, 0 for none. */
static int read_answer(struct turn_client *c, const uint8_t *data, size_t len)
{
	struct rd r     = rd_over(data, len);
	unsigned  type  = (unsigned)rd_be(&r, 2);
	int       error = -1;

	rd_bytes(&r, HEAD_BYTES - 2);
	while (rd_ok(&r) && rd_left(&r) > 0) {
		unsigned       attribute = (unsigned)rd_be(&r, 2);
		size_t         size      = (size_t)rd_be(&r, 2);
		const uint8_t *value     = rd_bytes(&r, size);

		rd_bytes(&r, (4 - size % 4) % 4);
		if (!rd_ok(&r))
			break;
		if (attribute == REALM)
			remember(c->realm, value, size);
		if (attribute == NONCE)
			remember(c->nonce, value, size);
		if (attribute == ERROR_CODE && size >= 4)
			error = (value[2] & 7) * 100 + value[3];
	}
	cr_assert(rd_ok(&r), "an answer that does not parse");
	if ((type & CLASS_ERROR) == CLASS_ANSWER)
		return 0;
	cr_assert_gt(error, 0, "an answer of type %04x without an error", type);
	return error;
}

/* Sends it until its answer comes. */
static int exchange(struct turn_client *c, struct wr *w)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	uint8_t answer[MESSAGE_MAX];

	sign(c, w);
	for (;;) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN };

		cr_assert_lt(real_now_ms(), deadline_ms, "the TURN server does not answer");
		/* Refused: it does not listen yet. */
		if (send(c->fd, w->start, wr_len(w), 0) < 0 || poll(&p, 1, REPEAT_MS) <= 0) {
			real_sleep_ms(10);
			continue;
		}
		ssize_t got = recv(c->fd, answer, sizeof(answer), 0);

		if (got >= HEAD_BYTES && memcmp(answer + 8, w->start + 8, ID_BYTES) == 0)
			return read_answer(c, answer, (size_t)got);
	}
}

/* --- For tests --- */

void turn_client_open(struct turn_client *c, int port, const char *user, const char *pass)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	*c                 = (struct turn_client){ .user = user, .pass = pass };
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd              = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert(c->fd >= 0 && connect(c->fd, (const struct sockaddr *)&to, sizeof(to)) == 0, "no socket: %s",
	          strerror(errno));
}

static void make_key(struct turn_client *c)
{
	char     text[512];
	unsigned len = sizeof(c->key);

	snprintf(text, sizeof(text), "%s:%s:%s", c->user, c->realm, c->pass);
	cr_assert_eq(EVP_Digest(text, strlen(text), c->key, &len, EVP_md5(), NULL), 1);
}

static int allocate(struct turn_client *c, int family)
{
	static const uint8_t udp[4] = { 17, 0, 0, 0 }, ipv6[4] = { 2, 0, 0, 0 };
	uint8_t              request[MESSAGE_MAX];
	struct wr            w = begin(c, request, ALLOCATE);

	put(&w, TRANSPORT, udp, sizeof(udp));
	if (family == AF_INET6)
		put(&w, ADDRESS_FAMILY, ipv6, sizeof(ipv6));
	return exchange(c, &w);
}

int turn_client_allocate(struct turn_client *c, int family)
{
	int asked = allocate(c, family);

	cr_assert_eq(asked, 401, "the TURN server lets everybody in: %d", asked);
	make_key(c);
	return allocate(c, family);
}

int turn_client_permit(struct turn_client *c, const char *address)
{
	uint8_t   request[MESSAGE_MAX], mask[16], ip[16];
	uint8_t   value[4 + 16] = { 0, 1 };
	struct wr w             = begin(c, request, PERMIT);
	size_t    len           = 4;

	if (strchr(address, ':')) {
		len      = 16;
		value[1] = 2;
	}
	cr_assert_eq(inet_pton(len == 16 ? AF_INET6 : AF_INET, address, ip), 1, "%s", address);
	memcpy(mask, request + 4, sizeof(mask)); /* cookie and id */
	value[2] = mask[0];                      /* port 0 */
	value[3] = mask[1];
	for (size_t i = 0; i < len; i++)
		value[4 + i] = ip[i] ^ mask[i];
	put(&w, PEER_ADDRESS, value, 4 + len);
	return exchange(c, &w);
}

void turn_client_close(struct turn_client *c)
{
	static const uint8_t now[4];
	uint8_t              request[MESSAGE_MAX];
	struct wr            w = begin(c, request, REFRESH);

	put(&w, LIFETIME, now, sizeof(now));
	sign(c, &w);
	if (send(c->fd, w.start, wr_len(&w), 0) < 0)
		fprintf(stderr, "the TURN server is gone already\n");
	close(c->fd);
}
