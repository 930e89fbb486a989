/* What the files of api/ share. */
#ifndef API_API_INSIDE_H
#define API_API_INSIDE_H

#include "api/api.h"

/* A route, in the form that net/http takes. */
struct api_bound {
	struct http_route       routes[2]; /* the second ends the table */
	struct http_body        body;
	struct http_text        text;
	const struct api_route *route;
	void                   *part;
	struct api             *api;
};

struct api {
	struct loop       *loop;
	struct store      *store;
	const struct conf *conf;
	struct api_bound **bound;
	struct http_part  *parts; /* as many */
	size_t             count;
};

/* The route that a request was for; NULL: none. */
const struct api_route *api_route_of(const struct http_request *rq);

/* Decodes %XX. ERR_MALFORMED: not decodable, or too long with its NUL. */
enum err api_decode(char *out, size_t cap, size_t *len, const char *text);

/* Checks that the query has only what the route knows, each once. */
enum err api_query_check(struct api_call *c, const struct api_route *route);

/* {"error":{...}}; problem "" is err_people's sentence. */
enum err api_say_error(struct http_answer *a, enum err e, const char *problem);

#endif
