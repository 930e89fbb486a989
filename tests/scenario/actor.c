#include "scenario/actor.h"

#include "scenario/stage.h"
#include "support/tunnel_message.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

bool actor_is_connected(const struct actor *a)
{
	return a->ws && !a->ended;
}

void actor_connect(struct stage *s, struct actor *a, enum actor_role role)
{
	struct ws_client_options o    = { 0 };
	const char              *from = stage_option(s, "from", NULL);
	char                     header[SCRIPT_WORD_BYTES + 32];

	if (actor_is_connected(a))
		stage_fail(s, "%s is connected already", a->name);
	if (a->first)
		stage_fail(s, "%s has not read everything from its last connection", a->name);
	actor_disconnect(a);
	if (from) {
		snprintf(header, sizeof(header), "X-Forwarded-For: %s\r\n", from);
		o.headers = header;
	}
	a->role      = role;
	a->ended     = false;
	a->silent    = false;
	a->proto_1   = strcmp(stage_option(s, "proto", "2"), "1") == 0;
	o.user_agent = a->proto_1 ? "CrysisCoop/1" : "CrysisCoop/2";
	a->ws        = ws_client_open(s->server->tunnel_port, &o);
	stage_note(s, "%-10s connects", a->name);
}

static struct letter *add_letter(struct actor *a, const struct ws_client_event *e)
{
	struct letter *l = calloc(1, sizeof(*l));

	cr_assert_not_null(l, "memory for a letter");
	l->what = e->what;
	l->len  = e->len;
	l->data = malloc(e->len + 1);
	cr_assert_not_null(l->data, "memory for a letter");
	if (e->len)
		memcpy(l->data, e->data, e->len);
	if (a->last)
		a->last->next = l;
	else
		a->first = l;
	a->last = l;
	return l;
}

void actor_drop_letter(struct actor *a)
{
	struct letter *l = a->first;

	a->first = l->next;
	if (!a->first)
		a->last = NULL;
	free(l->data);
	free(l);
}

void actor_disconnect(struct actor *a)
{
	while (a->first)
		actor_drop_letter(a);
	ws_client_free(a->ws);
	a->ws = NULL;
}

void actor_send(struct stage *s, struct actor *a, const struct pattern *message)
{
	char shown[400];

	if (!actor_is_connected(a))
		stage_fail(s, "%s is not connected", a->name);
	stage_note(s, "%-10s -> message %s", a->name, pattern_show(shown, sizeof(shown), message));
	ws_client_send_pattern(a->ws, message);
}

/* The next event for the script. A silent actor answers no ping, but lets itself be closed: that is TCP's business. */
static struct ws_client_event next_event(struct actor *a, int patience_ms)
{
	struct ws_client_event e;

	do
		e = ws_client_receive(a->ws, patience_ms);
	while (e.what == WS_PING);
	if (e.what == WS_CLOSED && a->silent)
		ws_client_close(a->ws, 0);
	if (e.what == WS_END)
		a->ended = true;
	return e;
}

static bool is_echo(const struct ws_client_event *e, const struct pattern *echo)
{
	return echo && e->what == WS_MESSAGE && pattern_matches(echo, e->data, e->len);
}

enum got { GOT_LETTER, GOT_ECHO, GOT_NOTHING };

static enum got receive(struct stage *s, struct actor *a, int patience_ms, const struct pattern *echo)
{
	char                   shown[500];
	struct ws_client_event e;

	if (!actor_is_connected(a))
		return GOT_NOTHING;
	e = next_event(a, patience_ms);
	if (e.what == WS_SILENCE)
		return GOT_NOTHING;
	if (is_echo(&e, echo))
		return GOT_ECHO;
	ws_client_show(shown, sizeof(shown), &e);
	if (e.what == WS_NONSENSE)
		stage_fail(s, "%s got %s", a->name, shown);
	stage_note(s, "%-10s <- %s", a->name, shown);
	add_letter(a, &e);
	return GOT_LETTER;
}

bool actor_receive(struct stage *s, struct actor *a, int patience_ms)
{
	return receive(s, a, patience_ms, NULL) == GOT_LETTER;
}

struct letter *actor_letter(struct stage *s, struct actor *a, int patience_ms)
{
	if (!a->ws)
		stage_fail(s, "%s is not connected", a->name);
	if (!a->first)
		actor_receive(s, a, patience_ms);
	return a->first;
}

void actor_echo(struct stage *s, struct actor *a)
{
	int64_t        deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	struct pattern echo;
	enum got       got;

	msg_echo(&echo, s->echoes++);
	ws_client_send_pattern(a->ws, &echo);
	do
		got = receive(s, a, (int)(deadline_ms - real_now_ms()), &echo);
	while (got == GOT_LETTER);
	if (got == GOT_NOTHING && !a->ended)
		stage_fail(s, "%s got no answer to an ECHO", a->name);
}

const char *letter_show(char *out, size_t cap, const struct letter *l)
{
	const struct ws_client_event e = { .what = l->what, .data = l->data, .len = l->len };

	return ws_client_show(out, cap, &e);
}
