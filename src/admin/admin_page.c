#include "admin/admin_page.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "gen/embed.h"
#include "net/addr.h"
#include "net/listen.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER       "web/"
#define CHARTS       "web/node_modules/uplot/dist/"
#define EVENTS_PART  "admin-events"
#define EVENTS_BYTES 160
#define HOST_BYTES   48
#define ETAG_BYTES   (2 * HASH_SHA256_BYTES + 3)

/* --- Files --- */

static const char *type_of(const char *name)
{
	static const struct {
		const char *ending, *type;
	} types[] = {
		{ ".html", "text/html; charset=utf-8" },
		{ ".js", "text/javascript; charset=utf-8" },
		{ ".css", "text/css; charset=utf-8" },
		{ ".svg", "image/svg+xml" },
	};
	size_t len = strlen(name);

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		size_t ending = strlen(types[i].ending);

		if (len > ending && strcmp(name + len - ending, types[i].ending) == 0)
			return types[i].type;
	}
	return NULL;
}

/* What stands in for the charts of a binary that was built without npm: the page asks and says that they are missing. */
static const struct embed_file substitutes[] = {
	{ CHARTS "uPlot.esm.js", (const unsigned char *)"export default null;\n", 21 },
	{ CHARTS "uPlot.min.css", (const unsigned char *)"", 0 },
	{ NULL, NULL, 0 },
};

static bool is_in(const char *path, const char *folder, const char *name)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && strcmp(path + len, name) == 0;
}

static const struct embed_file *find_in(const struct embed_file *files, const char *name)
{
	for (; files->path; files++) {
		if (is_in(files->path, FOLDER, name) || is_in(files->path, CHARTS, name))
			return files;
	}
	return NULL;
}

static const struct embed_file *find(const char *name)
{
	const struct embed_file *file = find_in(embed_files, name);

	return file ? file : find_in(substitutes, name);
}

/* --- The page's policy --- */

/* The name before the port, as a policy can have it; IPv6 addresses cannot stand in one. False: it is not loopback. */
static bool loopback_name(char out[HOST_BYTES], const char *host)
{
	struct addr a;
	size_t      len;

	if (!host)
		return false;
	if (host[0] == '[')
		return text_copy(out, HOST_BYTES, "localhost") && strncmp(host, "[::1]", 5) == 0;
	if (!text_copy(out, HOST_BYTES, host))
		return false;
	len      = strcspn(out, ":");
	out[len] = '\0';
	return text_same_nocase(out, "localhost") ||
	       (addr_parse(&a, out, len, false) == ERR_OK && addr_is_loopback(&a));
}

void admin_page_events(char *out, size_t cap, const char *host)
{
	struct listen_place *places = calloc(LISTEN_PLACES_MAX, sizeof(*places));
	size_t               count  = places ? listen_places(places) : 0;
	char                 name[HOST_BYTES];
	bool                 is_loopback = loopback_name(name, host);

	out[0] = '\0';
	for (size_t i = 0; is_loopback && i < count; i++) {
		const char *port = strrchr(places[i].address, ':');
		size_t      len  = strlen(out);

		if (strcmp(places[i].part, EVENTS_PART) != 0 || !port || port[1] == '/')
			continue;
		if (!text_format(out + len, cap - len, " ws://%s%s", name, port))
			out[len] = '\0'; /* so many that they do not fit: the page says that it hears no events */
	}
	free(places);
}

/* --- Answers --- */

static void make_etag(char out[ETAG_BYTES], const struct embed_file *file, const char *events)
{
	uint8_t digest[HASH_SHA256_BYTES], of_events[HASH_SHA256_BYTES];
	char    hex[2 * HASH_SHA256_BYTES + 1];

	hash_sha256(digest, file->bytes, file->len);
	hash_sha256(of_events, events, strlen(events));
	/* A policy is kept with the page, so another policy is another page. */
	for (size_t i = 0; i < sizeof(digest); i++)
		digest[i] ^= of_events[i];
	hex_encode(hex, digest, sizeof(digest));
	text_format(out, ETAG_BYTES, "\"%s\"", hex);
}

static void add_fields(struct http_answer *a, const char *etag, const char *events)
{
	http_answer_field(a, "ETag", "%s", etag);
	http_answer_field(a, "Cache-Control", "no-cache");
	http_answer_field(a, "Content-Security-Policy",
	                  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
	                  "'self'%s; "
	                  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	                  events);
	http_answer_field(a, "X-Content-Type-Options", "nosniff");
	http_answer_field(a, "Referrer-Policy", "no-referrer");
	http_answer_field(a, "Cross-Origin-Opener-Policy", "same-origin");
	http_answer_field(a, "Cross-Origin-Resource-Policy", "same-origin");
}

static enum err answer(struct api_call *c, const char *name)
{
	const struct embed_file *file = find(name);
	struct http_answer      *a    = c->answer;
	char                     events[EVENTS_BYTES], etag[ETAG_BYTES];
	const char              *type = type_of(name);

	if (!file || !type)
		return ERR_NOT_FOUND;
	admin_page_events(events, sizeof(events), http_header(c->rq, "Host"));
	make_etag(etag, file, events);
	add_fields(a, etag, events);
	if (http_has_match(c->rq, etag)) {
		a->status = 304;
		return ERR_OK;
	}
	a->status    = 200;
	a->type      = type;
	a->body      = (char *)(uintptr_t)file->bytes;
	a->body_len  = file->len;
	a->is_static = true;
	return ERR_OK;
}

static enum err on_page(struct api_call *c, void *part)
{
	(void)part;
	return answer(c, "index.html");
}

static enum err on_file(struct api_call *c, void *part)
{
	(void)part;
	return answer(c, http_path_part(c->rq, 0));
}

const struct api_route admin_page_routes[] = {
	{ .method = "GET", .path = "/", .role = API_ANYBODY, .handle = on_page },
	{ .method = "GET", .path = "/web/{file}", .role = API_ANYBODY, .handle = on_file },
	{ 0 },
};
