/*
 * /healthz and /readyz.
 */
#include "health/health_serve.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/version.h"

#include <string.h>

void health_init(struct health *h, const struct store *store)
{
	h->store   = store;
	h->lobbies = NULL;
	atomic_init(&h->state, HEALTH_STARTING);
}

void health_set(struct health *h, enum health_state state)
{
	atomic_store(&h->state, (int)state);
}

static enum err on_healthz(struct http_answer *a, struct http_request *rq, void *part)
{
	const struct health          *h = part;
	AUTO(json_freep) struct json *j = json_object_new();

	(void)rq;
	if (!j)
		return ERR_NOMEM;
	json_put_bool(j, "ok", true);
	json_put_int(j, "lobbies", h->lobbies ? h->lobbies(h->lobbies_arg) : 0);
	json_put_text(j, "version", COOPD_VERSION);
	json_put_text(j, "store", store_health_text(store_health(h->store)));
	json_put_bool(j, "draining", atomic_load(&h->state) == HEALTH_DRAINING);
	return http_answer_json(a, 200, j);
}

/* Draining comes first: it is what the operator wanted, and it will not get better. */
const char *health_obstacle(enum health_state state, enum store_health store)
{
	if (state == HEALTH_DRAINING)
		return "draining";
	if (store == STORE_FAILING)
		return "failing";
	return state == HEALTH_STARTING ? "starting" : NULL;
}

static enum err on_readyz(struct http_answer *a, struct http_request *rq, void *part)
{
	const struct health          *h   = part;
	enum health_state             now = (enum health_state)atomic_load(&h->state);
	const char                   *why = health_obstacle(now, store_health(h->store));
	AUTO(json_freep) struct json *j   = json_object_new();

	(void)rq;
	if (!j)
		return ERR_NOMEM;
	json_put_bool(j, "ready", !why);
	json_put_text(j, "state", why ? why : "ready");
	return http_answer_json(a, why ? 503 : 200, j);
}

const struct http_route health_routes[] = {
	{ "GET", "/healthz", on_healthz, NULL, NULL },
	{ "GET", "/readyz", on_readyz, NULL, NULL },
	{ 0 },
};
