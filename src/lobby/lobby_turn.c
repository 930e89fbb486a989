/*
 * Text put together; the only arithmetic is the library's.
 */
#include "lobby/lobby_turn.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/text.h"
#include "crypt/hmac.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static_assert(LOBBY_TURN_PASS_BYTES == BASE64_BYTES(HMAC_SHA1_BYTES), "a password fits");

static unsigned group(const struct addr *a, size_t i)
{
	return (unsigned)a->ip[2 * i] << 8 | a->ip[2 * i + 1];
}

void lobby_label(char out[LOBBY_LABEL_BYTES], const struct addr *a)
{
	if (a->family == ADDR_IPV6)
		(void)text_format(out, LOBBY_LABEL_BYTES, "%x:%x:%x:%x::/64", group(a, 0), group(a, 1), group(a, 2),
		                  group(a, 3));
	else
		addr_text(out, a);
}

void lobby_turn_user(char out[LOBBY_TURN_USER_BYTES], int64_t until_s, const char *label)
{
	bool fits = text_format(out, LOBBY_TURN_USER_BYTES, "%" PRId64 ":%s", until_s, label);

	assert(fits);
	(void)fits;
}

enum err lobby_turn_pass(char out[LOBBY_TURN_PASS_BYTES], const char *secret, const char *user)
{
	uint8_t  mac[HMAC_SHA1_BYTES];
	enum err e = hmac_sha1(mac, secret, strlen(secret), user, strlen(user));

	if (e == ERR_OK)
		base64_encode(out, mac, sizeof(mac));
	return e;
}

/* uri and suffix as one text of the array. */
static enum err add_uri(struct json *uris, const char *uri, const char *suffix)
{
	size_t                cap  = strlen(uri) + strlen(suffix) + 1;
	AUTO(auto_free) char *text = malloc(cap);

	if (!text)
		return ERR_NOMEM;
	(void)text_format(text, cap, "%s%s", uri, suffix);
	json_add_text(uris, text);
	return ERR_OK;
}

enum err lobby_turn_json(struct json **out, const char *secret, const char *user, int64_t ttl_s, const char *uri)
{
	char     pass[LOBBY_TURN_PASS_BYTES];
	enum err e = lobby_turn_pass(pass, secret, user);

	if (e != ERR_OK)
		return e;

	AUTO(json_freep) struct json *turn = json_object_new();
	AUTO(json_freep) struct json *uris = json_array_new();
	if (!turn || !uris || add_uri(uris, uri, "?transport=udp") != ERR_OK ||
	    add_uri(uris, uri, "?transport=tcp") != ERR_OK)
		return ERR_NOMEM;
	json_put_text(turn, "user", user);
	json_put_text(turn, "pass", pass);
	json_put_int(turn, "ttl", ttl_s);
	json_put_json(turn, "uris", TAKE(uris));
	*out = TAKE(turn);
	return ERR_OK;
}
