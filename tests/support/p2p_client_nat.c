/*
 * The outside address (sections 4.3 of the document) and the NAT check (6).
 */
#include "support/p2p_client_inside.h"

#include "support/dial.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HELLO_EVERY_MS 500
#define HELLO_TRIES    6
#define STEP_SEEN      1 /* HELLO to A */
#define STEPS          6
#define OPEN_EVERY_MS  50
#define OPEN_TRIES     3
#define CHECK_ENDS_MS  20000

/* --- The outside address --- */

/* It has to grow with every HELLO of the session. */
static uint32_t next_time(struct p2p_client *c, int64_t now_ms)
{
	uint32_t time = (uint32_t)now_ms;

	if ((int32_t)(time - c->hello_time) <= 0)
		time = c->hello_time + 1;
	c->hello_time = time;
	return time;
}

void p2p_client_begin_hello(struct p2p_client *c, int64_t now_ms)
{
	c->hello_tries   = 0;
	c->hello_waits   = true;
	c->hello_time    = (uint32_t)now_ms - 1;
	c->hello_next_ms = now_ms;
	c->due_ms        = now_ms;
}

static void send_hello(struct p2p_client *c, int64_t now_ms)
{
	uint8_t                  bytes[P2P_CLIENT_PACKET_BYTES];
	struct p2p_client_packet p = { .type = P2P_CLIENT_HELLO,
		                       .try  = (uint8_t)c->hello_tries,
		                       .time = next_time(c, now_ms) };

	if (c->hello_tries == 0)
		randombytes_buf(c->hello_nonce, sizeof(c->hello_nonce));
	memcpy(p.nonce, c->hello_nonce, sizeof(p.nonce));
	p2p_client_packet_build(bytes, &p, &c->session);
	p2p_client_datagram(c, c->udp, &c->server, bytes, sizeof(bytes));
}

/* Six times, and then as often as it is kept alive. */
static int64_t tick_hello(struct p2p_client *c, int64_t now_ms)
{
	if (!c->has_udp || now_ms < c->hello_next_ms)
		return c->has_udp ? c->hello_next_ms : INT64_MAX;
	if (!c->hello_waits) {
		c->hello_waits = true;
		c->hello_tries = 0;
	}
	send_hello(c, now_ms);
	c->hello_next_ms = now_ms + HELLO_EVERY_MS;
	if (++c->hello_tries == HELLO_TRIES) {
		c->hello_waits   = false;
		c->hello_next_ms = now_ms + c->keepalive_ms;
	}
	return c->hello_next_ms;
}

static void on_hello_ack(struct p2p_client *c, const struct p2p_client_packet *p, int64_t now_ms)
{
	char members[40];

	if (p->step != 0 || memcmp(p->nonce, c->hello_nonce, sizeof(p->nonce)) != 0)
		return;
	if (c->hello_waits)
		c->hello_next_ms = now_ms + c->keepalive_ms;
	c->hello_waits = false;
	c->seen        = p->seen;
	if (p2p_client_address_is(&c->seen, &c->mapped))
		return;
	snprintf(members, sizeof(members), "\"cookie\":%u", p->time);
	p2p_client_send(c, "p2p.mapped", members);
}

void p2p_client_on_mapped(struct p2p_client *c, const json_t *j)
{
	const char *text = json_string_value(json_object_get(j, "mapped"));

	if (text)
		p2p_client_address_read(&c->mapped, text, strlen(text));
}

static bool is_mapped(void *arg)
{
	return ((const struct p2p_client *)arg)->mapped.port != 0;
}

bool p2p_client_await_mapped(struct p2p_client *c, int patience_ms)
{
	return p2p_clients_run(c->set, is_mapped, c, patience_ms);
}

/* --- The check --- */

void p2p_client_begin_check(struct p2p_client *c, const char *op)
{
	if (c->check_udp >= 0)
		close(c->check_udp);
	memset(&c->nat, 0, sizeof(c->nat));
	c->step_next_ms = 0;
	c->step         = 0;
	c->check_udp    = p2p_client_socket(c);
	c->check_id     = p2p_client_send(c, op, "");
}

static bool is_checked(void *arg)
{
	const struct p2p_client *c = arg;

	return c->nat.is_there || !c->ws;
}

const struct p2p_client_nat *p2p_client_check(struct p2p_client *c, const char *op)
{
	p2p_client_begin_check(c, op);
	p2p_clients_run(c->set, is_checked, c, CHECK_ENDS_MS);
	return &c->nat;
}

void p2p_client_on_checked(struct p2p_client *c, const json_t *j)
{
	struct p2p_client_nat *n = &c->nat;

	if (json_integer_value(json_object_get(j, "id")) != c->check_id)
		return;
	n->is_there = true;
	n->ok       = json_is_true(json_object_get(j, "ok"));
	n->type     = (int)json_integer_value(json_object_get(j, "type"));
	n->conflict = json_is_true(json_object_get(j, "conflict"));
	n->partial  = json_is_true(json_object_get(j, "partial"));
	n->ms       = (int)json_integer_value(json_object_get(j, "ms"));
	p2p_client_copy_text(n->error, sizeof(n->error), j, "error");
	p2p_client_copy_text(n->name, sizeof(n->name), j, "name");
	p2p_client_copy_text(n->reason, sizeof(n->reason), j, "reason");
	p2p_client_copy_text(n->mapping, sizeof(n->mapping), j, "mapping");
	p2p_client_copy_text(n->mapped, sizeof(n->mapped), j, "mapped");
	p2p_client_copy_text(n->mapped_b, sizeof(n->mapped_b), j, "mapped_b");
	close(c->check_udp);
	c->check_udp    = -1;
	c->check_id     = 0;
	c->step_next_ms = 0;
}

