#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

enum { HOST_OPENED = 2, ECHO = 3, TO_HOST = 4, FAULT = 7, JOINED = 9 };

struct ws_client *ask_open(int port, const char *from, const char *key)
{
	struct ws_client *c = tunnel_connect(port, from);
	struct pattern    p;

	msg_host_open(&p, key);
	ws_client_send_pattern(c, &p);
	return c;
}

struct ws_client *ask_join(int port, const char *from, uint32_t code, const char *token, const char *key)
{
	struct ws_client *c = tunnel_connect(port, from);
	struct pattern    p;

	msg_join(&p, code, token, key);
	ws_client_send_pattern(c, &p);
	return c;
}

unsigned ask_answer(struct ws_client *c)
{
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	char                   got[500];

	if (e.what == WS_MESSAGE && e.len == 2 && e.data[0] == FAULT) {
		unsigned fault = e.data[1];

		ws_expect_closed(c);
		return fault;
	}
	if (e.what != WS_MESSAGE || (e.data[0] != HOST_OPENED && e.data[0] != JOINED))
		cr_assert_fail("expected HOST_OPENED, JOINED or FAULT, got %s", ws_client_show(got, sizeof(got), &e));
	return 0;
}

static unsigned answer_once(struct ws_client *c)
{
	unsigned fault = ask_answer(c);

	ws_client_free(c);
	return fault;
}

unsigned ask_open_once(int port, const char *from, const char *key)
{
	return answer_once(ask_open(port, from, key));
}

unsigned ask_join_once(int port, const char *from, uint32_t code, const char *token, const char *key)
{
	return answer_once(ask_join(port, from, code, token, key));
}

const char *name_number(const char *prefix, int number)
{
	static char     names[8][64];
	static unsigned next;
	char           *out = names[next++ % 8];

	snprintf(out, sizeof(names[0]), "%s%d", prefix, number);
	return out;
}

void tally_up_to_echo(struct tally *t, struct ws_client *c, unsigned opcode)
{
	static uint32_t        mark = 0xec400000;
	size_t                 head = opcode == TO_HOST ? 3 : 1;
	struct pattern         p;
	struct ws_client_event e;
	char                   got[500];

	*t = (struct tally){ 0 };
	msg_echo(&p, ++mark);
	ws_client_send_pattern(c, &p);
	for (;;) {
		e = ws_client_receive(c, DIAL_PATIENCE_MS);
		if (e.what != WS_MESSAGE)
			cr_assert_fail("expected messages up to an ECHO, got %s", ws_client_show(got, sizeof(got), &e));
		if (pattern_matches(&p, e.data, e.len))
			return;
		if (e.data[0] == opcode) {
			t->count++;
			t->bytes += e.len - head;
		}
	}
}
