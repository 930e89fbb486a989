#include "support/events_client.h"

#include "base/auto.h"
#include "base/event.h"
#include "support/admin_client.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/admin/v1/events"

struct events_client *events_dial(const struct server *s, const struct ws_client_options *options)
{
	struct ws_client_options o = options ? *options : (struct ws_client_options){ 0 };
	struct events_client    *v = calloc(1, sizeof(*v));

	cr_assert_not_null(v);
	o.path       = PATH;
	o.takes_text = true;
	v->ws        = ws_client_open(s->admin_events_port, &o);
	return v;
}

struct events_client *events_open(const struct server *s)
{
	struct events_client *v = events_dial(s, &(struct ws_client_options){ .unix_path = s->admin_events_socket });

	events_await_op(v, "hello");
	return v;
}

struct events_client *events_open_with(const struct server *s, const char *token)
{
	struct events_client *v = events_dial(s, NULL);

	events_auth(v, token);
	events_await_op(v, "hello");
	return v;
}

void events_free(struct events_client *v)
{
	if (!v)
		return;
	json_free(v->last);
	ws_client_free(v->ws);
	free(v);
}

void events_token(char out[EVENTS_TOKEN_BYTES], int64_t *id, const struct server *s, const char *role)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"name\":\"of the tests\",\"role\":\"%s\"}", role);

	AUTO(rest_freep) struct http_result r = admin_ask(s, "POST", "/admin/v1/tokens", body);

	admin_expect(&r, 201, NULL);
	rest_text(&r, "token", out, EVENTS_TOKEN_BYTES);
	if (id)
		*id = rest_int(&r, "id");
}

void events_say(struct events_client *v, const char *text)
{
	ws_client_send_frame(v->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, strlen(text));
}

void events_auth(struct events_client *v, const char *token)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"op\":\"auth\",\"token\":\"%s\"}", token);
	events_say(v, text);
}

void events_since(struct events_client *v, int64_t seq)
{
	char text[64];

	snprintf(text, sizeof(text), "{\"op\":\"since\",\"seq\":%lld}", (long long)seq);
	events_say(v, text);
}

int64_t events_int(const struct events_client *v, const char *name)
{
	int64_t n = 0;

	cr_assert_eq(json_get_int(&n, v->last, name), ERR_OK, "%s is no number", name);
	return n;
}

const char *events_text(const struct events_client *v, const char *name)
{
	const char *text = NULL;
	enum err    e    = json_get_text(&text, v->last, name);

	cr_assert(e == ERR_OK || (e == ERR_NOT_FOUND && json_kind(v->last, name) == JSON_IS_NULL), "%s is no text",
	          name);
	return text;
}

bool events_is(const struct events_client *v, const char *name, const char *text)
{
	const char *is = NULL;

	return json_get_text(&is, v->last, name) == ERR_OK && strcmp(is, text) == 0;
}

static int kind_of(const char *name)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		if (name && strcmp(event_name((enum event_kind)kind), name) == 0)
			return kind;
	}
	cr_assert_fail("there is no kind %s", name ? name : "(none)");
	return 0;
}

/* Each field of the kind, and no other. */
static void check_event(struct events_client *v)
{
	const char *known[EVENT_FIELDS_MAX + 5] = { "op", "seq", "at", "kind" };
	char        fields[256];
	size_t      count = 4;
	char       *rest  = fields;
	const char *kind  = events_text(v, "kind");

	snprintf(fields, sizeof(fields), "%s", event_fields((enum event_kind)kind_of(kind)));
	for (char *field; (field = strsep(&rest, " "));) {
		cr_assert_neq(json_kind(v->last, field), JSON_IS_MISSING, "%s has no %s", kind, field);
		known[count++] = field;
	}
	cr_assert_null(json_odd_member(v->last, known), "%s has %s", kind, json_odd_member(v->last, known));
	v->seq = events_int(v, "seq");
}

static void take(struct events_client *v, const struct ws_client_event *e)
{
	cr_assert(e->is_text, "a message that is no text");
	cr_assert_eq(json_parse(&v->last, (const char *)e->data, e->len), ERR_OK, "no JSON: %.*s", (int)e->len,
	             (const char *)e->data);
	if (events_is(v, "op", "event")) {
		check_event(v);
	} else if (events_is(v, "op", "figures")) {
		v->sets++;
	} else if (events_is(v, "op", "lost")) {
		v->lost_events += events_int(v, "events");
		v->lost_sets += events_int(v, "figures");
	}
}

bool events_next(struct events_client *v, int patience_ms)
{
	struct ws_client_event e = ws_client_receive(v->ws, patience_ms);

	json_free(TAKE(v->last));
	if (e.what == WS_MESSAGE)
		take(v, &e);
	v->has_ended = e.what == WS_END || e.what == WS_CLOSED;
	if (e.what == WS_CLOSED)
		v->status = e.status;
	return v->last != NULL;
}

static void read_on(const char *file, int line, struct events_client *v, const char *name, const char *value)
{
	int64_t deadline_ms = real_now_ms() + EVENTS_PATIENCE_MS;

	while (real_now_ms() < deadline_ms) {
		if (events_next(v, (int)(deadline_ms - real_now_ms())) && events_is(v, name, value))
			return;
		if (v->has_ended)
			cr_assert_fail("%s:%d: no %s %s, but the end, status %d", file, line, name, value, v->status);
	}
	cr_assert_fail("%s:%d: no %s %s", file, line, name, value);
}

void events_await_op_at(const char *file, int line, struct events_client *v, const char *op)
{
	read_on(file, line, v, "op", op);
}

void events_await_at(const char *file, int line, struct events_client *v, const char *kind)
{
	read_on(file, line, v, "kind", kind);
}

void events_expect_closed_at(const char *file, int line, struct events_client *v, int status)
{
	int64_t deadline_ms = real_now_ms() + EVENTS_PATIENCE_MS;

	while (!v->has_ended && real_now_ms() < deadline_ms)
		events_next(v, (int)(deadline_ms - real_now_ms()));
	cr_assert(v->has_ended, "%s:%d: it is not closed", file, line);
	cr_assert_eq(v->status, status, "%s:%d: closed with %d, not %d", file, line, v->status, status);
}
