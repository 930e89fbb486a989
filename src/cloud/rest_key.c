/*
 * Who asks, and for which campaign.
 */
#include "base/hex.h"
#include "base/metric.h"
#include "base/text.h"
#include "cloud/rest.h"
#include "crypt/hash.h"

#include <string.h>

#define KEY_BYTES 16
#define ID_DIGITS 16
#define SCHEME    "Bearer "

enum err rest_player(uint8_t digest[PLAYER_DIGEST_BYTES], const struct cloud *c, struct http_request *rq)
{
	const char *field = http_header(rq, "Authorization");
	uint8_t     key[KEY_BYTES];
	char        scheme[sizeof(SCHEME)];

	/* First, so that nobody learns to send keys in the clear because the right ones work. */
	if (!http_is_private(rq) && !c->conf->http_allow_plain_keys)
		return ERR_TLS_REQUIRED;
	if (!field)
		return ERR_NO_KEY;
	text_copy(scheme, sizeof(scheme), field);
	if (!text_same_nocase(scheme, SCHEME))
		return ERR_NO_KEY;
	field += strlen(SCHEME);
	if (hex_decode(key, sizeof(key), field, strlen(field)) != ERR_OK)
		return ERR_NO_KEY;
	hash_sha256(digest, key, sizeof(key));
	wipe_secret(key, sizeof(key));
	http_set_player(rq, digest); /* before he is looked for: whoever bans him now finds this request */
	if (!ban_has_player(digest))
		return ERR_OK;
	metric_inc(M_BAN_REFUSED_REST);
	return ERR_BANNED;
}

enum err rest_id(uint8_t out[8], const char *text)
{
	if (!text || strspn(text, "0123456789abcdef") != ID_DIGITS || text[ID_DIGITS] != '\0')
		return ERR_NOT_FOUND;
	return hex_decode(out, ID_DIGITS / 2, text, ID_DIGITS);
}

enum err rest_who(struct rest_who *out, const struct cloud *c, struct http_request *rq)
{
	enum err e = rest_player(out->digest, c, rq);

	return e == ERR_OK ? rest_id(out->campaign, http_path_part(rq, 0)) : e;
}

enum err rest_version(int64_t *out, const struct http_request *rq)
{
	const char *text = http_query(rq, "version");

	*out = 0;
	if (!text && http_has_query(rq, "version"))
		return ERR_MALFORMED;
	return text ? text_to_int(out, text, 1, INT64_MAX) : ERR_OK;
}
