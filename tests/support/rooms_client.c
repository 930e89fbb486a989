#include "support/rooms_client.h"

#include "support/netns.h"
#include "support/rooms_path.h"

#include "base/bytes.h"

#include <criterion/criterion.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 * 1024)
#define P2P_PORT   3658

/* What a failed test leaves open is still known here, so that no leak is reported on top of the failure. */
static struct gamer *gamers;

/* --- Coming and going --- */

struct gamer *gamer_dial_way(const struct gamer_way *way)
{
	struct gamer *c = calloc(1, sizeof(*c));

	cr_assert_not_null(c);
	snprintf(c->to, sizeof(c->to), "%s", way->to ? way->to : "127.0.0.1");
	snprintf(c->from, sizeof(c->from), "%s", way->from ? way->from : "");
	c->port        = way->port;
	c->netns       = netns_current();
	c->udp         = -1;
	c->waiting_end = &c->waiting;
	c->next        = gamers;
	gamers         = c;
	c->fd          = dial_tcp_to(c->to, c->port, way->from, way->rcvbuf_bytes);
	cr_assert_geq(c->fd, 0, "no rooms at %s port %d", c->to, c->port);
	return c;
}

struct gamer *gamer_dial_from(const struct server *s, const char *from)
{
	return gamer_dial_way(&(struct gamer_way){ .port = s->rooms_port, .from = from });
}

struct gamer *gamer_dial(const struct server *s)
{
	return gamer_dial_from(s, NULL);
}

struct gamer *gamer_new_from(const struct server *s, const char *from, const char *title, const char *name)
{
	struct gamer *c = gamer_dial_from(s, from);

	gamer_hello(c, title, name, P2P_PORT);
	return c;
}

struct gamer *gamer_new(const struct server *s, const char *title, const char *name)
{
	return gamer_new_from(s, NULL, title, name);
}

