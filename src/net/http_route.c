/*
 * Routes: which one a path belongs to, and what the path and the query say.
 */
#include "net/http_head.h"
#include "net/http_request.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

/* Whether the path is this one with anything in place of its {names}; fills the parts. */
static bool matches(struct http_request *rq, const char *pattern)
{
	const char *path = rq->path;

	rq->part_count = 0;
	while (*pattern) {
		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		size_t len = strcspn(path, "/");

		if (len == 0 || len > HTTP_PART_BYTES_MAX)
			return false;
		assert(rq->part_count < HTTP_PARTS_MAX);
		memcpy(rq->parts[rq->part_count], path, len);
		rq->parts[rq->part_count++][len] = '\0';
		path += len;
		pattern += strcspn(pattern, "}") + 1;
	}
	return *path == '\0';
}

/* The tables: the server's own, then those of its parts. Past the last one: NULL. */
static const struct http_route *table_at(void **part, const struct http_config *cfg, size_t at)
{
	if (at == 0) {
		*part = cfg->part;
		return cfg->routes;
	}
	if (at > cfg->more_count)
		return NULL;
	*part = cfg->more[at - 1].part;
	return cfg->more[at - 1].routes;
}

static const struct http_route *route_of_table(struct http_request *rq, const struct http_route *all, bool is_exact)
{
	for (const struct http_route *r = all; r->path; r++) {
		if (is_exact ? strcmp(r->path, rq->path) == 0 : strchr(r->path, '{') && matches(rq, r->path))
			return r;
	}
	return NULL;
}

/* The first route that has the path: an exact one of any table, else one with names. */
static const struct http_route *route_of_path(struct http_request *rq)
{
	const struct http_config *cfg   = &rq->server->cfg;
	const struct http_route  *route = NULL, *all;
	void                     *part;

	rq->part       = cfg->part;
	rq->part_count = 0;
	if (!http_path_is_plain(rq->path) || strpbrk(rq->path, "{}"))
		return NULL;
	for (int pass = 0; !route && pass < 2; pass++) {
		for (size_t i = 0; !route && (all = table_at(&part, cfg, i)); i++)
			route = route_of_table(rq, all, pass == 0);
	}
	if (route)
		rq->part = part;
	else
		rq->part_count = 0;
	return route;
}

static void add_method(struct http_request *rq, const char *method)
{
	const char *also = strcmp(method, "GET") == 0 ? ", HEAD" : "";
	size_t      len  = strlen(rq->methods);

	text_format(rq->methods + len, sizeof(rq->methods) - len, "%s%s%s", len ? ", " : "", method, also);
}

/* Of the routes of this path, in any table, the one that takes the method; the others' methods are collected. */
static enum err find(struct http_request *rq)
{
	const char              *method = strcmp(rq->method, "HEAD") == 0 ? "GET" : rq->method;
	const struct http_route *first  = route_of_path(rq), *all;
	void                    *part;

	rq->methods[0] = '\0';
	rq->route      = first;
	if (!first || !first->path) /* one without is the end of a table */
		return ERR_NOT_FOUND;
	for (size_t i = 0; (all = table_at(&part, &rq->server->cfg, i)); i++) {
		for (const struct http_route *r = all; r->path; r++) {
			if (strcmp(r->path, first->path) != 0)
				continue;
			if (strcmp(r->method, method) == 0) {
				rq->route = r;
				rq->part  = part;
				return ERR_OK;
			}
			add_method(rq, r->method);
		}
	}
	return ERR_METHOD;
}

/*
 * Whether the request belongs to cfg.stray_post. Where the path has routes of another part, with a form of errors of its
 * own, it is that part's to say that it takes no POST.
 */
static bool is_stray(const struct http_request *rq)
{
	const struct http_route *stray = rq->server->cfg.stray_post;

	if (!stray || strcmp(rq->method, "POST") != 0)
		return false;
	return !rq->route || !rq->route->errors || rq->route->errors == stray->errors;
}

enum err http_route_find(struct http_request *rq)
{
	enum err e = find(rq);

	if (e == ERR_OK || !is_stray(rq))
		return e;
	rq->route = rq->server->cfg.stray_post;
	rq->part  = rq->server->cfg.stray_part;
	return ERR_OK;
}

const char *http_path_part(const struct http_request *rq, size_t n)
{
	assert(n < rq->part_count);
	return rq->parts[n];
}

/* --- The query --- */

struct query_search {
	const char *name;
	size_t      count;
	const char *value;
};

static enum MHD_Result match_argument(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct query_search *search = arg;

	(void)kind;
	if (strcmp(name, search->name) == 0) {
		search->count++;
		search->value = value ? value : "";
	}
	return MHD_YES;
}

static struct query_search search_query(const struct http_request *rq, const char *name)
{
	struct query_search search = { .name = name };

	MHD_get_connection_values(rq->mhd, MHD_GET_ARGUMENT_KIND, match_argument, &search);
	return search;
}

const char *http_query(const struct http_request *rq, const char *name)
{
	struct query_search search = search_query(rq, name);

	return search.count == 1 ? search.value : NULL;
}

bool http_has_query(const struct http_request *rq, const char *name)
{
	return search_query(rq, name).count > 0;
}

const char *http_raw_query(const struct http_request *rq)
{
	return rq->query ? rq->query : "";
}
