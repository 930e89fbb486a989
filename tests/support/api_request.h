/*
 * A request as a handler of the operator's API sees it, without a connection: for what looks only at the path's parts, the query
 * and the body.
 */
#ifndef TESTS_API_REQUEST_H
#define TESTS_API_REQUEST_H

#include "api/api.h"
#include "net/http_request.h"

struct api_request { /* only what needs no library: http_query finds nothing */
	struct http_request rq;
	struct http_answer  answer;
	struct api_caller   who;
	struct json        *body;
	struct api_call     call;
};

/* query, part and body may be NULL: there is none. The body must be an object. For api_request_fini. */
void api_request_init(struct api_request *r, const char *query, const char *part, const char *body);
void api_request_fini(struct api_request *r);

#endif
