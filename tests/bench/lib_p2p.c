#include "lib_p2p.h"

#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_load.h"
#include "lib_rooms.h"
#include "lib_wire.h"
#include "lib_ws.h"

enum { TEXT_BYTES = 65536, REQUEST_BYTES = 512, NETWORK = 0x7f010001, TAG_BYTES = 16, PATIENCE_MS = 5000 };
enum { WS_TEXT = 1, WS_HEAD_SHORT = 126, WS_HEAD_LONG = 127 };

static const uint8_t no_nonce[8];
static char          text[TEXT_BYTES + 1]; /* the last message that came */

/* Messages */

static int read_message(struct member *m)
{
	uint8_t head[4];
	size_t  len;

	wire_read(m->fd, head, 2);
	len = head[1];
	if (len == WS_HEAD_LONG)
		errx(1, "a message is longer than expected");
	if (len == WS_HEAD_SHORT) {
		wire_read(m->fd, head + 2, 2);
		len = (size_t)head[2] << 8 | head[3];
	}
	wire_read(m->fd, text, len);
	text[len] = '\0';
	return head[0] & 15;
}

/* The next message of this kind is in text then; all others are thrown away. */
static void await(struct member *m, const char *op)
{
	char begin[64];
	int  len = snprintf(begin, sizeof(begin), "{\"op\":\"%s\"", op);

	for (;;) {
		int kind = read_message(m);

		if (kind == WS_CLOSE)
			errx(1, "the server closes a session");
		if (kind == WS_TEXT && strstr(text, "\"ok\":false"))
			errx(1, "the server refuses: %s", text);
		if (kind == WS_TEXT && strncmp(text, begin, (size_t)len) == 0)
			return;
	}
}

/* What stands behind this key in text; quotes are left out. */
static const char *value_of(const char *key)
{
	char        quoted[32];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(text, quoted);
	if (!at)
		errx(1, "there is no %s in %s", key, text);
	at += strlen(quoted);
	return *at == '"' ? at + 1 : at;
}

/* The mask is 0, so that the text stays as it is. */
__attribute__((format(printf, 3, 0))) static void say(struct member *m, const char *op, const char *format,
                                                      va_list args)
{
	char   out[REQUEST_BYTES + 8] = { (char)0x81, (char)(0x80 | WS_HEAD_SHORT) };
	size_t len                    = (size_t)snprintf(out + 8, REQUEST_BYTES, "{\"op\":\"%s\",\"id\":1", op);

	len += (size_t)vsnprintf(out + 8 + len, REQUEST_BYTES - len, format, args);
	if (len >= REQUEST_BYTES)
		errx(1, "a request is too long");
	out[8 + len++] = '}';
	/* Short ones have no length of 16 bits. */
	if (len < WS_HEAD_SHORT) {
		out[2] = (char)0x81;
		out[3] = (char)(0x80 | len);
		memset(out + 4, 0, 4);
		wire_send(m->fd, out + 2, len + 6);
		return;
	}
	out[2] = (char)(len >> 8);
	out[3] = (char)len;
	wire_send(m->fd, out, len + 8);
}

void member_say(struct member *m, const char *op, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(m, op, format, args);
	va_end(args);
}

void member_ask(struct member *m, const char *op, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(m, op, format, args);
	va_end(args);
	await(m, op);
	if (strstr(text, "\"room\":"))
		memcpy(m->room, value_of("room"), sizeof(m->room) - 1);
}

void member_init(struct member *m, uint32_t number)
{
	*m = (struct member){ .ip = NETWORK + number, .fd = -1 };
}

