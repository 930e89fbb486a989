/*
 * Requests: the head is judged, the route is found, the handler is called, the answer is handed to the library.
 */
#include "net/http_request.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/text.h"
#include "net/http_head.h"
#include "os/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *http_method(const struct http_request *rq)
{
	return rq->method;
}

const char *http_path(const struct http_request *rq)
{
	return rq->path;
}

const struct addr *http_client(const struct http_request *rq)
{
	return &rq->client;
}

/* --- Fields of the head --- */

struct header_search {
	const char *name;
	size_t      prefix_len; /* of a name that ends in *; 0: the whole name counts */
	size_t      count;
	const char *value;
};

static enum MHD_Result match_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct header_search *search = arg;

	(void)kind;
	if (search->prefix_len ? strncasecmp(name, search->name, search->prefix_len) == 0
	                       : text_same_nocase(name, search->name)) {
		search->count++;
		search->value = value;
	}
	return MHD_YES;
}

const char *http_header(const struct http_request *rq, const char *name)
{
	struct header_search search = { .name = name };

	MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, match_header, &search);
	return search.count == 1 ? search.value : NULL;
}

bool http_has_header(const struct http_request *rq, const char *name)
{
	size_t               len    = strlen(name);
	struct header_search search = { .name = name };

	if (len > 0 && name[len - 1] == '*')
		search.prefix_len = len - 1;
	MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, match_header, &search);
	return search.count > 0;
}

/* --- Answers --- */

enum err http_answer_error(struct http_answer *a, int status, const char *text)
{
	AUTO(json_freep) struct json *j = json_object_new();

	*a = (struct http_answer){ 0 };
	if (!j)
		return ERR_NOMEM;
	json_put_text(j, "error", text);
	a->body = json_text(j);
	if (!a->body)
		return ERR_NOMEM;
	a->body_len = strlen(a->body);
	a->status   = status;
	a->type     = "application/json";
	a->no_store = true;
	return ERR_OK;
}

static bool reads_only(const struct http_request *rq)
{
	return strcmp(rq->method, "GET") == 0 || strcmp(rq->method, "HEAD") == 0;
}

static void add_field(struct MHD_Response *r, const char *name, const char *value)
{
	if (value)
		MHD_add_response_header(r, name, value);
}

/* Hands the answer to the library, which sends it; the body is the library's or gone afterwards. */
static enum MHD_Result send_answer(struct http_request *rq, struct http_answer *a)
{
	enum MHD_ResponseMemoryMode mode = a->is_static ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE;
	struct MHD_Response        *r    = MHD_create_response_from_buffer(a->body_len, a->body, mode);
	enum MHD_Result             queued;
	bool                        closes;

	if (!r) {
		if (!a->is_static)
			free(a->body);
		return MHD_NO;
	}
	assert(a->status);
	closes = a->status >= 400 || !reads_only(rq) || rq->has_body;
	add_field(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	add_field(r, MHD_HTTP_HEADER_CACHE_CONTROL, a->no_store ? "no-store" : NULL);
	add_field(r, MHD_HTTP_HEADER_CONNECTION, closes ? "close" : NULL);
	add_field(r, MHD_HTTP_HEADER_ALLOW, a->status == MHD_HTTP_METHOD_NOT_ALLOWED ? rq->methods : NULL);
	add_field(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, a->status == MHD_HTTP_UNAUTHORIZED ? "Bearer" : NULL);
	if (http_table_move(&rq->server->table, &rq->slot, HTTP_ANSWERING))
		queued = MHD_queue_response(rq->mhd, (unsigned)a->status, r);
	else
		queued = MHD_NO;
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result send_error(struct http_request *rq, enum err e)
{
	struct http_answer a;

	if (err_fault(e) == ERR_FAULT_US)
		log_warn("http", rq->slot.id, "fails", "server=%s error=%s", rq->server->cfg.name, err_name(e));
	if (http_answer_error(&a, err_http(e), err_people(e)) != ERR_OK)
		return MHD_NO;
	return send_answer(rq, &a);
}

/* Sends what a guard or a handler came to. */
static enum MHD_Result send_result(struct http_request *rq, struct http_answer *a, enum err e)
{
	return e == ERR_OK ? send_answer(rq, a) : send_error(rq, e);
}

/* --- Requests --- */

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	http_head_add(arg, name, value ? value : "");
	return MHD_YES;
}

/* Looks at the head as a whole, and finds out who asks. */
static enum err check_head(struct http_request *rq)
{
	struct http_server *s = rq->server;
	struct http_head    head;
	bool                forwarded;

