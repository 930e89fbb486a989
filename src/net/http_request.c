/*
 * Requests: the head is judged, and the handler is called.
 */
#include "net/http_request.h"

#include "base/metric.h"
#include "base/text.h"
#include "conf/conf_lock.h"
#include "net/http_head.h"
#include "net/proxy.h"

#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

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

bool http_request_has_unread(const struct http_request *rq)
{
	int waiting = 0;

	return ioctl(rq->slot.fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

bool http_is_private(const struct http_request *rq)
{
	const struct addr *peer = &rq->slot.peer;
	bool               is_proxy;

	conf_hold();
	is_proxy = addr_nets_contain(&rq->server->trusted, peer);
	conf_let_go();
	return rq->session.is_tls || peer->family == ADDR_UNIX || addr_is_loopback(peer) || is_proxy;
}

bool http_is_exempt(const struct http_request *rq)
{
	if (rq->is_forwarded)
		return false;
	if (rq->slot.peer.family == ADDR_UNIX)
		return true;
	return !rq->server->conf->server_production && addr_is_loopback(&rq->client);
}

void http_set_player(struct http_request *rq, const uint8_t id[BAN_PLAYER_BYTES])
{
	http_table_set_player(&rq->server->table, &rq->slot, id);
}

const struct http_route *http_route_of(const struct http_request *rq)
{
	return rq->route;
}

void *http_part_of(const struct http_request *rq)
{
	return rq->route ? rq->part : NULL;
}

bool http_peer_uid(const struct http_request *rq, uid_t *uid)
{
	struct ucred who;
	socklen_t    len = sizeof(who);

	if (rq->slot.peer.family != ADDR_UNIX || getsockopt(rq->slot.fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
		return false;
	*uid = who.uid;
	return true;
}

/* --- Requests --- */

/*
 * The library takes a NUL in a line for its end, and what stands behind it is lost: a path or a field would be another one
 * than a proxy saw. Its strings lie in the memory that the head was read into, with NULs for line breaks, so they show
 * where bytes are missing. So do folded lines, which it spoils by joining them.
 */
struct head_reader {
	struct http_head *head;
	const char       *end; /* of the line before */
	bool              is_cut;
};

/* Whether from one place to another there is nothing but so many line breaks, of one or two bytes each. */
static bool is_break(const char *from, const char *to, size_t breaks)
{
	uintptr_t gap = (uintptr_t)to - (uintptr_t)from;

	if (gap < breaks || gap > 2 * breaks)
		return false;
	for (size_t i = 0; i < gap; i++) {
		if (from[i] && from[i] != '\r' && from[i] != '\n')
			return false;
	}
	return true;
}

/* Blanks behind a value are no part of it (RFC 9110, 5.5), for us and for the library when it looks again. */
static void strip_end(const char *value, char *end)
{
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
}

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct head_reader *r   = arg;
	char               *end = value ? strchr(value, '\0') : NULL;

	(void)kind;
	if (!end || !is_break(r->end, name, 1)) {
		r->is_cut = true;
		return MHD_NO;
	}
	r->end = end;
	/* A coding has told the library already how to read the body: it counts as it was then. */
	if (!text_same_nocase(name, "Transfer-Encoding"))
		strip_end(value, end);
	http_head_add(r->head, name, value);
	return MHD_YES;
}

/* The first line, with its NULs for the blanks: method, target, version. */
static bool is_line_whole(const struct http_request *rq, const char *version)
{
	uintptr_t method = (uintptr_t)rq->method, target = (uintptr_t)rq->target;

	return target - method == strlen(rq->method) + 1 && (uintptr_t)version - target == rq->line_bytes + 1;
}

/* Collects the lines. One that cannot be seen whole makes the head a bad one. */
static void read_lines(struct http_head *head, struct http_request *rq, const char *version)
{
	struct head_reader              r = { .head = head, .end = strchr(version, '\0') };
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(rq->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, add_header, &r);
	if (r.is_cut || !info || !is_line_whole(rq, version) || !is_break(r.end, rq->method + info->header_size, 2))
		head->has_bad_line = true;
}

/* Reads the head as a whole, and finds out who asks. ERR_MALFORMED: the proxy names no address. */
static enum err read_head(struct http_head *head, struct http_request *rq, const char *version)
{
	struct http_server *s = rq->server;
	const char         *value;
	bool                forwarded;
	enum err            e;

	http_head_init(head, s->conf->http_client_address_header);
	read_lines(head, rq, version);
	rq->has_body     = head->has_body || head->has_bad_line; /* who knows what follows */
	rq->is_whole     = false;
	rq->is_forwarded = head->has_forwarded;
	value            = head->has_forwarded ? head->forwarded : NULL;
	conf_hold();
	if (s->cfg.takes_banned) /* for operators: nobody there is to be counted */
		e = addr_client(&rq->client, &forwarded, &rq->slot.peer, &s->trusted, value, head->forwarded_len);
	else
		e = proxy_client(&rq->client, &forwarded, &rq->slot.peer, &s->trusted, value, head->forwarded_len,
		                 M_PROXY_HTTP_SEEN);
	conf_let_go();
	return e;
}

static bool is_allowed_origin(const struct conf *conf, const char *origin)
{
	const struct conf_list *allowed    = &conf->http_allowed_origins;
	bool                    is_allowed = false;

	conf_hold();
	for (size_t i = 0; origin && i < allowed->count && !is_allowed; i++)
		is_allowed = text_same_nocase(allowed->words[i], origin);
	conf_let_go();
	return is_allowed;
}

enum err http_guard_origin(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)a;
	(void)part;
	if (http_request_reads_only(rq) || !http_has_header(rq, "Origin"))
		return ERR_OK;
	return is_allowed_origin(rq->server->conf, http_header(rq, "Origin")) ? ERR_OK : ERR_ORIGIN;
}

/* Its route does not look at the path. */
static bool is_stray(const struct http_request *rq)
{
	return rq->route && rq->route == rq->server->cfg.stray_post;
}

/* All of a head that can be refused before the guard is asked. found: what http_route_find said. */
static enum err check_head(const struct http_request *rq, const struct http_head *head, const char *version,
                           enum err found)
{
	bool takes_body = found == ERR_OK && rq->route->body;
	/* A coding in HTTP/1.0 is unknown to whoever forwards by the rules of 1.0 (RFC 9112, 6.1). */
	bool     takes_chunks = takes_body && strcmp(version, "HTTP/1.1") == 0;
	bool     takes_text   = takes_body && rq->route->body->text;
	enum err e            = http_head_check(head, rq->method, takes_chunks, takes_text);

	if (head->bytes + rq->line_bytes > (size_t)rq->server->conf->limits.http_head)
		return ERR_HEAD_TOO_BIG;
	if (e != ERR_OK)
		return e;
	return http_path_is_plain(rq->path) || is_stray(rq) ? ERR_OK : ERR_NOT_FOUND;
}

/* Whom the head names, or who came while the ban was made. */
static bool is_banned(const struct http_request *rq)
{
	if (rq->server->cfg.takes_banned || !ban_has_address(&rq->client))
		return false;
	metric_inc(M_BAN_REFUSED_HTTP);
	return true;
}

enum MHD_Result http_request_begin(struct http_request *rq, const char *version)
{
	struct http_head   head;
	struct http_answer a     = { 0 };
	http_handler       guard = rq->server->cfg.guard ? rq->server->cfg.guard : http_guard_origin;
	enum err           named = read_head(&head, rq, version);
	enum err           found = http_route_find(rq);
	enum err           e     = check_head(rq, &head, version, found);

	if (named == ERR_OK && !http_table_name(&rq->server->table, &rq->slot, &rq->client))
		named = ERR_LIMIT;
	if (named == ERR_OK && is_banned(rq))
		named = ERR_BANNED;
	if (e == ERR_OK)
		e = named;
	if (e == ERR_OK)
		e = guard(&a, rq, rq->server->cfg.part);
	if (e != ERR_OK || a.status)
		return http_send(rq, &a, e);
	if (found != ERR_OK)
		return http_send_error(rq, found);
	if (rq->route->body && rq->route->body->text)
		return http_text_begin(rq, head.lengths ? head.length : -1);
	if (rq->route->body)
		return http_body_begin(rq, head.length);
	return rq->has_body ? http_send_error(rq, ERR_TOO_BIG) : MHD_YES;
}

enum MHD_Result http_request_data(struct http_request *rq, const void *bytes, size_t len)
{
	if (!rq->route->body)
		return MHD_NO;
	return rq->route->body->text ? http_text_data(rq, bytes, len) : http_body_data(rq, bytes, len);
}

enum MHD_Result http_request_finish(struct http_request *rq)
{
	struct http_answer a = { 0 };
	enum err           e;

	if (rq->route->body)
		return rq->route->body->text ? http_text_finish(rq) : http_body_finish(rq);
	if (!http_table_move(&rq->server->table, &rq->slot, HTTP_WORKING))
		return MHD_NO;
	e = rq->route->handler(&a, rq, rq->part);
	return http_send(rq, &a, e);
}

void http_request_close(struct http_request *rq)
{
	http_body_close(rq);
	http_text_close(rq);
}
