/*
 * What requests say in their fields.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "cloud/rest.h"

#include <string.h>

#define SHOWN_POINTS  64
#define ETAG_HASH     16 /* digits */
#define VERSION_BYTES 20 /* digits of the highest version, and a NUL */

/* --- Coop-Meta --- */

static enum err read_texts(struct checkpoint_meta *out, const struct json *j)
{
	const struct {
		const char *key;
		char       *to;
	} texts[] = {
		{ "name", out->name },
		{ "level", out->level },
		{ "checkpoint", out->checkpoint },
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		const char *text = "";
		enum err    e    = json_get_text(&text, j, texts[i].key);

		if (e == ERR_MALFORMED)
			return e;
		/* As the texts inside a container are shown. */
		text_clean(texts[i].to, CHECKPOINT_TEXT, text, strlen(text), SHOWN_POINTS);
	}
	return ERR_OK;
}

static enum err read_stamp(struct checkpoint_meta *out, const struct json *j)
{
	enum err e = json_get_int(&out->stamp, j, "stamp");

	return e == ERR_MALFORMED || out->stamp < 0 ? ERR_MALFORMED : ERR_OK;
}

static enum err read_players(struct rest_meta *out, const struct json *j)
{
	size_t   count = 0;
	enum err e     = json_get_array(&count, j, "players");

	if (e == ERR_MALFORMED)
		return e;
	for (size_t i = 0; i < count; i++) {
		const char *text = NULL;
		uint8_t     id[PLAYER_ID_BYTES];

		if (json_get_array_text(&text, j, "players", i) != ERR_OK || rest_id(id, text) != ERR_OK)
			return ERR_MALFORMED;
		if (out->player_count < CAMPAIGN_NAMED_MAX)
			memcpy(out->players[out->player_count++], id, sizeof(id));
	}
	return ERR_OK;
}

enum err rest_meta_parse(struct rest_meta *out, const char *text)
{
	AUTO(json_freep) struct json *j   = NULL;
	size_t                        len = strlen(text);
	enum err                      e   = len <= REST_META_BYTES_MAX ? json_parse(&j, text, len) : ERR_MALFORMED;

	*out = (struct rest_meta){ 0 };
	if (e == ERR_OK)
		e = read_texts(&out->shown, j);
	if (e == ERR_OK)
		e = read_stamp(&out->shown, j);
	return e == ERR_OK ? read_players(out, j) : e;
}

/* --- Conditions --- */

/* "<version>-<16 hex digits>" with its quotes. Only strong ones: W/ says that the bytes may be others. */
static enum err parse_etag(struct upload_match *out, const char *text)
{
	char        version[VERSION_BYTES];
	const char *dash = strchr(text, '-');
	size_t      digits;
	uint8_t     hash8[sizeof(out->hash8)];

	if (text[0] != '"' || !dash)
		return ERR_MALFORMED;
	digits = (size_t)(dash - text) - 1;
	if (digits >= sizeof(version) || strlen(dash) != 1 + ETAG_HASH + 1 || dash[1 + ETAG_HASH] != '"')
		return ERR_MALFORMED;
	memcpy(version, text + 1, digits);
	version[digits] = '\0';
	if (text_to_int(&out->version, version, 1, INT64_MAX) != ERR_OK)
		return ERR_MALFORMED;
	if (hex_decode(hash8, sizeof(hash8), dash + 1, ETAG_HASH) != ERR_OK)
		return ERR_MALFORMED;
	memcpy(out->hash8, hash8, sizeof(hash8));
	out->kind = UPLOAD_IF_NEWEST;
	return ERR_OK;
}

enum err rest_match_parse(struct upload_match *out, bool *any, const char *if_match, const char *if_none_match)
{
	*out = (struct upload_match){ .kind = UPLOAD_ANY };
	*any = false;
	if (if_match && if_none_match)
		return ERR_MALFORMED;
	if (if_none_match) {
		out->kind = UPLOAD_IF_NONE;
		return strcmp(if_none_match, "*") == 0 ? ERR_OK : ERR_MALFORMED;
	}
	if (!if_match)
		return ERR_OK;
	*any = strcmp(if_match, "*") == 0;
	return *any ? ERR_OK : parse_etag(out, if_match);
}

bool rest_etag_is_listed(const char *if_none_match, const char *etag)
{
	size_t len = strlen(etag);

	if (strcmp(if_none_match, "*") == 0)
		return true;
	/* Quotes stand at both ends of an ETag and nowhere inside one of ours, so it is found whole or not at all. */
	for (const char *at = strstr(if_none_match, etag); at; at = strstr(at + len, etag)) {
		char before = '\0', after = at[len];

		if (at > if_none_match)
			before = at[-1];
		if (strchr(", \t/", before) && strchr(", \t", after))
			return true;
	}
	return false;
}
