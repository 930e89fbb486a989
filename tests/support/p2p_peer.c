#include "support/p2p_peer.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/json.h"
#include "crypt/hash.h"
#include "support/dial.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Messages */

/* Pings that measure have a payload. */
static void take_ping(struct p2p_peer *p, const struct ws_client_event *e)
{
	if (e->len != sizeof(p->ping)) {
		ws_client_send_frame(p->ws, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, e->data, e->len);
		return;
	}
	memcpy(p->ping, e->data, e->len);
	p->has_ping = true;
	if (!p->holds_pong)
		p2p_peer_pong(p);
}

/* The next message, text or frame; pings are seen to on the way. */
static void receive(struct p2p_peer *p)
{
	for (;;) {
		struct ws_client_event e = ws_client_receive(p->ws, DIAL_PATIENCE_MS);
		char                   shown[256];

		if (e.what == WS_PING) {
			take_ping(p, &e);
			continue;
		}
		cr_assert_eq(e.what, WS_MESSAGE, "%s: %s", p->uid, ws_client_show(shown, sizeof(shown), &e));
		p->has_frame = !e.is_text;
		if (p->has_frame) {
			cr_assert(p2p_frame_parse(&p->frame, e.data, e.len));
		} else {
			cr_assert_lt(e.len, sizeof(p->text));
			memcpy(p->text, e.data, e.len);
			p->text[e.len] = '\0';
		}
		return;
	}
}

void p2p_peer_pong(struct p2p_peer *p)
{
	p->holds_pong = false;
	if (p->has_ping)
		ws_client_send_frame(p->ws, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, p->ping, sizeof(p->ping));
	p->has_ping = false;
}

void p2p_peer_await(struct p2p_peer *p, const char *part)
{
	do {
		receive(p);
		cr_assert_not(p->has_frame, "%s: a frame, and no %s", p->uid, part);
	} while (!strstr(p->text, part));
}

void p2p_peer_await_frame(struct p2p_peer *p)
{
	do
		receive(p);
	while (!p->has_frame);
}

void p2p_peer_say(struct p2p_peer *p, const char *format, ...)
{
	char    text[1024];
	va_list args;
	int     len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cr_assert(len > 0 && len < (int)sizeof(text));
	ws_client_send_frame(p->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, (size_t)len);
}

void p2p_peer_ask(struct p2p_peer *p, const char *op, const char *members)
{
	char part[32];
	int  id = ++p->next_id;

	p2p_peer_say(p, "{\"op\":\"%s\",\"id\":%d%s}", op, id, members);
	snprintf(part, sizeof(part), "\"id\":%d,\"ok\":", id);
	p2p_peer_await(p, part);
}

void p2p_peer_expect_no_frame(struct p2p_peer *p)
{
	p2p_peer_ask(p, "nat.get", "");
}

void p2p_peer_frame(struct p2p_peer *p, uint8_t kind, uint8_t flags, uint16_t seat, const void *content, size_t len)
{
	uint8_t          bytes[24576];
	struct p2p_frame head = { .kind = kind, .flags = flags, .ver = 1, .cmd = 300, .seat = seat, .number = 9 };

	cr_assert_leq(P2P_FRAME_HEAD_BYTES + len, sizeof(bytes));
	p2p_frame_head(bytes, &head);
	if (len)
		memcpy(bytes + P2P_FRAME_HEAD_BYTES, content, len);
	ws_client_send_bytes(p->ws, bytes, P2P_FRAME_HEAD_BYTES + len);
}

void p2p_peer_ack(struct p2p_peer *p, uint32_t number)
{
	uint8_t   content[4];
	struct wr w = wr_over(content, sizeof(content));

	wr_be(&w, number, sizeof(content));
	p2p_peer_frame(p, P2P_LINK_ACK, 0, P2P_SEAT_ALL, content, sizeof(content));
}

/* Members of answers */

static struct json *parsed(const struct p2p_peer *p)
{
	struct json *j = NULL;

	cr_assert_eq(json_parse(&j, p->text, strlen(p->text)), ERR_OK, "%s", p->text);
	return j;
}

int64_t p2p_peer_int(const struct p2p_peer *p, const char *key)
{
	AUTO(json_freep) struct json *j     = parsed(p);
	int64_t                       value = 0;

	cr_assert_eq(json_get_int(&value, j, key), ERR_OK, "no %s in %s", key, p->text);
	return value;
}

void p2p_peer_string(char *out, size_t cap, const struct p2p_peer *p, const char *key)
{
	AUTO(json_freep) struct json *j     = parsed(p);
	const char                   *value = "";

	cr_assert_eq(json_get_text(&value, j, key), ERR_OK, "no %s in %s", key, p->text);
	cr_assert_lt((size_t)snprintf(out, cap, "%s", value), cap);
}

/* Coming and going */

static void open_with(struct p2p_peer *p, struct server *s, int number, int rcvbuf_bytes, const char *headers)
{
	struct ws_client_options options = {
		.path = "/p2p", .mute = true, .takes_text = true, .rcvbuf_bytes = rcvbuf_bytes, .headers = headers
	};
	AUTO(json_freep) struct json *udp = NULL;
	AUTO(json_freep) struct json *j   = NULL;
	char                          hello[64], text[BASE64_BYTES(P2P_KEY_BYTES)];
	uint8_t                       key[BASE64_DECODED_BYTES(BASE64_BYTES(P2P_KEY_BYTES))];
	size_t                        len  = 0;
	int64_t                       port = 0;

	memset(p, 0, sizeof(*p));
	p->holds_pong = true;
	p->ws         = ws_client_open(s->tunnel_port, &options);
	snprintf(hello, sizeof(hello), ",\"player\":\"%032x\"", (unsigned)number);
	p2p_peer_ask(p, "p2p.hello", hello);
	p2p_peer_string(p->uid, sizeof(p->uid), p, "uid");
	p2p_peer_string(text, sizeof(text), p, "sid");
	cr_assert_eq(hex_decode(p->sid, sizeof(p->sid), text, strlen(text)), ERR_OK);
	p2p_peer_string(text, sizeof(text), p, "key");
	cr_assert_eq(base64_decode(key, &len, text, strlen(text)), ERR_OK);
	cr_assert_eq(len, sizeof(p->key));
	memcpy(p->key, key, sizeof(p->key));
	j   = parsed(p);
	udp = json_member_object(j, "udp");
	cr_assert_eq(json_get_int(&port, udp, "port"), ERR_OK);
	p->port = (int)port;
}