	http_head_init(&head, s->conf->http_client_address_header);
	MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, add_header, &head);
	rq->has_body = head.has_body;
	rq->client   = rq->slot.peer;
	if (http_head_check(&head, rq->method) != ERR_OK)
		return ERR_MALFORMED;
	if (addr_client(&rq->client, &forwarded, &rq->slot.peer, &s->trusted,
	                head.has_forwarded ? head.forwarded : NULL, head.forwarded_len) != ERR_OK)
		return ERR_MALFORMED;
	return http_path_is_plain(rq->path) ? ERR_OK : ERR_NOT_FOUND;
}

static bool is_allowed_origin(const struct conf *conf, const char *origin)
{
	const struct conf_list *allowed = &conf->http_allowed_origins;

	for (size_t i = 0; origin && i < allowed->count; i++) {
		if (text_same_nocase(allowed->words[i], origin))
			return true;
	}
	return false;
}

enum err http_guard_origin(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)a;
	(void)part;
	if (reads_only(rq) || !http_has_header(rq, "Origin"))
		return ERR_OK;
	return is_allowed_origin(rq->server->conf, http_header(rq, "Origin")) ? ERR_OK : ERR_ORIGIN;
}

static void add_method(struct http_request *rq, const char *method)
{
	const char *also = strcmp(method, "GET") == 0 ? ", HEAD" : "";
	size_t      len  = strlen(rq->methods);

	text_format(rq->methods + len, sizeof(rq->methods) - len, "%s%s%s", len ? ", " : "", method, also);
}

/* ERR_NOT_FOUND: no route has the path. ERR_METHOD: none of those that have it takes the method; all are listed. */
static enum err find_route(const struct http_route **out, struct http_request *rq)
{
	const char *method = strcmp(rq->method, "HEAD") == 0 ? "GET" : rq->method;

	rq->methods[0] = '\0';
	for (const struct http_route *r = rq->server->cfg.routes; r->path; r++) {
		if (strcmp(r->path, rq->path) != 0)
			continue;
		if (strcmp(r->method, method) == 0) {
			*out = r;
			return ERR_OK;
		}
		add_method(rq, r->method);
	}
	return rq->methods[0] ? ERR_METHOD : ERR_NOT_FOUND;
}

enum MHD_Result http_request_begin(struct http_request *rq)
{
	const struct http_route *route;
	struct http_answer       a     = { 0 };
	http_handler             guard = rq->server->cfg.guard ? rq->server->cfg.guard : http_guard_origin;
	enum err                 e     = check_head(rq);

	if (e != ERR_OK)
		return send_error(rq, e);
	e = guard(&a, rq, rq->server->cfg.part);
	if (e != ERR_OK || a.status)
		return send_result(rq, &a, e);
	e = find_route(&route, rq);
	if (e == ERR_OK && rq->has_body)
		e = ERR_TOO_BIG; /* no route takes a body */
	return e == ERR_OK ? MHD_YES : send_error(rq, e);
}

enum MHD_Result http_request_finish(struct http_request *rq)
{
	const struct http_route *route;
	struct http_answer       a = { 0 };
	enum err                 e = find_route(&route, rq);

	if (!http_table_move(&rq->server->table, &rq->slot, HTTP_WORKING))
		return MHD_NO;
	if (e == ERR_OK)
		e = route->handler(&a, rq, rq->server->cfg.part);
	return send_result(rq, &a, e);
}
