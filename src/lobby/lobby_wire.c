/*
 * Fields of the kinds that PROTOCOL.md names, and the requests that are made of them.
 */
#include "lobby/lobby_wire.h"

#include "base/clean.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

#define PROTO_MAX       65535
#define PLAYERS_MAX     4
#define CLAIM_KEY_MAX   255
#define TWO_TO_THE_63   9223372036854775808.0
#define IDENTITY_PREFIX "gen:"
#define PREFIX_CHARS    (sizeof(IDENTITY_PREFIX) - 1)

static int clamp(int64_t value, int min, int max)
{
	return value < min ? min : value > max ? max : (int)value;
}

/* String fields */

void lobby_clean(char *out, size_t chars_max, const char *text, size_t len)
{
	clean_text(out, chars_max, text, len, CLEAN_BAD_IS_REMOVED);
}

void lobby_read_string(char *out, size_t chars_max, const struct json *body, const char *key)
{
	const char *text = "";
	char       *made = NULL;
	size_t      len  = 0;

	switch (json_kind(body, key)) {
	case JSON_IS_MISSING:
	case JSON_IS_NULL:
		break;
	case JSON_IS_BOOL:
		text = json_member_bool(body, key) ? "True" : "False";
		len  = text_length(text);
		break;
	case JSON_IS_STRING:
		text = json_member_string(&len, body, key);
		break;
	case JSON_IS_INTEGER:
	case JSON_IS_REAL:
	case JSON_IS_ARRAY:
	case JSON_IS_OBJECT:
		made = json_member_text(body, key);
		text = made ? made : "";
		len  = text_length(text);
		break;
	}
	lobby_clean(out, chars_max, text, len);
	mem_free(made);
}

void lobby_read_filter(char out[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)], const char *query)
{
	static const char key[] = "version=";
	const size_t      skip  = sizeof(key) - 1;
	const char       *value = "";
	size_t            len = 0, left = query ? text_length(query) : 0;

	while (left > 0) {
		const char *end   = memchr(query, '&', left);
		size_t      piece = end ? (size_t)(end - query) : left;

		if (piece >= skip && memcmp(query, key, skip) == 0) {
			value = query + skip;
			len   = piece - skip;
		}
		piece += end ? 1 : 0;
		query += piece;
		left -= piece;
	}
	lobby_clean(out, LOBBY_VERSION_CHARS, value, len);
}

/* Integer fields */

static int64_t cut_real(double value)
{
	if (value >= TWO_TO_THE_63)
		return INT64_MAX;
	return value < -TWO_TO_THE_63 ? INT64_MIN : (int64_t)value;
}

/* Decimal digits with a sign in front or none; what is beyond 64 bits is the last that is not. */
static bool read_decimal(int64_t *out, const char *text, size_t len)
{
	bool    is_negative = len > 0 && text[0] == '-';
	size_t  first       = len > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
	int64_t value       = 0;

	if (first == len)
		return false;
	for (size_t i = first; i < len; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9)
			return false;
		/* Counted downwards when negative: the smallest number has no positive twin. */
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, is_negative ? -digit : digit, &value))
			value = is_negative ? INT64_MIN : INT64_MAX;
	}
	*out = value;
	return true;
}

/* False when the member is no number in any way; *out is untouched then. */
static bool read_int(int64_t *out, const struct json *body, const char *key)
{
	const char *text;
	size_t      len;

	switch (json_kind(body, key)) {
	case JSON_IS_INTEGER:
		*out = json_member_int(body, key);
		return true;
	case JSON_IS_REAL:
		*out = cut_real(json_member_real(body, key));
		return true;
	case JSON_IS_STRING:
		text = json_member_string(&len, body, key);
		clean_trim(&text, &len);
		return read_decimal(out, text, len);
	case JSON_IS_MISSING:
	case JSON_IS_NULL:
	case JSON_IS_BOOL:
	case JSON_IS_ARRAY:
	case JSON_IS_OBJECT:
		break;
	}
	return false;
}

int64_t lobby_read_int(const struct json *body, const char *key, int64_t otherwise)
{
	read_int(&otherwise, body, key);
	return otherwise;
}

/* Boolean fields */

bool lobby_read_bool(const struct json *body, const char *key, bool otherwise)
{
	size_t len = 0;

	switch (json_kind(body, key)) {
	case JSON_IS_MISSING:
	case JSON_IS_NULL:
		break;
	case JSON_IS_BOOL:
		return json_member_bool(body, key);
	case JSON_IS_INTEGER:
		return json_member_int(body, key) != 0;
	case JSON_IS_REAL:
		return json_member_real(body, key) != 0;
	case JSON_IS_STRING:
		json_member_string(&len, body, key);
		return len > 0;
	case JSON_IS_ARRAY:
	case JSON_IS_OBJECT:
		return json_member_size(body, key) > 0;
	}
	return otherwise;
}

/* Exact strings */

/* The member's bytes, NULL when it is no string. */
static const char *exact(size_t *len, const struct json *body, const char *key)
{
	*len = 0;
	return json_kind(body, key) == JSON_IS_STRING ? json_member_string(len, body, key) : NULL;
}

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	return true;
}

/* Exactly so many bytes in lower-case digits. */
static bool read_hex(uint8_t *out, size_t size, const struct json *body, const char *key)
{
	size_t      text_len = 0;
	const char *text     = exact(&text_len, body, key);

	return text && is_hex(text, text_len) && hex_decode(out, size, text, text_len) == ERR_OK;
}

bool lobby_read_session(uint8_t out[LOBBY_SESSION_BYTES], const struct json *body, const char *key)
{
	return read_hex(out, LOBBY_SESSION_BYTES, body, key);
}

