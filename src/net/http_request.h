/*
 * Inside net/http: a request, and what becomes of it between the library's callbacks (http.c) and the parts.
 */
#ifndef NET_HTTP_REQUEST_H
#define NET_HTTP_REQUEST_H

#include "net/addr.h"
#include "net/http.h"
#include "net/http_table.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_METHODS_BYTES 64

struct http_listener; /* http.c's */

struct http_server {
	struct http_config    cfg;
	const struct conf    *conf;
	struct addr_nets      trusted;
	struct http_table     table;
	struct http_listener *listeners;
	size_t                listener_count;
};

/* One per connection, used for its requests one after the other. */
struct http_request {
	struct http_server    *server;
	struct MHD_Connection *mhd;
	struct http_slot       slot;
	const char            *method, *path;
	struct addr            client;
	int64_t                began_ms;
	bool                   has_body;                    /* refused; bytes may still be on their way */
	char                   methods[HTTP_METHODS_BYTES]; /* for Allow */
};

/* The head is there: an answer is queued when it must be refused, none otherwise. MHD_NO: the connection must go. */
enum MHD_Result http_request_begin(struct http_request *rq);

/* The whole request is there: its handler runs, and an answer is queued. */
enum MHD_Result http_request_finish(struct http_request *rq);

#endif
