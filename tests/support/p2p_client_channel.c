/*
 * The control channel: requests, their answers, and news.
 */
#include "support/p2p_client_inside.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_BYTES 2048

/* --- Sending --- */

static void send_text(struct p2p_client *c, const char *op, int64_t id, const char *members)
{
	char text[REQUEST_BYTES], id_text[32] = "";

	if (id)
		snprintf(id_text, sizeof(id_text), ",\"id\":%lld", (long long)id);

	int len = snprintf(text, sizeof(text), "{\"op\":\"%s\"%s%s%s}", op, id_text, *members ? "," : "", members);

	if (c->ws && len > 0 && (size_t)len < sizeof(text))
		ws_client_send_frame(c->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, (size_t)len);
}

int64_t p2p_client_send(struct p2p_client *c, const char *op, const char *members)
{
	send_text(c, op, ++c->next_id, members);
	return c->next_id;
}

void p2p_client_tell(struct p2p_client *c, const char *op, const char *members)
{
	send_text(c, op, 0, members);
}

void p2p_client_frame(struct p2p_client *c, const struct p2p_client_frame *f)
{
	uint8_t *frame = malloc(P2P_CLIENT_FRAME_HEAD + f->len);

	if (frame && c->ws) {
		p2p_client_frame_head(frame, f);
		if (f->len)
			memcpy(frame + P2P_CLIENT_FRAME_HEAD, f->content, f->len);
		ws_client_send_bytes(c->ws, frame, P2P_CLIENT_FRAME_HEAD + f->len);
	}
	free(frame);
}

static bool is_answered(void *arg)
{
	const struct p2p_client *c = arg;

	return c->answer.is_there || !c->ws;
}

const struct p2p_client_answer *p2p_client_ask(struct p2p_client *c, const char *op, const char *members)
{
	memset(&c->answer, 0, sizeof(c->answer));
	c->awaited = p2p_client_send(c, op, members);
	p2p_clients_run(c->set, is_answered, c, P2P_CLIENT_ANSWER_MS);
	c->awaited = 0;
	return &c->answer;
}

bool p2p_client_create(struct p2p_client *c, int max)
{
	char members[32];

	snprintf(members, sizeof(members), "\"max\":%d", max);
	return p2p_client_ask(c, "p2p.create", members)->ok;
}

bool p2p_client_join(struct p2p_client *c, const char *room)
{
	char members[64];

	snprintf(members, sizeof(members), "\"room\":\"%s\"", room);
	return p2p_client_ask(c, "p2p.join", members)->ok;
}

bool p2p_client_start(struct p2p_client *c)
{
	return p2p_client_ask(c, "p2p.start", "")->ok;
}

/* --- Reading --- */

void p2p_client_copy_text(char *out, size_t cap, const json_t *j, const char *key)
{
	const char *text = json_string_value(json_object_get(j, key));

	snprintf(out, cap, "%s", text ? text : "");
}

static void note_answer(struct p2p_client *c, const json_t *j, const uint8_t *text, size_t len)
{
	struct p2p_client_answer *a = &c->answer;

	if (json_integer_value(json_object_get(j, "id")) != c->awaited || !c->awaited)
		return;
	a->is_there = true;
	a->ok       = json_is_true(json_object_get(j, "ok"));
	p2p_client_copy_text(a->error, sizeof(a->error), j, "error");
	snprintf(a->text, sizeof(a->text), "%.*s", (int)len, (const char *)text);
}

static void read_server(struct p2p_client *c, const json_t *udp)
{
	const char *a = json_string_value(json_object_get(udp, "a"));
	char        text[64];

	snprintf(text, sizeof(text), "%s:%lld", a ? a : "",
	         (long long)json_integer_value(json_object_get(udp, "port")));
	c->has_udp    = a && p2p_client_address_read(&c->server, text, strlen(text));
	c->has_second = json_is_string(json_object_get(udp, "b"));
}

static void on_hello(struct p2p_client *c, const json_t *j, int64_t now_ms)
{
	const char *sid = json_string_value(json_object_get(j, "sid")),
		   *key = json_string_value(json_object_get(j, "key"));
	size_t sid_len, key_len;

	if (!sid || !key ||
	    sodium_hex2bin(c->session.sid, sizeof(c->session.sid), sid, strlen(sid), NULL, &sid_len, NULL) != 0 ||
	    sodium_base642bin(c->session.key, sizeof(c->session.key), key, strlen(key), NULL, &key_len, NULL,
	                      sodium_base64_VARIANT_ORIGINAL) != 0)
		return;
	c->has_hello = sid_len == sizeof(c->session.sid) && key_len == sizeof(c->session.key);
	p2p_client_copy_text(c->uid, sizeof(c->uid), j, "uid");
	c->keepalive_ms = 1000 * json_integer_value(json_object_get(j, "keepalive_s"));
	read_server(c, json_object_get(j, "udp"));
	if (c->has_udp)
		p2p_client_begin_hello(c, now_ms);
}

static void on_joined(struct p2p_client *c, const json_t *j)
{
	p2p_client_copy_text(c->room, sizeof(c->room), j, "room");
	c->seat       = (uint16_t)json_integer_value(json_object_get(j, "seat"));
	c->epoch      = 0;
	c->peer_count = 0;
	c->groups_gen = 0;
	c->is_started = false;
	c->highest    = 0;
	memset(c->numbers, 0, sizeof(c->numbers));
}

static void on_answer(struct p2p_client *c, const char *op, const json_t *j, int64_t now_ms)
{
	bool ok = json_is_true(json_object_get(j, "ok"));

	if (strcmp(op, "nat.check") == 0 || strcmp(op, "nat.update") == 0)
		p2p_client_on_checked(c, j);
	else if (ok && strcmp(op, "p2p.hello") == 0)
		on_hello(c, j, now_ms);
	else if (ok && strcmp(op, "p2p.mapped") == 0)
		p2p_client_on_mapped(c, j);
	else if (ok && (strcmp(op, "p2p.create") == 0 || strcmp(op, "p2p.join") == 0))
		on_joined(c, j);
	else if (ok && strcmp(op, "p2p.leave") == 0)
		*c->room = '\0';
}

static void on_news(struct p2p_client *c, const char *op, const json_t *j, int64_t now_ms)
{
	if (strcmp(op, "nat.step") == 0)
		p2p_client_on_step(c, j, now_ms);
	else if (strcmp(op, "p2p.started") == 0)
		p2p_client_on_started(c, j, now_ms);
	else if (strcmp(op, "p2p.addr") == 0)
		p2p_client_on_addr(c, j);
	else if (strcmp(op, "p2p.member") == 0)
		p2p_client_on_member(c, j);
	else if (strcmp(op, "p2p.groups") == 0)
		p2p_client_on_groups(c, j);
	else if (strcmp(op, "link.sent") == 0)
		p2p_client_on_sent(c, j);
	else if (strcmp(op, "link.done") == 0)
		p2p_client_on_done(c, j);
	else if (strcmp(op, "p2p.settled") == 0)
		c->is_settled = (uint32_t)json_integer_value(json_object_get(j, "epoch")) == c->epoch;
}

void p2p_client_on_text(struct p2p_client *c, const uint8_t *text, size_t len, int64_t now_ms)
{
	json_t     *j  = json_loadb((const char *)text, len, 0, NULL);
	const char *op = json_string_value(json_object_get(j, "op"));

	if (op && json_object_get(j, "id"))
		on_answer(c, op, j, now_ms);
	else if (op)
		on_news(c, op, j, now_ms);
	if (op)
		note_answer(c, j, text, len);
	json_decref(j);
}
