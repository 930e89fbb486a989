/*
 * Who asks. On the unix socket it is the peer's user that counts, unless the request came through a proxy or a page.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "base/text.h"

#include <unistd.h>

/* X-Real-IP is what a proxy with few words in its configuration sets. */
static const char *const proxy_fields[] = { "Origin", "Forwarded", "Via", "X-Forwarded-*", "X-Real-IP" };

const char *api_role_name(enum api_role r)
{
	static const char *const names[] = { "none", "viewer", "operator" };

	return names[r];
}

static bool came_through_others(const struct http_request *rq)
{
	for (size_t i = 0; i < COUNT_OF(proxy_fields); i++) {
		if (http_has_header(rq, proxy_fields[i]))
			return true;
	}
	return false;
}

enum err api_authenticate(struct api_caller *out, struct api *a, const struct http_request *rq)
{
	uid_t uid;

	(void)a;
	*out = (struct api_caller){ .is_unix = http_peer_uid(rq, &uid) };
	if (!out->is_unix || came_through_others(rq) || (uid != 0 && uid != geteuid()))
		return ERR_TOKEN;
	out->role = API_OPERATOR;
	if (uid == 0)
		text_copy(out->who, sizeof(out->who), "root");
	else
		text_format(out->who, sizeof(out->who), "uid %u", (unsigned)uid);
	return ERR_OK;
}

enum err api_guard(struct http_answer *a, struct http_request *rq, void *api)
{
	const struct api_route *route = api_route_of(rq);
	struct api_caller       who;
	enum err                e = ERR_OK;

	if (!route || route->role > API_ANYBODY)
		e = api_authenticate(&who, api, rq);
	return e == ERR_OK ? ERR_OK : api_errors(a, rq, e);
}
