/*
 * Requests: the head is judged, and the handler is called.
 */
#include "net/http_request.h"

#include "base/text.h"
#include "net/http_head.h"

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

bool http_request_reads_only(const struct http_request *rq)
{
	return strcmp(rq->method, "GET") == 0 || strcmp(rq->method, "HEAD") == 0;
}

bool http_is_private(const struct http_request *rq)
{
	const struct addr *peer = &rq->slot.peer;

	return peer->family == ADDR_UNIX || addr_is_loopback(peer) || addr_nets_contain(&rq->server->trusted, peer);
}

bool http_is_exempt(const struct http_request *rq)
{
	if (rq->is_forwarded)
		return false;
	if (rq->slot.peer.family == ADDR_UNIX)
		return true;
	return !rq->server->conf->server_production && addr_is_loopback(&rq->client);
}

/* --- Requests --- */

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	http_head_add(arg, name, value ? value : "");
	return MHD_YES;
}

/* Reads the head as a whole, and finds out who asks. ERR_MALFORMED: the proxy names no address. */
static enum err read_head(struct http_head *head, struct http_request *rq)
{
	struct http_server *s = rq->server;
	bool                forwarded;

	http_head_init(head, s->conf->http_client_address_header);
	MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, add_header, head);
	rq->has_body     = head->has_body;
	rq->is_forwarded = head->has_forwarded;
	return addr_client(&rq->client, &forwarded, &rq->slot.peer, &s->trusted,
	                   head->has_forwarded ? head->forwarded : NULL, head->forwarded_len);
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
	if (http_request_reads_only(rq) || !http_has_header(rq, "Origin"))
		return ERR_OK;
	return is_allowed_origin(rq->server->conf, http_header(rq, "Origin")) ? ERR_OK : ERR_ORIGIN;
}

/* All of a head that can be refused before the guard is asked. found: what http_route_find said. */
static enum err check_head(const struct http_request *rq, const struct http_head *head, const char *version,
                           enum err found)
{
	/* A coding in HTTP/1.0 is unknown to whoever forwards by the rules of 1.0 (RFC 9112, 6.1). */
	bool     takes_chunks = found == ERR_OK && rq->route->body && strcmp(version, "HTTP/1.1") == 0;
	enum err e            = http_head_check(head, rq->method, takes_chunks);

	if (head->bytes + rq->line_bytes > (size_t)rq->server->conf->limits.http_head)
		return ERR_HEAD_TOO_BIG;
	if (e != ERR_OK)
		return e;
	return http_path_is_plain(rq->path) ? ERR_OK : ERR_NOT_FOUND;
}

enum MHD_Result http_request_begin(struct http_request *rq, const char *version)
{
	struct http_head   head;
	struct http_answer a     = { 0 };
	http_handler       guard = rq->server->cfg.guard ? rq->server->cfg.guard : http_guard_origin;
	enum err           named = read_head(&head, rq);
	enum err           found = http_route_find(rq);
	enum err           e     = check_head(rq, &head, version, found);

	if (e == ERR_OK)
		e = named;
	if (e == ERR_OK)
		e = guard(&a, rq, rq->server->cfg.part);
	if (e != ERR_OK || a.status)
		return http_send(rq, &a, e);
	if (found != ERR_OK)
		return http_send_error(rq, found);
	if (rq->route->body)
		return http_body_begin(rq, head.length);
	return rq->has_body ? http_send_error(rq, ERR_TOO_BIG) : MHD_YES;
}

enum MHD_Result http_request_finish(struct http_request *rq)
{
	struct http_answer a = { 0 };
	enum err           e;

	if (rq->route->body)
		return http_body_finish(rq);
	if (!http_table_move(&rq->server->table, &rq->slot, HTTP_WORKING))
		return MHD_NO;
	e = rq->route->handler(&a, rq, rq->part);
	return http_send(rq, &a, e);
}