void member_open(struct member *m, uint16_t port)
{
	char   head[1024] = "GET /p2p HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
			    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
	size_t got;

	m->fd = wire_connect_from(m->ip, port);
	wire_send(m->fd, head, strlen(head));
	if (wire_read_head(m->fd, head, sizeof(head), &got) != got || strncmp(head, "HTTP/1.1 101", 12) != 0)
		errx(1, "the server refuses the upgrade: %.60s", head);
	member_ask(m, "p2p.hello", ",\"player\":\"%032x\"", m->ip);
	memcpy(m->uid, value_of("uid"), sizeof(m->uid) - 1);
	if (sodium_hex2bin(m->sid, sizeof(m->sid), value_of("sid"), 2 * sizeof(m->sid), NULL, NULL, NULL) ||
	    sodium_base642bin(m->key, sizeof(m->key), value_of("key"), 44, NULL, NULL, NULL,
	                      sodium_base64_VARIANT_ORIGINAL))
		errx(1, "what is this session's key? %s", text);
}

/* Packets */

static void seal(const struct member *m, uint8_t out[P2P_PACKET])
{
	crypto_generichash(out + P2P_PACKET - TAG_BYTES, TAG_BYTES, out, P2P_PACKET - TAG_BYTES, m->key,
	                   sizeof(m->key));
}

void member_hello(struct member *m, uint8_t out[P2P_PACKET], uint8_t step, const uint8_t *nonce)
{
	memset(out, 0, P2P_PACKET);
	memcpy(out, (const uint8_t[]){ P2P_FIRST_BYTE, 0x0d, 1, P2P_T_HELLO }, 4);
	memcpy(out + 4, m->sid, sizeof(m->sid));
	memcpy(out + 12, nonce, 8);
	out[20] = step;
	rooms_put(out + 44, ++m->time, 4);
	seal(m, out);
}

/* The next packet, which has to be of this type; returns where it came from. */
static struct sockaddr_in receive(int fd, uint8_t packet[P2P_PACKET], uint8_t type)
{
	struct sockaddr_in from;
	socklen_t          len = sizeof(from);
	struct pollfd      in  = { .fd = fd, .events = POLLIN };

	if (poll(&in, 1, PATIENCE_MS) != 1 ||
	    recvfrom(fd, packet, P2P_PACKET, 0, (struct sockaddr *)&from, &len) != P2P_PACKET || packet[3] != type)
		errx(1, "no packet of type %u comes", type);
	return from;
}

static void send_to(int fd, const uint8_t packet[P2P_PACKET], const struct sockaddr_in *to)
{
	if (sendto(fd, packet, P2P_PACKET, 0, (const struct sockaddr *)to, sizeof(*to)) != P2P_PACKET)
		err(1, "a packet");
}

/* Returns the cookie. */
static uint32_t exchange(struct member *m, int fd, uint8_t step, const uint8_t *nonce, const struct sockaddr_in *to)
{
	uint8_t packet[P2P_PACKET];

	member_hello(m, packet, step, nonce);
	send_to(fd, packet, to);
	receive(fd, packet, P2P_T_HELLO_ACK);
	return rooms_u32(packet + 44);
}

/* Nothing stands between: the first PING_TRY comes through. */
static void check(struct member *m, int fd, const struct sockaddr_in *to)
{
	uint8_t            nonce[8], packet[P2P_PACKET];
	struct sockaddr_in from;
	unsigned           number;

	member_say(m, "nat.update", "%s", "");
	await(m, "nat.step");
	number = (unsigned)strtoul(value_of("check"), NULL, 10);
	sodium_hex2bin(nonce, sizeof(nonce), value_of("nonce"), 2 * sizeof(nonce), NULL, NULL, NULL);
	member_say(m, "nat.step_done", ",\"check\":%u,\"step\":1,\"cookie\":%u", number, exchange(m, fd, 1, nonce, to));
	from      = receive(fd, packet, P2P_T_PING_TRY);
	packet[3] = P2P_T_PING_REPLY;
	seal(m, packet);
	send_to(fd, packet, &from);
	await(m, "nat.update");
	if (*value_of("type") != '1')
		errx(1, "the check finds another type: %s", text);
}

void member_be_open(struct member *m, uint16_t udp_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(m->ip) } };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	to.sin_port = htons(udp_port);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		err(1, "a UDP socket");
	member_ask(m, "p2p.mapped", ",\"cookie\":%u", exchange(m, fd, 0, no_nonce, &to));
	check(m, fd, &to);
	close(fd);
}
