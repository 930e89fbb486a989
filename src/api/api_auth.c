/*
 * Who asks. On the unix socket it is the peer's user that counts, unless the request came through a proxy or a page; over TCP,
 * and wherever one is sent, it is a token.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SCHEME "Bearer "

/* X-Real-IP is what a proxy with few words in its configuration sets. */
static const char *const proxy_fields[] = { "Origin", "Forwarded", "Via", "X-Forwarded-*", "X-Real-IP", "Sec-Fetch-*" };

const char *api_role_name(enum api_role r)
{
	static const char *const names[] = { "none", "viewer", "operator" };

	return names[r];
}

/* Also where it was sent to a name that is none of this machine's: who sits at the socket has no need of one. */
static bool came_through_others(const struct api *a, const struct http_request *rq)
{
	const char *host = http_header(rq, "Host");

	const char *named = a->conf->http_client_address_header; /* NULL in no server, but in tests of this */

	if ((named && http_has_header(rq, named)) || (host && *host && !api_host_is_ours(a->conf, host)))
		return true;
	for (size_t i = 0; i < COUNT_OF(proxy_fields); i++) {
		if (http_has_header(rq, proxy_fields[i]))
			return true;
	}
	return false;
}

static enum err by_token(struct api_caller *out, struct api *a, const struct http_request *rq)
{
	const char *value   = http_header(rq, "Authorization");
	bool        is_unix = out->is_unix;
	enum err    e       = ERR_TOKEN;

	if (value && strncasecmp(value, SCHEME, strlen(SCHEME)) == 0)
		e = api_token_caller(out, a, value + strlen(SCHEME));
	out->is_unix = is_unix;
	return e;
}

/* Whoever sends a token wants to be its owner, also where he needs none. */
enum err api_authenticate(struct api_caller *out, struct api *a, const struct http_request *rq)
{
	uid_t uid;

	*out = (struct api_caller){ .is_unix = http_peer_uid(rq, &uid) };
	if (http_has_header(rq, "Authorization"))
		return by_token(out, a, rq);
	if (!out->is_unix || came_through_others(a, rq) || (uid != 0 && uid != geteuid()))
		return ERR_TOKEN;
	out->role = API_OPERATOR;
	if (uid == 0)
		text_copy(out->who, sizeof(out->who), "root");
	else
		text_format(out->who, sizeof(out->who), "uid %u", (unsigned)uid);
	return ERR_OK;
}

/* --- Before anything else --- */

/* What stands in an address ends up in histories and logs. */
static bool has_token_in_query(const struct http_request *rq)
{
	static const char *const names[] = { "token", "access_token" };

	for (const char *at = http_raw_query(rq); *at; at += strcspn(at, "&"), at += *at == '&') {
		size_t len = strcspn(at, "=&");

		for (size_t i = 0; i < COUNT_OF(names); i++) {
			if (len == strlen(names[i]) && strncasecmp(at, names[i], len) == 0)
				return true;
		}
	}
	return false;
}

static enum err check_place(const struct api *a, const struct http_request *rq)
{
	const char *host = http_header(rq, "Host");
	uid_t       uid;

	if (!http_peer_uid(rq, &uid) && !api_host_is_ours(a->conf, host))
		return ERR_HOST;
	if (http_has_header(rq, "Origin") && !api_origin_is_own(http_header(rq, "Origin"), host))
		return ERR_ORIGIN;
	return ERR_OK;
}

static void count_refusal(enum err e, const struct http_request *rq)
{
	if (e == ERR_HOST)
		metric_inc(M_ADMIN_REFUSED_HOST);
	else if (e == ERR_ORIGIN)
		metric_inc(M_ADMIN_REFUSED_ORIGIN);
	else if (e == ERR_ROLE)
		metric_inc(M_ADMIN_REFUSED_ROLE);
	else if (e == ERR_TOKEN)
		metric_inc(http_has_header(rq, "Authorization") ? M_ADMIN_REFUSED_TOKEN : M_ADMIN_REFUSED_NO_TOKEN);
}

enum err api_guard(struct http_answer *a, struct http_request *rq, void *api)
{
	const struct api_route *route = api_route_of(api, rq);
	enum api_role           least = route ? route->role : API_VIEWER;
	struct api_caller       who;
	enum err                e = check_place(api, rq);

	if (e == ERR_OK && has_token_in_query(rq)) {
		metric_inc(M_ADMIN_REFUSED_QUERY);
		return api_say_error(a, ERR_MALFORMED,
		                     "a token in an address may end up in a log: send it as "
		                     "Authorization: Bearer, and revoke this one");
	}
	if (e == ERR_OK && least > API_ANYBODY) {
		e = api_authenticate(&who, api, rq);
		if (e == ERR_OK && who.role < least)
			e = ERR_ROLE;
	}
	if (e == ERR_OK)
		return ERR_OK;
	count_refusal(e, rq);
	return api_say_error(a, e,
	                     e == ERR_ORIGIN
	                             ? "only the page of this very server may ask, under the name it was opened by"
	                             : "");
}