void p2p_client_on_step(struct p2p_client *c, const json_t *j, int64_t now_ms)
{
	const char *what  = json_string_value(json_object_get(j, "do")),
		   *to    = json_string_value(json_object_get(j, "to"));
	const char *nonce = json_string_value(json_object_get(j, "nonce"));
	json_int_t  step  = json_integer_value(json_object_get(j, "step"));
	size_t      len;

	if (!what || !to || !nonce || step < 1 || step >= STEPS || c->check_udp < 0 ||
	    !p2p_client_address_read(&c->step_to, to, strlen(to)) ||
	    sodium_hex2bin(c->step_nonce, sizeof(c->step_nonce), nonce, strlen(nonce), NULL, &len, NULL) != 0)
		return;
	c->check         = json_integer_value(json_object_get(j, "check"));
	c->step          = (uint8_t)step;
	c->try           = 0;
	c->step_is_open  = strcmp(what, "open") == 0;
	c->step_began_ms = now_ms;
	c->step_waits    = !c->step_is_open;
	c->step_next_ms  = c->options.skips[step] ? 0 : now_ms;
}

static void tell_step_done(struct p2p_client *c, const char *more)
{
	char members[96];

	snprintf(members, sizeof(members), "\"check\":%lld,\"step\":%u%s", (long long)c->check, c->step, more);
	p2p_client_tell(c, "nat.step_done", members);
}

static void send_step(struct p2p_client *c, enum p2p_client_packet_type type, int64_t now_ms)
{
	uint8_t                  bytes[P2P_CLIENT_PACKET_BYTES];
	struct p2p_client_packet p = { .type = type, .step = c->step, .try = c->try++ };

	if (type == P2P_CLIENT_HELLO)
		p.time = next_time(c, now_ms);
	memcpy(p.nonce, c->step_nonce, sizeof(p.nonce));
	p2p_client_packet_build(bytes, &p, &c->session);
	p2p_client_datagram(c, c->check_udp, &c->step_to, bytes, sizeof(bytes));
}

/* HELLO at these times of its step. */
static void tick_step_hello(struct p2p_client *c, int64_t now_ms)
{
	static const int times_ms[] = { 0, 250, 750, 1500 };
	unsigned         tries      = c->step == STEP_SEEN ? 4 : 3;

	send_step(c, P2P_CLIENT_HELLO, now_ms);
	c->step_next_ms = c->try < tries ? c->step_began_ms + times_ms[c->try] : 0;
}

static void tick_step_open(struct p2p_client *c, int64_t now_ms)
{
	send_step(c, P2P_CLIENT_OPEN, now_ms);
	c->step_next_ms = c->try < OPEN_TRIES ? now_ms + OPEN_EVERY_MS : 0;
	if (!c->step_next_ms)
		tell_step_done(c, "");
}

static int64_t tick_check(struct p2p_client *c, int64_t now_ms)
{
	if (c->step_next_ms && now_ms >= c->step_next_ms) {
		if (c->step_is_open)
			tick_step_open(c, now_ms);
		else
			tick_step_hello(c, now_ms);
	}
	return c->step_next_ms ? c->step_next_ms : INT64_MAX;
}

static void on_step_ack(struct p2p_client *c, const struct p2p_client_packet *p)
{
	char cookie[32];

	if (p->step != c->step || memcmp(p->nonce, c->step_nonce, sizeof(p->nonce)) != 0 || !c->step_waits)
		return;
	c->step_waits   = false;
	c->step_next_ms = 0;
	snprintf(cookie, sizeof(cookie), ",\"cookie\":%u", p->time);
	if (c->step == STEP_SEEN)
		tell_step_done(c, cookie);
}

static void answer_ping(struct p2p_client *c, int fd, const struct p2p_client_packet *p,
                        const struct p2p_client_address *from)
{
	uint8_t                  bytes[P2P_CLIENT_PACKET_BYTES];
	struct p2p_client_packet reply = *p;

	reply.type = P2P_CLIENT_PING_REPLY;
	reply.time = 0;
	if (p->step < STEPS && c->options.skips[p->step])
		return;
	p2p_client_packet_build(bytes, &reply, &c->session);
	p2p_client_datagram(c, fd, from, bytes, sizeof(bytes));
}

void p2p_client_on_packet(struct p2p_client *c, int fd, const struct p2p_client_packet *p,
                          const struct p2p_client_address *from, int64_t now_ms)
{
	if (p->type == P2P_CLIENT_PING_TRY)
		answer_ping(c, fd, p, from);
	else if (fd == c->udp)
		on_hello_ack(c, p, now_ms);
	else
		on_step_ack(c, p);
}

int64_t p2p_client_tick_nat(struct p2p_client *c, int64_t now_ms)
{
	int64_t hello_ms = tick_hello(c, now_ms), check_ms = tick_check(c, now_ms);

	return hello_ms < check_ms ? hello_ms : check_ms;
}
