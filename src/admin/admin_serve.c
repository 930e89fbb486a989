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
};

/* X-Real-IP is what a proxy with few words in its configuration sets. */
static const char *const proxy_fields[] = { "Origin", "Forwarded", "Via", "X-Forwarded-*", "X-Real-IP" };

static enum err ask_for_token(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	for (size_t i = 0; i < COUNT_OF(proxy_fields); i++) {
		if (http_has_header(rq, proxy_fields[i]))
			return http_answer_error(a, 401,
			                         "this came through a proxy or a web page, where a token is needed and "
			                         "none exists yet; use the socket itself, without a proxy");
	}
	return ERR_OK;
}

static enum err on_metrics(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	a->body = metric_text(&a->body_len);
	if (!a->body)
		return ERR_NOMEM;
	a->status   = 200;
	a->type     = "text/plain; version=0.0.4";
	a->no_store = true;
	return ERR_OK;
}

static const struct http_route routes[] = {
	{ "GET", "/metrics", on_metrics, NULL, NULL },
	{ 0 },
};

enum err admin_start(struct admin **out, const struct conf *conf, int fd, const struct http_part *more,
                     size_t more_count)
{
	struct http_config cfg = {
		.name            = "admin",
		.routes          = routes,
		.more            = more,
		.more_count      = more_count,
		.guard           = ask_for_token,
		.connections_max = conf->limits.admin_connections,
		.leaving_max     = conf->limits.admin_connections,
	};
	struct admin *a = calloc(1, sizeof(*a));
	enum err      e;

	if (!a) {
		close(fd);
		return ERR_NOMEM;
	}
	e = http_start(&a->http, &cfg, conf, &(struct http_listen){ .fd = fd }, 1, NULL);
	if (e != ERR_OK) {
		free(a);
		return e;
	}
	*out = a;
	return ERR_OK;
}

void admin_stop(struct admin *a)
{
	http_stop(a->http);
	free(a);
}

void admin_poke(struct admin *a)
{
	http_poke(a->http);
}
