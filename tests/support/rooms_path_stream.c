/* The streams of support/rooms_path.h. */
#include "support/rooms_path.h"

#include "support/netns.h"

#include "base/bytes.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_REQ 1 /* of every stream's first frame */

/* --- Coming and going --- */

struct gamer_leg *gamer_leg_own(struct gamer *c, int fd)
{
	struct gamer_leg *l = calloc(1, sizeof(*l));

	cr_assert_not_null(l);
	l->fd   = fd;
	l->of   = c;
	l->next = c->legs;
	c->legs = l;
	return l;
}

struct gamer_leg *gamer_leg_dial(struct gamer *c)
{
	int before = netns_current();

	netns_switch(c->netns);
	int fd = dial_tcp_to(c->to, c->port, *c->from ? c->from : NULL, 0);

	netns_switch(before);
	cr_assert_geq(fd, 0, "nobody listens at %s port %d", c->to, c->port);
	return gamer_leg_own(c, fd);
}

void gamer_leg_free(struct gamer_leg *l)
{
	struct gamer_leg **at = &l->of->legs;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

void gamer_leg_abort(struct gamer_leg *l)
{
	if (l->fd >= 0)
		dial_abort(l->fd);
	l->fd = -1;
	gamer_leg_free(l);
}

/* --- Opening --- */

struct gamer_leg *gamer_leg_frame(struct gamer *c, uint8_t type, const void *payload, size_t len)
{
	struct gamer_leg *l       = gamer_leg_dial(c);
	uint8_t           head[3] = { type, (uint8_t)(len >> 8), (uint8_t)len };

	gamer_leg_send(l, BYTES(head, sizeof(head)));
	gamer_leg_send(l, BYTES(payload, len));
	return l;
}

static struct gamer_leg *open_leg(struct gamer *c, uint8_t type, uint32_t third, uint16_t vport)
{
	uint8_t   payload[18];
	struct wr w = wr_over(payload, sizeof(payload));

	wr_be(&w, FRAME_REQ, 4);
	wr_be(&w, c->user_id, 4);
	wr_be(&w, c->token, 4);
	wr_be(&w, third, 4);
	if (type == ASK_STREAM_CONNECT)
		wr_be(&w, vport, 2);
	return gamer_leg_frame(c, type, payload, wr_len(&w));
}

struct gamer_leg *gamer_leg_connect(struct gamer *c, uint32_t to_user, uint16_t vport)
{
	return open_leg(c, ASK_STREAM_CONNECT, to_user, vport);
}

struct gamer_leg *gamer_leg_accept(struct gamer *c, uint32_t stream_id)
{
	return open_leg(c, ASK_STREAM_ACCEPT, stream_id, 0);
}

void gamer_stream(struct gamer_leg **of_a, struct gamer_leg **of_b, struct gamer *a, struct gamer *b, uint16_t vport)
{
	*of_a = gamer_leg_connect(a, b->user_id, vport);
	*of_b = gamer_leg_accept(b, gamer_expect_offer(b, a->user_id, vport));
	gamer_leg_expect_ready(*of_b);
	gamer_leg_expect_ready(*of_a);
}

/* --- Bytes --- */

bool gamer_leg_send(struct gamer_leg *l, struct gamer_blob bytes)
{
	return l->fd >= 0 && dial_send(l->fd, bytes.bytes, bytes.len, DIAL_PATIENCE_MS);
}

void gamer_leg_end_output(struct gamer_leg *l)
{
	cr_assert(l->fd >= 0 && shutdown(l->fd, SHUT_WR) == 0, "a leg that has ended");
}

/* Exactly so many bytes. */
static void take(struct gamer_place at, struct gamer_leg *l, uint8_t *out, size_t len)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	for (size_t have = 0; have < len;) {
		ssize_t got = l->fd < 0 ? 0 : dial_read(l->fd, out + have, len - have, deadline_ms);

		cr_assert_gt(got, 0, "%s:%d: %s after %zu of %zu bytes", at.file, at.line,
		             got == DIAL_LATE    ? "silence"
		             : got == DIAL_RESET ? "a reset"
		                                 : "the end",
		             have, len);
		have += (size_t)got;
	}
}

static struct gamer_message *take_frame(struct gamer_place at, struct gamer_leg *l)
{
	static uint8_t bytes[GAMER_PAYLOAD_MAX];
	uint8_t        head[GAMER_HEAD_BYTES];

	take(at, l, head, sizeof(head));

	size_t len = (size_t)head[1] << 8 | head[2];

	take(at, l, bytes, len);

	uint8_t *payload = malloc(len + 1);

	cr_assert_not_null(payload);
	memcpy(payload, bytes, len);

	struct gamer_message *m = gamer_message_new(head[0], payload, len);

	gamer_keep(l->of, m);
	return m;
}

void gamer_leg_expect_ready_at(struct gamer_place at, struct gamer_leg *l, uint32_t req)
{
	struct gamer_message *m = take_frame(at, l);

	cr_assert(m->type == ANSWER_STREAM_READY && m->req == req,
	          "%s:%d: %s, req %" PRIu32 ", code %" PRIu32 " instead of STREAM_READY", at.file, at.line,
	          gamer_type_name(m->type), m->req, m->code);
}

void gamer_leg_expect_error_at(struct gamer_place at, struct gamer_leg *l, uint32_t req, uint32_t code)
{
	struct gamer_message *m = take_frame(at, l);

	cr_assert(m->type == ANSWER_ERROR && m->req == req && m->code == code,
	          "%s:%d: %s, req %" PRIu32 ", code %" PRIu32 " instead of ERROR %" PRIu32, at.file, at.line,
	          gamer_type_name(m->type), m->req, m->code, code);
	gamer_leg_expect_end_at(at, l);
}

void gamer_leg_expect_at(struct gamer_place at, struct gamer_leg *l, struct gamer_blob bytes)
{
	uint8_t *got = malloc(bytes.len + 1);

	cr_assert_not_null(got);
	take(at, l, got, bytes.len);
	cr_assert(gamer_blob_is(BYTES(got, bytes.len), bytes), "%s:%d: other bytes", at.file, at.line);
	free(got);
}

void gamer_leg_expect_end_at(struct gamer_place at, struct gamer_leg *l)
{
	uint8_t byte;
	ssize_t got = l->fd < 0 ? 0 : dial_read(l->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS);

	cr_assert_eq(got, 0, "%s:%d: %s instead of the end", at.file, at.line,
	             got == DIAL_LATE    ? "silence"
	             : got == DIAL_RESET ? "a reset"
	                                 : "a byte more");
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