void p2p_peer_open(struct p2p_peer *p, struct server *s, int number)
{
	open_with(p, s, number, 0, NULL);
}

void p2p_peer_open_small(struct p2p_peer *p, struct server *s, int number)
{
	open_with(p, s, number, 4096, NULL);
}

void p2p_peer_open_from(struct p2p_peer *p, struct server *s, int number, const char *address)
{
	char headers[64];

	snprintf(headers, sizeof(headers), "X-Forwarded-For: %s\r\n", address);
	open_with(p, s, number, 0, headers);
}

void p2p_peer_free(struct p2p_peer *p)
{
	ws_client_free(p->ws);
	p->ws = NULL;
}

/* UDP */

static struct sockaddr_in place(bool is_b, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK + is_b);
	return in;
}

void p2p_peer_packet(uint8_t out[P2P_PACKET_BYTES], const struct p2p_peer *p, struct p2p_packet *k)
{
	memcpy(k->sid, p->sid, sizeof(k->sid));
	p2p_packet_build(out, k);
	hash_tag(out + P2P_TAGGED_BYTES, p->key, sizeof(p->key), out, P2P_TAGGED_BYTES);
}

static void send_packet(const struct p2p_peer *p, int fd, const struct sockaddr_in *to, struct p2p_packet *k)
{
	uint8_t bytes[P2P_PACKET_BYTES];

	p2p_peer_packet(bytes, p, k);
	cr_assert_eq(sendto(fd, bytes, sizeof(bytes), 0, (const struct sockaddr *)to, sizeof(*to)),
	             (ssize_t)sizeof(bytes));
}

void p2p_peer_send(const struct p2p_peer *p, int fd, bool is_b, int port, struct p2p_packet *k)
{
	struct sockaddr_in to = place(is_b, port);

	send_packet(p, fd, &to, k);
}

/* The next packet, which has to be of this type. */
static void receive_packet(struct p2p_packet *out, struct sockaddr_in *from, int fd, enum p2p_packet_type type)
{
	uint8_t   bytes[P2P_PACKET_BYTES + 1];
	socklen_t size = sizeof(*from);
	ssize_t   n;
	int64_t   late_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while ((n = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)from, &size)) < 0) {
		cr_assert_lt(real_now_ms(), late_ms, "no packet of type %d", (int)type);
		real_sleep_ms(5);
	}
	cr_assert(p2p_packet_parse(out, bytes, (size_t)n, false));
	cr_assert_eq(out->type, type);
}

void p2p_peer_receive(struct p2p_packet *out, int fd, enum p2p_packet_type type)
{
	struct sockaddr_in from;

	receive_packet(out, &from, fd, type);
}

uint32_t p2p_peer_hello(struct p2p_peer *p, int fd, uint8_t step, const uint8_t nonce[P2P_NONCE_BYTES])
{
	struct p2p_packet k = { .type = P2P_HELLO, .step = step, .time = ++p->time };

	memcpy(k.nonce, nonce, P2P_NONCE_BYTES);
	p2p_peer_send(p, fd, false, p->port, &k);
	p2p_peer_receive(&k, fd, P2P_HELLO_ACK);
	return k.time;
}

void p2p_peer_be_mapped(struct p2p_peer *p)
{
	static const uint8_t nonce[P2P_NONCE_BYTES] = { 1 };
	char                 cookie[32];
	int                  fd = dial_udp("127.0.0.1", 0);

	snprintf(cookie, sizeof(cookie), ",\"cookie\":%u", (unsigned)p2p_peer_hello(p, fd, 0, nonce));
	p2p_peer_ask(p, "p2p.mapped", cookie);
	cr_assert(strstr(p->text, "\"ok\":true"), "%s", p->text);
	close(fd);
}

void p2p_peer_be_open(struct p2p_peer *p)
{
	char               text[32];
	uint8_t            nonce[P2P_NONCE_BYTES];
	struct p2p_packet  k;
	struct sockaddr_in from;
	int64_t            check;
	int                fd = dial_udp("127.0.0.1", 0), id = ++p->next_id;

	p2p_peer_say(p, "{\"op\":\"nat.update\",\"id\":%d}", id);
	p2p_peer_await(p, "\"op\":\"nat.step\"");
	check = p2p_peer_int(p, "check");
	p2p_peer_string(text, sizeof(text), p, "nonce");
	cr_assert_eq(hex_decode(nonce, sizeof(nonce), text, strlen(text)), ERR_OK);
	p2p_peer_say(p, "{\"op\":\"nat.step_done\",\"check\":%lld,\"step\":1,\"cookie\":%u}", (long long)check,
	             (unsigned)p2p_peer_hello(p, fd, 1, nonce));
	receive_packet(&k, &from, fd, P2P_PING_TRY);
	k.type = P2P_PING_REPLY;
	k.time = 0;
	send_packet(p, fd, &from, &k);
	close(fd);
	p2p_peer_await(p, "\"op\":\"nat.update\"");
	cr_assert(strstr(p->text, "\"type\":1"), "%s", p->text);
}
