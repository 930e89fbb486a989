/*
 * Answers as JSON, and the parts that several of them have.
 */
#include "base/event.h"
#include "lobby/lobby_inside.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/log.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define HEX_BYTES_MAX  32
#define IDENTITY_BEGIN "gen:"

/* --- Answers --- */

enum err lobby_say_ok(struct http_answer *a)
{
	AUTO(json_freep) struct json *j = json_object_new();

	if (!j)
		return ERR_NOMEM;
	json_put_bool(j, "ok", true);
	return http_answer_json(a, 200, j);
}

enum err lobby_refuse(struct http_answer *a, int status, const char *text)
{
	return http_answer_error(a, status, text);
}

void lobby_put_hex(struct json *j, const char *key, const void *bytes, size_t len)
{
	char text[2 * HEX_BYTES_MAX + 1];

	assert(len <= HEX_BYTES_MAX);
	hex_encode(text, bytes, len);
	json_put_text(j, key, text);
}

void lobby_put_identity(struct json *j, const uint8_t key[LOBBY_KEY_BYTES])
{
	char text[LOBBY_IDENTITY_CHARS + 1] = IDENTITY_BEGIN;

	hex_encode(text + strlen(IDENTITY_BEGIN), key, LOBBY_KEY_BYTES);
	json_put_text(j, "hostIdentity", text);
}

/* --- What clients call this server --- */

/* Letters, digits, dots and dashes; in an IPv6 address colons. */
static bool can_be_name(const char *text, size_t len, bool is_ipv6)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	static const char ipv6[]  = "abcdefABCDEF0123456789.:";

	if (len == 0 || len >= LOBBY_HOST_BYTES)
		return false;
	return strspn(text, is_ipv6 ? ipv6 : plain) >= len;
}

/* The name in a Host field: *text and *len are moved to it. */
static bool take_name(const char **text, size_t *len)
{
	bool is_ipv6 = **text == '[';

	*text += is_ipv6;
	*len = strcspn(*text, is_ipv6 ? "]" : ":");
	if (is_ipv6 && (*text)[*len] != ']')
		return false;
	return can_be_name(*text, *len, is_ipv6);
}

void lobby_server_name(char out[LOBBY_HOST_BYTES], const struct lobby_ask *q)
{
	const char *name = q->m->conf->server_public_host;
	size_t      len  = strlen(name);

	if (len == 0) {
		name = http_header(q->rq, "Host");
		if (!name || !take_name(&name, &len))
			len = 0;
	}
	if (len >= LOBBY_HOST_BYTES)
		len = 0;
	for (size_t i = 0; i < len; i++)
		out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
	out[len] = '\0';
}

/* --- How to reach a host --- */

/* Clients need one: the relay is this server, unless told otherwise. */
static void put_signaling_url(struct json *j, const struct lobby_ask *q, const struct lobby_settings *s)
{
	char name[LOBBY_HOST_BYTES], url[LOBBY_HOST_BYTES + 16] = "";
	bool is_ipv6;

	if (*s->signal_url) {
		json_put_text(j, "signalingUrl", s->signal_url);
		return;
	}
	lobby_server_name(name, q);
	is_ipv6 = strchr(name, ':') != NULL;
	if (*name)
		text_format(url, sizeof(url), is_ipv6 ? "[%s]:%u" : "%s:%u", name, (unsigned)q->m->signal_port);
	json_put_text(j, "signalingUrl", url);
}

void lobby_mint(char user[LOBBY_TURN_USER_BYTES], int64_t *until_ms, const struct lobby_ask *q, int64_t ttl_s)
{
	char    label[LOBBY_LABEL_BYTES];
	int64_t until_s = q->wall_ms / 1000 + ttl_s;

	lobby_label(label, http_client(q->rq));
	lobby_turn_user(user, until_s, label);
	*until_ms = until_s * 1000;
	metric_inc(M_LOBBY_TURN_MINTED);
}

void lobby_put_ways(struct json *j, const struct lobby_ask *q, const struct lobby_settings *s, const char *user,
                    int64_t ttl_s)
{
	struct json *turn = NULL;
	enum err     e    = ERR_OK;

	if (lobby_has_turn(s))
		e = lobby_turn_json(&turn, s->turn_secret, user, ttl_s, s->turn_uri);
	if (e != ERR_OK)
		log_warn("lobby", 0, "fails", "no TURN credential can be made: error=%s", err_name(e));
	put_signaling_url(j, q, s);
	json_put_text(j, "signalingToken", s->signal_token);
	json_put_text(j, "stun", s->stun_uri);
	json_put_json(j, "turn", turn ? turn : json_object_new());
}

/* --- Words of log --- */

void lobby_log_id(char out[LOBBY_ID_TEXT_BYTES], const uint8_t id[LOBBY_ID_BYTES])
{
	hex_encode(out, id, LOBBY_ID_BYTES);
}

void lobby_log_text(char out[LOBBY_LOG_TEXT_BYTES], const char *text)
{
	text_escape(out, LOBBY_LOG_TEXT_BYTES, text, strlen(text));
}

void lobby_event_gone(const uint8_t id[LOBBY_ID_BYTES], const char *reason)
{
	event_emit(E_LOBBY_GONE, event_hex("lobby", id, LOBBY_ID_BYTES), event_word("reason", reason));
}
