/*
 * Answers as JSON.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "base/clean.h"
#include "base/hex.h"
#include "os/log.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#define TIME_BYTES     32
#define KEY_BYTES_MAX  64
#define TEXT_CHARS_MAX 1024

enum err api_answer(struct api_call *c, int status, struct json *j)
{
	AUTO(json_freep) struct json *owned = j;

	if (!owned)
		return ERR_NOMEM;
	if (c->dry_run)
		json_put_bool(owned, "dry_run", true);
	return http_answer_json(c->answer, status, owned);
}

struct json *api_done(void)
{
	struct json *j = json_object_new();

	if (j)
		json_put_bool(j, "ok", true);
	return j;
}

/* --- Errors --- */

enum err api_say_error(struct http_answer *a, enum err e, const char *problem)
{
	AUTO(json_freep) struct json *j     = json_object_new();
	struct json                  *error = json_object_new();

	if (err_fault(e) == ERR_FAULT_US && !err_is_load(e))
		log_warn("admin", 0, "fails", "error=%s", err_name(e));
	*a = (struct http_answer){ 0 };
	if (!j || !error) {
		json_free(error);
		return ERR_NOMEM;
	}
	json_put_text(error, "code", err_rest(e));
	json_put_text(error, "message", problem[0] ? problem : err_people(e));
	json_put_json(j, "error", error);
	if (e == ERR_TOKEN)
		http_answer_field(a, "WWW-Authenticate", "Bearer");
	return http_answer_json(a, err_http(e), j);
}

enum err api_errors(struct http_answer *a, struct http_request *rq, enum err e)
{
	(void)rq;
	return api_say_error(a, e, "");
}

/* --- Members --- */

void api_put_time(struct json *j, const char *name, int64_t wall_ms)
{
	char      text[TIME_BYTES];
	time_t    at = (time_t)(wall_ms / 1000);
	struct tm utc;

	if (wall_ms != 0 && gmtime_r(&at, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
		json_put_text(j, name, text);
	else
		json_put_null(j, name);
}

void api_put_hex(struct json *j, const char *name, const void *bytes, size_t len)
{
	char text[2 * KEY_BYTES_MAX + 1];

	assert(len <= KEY_BYTES_MAX);
	hex_encode(text, bytes, len);
	json_put_text(j, name, text);
}

void api_put_id(struct json *j, const char *name, const uint8_t id[8])
{
	api_put_hex(j, name, id, 8);
}

/* Whether a path may have it as it is. */
static bool is_plain(const char *bytes, size_t len)
{
	if (len == 0 || bytes[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = bytes[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
		      c == '_' || c == '.'))
			return false;
	}
	return true;
}

void api_put_key(struct json *j, const char *name, const void *bytes, size_t len)
{
	char text[2 * KEY_BYTES_MAX + 2];

	assert(len <= KEY_BYTES_MAX);
	if (is_plain(bytes, len)) {
		memcpy(text, bytes, len);
		text[len] = '\0';
	} else {
		text[0] = '~';
		hex_encode(text + 1, bytes, len);
	}
	json_put_text(j, name, text);
}

void api_put_text(struct json *j, const char *name, const void *bytes, size_t len, size_t chars_max)
{
	char text[CLEAN_BYTES(TEXT_CHARS_MAX)];

	assert(chars_max <= TEXT_CHARS_MAX);
	clean_text(text, chars_max, bytes, len, CLEAN_BAD_IS_SHOWN);
	json_put_text(j, name, text);
}
