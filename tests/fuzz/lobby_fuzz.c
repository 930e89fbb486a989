/*
 * Bodies of requests to the lobby master, read as a host's announce, as his beat, and by the name "v" as every kind of
 * field. What comes out is within its bounds, valid UTF-8 and clean, and the row that is made of it says the same again.
 */
#include "base/hex.h"
#include "base/text.h"
#include "lobby/lobby_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void insist(bool holds)
{
	if (!holds)
		abort();
}

static bool is_within(int64_t value, int64_t min, int64_t max)
{
	return value >= min && value <= max;
}

/* Whole characters, at most so many, of which cleaning takes none away. */
static void check_text(const char *text, size_t chars_max)
{
	char   again[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)];
	size_t chars = 0, len = strlen(text);

	for (size_t at = 0; at < len; chars++) {
		uint32_t code;
		size_t   n = text_char(&code, text + at, len - at);

		insist(n > 0);
		at += n;
	}
	insist(chars <= chars_max);
	lobby_clean(again, chars_max, text, len);
	insist(strcmp(again, text) == 0);
}

static void check_hex(const char *text, size_t chars)
{
	insist(strlen(text) == chars && strspn(text, "0123456789abcdef") == chars);
}

static void check_claim(const struct lobby_claim *c)
{
	if (c->sha[0])
		check_hex(c->sha, LOBBY_CLAIM_SHA_CHARS);
	if (c->sig[0])
		check_hex(c->sig, LOBBY_CLAIM_SIG_CHARS);
	insist(is_within(c->key, 0, 255) && (c->key != 0) == (c->sig[0] != '\0') && (c->sha[0] || !c->key));
}

static void check_announce(const struct lobby_announce *a)
{
	check_text(a->name, LOBBY_NAME_CHARS);
	check_text(a->world, LOBBY_WORLD_CHARS);
	check_text(a->version, LOBBY_VERSION_CHARS);
	check_text(a->game, LOBBY_VERSION_CHARS);
	insist(a->name[0] != '\0');
	insist(is_within(a->proto, 0, 65535) && is_within(a->players_max, 1, 4));
	check_claim(&a->claim);
	lobby_game_is_good(a->game);
}

static void check_member(const struct json *row, const char *key, const char *expected)
{
	const char *value;

	insist(json_get_text(&value, row, key) == ERR_OK && strcmp(value, expected) == 0);
}

static void check_number(const struct json *row, const char *key, int64_t expected)
{
	int64_t value;

	insist(json_get_int(&value, row, key) == ERR_OK && value == expected);
}

/* The row with an age behind it, read strictly. */
static void check_row(const struct lobby_announce *a)
{
	struct lobby_row row = { .name        = a->name,
		                 .world       = a->world,
		                 .version     = a->version,
		                 .game        = a->game,
		                 .proto       = a->proto,
		                 .players     = a->players_max,
		                 .players_max = a->players_max,
		                 .locked      = a->locked,
		                 .is_direct   = a->is_direct,
		                 .is_proved   = a->has_proof,
		                 .links       = { .relayed = a->proto % 2 },
		                 .claim       = a->claim };
	struct json     *j   = NULL;
	char             whole[4096];
	size_t           row_len = 0;

	memcpy(row.id, a->key, sizeof(row.id));
	char *text = lobby_row_text(&row_len, &row);
	insist(text && strlen(text) == row_len);
	insist(text_format(whole, sizeof(whole), "%s%d}", text, 90));
	free(text);
	insist(json_parse(&j, whole, strlen(whole)) == ERR_OK);
	check_member(j, "name", a->name);
	check_member(j, "world", a->world);
	check_member(j, "version", a->version);
	check_member(j, "game", a->game);
	check_member(j, "conn", a->is_direct ? "direct" : "p2p");
	check_member(j, "link", a->is_direct ? "direct" : a->proto % 2 ? "relay" : "");
	check_member(j, "build_sha", a->claim.sha);
	check_member(j, "build_sig", a->claim.sig);
	check_number(j, "build_key", a->claim.key);
	check_number(j, "proto", a->proto);
	check_number(j, "players_cur", a->players_max);
	check_number(j, "age", 90);
	insist(json_member_bool(j, "locked") == a->locked && json_member_bool(j, "proved") == a->has_proof);
	json_free(j);
}

static void check_beat(const struct json *body)
{
	struct lobby_beat b;

	lobby_read_beat(&b, body);
	if (b.has_credentials)
		insist(strspn(b.token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
		       LOBBY_TOKEN_CHARS);
	insist(b.turn_user || b.turn_user_len == 0);
	/* All of it is there to be read. */
	insist(!b.turn_user || memchr(b.turn_user + b.turn_user_len, '\0', 1));
	insist(b.has_links == (json_kind(body, "links") == JSON_IS_OBJECT));
	insist(b.has_listed || !b.listed);
}

/* The member "v" as each kind there is. */
static void check_fields(const struct json *body)
{
	enum json_kind kind = json_kind(body, "v");
	uint8_t        session[LOBBY_SESSION_BYTES], id[LOBBY_ID_BYTES];
	char           text[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)], token[LOBBY_TOKEN_CHARS + 1], hex[33];
	size_t         len;

	lobby_read_string(text, LOBBY_NAME_CHARS, body, "v");
	check_text(text, LOBBY_NAME_CHARS);
	lobby_read_string(text, 1, body, "v");
	check_text(text, 1);

	/* A number is found, or what was asked to stand for none. */
	int64_t one = lobby_read_int(body, "v", 1), two = lobby_read_int(body, "v", 2);
	insist(one == two || (one == 1 && two == 2 && kind != JSON_IS_INTEGER && kind != JSON_IS_REAL));
	bool no = lobby_read_bool(body, "v", false), yes = lobby_read_bool(body, "v", true);
	insist(no == yes || ((kind == JSON_IS_MISSING || kind == JSON_IS_NULL) && !no && yes));

	if (lobby_read_session(session, body, "v")) {
		hex_encode(hex, session, sizeof(session));
		insist(strcmp(hex, json_member_string(&len, body, "v")) == 0 && len == 32);
	}
	if (lobby_read_id(id, body, "v")) {
		hex_encode(hex, id, sizeof(id));
		insist(strcmp(hex, json_member_string(&len, body, "v")) == 0 && len == 16);
	}
	if (lobby_read_token(token, body, "v"))
		insist(strcmp(token, json_member_string(&len, body, "v")) == 0 && len == LOBBY_TOKEN_CHARS);
}

/* The same bytes as the query of the list. */
static void check_filter(const uint8_t *data, size_t len)
{
	char *query = malloc(len + 1), filter[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];

	insist(query);
	if (len > 0)
		memcpy(query, data, len);
	query[len] = '\0';
	lobby_read_filter(filter, query);
	check_text(filter, LOBBY_VERSION_CHARS);
	free(query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct json          *body = NULL;
	struct lobby_announce a;
	char                  name[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)];

	lobby_clean(name, LOBBY_NAME_CHARS, (const char *)data, len);
	check_text(name, LOBBY_NAME_CHARS);
	check_filter(data, len);
	if (json_parse_lenient(&body, (const char *)data, len, JSON_LENIENT_DEPTH_MAX) != ERR_OK)
		return 0;
	lobby_read_announce(&a, body);
	check_announce(&a);
	check_row(&a);
	check_beat(body);
	check_fields(body);
	json_free(body);
	return 0;
}
