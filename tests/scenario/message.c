#include "scenario/message.h"

#include "support/tunnel_message.h"

#include <string.h>

#define PATHS_MAX 32

struct paths {
	uint8_t  bytes[PATHS_MAX * PATH_BYTES];
	size_t   len;
	unsigned count; /* as the message says it */
};

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static unsigned state_at(struct stage *s, int i)
{
	static const char *const names[] = { "unknown", "restarting", "ready", "lost", "closed" };
	const char              *word    = stage_word(s, i);

	for (unsigned n = 0; n < 5; n++)
		if (is(word, names[n]))
			return n;
	return stage_number(s, word);
}

static unsigned number_at(struct stage *s, int i)
{
	return stage_number(s, stage_word(s, i));
}

static void add_path(struct stage *s, struct paths *p, const uint8_t path[PATH_BYTES])
{
	if (p->len == sizeof(p->bytes))
		stage_fail(s, "too many candidates");
	memcpy(p->bytes + p->len, path, PATH_BYTES);
	p->len += PATH_BYTES;
}

/* Candidates from word i on; options may stand between them. */
static struct paths paths_from(struct stage *s, int i)
{
	struct paths p                = { .len = 0 };
	uint8_t      path[PATH_BYTES] = { 0 };

	for (; i < s->step->word_count; i++) {
		const char *word = s->step->words[i];
		unsigned    a, b, c, d, port, times;

		if (sscanf(word, "%3u.%3u.%3u.%3u:%5u", &a, &b, &c, &d, &port) == 5) {
			const uint8_t bytes[] = { (uint8_t)a, (uint8_t)b,           (uint8_t)c,
				                  (uint8_t)d, (uint8_t)(port >> 8), (uint8_t)port };

			memcpy(path, bytes, sizeof(path));
			add_path(s, &p, path);
		} else if (p.len > 0 && sscanf(word, "x%3u", &times) == 1 && times >= 1) {
			for (; times > 1; times--)
				add_path(s, &p, path);
		} else if (strncmp(word, "token=", 6) != 0 && strncmp(word, "count=", 6) != 0) {
			stage_fail(s, "no candidate: %s", word);
		}
	}
	const char *count = stage_option(s, "count", NULL);

	p.count = count ? stage_number(s, count) : (unsigned)(p.len / PATH_BYTES);
	return p;
}

static void hex_from(struct stage *s, int i, struct pattern *out)
{
	const char *why;

	pattern_clear(out);
	for (; i < s->step->word_count; i++)
		if (!pattern_add_text(out, stage_value(s, s->step->words[i]), &why))
			stage_fail(s, "%s: %s", s->step->words[i], why);
}

/* "datagram" and "paths" as a host says them, or hears them: with the friend's number in front. */
static bool host_sent(struct stage *s, const char *what, struct pattern *out)
{
	if (is(what, "datagram")) {
		msg_from_host(out, number_at(s, 3), stage_text(s, 4), strlen(stage_text(s, 4)));
	} else if (is(what, "paths")) {
		struct paths p = paths_from(s, 4);

		msg_paths_from_host(out, number_at(s, 3), p.count, p.bytes, p.len);
	} else {
		return false;
	}
	return true;
}

static bool friend_sent(struct stage *s, const struct actor *a, const char *what, struct pattern *out)
{
	if (is(what, "datagram")) {
		msg_from_friend(out, stage_text(s, 3), strlen(stage_text(s, 3)));
	} else if (is(what, "paths")) {
		struct paths p = paths_from(s, 3);

		msg_paths_from_friend(out, stage_option(s, "token", a->token), p.count, p.bytes, p.len);
	} else {
		return false;
	}
	return true;
}

void message_sent(struct stage *s, const struct actor *a, struct pattern *out)
{
	const char *what = stage_word(s, 2);

	if (is(what, "state"))
		msg_game_state(out, state_at(s, 3));
	else if (is(what, "hex"))
		hex_from(s, 3, out);
	else if (a->role == ACTOR_HOST ? !host_sent(s, what, out) : !friend_sent(s, a, what, out))
		stage_fail(s, "what is it to send: %s", what);
}

