/*
 * Routes: from a part's table to net/http's, and what happens to every request on the way to its handler.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "/admin/v1/"

/* --- One request --- */

static enum err read_body(struct api_call *c, const struct api_route *route, struct json **out, const char *bytes,
                          size_t len)
{
	enum err e = ERR_OK;

	if (route->body == API_TEXT) {
		c->text     = bytes;
		c->text_len = len;
	}
	if (route->body != API_OBJECT)
		return ERR_OK;
	if (len > 0)
		e = json_parse(out, bytes, len);
	else if (strcmp(route->method, "PUT") == 0) /* what replaces something is not left out by accident */
		return api_problem(c, ERR_MALFORMED, "the body is missing; {} takes everything back to its default");
	else if (!(*out = json_object_new()))
		e = ERR_NOMEM;
	c->body = *out;
	return e == ERR_MALFORMED ? api_problem(c, e, "the body is not one JSON object, or has a member twice") : e;
}

static enum err read_dry_run(struct api_call *c)
{
	const char *value = http_query(c->rq, "dry_run");

	if (!value)
		return ERR_OK;
	c->dry_run = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
	return c->dry_run || strcmp(value, "false") == 0 || strcmp(value, "0") == 0
	               ? ERR_OK
	               : api_problem(c, ERR_MALFORMED, "dry_run is true or false");
}

/* --- From the guard to the answer --- */

/* One token alone cannot fill the trail in no time, so that what it did before is gone. */
static bool may_act(const struct api_call *c)
{
	uint8_t key[KEYED_KEY_BYTES] = { 0 };
	bool    may;

	if (!c->who->token)
		return true;
	memcpy(key, &c->who->token, sizeof(c->who->token));
	pthread_mutex_lock(&c->api->pace_lock);
	may = bucket_take(c->api->pace, key, clock_mono_ms());
	pthread_mutex_unlock(&c->api->pace_lock);
	return may;
}

static enum err handle(struct api_call *c, struct api_bound *b)
{
	struct audit_row row;
	enum err         e;

	if (!b->route->action || c->dry_run)
		return b->route->handle(c, b->part);
	if (!may_act(c))
		return ERR_LIMIT;
	e = api_trail_begin(&row, c, b->route);
	if (e != ERR_OK)
		return e;
	e = b->route->handle(c, b->part);
	api_trail_end(&row, c, e);
	return e;
}

static enum err dispatch(struct http_answer *a, struct http_request *rq, struct api_bound *b, const char *bytes,
                         size_t len)
{
	struct api_caller             who  = { 0 };
	struct api_call               c    = { .api = b->api, .rq = rq, .answer = a, .who = &who };
	AUTO(json_freep) struct json *body = NULL;
	enum err                      e    = ERR_OK;
	uid_t                         uid;

	text_copy(c.target, sizeof(c.target),
	          http_path(rq) + (strncmp(http_path(rq), PREFIX, strlen(PREFIX)) == 0 ? strlen(PREFIX) : 0));
	if (b->route->role > API_ANYBODY)
		e = api_authenticate(&who, b->api, rq);
	else
		who.is_unix = http_peer_uid(rq, &uid);
	if (e == ERR_OK && who.role < b->route->role)
		e = ERR_ROLE;
	if (e == ERR_OK && !b->part)
		e = ERR_PART_OFF;
	if (e == ERR_OK)
		e = api_query_check(&c, b->route);
	if (e == ERR_OK)
		e = read_dry_run(&c);
	if (e == ERR_OK)
		e = read_body(&c, b->route, &body, bytes, len);
	if (e == ERR_OK && b->route->admit)
		e = b->route->admit(&who, &c, b->part);
	if (e == ERR_OK)
		e = handle(&c, b);
	return e == ERR_OK ? ERR_OK : api_say_error(a, e, c.problem);
}

static enum err on_request(struct http_answer *a, struct http_request *rq, void *part)
{
	return dispatch(a, rq, part, NULL, 0);
}

static enum err on_text(struct http_answer *a, struct http_request *rq, char *body, size_t len, void *part)
{
	return dispatch(a, rq, part, body, len);
}

/* --- Tables --- */

static struct api_bound *bind_route(struct api *a, const struct api_route *route, void *part)
{
	struct api_bound *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->route     = route;
	b->part      = part;
	b->api       = a;
	b->routes[0] = (struct http_route){ .method = route->method, .path = route->path, .errors = api_errors };
	if (route->body == API_NO_BODY) {
		b->routes[0].handler = on_request;
		return b;
	}
	b->text.max           = route->body_max ? route->body_max : API_BODY_BYTES_MAX;
	b->text.handle        = on_text;
	b->text.may_be_absent = true;
	b->body.text          = &b->text;
	b->routes[0].body     = &b->body;
	return b;
}

static enum err grow(struct api *a)
{
	size_t             cap   = a->count + 1;
	struct api_bound **bound = realloc(a->bound, cap * sizeof(*bound));
	struct http_part  *parts;

	if (!bound)
		return ERR_NOMEM;
	a->bound = bound;
	parts    = realloc(a->parts, cap * sizeof(*parts));
	if (!parts)
		return ERR_NOMEM;
	a->parts = parts;
	return ERR_OK;
}

enum err api_add(struct api *a, const struct api_route *routes, void *part)
{
	for (; routes->path; routes++) {
		struct api_bound *b = grow(a) == ERR_OK ? bind_route(a, routes, part) : NULL;

		if (!b)
			return ERR_NOMEM;
		a->bound[a->count]   = b;
		a->parts[a->count++] = (struct http_part){ .routes = b->routes, .part = b };
	}
	return ERR_OK;
}

const struct http_part *api_parts(const struct api *a, size_t *count)
{
	*count = a->count;
	return a->parts;
}

const struct api_route *api_route_at(const struct api *a, size_t at)
{
	return at < a->count ? a->bound[at]->route : NULL;
}

/* Parts that are not the api's have their own. */
const struct api_route *api_route_of(const struct api *a, const struct http_request *rq)
{
	const void *part = http_part_of(rq);

	for (size_t i = 0; part && i < a->count; i++) {
		if (a->bound[i] == part)
			return a->bound[i]->route;
	}
	return NULL;
}

enum err api_new(struct api **out, struct loop *loop, struct store *store, const struct conf *conf)
{
	struct api *a = calloc(1, sizeof(*a));

	if (!a)
		return ERR_NOMEM;
	*a      = (struct api){ .loop = loop, .store = store, .conf = conf };
	a->pace = bucket_new(conf->limits.admin_action_rate, conf->limits.admin_action_burst,
	                     (size_t)conf->limits.admin_tokens, random_u64());
	if (!a->pace) {
		free(a);
		return ERR_NOMEM;
	}
	pthread_mutex_init(&a->pace_lock, NULL);
	api_tokens_init(&a->tokens);
	api_trail_init(a);
	*out = a;
	return ERR_OK;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->count; i++)
		free(a->bound[i]);
	free(a->bound);
	free(a->parts);
	timer_clear(&a->hour);
	api_tokens_fini(&a->tokens);
	bucket_free(a->pace);
	pthread_mutex_destroy(&a->pace_lock);
	free(a);
}

struct loop *api_loop(const struct api *a)
{
	return a->loop;
}

struct store *api_store(const struct api *a)
{
	return a->store;
}

const struct conf *api_conf(const struct api *a)
{
	return a->conf;
}
