#include "support/rooms_path.h"

#include "support/netns.h"

#include "base/bytes.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROBE_EVERY_MS    500
#define PROBE_REPLY_BYTES 11
#define RELAYED_HEAD      9
#define MAGIC             "PSNR"
#define MAGIC_BYTES       4

/* --- Packets --- */

static struct wr packet(uint8_t out[GAMER_PACKET_HEAD], uint8_t type, uint32_t user_id)
{
	struct wr w = wr_over(out, GAMER_PACKET_HEAD);

	wr_bytes(&w, MAGIC, MAGIC_BYTES);
	wr_u8(&w, type);
	wr_be(&w, user_id, 4);
	return w;
}

size_t gamer_probe_packet(uint8_t out[GAMER_PACKET_HEAD], uint32_t user_id, uint32_t token, const uint8_t local_ip[4])
{
	struct wr w = packet(out, PACKET_PROBE, user_id);

	wr_be(&w, token, 4);
	wr_bytes(&w, local_ip, 4);
	return wr_len(&w);
}

size_t gamer_relay_packet(uint8_t out[GAMER_PACKET_HEAD], uint32_t user_id, uint32_t token, uint32_t to_user)
{
	struct wr w = packet(out, PACKET_RELAY, user_id);

	wr_be(&w, token, 4);
	wr_be(&w, to_user, 4);
	return wr_len(&w);
}

size_t gamer_punch_packet(uint8_t out[GAMER_PACKET_HEAD], uint32_t user_id)
{
	struct wr w = packet(out, PACKET_PUNCH, user_id);

	return wr_len(&w);
}

/* --- The socket --- */

void gamer_open_udp(struct gamer *c, uint16_t port)
{
	struct sockaddr_in me     = { 0 };
	socklen_t          len    = sizeof(me);
	int                before = netns_current();

	if (c->udp >= 0)
		close(c->udp);
	netns_switch(c->netns);
	c->udp = dial_udp(*c->from ? c->from : "0.0.0.0", port);
	netns_switch(before);
	cr_assert(c->udp >= 0 && getsockname(c->udp, (struct sockaddr *)&me, &len) == 0, "no UDP port %u: %s", port,
	          strerror(errno));
	c->udp_port = ntohs(me.sin_port);
}

void gamer_send_udp_to(struct gamer *c, const char *ip, uint16_t port, const void *bytes, size_t len)
{
	struct sockaddr_in to   = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct pollfd      room = { .fd = c->udp, .events = POLLOUT };

	cr_assert_eq(inet_pton(AF_INET, ip, &to.sin_addr), 1, "%s", ip);
	poll(&room, 1, DIAL_PATIENCE_MS);
	/* Refused, unreachable: this is what a datagram's fate may be; whoever waits for it notices. */
	while (sendto(c->udp, bytes, len, 0, (const struct sockaddr *)&to, sizeof(to)) < 0 && errno == EINTR)
		;
}

void gamer_send_udp(struct gamer *c, const void *bytes, size_t len)
{
	gamer_send_udp_to(c, c->to, (uint16_t)c->port, bytes, len);
}

/* Errors are what came back for something sent before (an ICMP message): there may still be datagrams behind them. */
bool gamer_next_datagram(struct gamer *c, struct gamer_datagram *out, int patience_ms)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;

	for (;;) {
		struct sockaddr_in from = { 0 };
		socklen_t          size = sizeof(from);
		struct pollfd      p    = { .fd = c->udp, .events = POLLIN };
		int64_t            left = deadline_ms - real_now_ms();
		ssize_t got = recvfrom(c->udp, out->bytes, sizeof(out->bytes), 0, (struct sockaddr *)&from, &size);

		if (got >= 0) {
			out->len  = (size_t)got;
			out->port = ntohs(from.sin_port);
			inet_ntop(AF_INET, &from.sin_addr, out->ip, sizeof(out->ip));
			return true;
		}
		if (errno == EAGAIN && poll(&p, 1, left > 0 ? (int)left : 0) == 0)
			return false;
	}
}

static bool is_from_server(const struct gamer *c, const struct gamer_datagram *d)
{
	return d->port == c->port && strcmp(d->ip, c->to) == 0;
}

static bool is_of_type(const struct gamer_datagram *d, uint8_t type)
{
	return d->len > MAGIC_BYTES && memcmp(d->bytes, MAGIC, MAGIC_BYTES) == 0 && d->bytes[MAGIC_BYTES] == type;
}

