/*
 * The description of the API for machines. Each resource has its piece in src/admin/openapi/, with its paths and schemas; they
 * are put into admin_base.json when somebody asks.
 */
#include "admin/admin_serve.h"

#include "base/auto.h"
#include "gen/embed.h"

#include <string.h>

#define FOLDER "src/admin/openapi/"
#define BASE   FOLDER "admin_base.json"

/* What a piece may add to. */
static const char *const kinds[] = { "schemas", "parameters", "responses" };

static enum err add_members(const struct json *to, const struct json *from, const char *name)
{
	AUTO(json_freep) struct json *into = json_member_object(to, name);
	AUTO(json_freep) struct json *of   = json_member_object(from, name);

	if (json_kind(from, name) == JSON_IS_MISSING)
		return ERR_OK;
	return into && of ? json_take_members(into, of) : ERR_INTERNAL;
}

static enum err add_piece(const struct json *base, const struct embed_file *file)
{
	AUTO(json_freep) struct json *piece = NULL, *into = NULL, *from = NULL;
	enum err e = json_parse_lenient(&piece, (const char *)file->bytes, file->len, JSON_LENIENT_DEPTH_MAX);

	if (e == ERR_OK)
		e = add_members(base, piece, "paths");
	if (e != ERR_OK || json_kind(piece, "components") == JSON_IS_MISSING)
		return e;
	into = json_member_object(base, "components");
	from = json_member_object(piece, "components");
	if (!into || !from)
		return ERR_INTERNAL;
	for (size_t i = 0; e == ERR_OK && i < COUNT_OF(kinds); i++)
		e = add_members(into, from, kinds[i]);
	return e;
}

static enum err add_pieces(const struct json *base)
{
	enum err e = ERR_OK;

	for (const struct embed_file *f = embed_files; e == ERR_OK && f->path; f++) {
		if (strncmp(f->path, FOLDER, strlen(FOLDER)) == 0 && strcmp(f->path, BASE) != 0)
			e = add_piece(base, f);
	}
	return e;
}

enum err admin_openapi_text(char **out)
{
	AUTO(json_freep) struct json *base = NULL;
	enum err e = json_parse_lenient(&base, (const char *)embed_admin_base_json, embed_admin_base_json_len,
	                                JSON_LENIENT_DEPTH_MAX);

	if (e == ERR_OK)
		e = add_pieces(base);
	if (e != ERR_OK)
		return e == ERR_NOMEM ? e : ERR_INTERNAL;
	*out = json_text(base);
	return *out ? ERR_OK : ERR_NOMEM;
}

static enum err on_openapi(struct api_call *c, void *part)
{
	char    *text = NULL;
	enum err e    = admin_openapi_text(&text);

	(void)part;
	if (e != ERR_OK)
		return e;
	c->answer->status   = 200;
	c->answer->type     = "application/json";
	c->answer->body     = text;
	c->answer->body_len = strlen(text);
	c->answer->no_store = true;
	return ERR_OK;
}

const struct api_route admin_openapi_routes[] = {
	{ .method = "GET", .path = "/admin/v1/openapi.json", .role = API_VIEWER, .handle = on_openapi },
	{ 0 },
};
