/*
 * The whole file is rewritten to add a line: it is small, and so it is never half written.
 */
#include "store/secrets.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "os/file.h"
#include "os/random.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SECRETS_BYTES_MAX     65536
#define SECRET_BYTES_MAX      64
#define SECRET_NAME_BYTES_MAX 64

struct span {
	const char *at;
	size_t      len;
};

/* Cuts the first line off *rest. */
static struct span take_line(struct span *rest)
{
	const char *end  = memchr(rest->at, '\n', rest->len);
	size_t      len  = end ? (size_t)(end - rest->at) : rest->len;
	struct span line = { rest->at, len };

	rest->at += end ? len + 1 : len;
	rest->len -= end ? len + 1 : len;
	return line;
}

/* Whether the line is "name = value" with this name; *value is set then. */
static bool has_name(struct span *value, struct span line, const char *name)
{
	const char *equals = memchr(line.at, '=', line.len);
	if (!equals)
		return false;

	struct span left  = { line.at, (size_t)(equals - line.at) };
	struct span right = { equals + 1, line.len - left.len - 1 };
	text_trim(&left.at, &left.len);
	text_trim(&right.at, &right.len);
	*value = right;
	return left.len == strlen(name) && memcmp(left.at, name, left.len) == 0;
}

static enum err find(uint8_t *out, size_t len, struct span text, const char *name)
{
	while (text.len > 0) {
		struct span value;

		if (has_name(&value, take_line(&text), name))
			return hex_decode(out, len, value.at, value.len);
	}
	return ERR_NOT_FOUND;
}

static enum err add(uint8_t *out, size_t len, const char *path, struct span old, const char *name)
{
	char                  hex[2 * SECRET_BYTES_MAX + 1];
	size_t                cap  = old.len + 1 + SECRET_NAME_BYTES_MAX + sizeof(" = \n") + sizeof(hex);
	AUTO(auto_free) char *text = malloc(cap);

	if (!text)
		return ERR_NOMEM;
	random_bytes(out, len);
	hex_encode(hex, out, len);
	/* A last line without its end, as editors leave it, must not swallow the new one. */
	const char *gap  = old.len > 0 && old.at[old.len - 1] != '\n' ? "\n" : "";
	bool        fits = text_format(text, cap, "%.*s%s%s = %s\n", (int)old.len, old.at, gap, name, hex);
	assert(fits);
	(void)fits;
	return file_write(path, text, strlen(text), 0600);
}

static enum err load(uint8_t *out, size_t len, const char *path, const char *name)
{
	AUTO(auto_free) char *text = NULL;
	struct span           all  = { "", 0 };

	enum err e = file_read(&text, &all.len, path, SECRETS_BYTES_MAX);
	if (e == ERR_OK)
		all.at = text;
	else if (e != ERR_NOT_FOUND)
		return e;
	e = find(out, len, all, name);
	return e == ERR_NOT_FOUND ? add(out, len, path, all, name) : e;
}

enum err secret_load(uint8_t *out, size_t len, const char *path, const char *name, FILE *report)
{
	assert(len <= SECRET_BYTES_MAX && strlen(name) < SECRET_NAME_BYTES_MAX);
	errno      = 0;
	enum err e = load(out, len, path, name);

	if (e == ERR_MALFORMED)
		fprintf(report, "%s: the value of %s must be %zu hex digits; remove the line to get a new one\n", path,
		        name, 2 * len);
	else if (e == ERR_TOO_BIG)
		fprintf(report, "%s: this file is larger than a file of secrets can be\n", path);
	else if (e != ERR_OK)
		fprintf(report, "cannot keep secrets in %s: %s\n", path, errno ? strerror(errno) : err_people(e));
	return e;
}

/* --- A whole file --- */

#define KNOWN_BYTES 32

/* The first one is made at the first start. */
static const char *const known[] = { "address_key", "turn_secret", "signal_token" };

static bool is_known(struct span line, struct span *value)
{
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		if (has_name(value, line, known[i]))
			return true;
	}
	return false;
}

/* What an operator wrote beside them, with a # or a name before a =, is his. */
static enum err check_line(struct span line)
{
	uint8_t     secret[KNOWN_BYTES];
	struct span value;
	const char *at  = line.at;
	size_t      len = line.len;
	enum err    e   = ERR_OK;

	text_trim(&at, &len);
	if (len == 0 || at[0] == '#' || *at == '\r')
		return ERR_OK;
	if (is_known(line, &value))
		e = hex_decode(secret, sizeof(secret), value.at, value.len);
	else if (!memchr(at, '=', len))
		e = ERR_MALFORMED;
	wipe_secret(secret, sizeof(secret));
	return e;
}

static enum err check_all(char why[SECRETS_WHY_BYTES], struct span text)
{
	uint8_t     secret[KNOWN_BYTES];
	struct span rest = text;
	enum err    e;

	for (int line = 1; rest.len > 0; line++) {
		if (check_line(take_line(&rest)) == ERR_OK)
			continue;
		text_format(why, SECRETS_WHY_BYTES, "line %d is no whole secret", line);
		return ERR_MALFORMED;
	}
	e = find(secret, sizeof(secret), text, known[0]);
	wipe_secret(secret, sizeof(secret));
	if (e != ERR_OK)
		text_format(why, SECRETS_WHY_BYTES, "it has no %s", known[0]);
	return e == ERR_OK ? e : ERR_MALFORMED;
}

enum err secrets_check(char why[SECRETS_WHY_BYTES], const char *path)
{
	AUTO(auto_free) char *text = NULL;
	struct span           all  = { "", 0 };

	errno      = 0;
	enum err e = file_read(&text, &all.len, path, SECRETS_BYTES_MAX);
	if (e == ERR_NOT_FOUND)
		return e;
	if (e == ERR_TOO_BIG) {
		text_format(why, SECRETS_WHY_BYTES, "it is larger than a file of secrets can be");
		return ERR_MALFORMED;
	}
	if (e != ERR_OK) {
		text_format(why, SECRETS_WHY_BYTES, "it cannot be read: %s", errno ? strerror(errno) : err_people(e));
		return e;
	}
	all.at = text;
	e      = check_all(why, all);
	wipe_secret(text, all.len);
	return e;
}