bool lobby_read_id(uint8_t out[LOBBY_ID_BYTES], const struct json *body, const char *key)
{
	return read_hex(out, LOBBY_ID_BYTES, body, key);
}

static bool is_base64url(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool lobby_read_token(char out[LOBBY_TOKEN_CHARS + 1], const struct json *body, const char *key)
{
	size_t      len  = 0;
	const char *text = exact(&len, body, key);

	if (!text || len != LOBBY_TOKEN_CHARS)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_base64url(text[i]))
			return false;
	memcpy(out, text, LOBBY_TOKEN_CHARS);
	out[LOBBY_TOKEN_CHARS] = '\0';
	return true;
}

static bool read_identity(uint8_t out[LOBBY_KEY_BYTES], const struct json *body)
{
	size_t      len  = 0;
	const char *text = exact(&len, body, "identity");

	if (!text || len != LOBBY_IDENTITY_CHARS || memcmp(text, IDENTITY_PREFIX, PREFIX_CHARS) != 0)
		return false;
	text += PREFIX_CHARS;
	len -= PREFIX_CHARS;
	return is_hex(text, len) && hex_decode(out, LOBBY_KEY_BYTES, text, len) == ERR_OK;
}

/* Requests */

/* A text of so many lower-case digits, or (may_be_empty) none. */
static bool read_digits(char *out, size_t chars, bool may_be_empty, const struct json *body, const char *key)
{
	size_t      len  = 0;
	const char *text = exact(&len, body, key);

	if (len == 0)
		return may_be_empty;
	if (len != chars || !is_hex(text, len))
		return false;
	memcpy(out, text, len);
	return true;
}

/* Whole, or nothing of it; out is empty before. */
static void read_claim(struct lobby_claim *out, const struct json *body)
{
	struct lobby_claim claim = { 0 };
	int64_t            key   = 0;

	if (json_kind(body, "build_key") == JSON_IS_INTEGER)
		key = json_member_int(body, "build_key");
	if (key < 0 || key > CLAIM_KEY_MAX)
		return;
	claim.key = (int)key;
	if (!read_digits(claim.sha, LOBBY_CLAIM_SHA_CHARS, false, body, "build_sha") ||
	    !read_digits(claim.sig, LOBBY_CLAIM_SIG_CHARS, true, body, "build_sig"))
		return;
	if ((claim.key == 0) == (claim.sig[0] == '\0'))
		*out = claim;
}

void lobby_read_announce(struct lobby_announce *out, const struct json *body)
{
	size_t      len  = 0;
	const char *conn = exact(&len, body, "conn");

	memset(out, 0, sizeof(*out));
	lobby_read_string(out->name, LOBBY_NAME_CHARS, body, "name");
	if (!out->name[0])
		memcpy(out->name, LOBBY_NAME_EMPTY, sizeof(LOBBY_NAME_EMPTY));
	lobby_read_string(out->world, LOBBY_WORLD_CHARS, body, "world");
	lobby_read_string(out->version, LOBBY_VERSION_CHARS, body, "version");
	lobby_read_string(out->game, LOBBY_VERSION_CHARS, body, "game");
	out->has_identity = read_identity(out->key, body);
	out->proto        = clamp(lobby_read_int(body, "proto", 0), 0, PROTO_MAX);
	out->players_max  = clamp(lobby_read_int(body, "players_max", PLAYERS_MAX), 1, PLAYERS_MAX);
	out->locked       = lobby_read_bool(body, "locked", false);
	out->listed       = lobby_read_bool(body, "listed", true);
	out->is_direct    = conn && len == 6 && memcmp(conn, "direct", len) == 0;
	out->direct_port  = lobby_read_int(body, "direct_port", -1);
	read_claim(&out->claim, body);
	out->has_proof = read_hex(out->nonce, LOBBY_NONCE_BYTES, body, "proof_nonce") &&
	                 read_hex(out->proof, LOBBY_PROOF_BYTES, body, "proof_sig");
}

static void read_links(struct lobby_beat *out, const struct json *body)
{
	struct json *links = json_member_object(body, "links");

	if (!links)
		return;
	out->has_links = true;
	out->relayed   = lobby_read_int(links, "relayed", 0);
	out->direct    = lobby_read_int(links, "direct", 0);
	out->lan       = lobby_read_int(links, "lan", 0);
	json_free(links);
}

void lobby_read_beat(struct lobby_beat *out, const struct json *body)
{
	enum json_kind listed = json_kind(body, "listed");

	memset(out, 0, sizeof(*out));
	out->has_credentials =
		lobby_read_session(out->session, body, "sessionId") && lobby_read_token(out->token, body, "token");
	out->has_players = read_int(&out->players, body, "players_cur");
	out->has_listed  = listed != JSON_IS_MISSING && listed != JSON_IS_NULL;
	out->listed      = lobby_read_bool(body, "listed", false);
	read_links(out, body);
	out->turn_user = exact(&out->turn_user_len, body, "turn_user");
}

/* One or two digits; how many. */
static size_t digits(const char *text)
{
	size_t n = 0;

	while (n < 2 && text[n] >= '0' && text[n] <= '9')
		n++;
	return n;
}

bool lobby_game_is_good(const char *game)
{
	if (!*game)
		return true;
	for (int part = 0; part < 3; part++) {
		size_t n = digits(game);

		if (n == 0)
			return false;
		game += n;
		if (part < 2 && *game++ != '.')
			return false;
	}
	for (int letters = 0; letters < 2 && *game >= 'a' && *game <= 'z'; letters++)
		game++;
	return !*game;
}