/* --- Probes --- */

void gamer_send_probe_saying(struct gamer *c, const uint8_t local_ip[4])
{
	uint8_t out[GAMER_PACKET_HEAD];

	gamer_send_udp(c, out, gamer_probe_packet(out, c->user_id, c->token, local_ip));
}

void gamer_send_probe(struct gamer *c)
{
	uint8_t local_ip[4];

	gamer_local_ip(c, local_ip);
	gamer_send_probe_saying(c, local_ip);
}

bool gamer_is_probe_reply(const struct gamer *c, const struct gamer_datagram *d, char ip[GAMER_ADDRESS_BYTES],
                          uint16_t *port)
{
	if (!is_from_server(c, d) || !is_of_type(d, PACKET_PROBE_REPLY))
		return false;
	cr_assert_eq(d->len, PROBE_REPLY_BYTES, "a PROBE_REPLY of %zu bytes", d->len);
	snprintf(ip, GAMER_ADDRESS_BYTES, "%u.%u.%u.%u", d->bytes[5], d->bytes[6], d->bytes[7], d->bytes[8]);
	*port = (uint16_t)(d->bytes[9] << 8 | d->bytes[10]);
	return true;
}

void gamer_probe_saying(struct gamer *c, const uint8_t local_ip[4])
{
	static struct gamer_datagram d;
	int64_t                      deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	for (;;) {
		cr_assert_lt(real_now_ms(), deadline_ms, "the server does not answer probes");
		gamer_send_probe_saying(c, local_ip);
		while (gamer_next_datagram(c, &d, PROBE_EVERY_MS)) {
			if (gamer_is_probe_reply(c, &d, c->public_ip, &c->public_port))
				return;
		}
	}
}

void gamer_probe(struct gamer *c)
{
	uint8_t local_ip[4];

	gamer_local_ip(c, local_ip);
	gamer_probe_saying(c, local_ip);
}

/* --- Relayed datagrams --- */

void gamer_relay(struct gamer *c, uint32_t to_user, struct gamer_blob payload)
{
	static uint8_t out[GAMER_DATAGRAM_MAX + 1];
	size_t         head = gamer_relay_packet(out, c->user_id, c->token, to_user);

	cr_assert_leq(head + payload.len, GAMER_DATAGRAM_MAX, "no datagram holds %zu bytes", payload.len);
	if (payload.len)
		memcpy(out + head, payload.bytes, payload.len);
	gamer_send_udp(c, out, head + payload.len);
}

void gamer_expect_relayed_at(struct gamer_place at, struct gamer *c, uint32_t from_user, struct gamer_blob payload)
{
	static struct gamer_datagram d;
	bool                         came = gamer_next_datagram(c, &d, DIAL_PATIENCE_MS);

	cr_assert(came, "%s:%d: silence instead of a relayed datagram", at.file, at.line);
	cr_assert(is_from_server(c, &d), "%s:%d: a datagram from %s:%u", at.file, at.line, d.ip, d.port);
	cr_assert(is_of_type(&d, PACKET_RELAY) && d.len >= RELAYED_HEAD, "%s:%d: %zu bytes, not a RELAY", at.file,
	          at.line, d.len);

	struct rd         r    = rd_over(d.bytes + MAGIC_BYTES + 1, d.len - MAGIC_BYTES - 1);
	uint32_t          user = (uint32_t)rd_be(&r, 4);
	struct gamer_blob got  = { 0 };

	got.bytes = rd_rest(&r, &got.len);
	cr_assert_eq(user, from_user, "%s:%d: from user %" PRIu32, at.file, at.line, user);
	cr_assert(gamer_blob_is(got, payload), "%s:%d: %zu other bytes", at.file, at.line, got.len);
}

void gamer_expect_no_datagram_at(struct gamer_place at, struct gamer *c)
{
	static struct gamer_datagram d;
	char                         ip[GAMER_ADDRESS_BYTES];
	uint16_t                     port;

	gamer_send_probe(c);
	cr_assert(gamer_next_datagram(c, &d, DIAL_PATIENCE_MS), "%s:%d: no answer to a probe", at.file, at.line);
	cr_assert(gamer_is_probe_reply(c, &d, ip, &port), "%s:%d: a datagram of %zu bytes instead of silence", at.file,
	          at.line, d.len);
}
