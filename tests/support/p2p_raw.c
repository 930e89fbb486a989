#include "support/p2p_raw.h"

#include "base/auto.h"
#include "base/json.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 32768

static struct ws_client *open_with(const struct server *s, struct ws_client_options *options)
{
	options->path       = "/p2p";
	options->takes_text = true;
	return ws_client_open(s->tunnel_port, options);
}

struct ws_client *p2p_raw_open(const struct server *s, const char *client)
{
	char                     headers[80];
	struct ws_client_options options = { .headers = headers };

	snprintf(headers, sizeof(headers), "X-Forwarded-For: %s\r\n", client ? client : "");
	if (!client)
		options.headers = NULL;
	return open_with(s, &options);
}

struct ws_client *p2p_raw_open_mute(const struct server *s)
{
	struct ws_client_options options = { .mute = true };

	return open_with(s, &options);
}

__attribute__((format(printf, 2, 0))) static void say(struct ws_client *c, const char *format, va_list args)
{
	char text[TEXT_BYTES];
	int  len = vsnprintf(text, sizeof(text), format, args);

	cr_assert(len >= 0 && len < (int)sizeof(text));
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, (size_t)len);
}

void p2p_raw_say(struct ws_client *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(c, format, args);
	va_end(args);
}

const char *p2p_raw_hear(struct ws_client *c)
{
	static char            text[TEXT_BYTES];
	char                   shown[256];
	struct ws_client_event e;

	do
		e = ws_client_receive(c, DIAL_PATIENCE_MS);
	while (e.what == WS_PING);
	cr_assert(e.what == WS_MESSAGE && e.is_text, "%s", ws_client_show(shown, sizeof(shown), &e));
	cr_assert_lt(e.len, sizeof(text));
	memcpy(text, e.data, e.len);
	text[e.len] = '\0';
	return text;
}

const char *p2p_raw_ask(struct ws_client *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(c, format, args);
	va_end(args);
	return p2p_raw_hear(c);
}

const char *p2p_raw_hello(struct ws_client *c, int player)
{
	const char *text = p2p_raw_ask(c, "{\"op\":\"p2p.hello\",\"id\":1,\"player\":\"%032x\"}", (unsigned)player);

	cr_assert(strstr(text, "\"ok\":true"), "%s", text);
	return text;
}

void p2p_raw_ping(uint8_t payload[8], struct ws_client *c)
{
	struct ws_client_event e;

	do
		e = ws_client_receive(c, DIAL_PATIENCE_MS);
	while (e.what == WS_MESSAGE);
	cr_assert_eq(e.what, WS_PING);
	cr_assert_eq(e.len, 8);
	memcpy(payload, e.data, e.len);
}

int p2p_raw_end(struct ws_client *c)
{
	struct ws_client_event e;

	do
		e = ws_client_receive(c, DIAL_PATIENCE_MS);
	while (e.what == WS_PING || e.what == WS_PONG || e.what == WS_MESSAGE);
	cr_assert_eq(e.what, WS_CLOSED, "it does not end with a close");
	return e.status;
}

void p2p_raw_text(char *out, size_t cap, const char *text, const char *key)
{
	AUTO(json_freep) struct json *j     = NULL;
	const char                   *value = NULL;

	cr_assert_eq(json_parse(&j, text, strlen(text)), ERR_OK, "%s", text);
	cr_assert_eq(json_get_text(&value, j, key), ERR_OK, "no %s in %s", key, text);
	cr_assert_lt((size_t)snprintf(out, cap, "%s", value), cap);
}

bool p2p_raw_has(const char *text, const char *parts)
{
	char  copy[512], *at = NULL;
	char *part;

	cr_assert_lt((size_t)snprintf(copy, sizeof(copy), "%s", parts), sizeof(copy));
	for (part = strtok_r(copy, " ", &at); part; part = strtok_r(NULL, " ", &at)) {
		if (!strstr(text, part))
			return false;
	}
	return true;
}