static bool host_expected(struct stage *s, const struct actor *a, const char *what, struct pattern *out)
{
	if (is(what, "CODE") && a->proto_1) {
		msg_host_opened_1(out);
	} else if (is(what, "CODE")) {
		msg_host_opened(out, a->key);
	} else if (is(what, "FRIEND_IS")) {
		msg_friend_is(out, number_at(s, 3), stage_option(s, "key", ""));
	} else if (is(what, "FRIEND_GONE")) {
		msg_friend_gone(out, number_at(s, 3));
	} else if (is(what, "datagram")) {
		msg_to_host(out, number_at(s, 3), stage_text(s, 4), strlen(stage_text(s, 4)));
	} else if (is(what, "PATHS")) {
		struct paths p = paths_from(s, 4);

		msg_paths_to_host(out, number_at(s, 3), stage_option(s, "token", ""), p.count, p.bytes, p.len);
	} else {
		return false;
	}
	return true;
}

static bool friend_expected(struct stage *s, const struct actor *a, const char *what, struct pattern *out)
{
	if (is(what, "JOINED") && a->proto_1) {
		msg_joined_1(out);
	} else if (is(what, "JOINED")) {
		msg_joined(out, state_at(s, 3));
	} else if (is(what, "STATE")) {
		msg_game_state(out, state_at(s, 3));
	} else if (is(what, "datagram")) {
		msg_to_friend(out, stage_text(s, 3), strlen(stage_text(s, 3)));
	} else if (is(what, "PATHS")) {
		struct paths p = paths_from(s, 3);

		msg_paths_to_friend(out, p.count, p.bytes, p.len);
	} else {
		return false;
	}
	return true;
}

void message_expected(struct stage *s, const struct actor *a, struct pattern *out)
{
	const char *what = stage_word(s, 2);

	if (is(what, "hex"))
		hex_from(s, 3, out);
	else if (is(what, "FAULT"))
		msg_fault(out, number_at(s, 3));
	else if (a->role == ACTOR_HOST ? !host_expected(s, a, what, out) : !friend_expected(s, a, what, out))
		stage_fail(s, "what is it to get: %s", what);
}

/* VALUE at word i against what came; the place behind it. */
static int check_value(struct stage *s, int i, const char *came)
{
	const char *word = stage_word(s, i);

	if (is(word, "as")) {
		stage_keep(s, stage_word(s, i + 1), came);
		return i + 2;
	}
	if (is(word, "not")) {
		if (is(stage_value(s, stage_word(s, i + 1)), came))
			stage_fail(s, "got %s, which is %s", came, stage_word(s, i + 1));
		return i + 2;
	}
	if (!is(stage_value(s, word), came))
		stage_fail(s, "got %s, not %s", came, stage_value(s, word));
	return i + 1;
}

void message_check(struct stage *s, const struct actor *a, const uint8_t *came)
{
	if (!is(stage_word(s, 2), "CODE"))
		return;

	uint32_t code  = a->proto_1 ? read_u16(came + 1) : read_u32(came + 1);
	uint32_t least = a->proto_1 ? 64101 : 100000;
	uint32_t most  = a->proto_1 ? 64164 : 999999;
	char     text[2 * SECRET_BYTES + 1];

	if (code < least || code > most)
		stage_fail(s, "code %u is none of this protocol's", code);
	snprintf(text, sizeof(text), "%u", code);
	int i = check_value(s, 3, text);

	if (i == s->step->word_count)
		return;
	if (!is(stage_word(s, i), "secret") || !a->proto_1)
		stage_fail(s, "what is it to get besides the code: %s", stage_word(s, i));
	for (size_t n = 0; n < SECRET_BYTES; n++)
		snprintf(text + 2 * n, 3, "%02x", came[3 + n]);
	check_value(s, i + 1, text);
}

void message_open(struct stage *s, struct actor *a, struct pattern *out)
{
	struct pattern secret;
	const char    *why;

	if (!a->proto_1) {
		snprintf(a->key, sizeof(a->key), "%s", stage_option(s, "key", a->name));
		msg_host_open(out, a->key);
		return;
	}
	pattern_clear(&secret);
	if (!pattern_add_text(&secret, stage_option(s, "secret", "0000000000000000"), &why) ||
	    secret.len != SECRET_BYTES)
		stage_fail(s, "a secret is 16 hex digits");
	msg_host_open_1(out, stage_number(s, stage_option(s, "code", "0")), secret.value);
}

void message_join(struct stage *s, struct actor *a, struct pattern *out)
{
	unsigned code = stage_number(s, stage_option(s, "code", ""));

	snprintf(a->key, sizeof(a->key), "%s", stage_option(s, "key", a->name));
	snprintf(a->token, sizeof(a->token), "%s", stage_option(s, "token", a->name));
	if (a->proto_1)
		msg_join_1(out, code, is(a->token, "none") ? NULL : a->token);
	else
		msg_join(out, code, a->token, a->key);
}
