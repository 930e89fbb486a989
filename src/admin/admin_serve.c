/*
 * The operator's surface: an HTTP server with a guard of its own.
 */
#include "admin/admin_serve.h"

#include "base/auto.h"
#include "base/metric.h"

#include <stdlib.h>
#include <unistd.h>

struct admin {
	struct http_server *http;
	struct http_part   *parts; /* those of the api, then more */
};

static enum err on_metrics(struct api_call *c, void *part)
{
	struct http_answer *a = c->answer;

	(void)part;
	a->body = metric_text(&a->body_len);
	if (!a->body)
		return ERR_NOMEM;
	a->status   = 200;
	a->type     = "text/plain; version=0.0.4";
	a->no_store = true;
	return ERR_OK;
}

const struct api_route admin_metric_routes[] = {
	{ .method = "GET", .path = "/metrics", .role = API_VIEWER, .handle = on_metrics },
	{ 0 },
};

static const struct http_route no_routes[] = { { 0 } };

static void close_all(const struct http_listen *on, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(on[i].fd);
}

static enum err start(struct admin *a, struct api *api, const struct admin_door *door, size_t part_count)
{
	struct http_config cfg = {
		.name            = door->name,
		.routes          = no_routes,
		.part            = api,
		.more            = a->parts,
		.more_count      = part_count,
		.errors          = api_errors,
		.guard           = api_guard,
		.takes_banned    = true,
		.connections_max = door->connections_max,
		.per_address_max = door->per_address_max,
		.leaving_max     = door->connections_max,
	};

	return http_start(&a->http, &cfg, api_conf(api), door->on, door->count, NULL);
}

enum err admin_start(struct admin **out, struct api *api, const struct admin_door *door, const struct http_part *more,
                     size_t more_count)
{
	size_t                  part_count;
	const struct http_part *parts = api_parts(api, &part_count);
	struct admin           *a     = calloc(1, sizeof(*a));
	enum err                e;

	if (a)
		a->parts = calloc(part_count + more_count + 1, sizeof(*a->parts));
	if (!a || !a->parts) {
		free(a);
		close_all(door->on, door->count);
		return ERR_NOMEM;
	}
	for (size_t i = 0; i < part_count; i++)
		a->parts[i] = parts[i];
	for (size_t i = 0; i < more_count; i++)
		a->parts[part_count + i] = more[i];
	e = start(a, api, door, part_count + more_count);
	if (e != ERR_OK) {
		free(a->parts);
		free(a);
		return e;
	}
	*out = a;
	return ERR_OK;
}

void admin_stop(struct admin *a)
{
	http_stop(a->http);
	free(a->parts);
	free(a);
}

void admin_reload_proxies(struct admin *a)
{
	http_reload(a->http);
}

void admin_accept_end(struct admin *a)
{
	http_accept_end(a->http);
}

void admin_poke(struct admin *a)
{
	http_poke(a->http);
}
