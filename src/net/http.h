/*
 * HTTP servers over libmicrohttpd: a thread per connection, small stacks, our own caps and deadlines.
 *
 * A part gives a table of routes. A handler runs on the connection's thread; it may wait for the store, 5 s at most,
 * and fills an answer. GET and HEAD keep the connection; every answer to a request with a body, and every error,
 * closes it.
 *
 * What is refused before a handler sees anything: a head that could be read in two ways (400, net/http_head.h), a
 * forwarding field of a trusted proxy that names no address (400), a path that is written oddly or that no route has
 * (404), a method that the path's routes lack (405, with Allow), a body (413, as no route takes one). Errors are
 * {"error":"text"}, but for the few that the library itself answers: a malformed request line or field, a length that
 * is no number, a head that is too long (431).
 *
 * Who may take how many connections, and for how long: net/http_table.h.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/err.h"
#include "conf/conf.h"
#include "net/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_server;
struct http_request;

/* What a handler answers with. body is for free() unless is_static. */
struct http_answer {
	int         status;
	const char *type; /* Content-Type, static */
	char       *body;
	size_t      body_len;
	bool        is_static;
	bool        no_store; /* Cache-Control: no-store */
};

/* Fills *a, which is zeroed; an error becomes its HTTP status with {"error":"text"}, and *a must own nothing then. */
typedef enum err (*http_handler)(struct http_answer *a, struct http_request *rq, void *part);

/* A HEAD request is a GET whose body is not sent. The table ends with a NULL path. */
struct http_route {
	const char  *method;
	const char  *path; /* exact */
	http_handler handler;
};

struct http_config {
	const char              *name; /* in logs */
	const struct http_route *routes;
	void                    *part;
	/*
	 * Asked about each request before its route is looked for: an error, or an answer with a status, ends it. NULL:
	 * the rule of the public front, http_guard_origin.
	 */
	http_handler guard;
	int64_t      connections_max, per_address_max; /* per_address_max 0: none */
};

/*
 * Serves on these listening sockets (TCP or unix), which it owns from here on, also on failure. Each socket gets its
 * own daemon, and all share the caps. cfg's strings and tables, and conf, must outlive it. ERR_IO, ERR_NOMEM;
 * ERR_MALFORMED: http.trusted_proxies names no networks.
 */
enum err http_start(struct http_server **out, const struct http_config *cfg, const struct conf *conf, const int *fds,
                    size_t fd_count);

/* Stops accepting, lets running requests end (2 s at most), closes, frees. Waits for handlers that still run. */
void http_stop(struct http_server *s);

/* Looks at every deadline now: after the test clock was moved. Any thread. */
void http_poke(struct http_server *s);

/* Of a request; the strings live as long as the handler runs. */
const char *http_method(const struct http_request *rq);
const char *http_path(const struct http_request *rq);
const char *http_header(const struct http_request *rq, const char *name); /* the only line of this name, or NULL */
const struct addr *http_client(const struct http_request *rq);            /* behind trusted proxies */

/* Whether any line has this name; a name that ends in * stands for all that begin so. */
bool http_has_header(const struct http_request *rq, const char *name);

/* Refuses anything but GET and HEAD from a web page (ERR_ORIGIN), unless http.allowed_origins names its origin. */
enum err http_guard_origin(struct http_answer *a, struct http_request *rq, void *part);

/* Makes *a an error of this status, {"error":"text"}. ERR_NOMEM; *a is zeroed then. */
enum err http_answer_error(struct http_answer *a, int status, const char *text);

#endif