void gamer_hangup(struct gamer *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void gamer_abort(struct gamer *c)
{
	if (c->fd >= 0)
		dial_abort(c->fd);
	c->fd = -1;
}

static void free_all(struct gamer_message *m)
{
	while (m) {
		struct gamer_message *next = m->next;

		gamer_message_free(m);
		m = next;
	}
}

void gamer_free(struct gamer *c)
{
	struct gamer **at = &gamers;

	if (!c)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	gamer_hangup(c);
	while (c->legs)
		gamer_leg_free(c->legs);
	if (c->udp >= 0)
		close(c->udp);
	free_all(c->waiting);
	free_all(c->kept);
	free(c->in);
	free(c);
}

void gamer_local_ip(struct gamer *c, uint8_t out[4])
{
	struct sockaddr_in me  = { 0 };
	socklen_t          len = sizeof(me);

	cr_assert(c->fd >= 0 && getsockname(c->fd, (struct sockaddr *)&me, &len) == 0, "no connection any more");
	memcpy(out, &me.sin_addr, 4);
}

/* --- Sending --- */

bool gamer_send(struct gamer *c, const void *bytes, size_t len)
{
	return c->fd >= 0 && dial_send(c->fd, bytes, len, DIAL_PATIENCE_MS);
}

bool gamer_send_frame(struct gamer *c, uint8_t type, const void *payload, size_t len)
{
	uint8_t head[GAMER_HEAD_BYTES] = { type, (uint8_t)(len >> 8), (uint8_t)len };

	return gamer_send(c, head, sizeof(head)) && gamer_send(c, payload, len);
}

void gamer_lengthen(struct gamer *c, int by)
{
	c->lengthen = by;
}

uint32_t gamer_ask(struct gamer *c, uint8_t type, const void *body, size_t len)
{
	uint8_t        head[GAMER_HEAD_BYTES + 4];
	struct wr      w = wr_over(head, sizeof(head));
	static uint8_t more[GAMER_PAYLOAD_MAX];
	size_t         sent = len + (size_t)c->lengthen;
	uint32_t       req  = ++c->next_req ? c->next_req : ++c->next_req;

	cr_assert(c->lengthen >= 0 || len >= (size_t)-c->lengthen, "shorter than nothing");
	cr_assert_leq(sent + 4, GAMER_PAYLOAD_MAX, "more than a frame can hold");
	c->lengthen = 0;
	wr_u8(&w, type);
	wr_be(&w, sent + 4, 2);
	wr_be(&w, req, 4);
	memset(more, 0xAA, sent);
	if (len)
		memcpy(more, body, sent < len ? sent : len);
	gamer_send(c, head, sizeof(head));
	gamer_send(c, more, sent);
	return req;
}

/* --- Receiving --- */

static void append(struct gamer *c, struct gamer_message *m)
{
	*c->waiting_end = m;
	c->waiting_end  = &m->next;
}

/* Cuts one frame off what was read. */
static bool cut(struct gamer *c)
{
	const uint8_t *at   = c->in + c->in_at;
	size_t         left = c->in_len - c->in_at;
	size_t         len  = left < GAMER_HEAD_BYTES ? 0 : (size_t)at[1] << 8 | at[2];

	if (left < GAMER_HEAD_BYTES + len)
		return false;

	uint8_t *payload = malloc(len + 1);

	cr_assert_not_null(payload);
	memcpy(payload, at + GAMER_HEAD_BYTES, len);
	c->in_at += GAMER_HEAD_BYTES + len;

	struct gamer_message *m = gamer_message_new(at[0], payload, len);

	m->number = ++c->frames;
	append(c, m);
	return true;
}

static void make_room(struct gamer *c)
{
	if (c->in_at) {
		memmove(c->in, c->in + c->in_at, c->in_len - c->in_at);
		c->in_len -= c->in_at;
		c->in_at = 0;
	}
	if (c->in_cap - c->in_len < READ_BYTES) {
		c->in_cap = c->in_len + 2 * READ_BYTES;
		c->in     = realloc(c->in, c->in_cap);
		cr_assert_not_null(c->in);
	}
}

/* One more frame waits. False: none came until then, or the end (a reset is one too). */
static bool fetch(struct gamer *c, int64_t deadline_ms)
{
	while (c->in_len == c->in_at || !cut(c)) {
		if (c->fd < 0)
			return false;
		make_room(c);
		ssize_t got = dial_read(c->fd, c->in + c->in_len, READ_BYTES, deadline_ms);

		if (got == DIAL_LATE)
			return false;
		if (got > 0)
			c->in_len += (size_t)got;
		else
			gamer_hangup(c);
	}
	return true;
}

void gamer_keep(struct gamer *c, struct gamer_message *m)
{
	m->next = c->kept;
	c->kept = m;
}

static struct gamer_message *take(struct gamer *c, struct gamer_message **at)
{
	struct gamer_message *m = *at;

	*at = m->next;
	if (!m->next)
		c->waiting_end = at;
	gamer_keep(c, m);
	return m;
}

struct gamer_message *gamer_next(struct gamer *c, int patience_ms)
{
	if (!c->waiting && !fetch(c, real_now_ms() + patience_ms))
		return NULL;
	return take(c, &c->waiting);
}

/* What waits at this place, or comes until then. */
static struct gamer_message *wait_at(struct gamer *c, struct gamer_message *const *at, int64_t deadline_ms)
{
	if (!*at)
		fetch(c, deadline_ms);
	return *at;
}

struct gamer_message *gamer_next_push(struct gamer *c, int patience_ms)
{
	int64_t                deadline_ms = real_now_ms() + patience_ms;
	struct gamer_message **at          = &c->waiting, *m;

	while ((m = wait_at(c, at, deadline_ms))) {
		if (gamer_is_push(m->type))
			return take(c, at);
		at = &m->next;
	}
	return NULL;
}

static struct gamer_message *find_answer(struct gamer *c, uint32_t req)
{
	int64_t                deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	struct gamer_message **at          = &c->waiting, *m;

	while ((m = wait_at(c, at, deadline_ms))) {
		if (!gamer_is_push(m->type) && m->req == req)
			return take(c, at);
		at = &m->next;
	}
	return NULL;
}

struct gamer_message *gamer_answer(struct gamer *c, uint32_t req)
{
	struct gamer_message *m = find_answer(c, req);

	cr_assert_not_null(m, "%s instead of a reply", c->fd < 0 ? "the end" : "silence");
	return m;
}
