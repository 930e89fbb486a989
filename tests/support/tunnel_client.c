#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

struct ws_client *tunnel_connect(int port, const char *from)
{
	struct ws_client_options o = { 0 };
	char                     header[128];

	if (from) {
		snprintf(header, sizeof(header), "X-Forwarded-For: %s\r\n", from);
		o.headers = header;
	}
	return ws_client_open(port, &o);
}

/* The next message, which has to be like p. */
static const uint8_t *await(struct ws_client *c, const struct pattern *p)
{
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	char                   wanted[200], got[500];

	if (e.what != WS_MESSAGE || !pattern_matches(p, e.data, e.len))
		cr_assert_fail("expected message %s, got %s", pattern_show(wanted, sizeof(wanted), p),
		               ws_client_show(got, sizeof(got), &e));
	return e.data;
}

struct ws_client *host_open_from(int port, const char *from, const char *key, uint32_t *code)
{
	struct ws_client *c = tunnel_connect(port, from);
	struct pattern    p;

	msg_host_open(&p, key);
	ws_client_send_pattern(c, &p);
	msg_host_opened(&p, key);
	uint32_t got = read_u32(await(c, &p) + 1);

	cr_assert(got >= 100000 && got <= 999999, "code %u", got);
	if (code)
		*code = got;
	return c;
}

struct ws_client *host_open(int port, const char *key, uint32_t *code)
{
	return host_open_from(port, NULL, key, code);
}

struct ws_client *host_open_1(int port, const struct tunnel_ticket *old, struct tunnel_ticket *got)
{
	static const struct tunnel_ticket none;
	struct ws_client                 *c = tunnel_connect(port, NULL);
	struct pattern                    p;

	if (!old)
		old = &none;
	msg_host_open_1(&p, old->code, old->secret);
	ws_client_send_pattern(c, &p);
	msg_host_opened_1(&p);
	const uint8_t *answer = await(c, &p);

	got->code = read_u16(answer + 1);
	memcpy(got->secret, answer + 3, SECRET_BYTES);
	cr_assert(got->code >= 64101 && got->code <= 64164, "code %u", got->code);
	return c;
}

struct ws_client *friend_join_state(int port, uint32_t code, const char *token, const char *key, unsigned state)
{
	struct ws_client *c = tunnel_connect(port, NULL);
	struct pattern    p;

	msg_join(&p, code, token, key);
	ws_client_send_pattern(c, &p);
	msg_joined(&p, state);
	await(c, &p);
	return c;
}

struct ws_client *friend_join(int port, uint32_t code, const char *token, const char *key)
{
	return friend_join_state(port, code, token, key, STATE_READY);
}

struct ws_client *friend_join_1(int port, unsigned code, const char *token)
{
	struct ws_client *c = tunnel_connect(port, NULL);
	struct pattern    p;

	msg_join_1(&p, code, token);
	ws_client_send_pattern(c, &p);
	msg_joined_1(&p);
	await(c, &p);
	return c;
}

bool host_send(struct ws_client *host, unsigned number, const void *data, size_t len)
{
	struct pattern p;

	msg_from_host(&p, number, data, len);
	return ws_client_send_pattern(host, &p);
}

bool friend_send(struct ws_client *c, const void *data, size_t len)
{
	struct pattern p;

	msg_from_friend(&p, data, len);
	return ws_client_send_pattern(c, &p);
}

bool host_send_state(struct ws_client *host, unsigned state)
{
	struct pattern p;

	msg_game_state(&p, state);
	return ws_client_send_pattern(host, &p);
}

void host_expect_datagram_at(const char *file, int line, struct ws_client *c, unsigned number, const void *data,
                             size_t len)
{
	struct pattern p;

	msg_to_host(&p, number, data, len);
	ws_expect_pattern_at(file, line, c, &p);
}

void friend_expect_datagram_at(const char *file, int line, struct ws_client *c, const void *data, size_t len)
{
	struct pattern p;

	msg_to_friend(&p, data, len);
	ws_expect_pattern_at(file, line, c, &p);
}

void host_expect_friend_at(const char *file, int line, struct ws_client *c, unsigned number, const char *key)
{
	struct pattern p;

	msg_friend_is(&p, number, key);
	ws_expect_pattern_at(file, line, c, &p);
}

void host_expect_gone_at(const char *file, int line, struct ws_client *c, unsigned number)
{
	struct pattern p;

	msg_friend_gone(&p, number);
	ws_expect_pattern_at(file, line, c, &p);
}

void friend_expect_state_at(const char *file, int line, struct ws_client *c, unsigned state)
{
	struct pattern p;

	msg_game_state(&p, state);
	ws_expect_pattern_at(file, line, c, &p);
}

void tunnel_expect_fault_at(const char *file, int line, struct ws_client *c, unsigned fault)
{
	struct pattern p;

	msg_fault(&p, fault);
	ws_expect_pattern_at(file, line, c, &p);
	ws_expect_closed_at(file, line, c);
}

void tunnel_echo_at(const char *file, int line, struct ws_client *c)
{
	static uint32_t clock = 0x11223344;
	struct pattern  p;

	msg_echo(&p, clock++);
	ws_client_send_pattern(c, &p);
	ws_expect_pattern_at(file, line, c, &p);
}
