#include "support/rest_client.h"

#include "base/hex.h"
#include "support/tunnel_message.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES_MAX 16384

/* --- Requests --- */

size_t rest_head(char *out, size_t cap, const char *player, const char *method, const char *path, const char *fields)
{
	uint8_t key[KEY_BYTES];
	char    digits[2 * KEY_BYTES + 1], authorization[80] = "";
	int     len;

	if (player) {
		key_of(key, player);
		hex_encode(digits, key, sizeof(key));
		snprintf(authorization, sizeof(authorization), "Authorization: Bearer %s\r\n", digits);
	}
	len = snprintf(out, cap, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s%s\r\n", method, path,
	               authorization, fields);
	cr_assert(len > 0 && (size_t)len < cap, "the test's own head is too long");
	return (size_t)len;
}

struct http_result rest_ask(const struct server *s, const char *player, const char *method, const char *path,
                            const char *fields, const void *body, size_t len)
{
	char  *request = malloc(HEAD_BYTES_MAX + len);
	char   all[HEAD_BYTES_MAX - 512];
	size_t head;

	cr_assert_not_null(request);
	if (body)
		snprintf(all, sizeof(all), "%sContent-Length: %zu\r\n", fields, len);
	else
		snprintf(all, sizeof(all), "%s", fields);
	head = rest_head(request, HEAD_BYTES_MAX, player, method, path, all);
	if (body)
		memcpy(request + head, body, len);
	struct http_result r = http_exchange(s->http_port, request, head + (body ? len : 0), REST_PATIENCE_MS);

	free(request);
	return r;
}

struct http_result rest_get(const struct server *s, const char *player, const char *path)
{
	return rest_ask(s, player, "GET", path, "", NULL, 0);
}

struct http_result rest_put(const struct server *s, const char *player, const char *campaign, const char *query,
                            const char *fields, const void *body, size_t len)
{
	char path[200];

	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint%s", campaign, query);
	return rest_ask(s, player, "PUT", path, fields, body, len);
}

/* --- Bodies --- */

char *rest_chunks(size_t *out_len, const void *body, size_t len, size_t chunk)
{
	char *out = NULL;
	FILE *f   = open_memstream(&out, out_len);

	cr_assert_not_null(f);
	for (size_t at = 0; at < len; at += chunk) {
		size_t n = len - at < chunk ? len - at : chunk;

		fprintf(f, "%zx\r\n", n);
		fwrite((const char *)body + at, 1, n, f);
		fputs("\r\n", f);
	}
	fputs("0\r\n\r\n", f);
	fclose(f);
	return out;
}

char *rest_bytes(size_t len, unsigned seed)
{
	char    *out   = malloc(len + 1);
	uint32_t state = seed * 2654435761u + 1;

	cr_assert_not_null(out);
	for (size_t i = 0; i < len; i++) {
		state  = state * 1664525u + 1013904223u;
		out[i] = (char)(state >> 24);
	}
	out[len] = '\0';
	return out;
}

static void put_u32(FILE *f, size_t n)
{
	for (int i = 0; i < 4; i++)
		fputc((int)(n >> 8 * i & 0xff), f);
}

char *rest_container(size_t *out_len, const char *campaign, const char *lines, size_t save_len)
{
	char *out  = NULL, text[4096];
	FILE *f    = open_memstream(&out, out_len);
	char *save = rest_bytes(save_len, (unsigned)save_len);

	cr_assert_not_null(f);
	snprintf(text, sizeof(text),
	         "campaign=%s\nname=Island\nlevel=mines\ncheckpoint=lift\nhostname=Ann\nstamp=1700000000\n%s", campaign,
	         lines);
	fputs("CCSV", f);
	put_u32(f, 1);
	put_u32(f, strlen(text));
	fputs(text, f);
	put_u32(f, save_len);
	fwrite(save, 1, save_len, f);
	fclose(f);
	free(save);
	return out;
}

/* --- Answers --- */

/* Of the whole, in *root, which the caller lets go. NULL when there is nothing at the end of the way. */
static json_t *find(json_t **root, const struct http_result *r, const char *way)
{
	char    copy[200];
	char   *rest = copy;
	json_t *at;

	*root = json_loads(r->body ? r->body : "", 0, NULL);
	at    = *root;
	snprintf(copy, sizeof(copy), "%s", way);
	for (char *step = strsep(&rest, "."); at && step; step = strsep(&rest, "."))
		at = json_is_array(at) ? json_array_get(at, strtoul(step, NULL, 10)) : json_object_get(at, step);
	return at;
}

static json_t *need(json_t **root, const struct http_result *r, const char *way)
{
	json_t *at = find(root, r, way);

	cr_assert_not_null(at, "no %s in %d %s", way, r->status, r->body);
	return at;
}

int64_t rest_int(const struct http_result *r, const char *way)
{
	json_t *root, *at = need(&root, r, way);
	int64_t n = json_integer_value(at);

	cr_assert(json_is_integer(at), "%s is no integer in %s", way, r->body);
	json_decref(root);
	return n;
}

bool rest_bool(const struct http_result *r, const char *way)
{
	json_t *root, *at = need(&root, r, way);
	bool    is = json_is_true(at);

	cr_assert(json_is_boolean(at), "%s is neither true nor false in %s", way, r->body);
	json_decref(root);
	return is;
}

const char *rest_text(const struct http_result *r, const char *way, char *out, size_t cap)
{
	json_t *root, *at = need(&root, r, way);

	cr_assert(json_is_string(at), "%s is no text in %s", way, r->body);
	snprintf(out, cap, "%s", json_string_value(at));
	json_decref(root);
	return out;
}

size_t rest_count(const struct http_result *r, const char *way)
{
	json_t *root, *at = need(&root, r, way);
	size_t  count = json_array_size(at);

	cr_assert(json_is_array(at), "%s is no array in %s", way, r->body);
	json_decref(root);
	return count;
}

bool rest_has(const struct http_result *r, const char *way)
{
	json_t *root;
	bool    has = find(&root, r, way) != NULL;

	json_decref(root);
	return has;
}

void rest_expect_at(const char *file, int line, const struct http_result *r, int status, const char *code)
{
	char said[80] = "";

	if (rest_has(r, "error.code"))
		rest_text(r, "error.code", said, sizeof(said));
	if (status >= 400)
		cr_expect(!strstr(r->body, "blobs") && !strstr(r->body, "/tmp") && !strstr(r->body, "coop.db"),
		          "%s:%d: a file name in %s", file, line, r->body);
	cr_expect(r->status == status && strcmp(said, code ? code : "") == 0, "%s:%d: %d %s instead of %d %s: %s", file,
	          line, r->status, said, status, code ? code : "", r->body);
}

void rest_freep(struct http_result *r)
{
	http_result_free(r);
}
