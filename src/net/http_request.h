/*
 * Inside net/http: a request, and what becomes of it between the library's callbacks (http.c) and the parts.
 *
 *	http_request	the head is judged, the handler is called
 *	http_route	which route a path belongs to
 *	http_body	a body on its way to a part
 *	http_text	a small body, taken at once
 *	http_answer	an answer on its way to the library
 */
#ifndef NET_HTTP_REQUEST_H
#define NET_HTTP_REQUEST_H

#include "net/addr.h"
#include "net/http.h"
#include "net/http_table.h"
#include "net/http_tls.h"
#include "net/http_transfer.h"

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
	struct http_transfers transfers;
	struct http_tls       tls;
	struct http_listener *listeners;
	size_t                listener_count;
	_Atomic int64_t       open; /* connections that have a descriptor, CUT or not */
};

/* A body on its way. */
struct http_upload {
	void              *sink;
	int64_t            length;     /* -1: chunked */
	uint64_t           seen;       /* bytes up to now */
	size_t             dropped;    /* of those, after data failed */
	uint8_t           *stage;      /* where they are collected for the part; NULL: they are not */
	size_t             staged;     /* bytes there */
	bool               is_open;    /* begin accepted it, and neither end nor abort was called */
	bool               is_refused; /* data failed; abort was called */
	struct http_answer refusal;    /* what is answered then; until it is sent, its body is ours */
};

/* A small body, as far as it came. */
struct http_collected {
	char  *bytes; /* NULL: none yet */
	size_t len, cap;
};

/* One per connection, used for its requests one after the other. */
struct http_request {
	struct http_server      *server;
	struct MHD_Connection   *mhd;
	struct http_slot         slot;
	struct http_session      session;
	const char              *method, *path;
	struct addr              client;
	int64_t                  began_us;     /* clock_lap_us */
	const char              *target;       /* the path in the first line, where the library has it */
	size_t                   line_bytes;   /* of that, with its query */
	char                    *query;        /* a copy of that; NULL: none */
	const struct http_route *route;        /* of this path, maybe of another method; NULL: there is none */
	void                    *part;         /* whose route it is */
	bool                     is_forwarded; /* has the field in which a proxy names the client */
	bool                     has_body;     /* bytes may still be on their way when it is answered */
	bool                     is_whole;     /* all of a small body has come: what follows is none of it */
	struct http_upload       upload;
	struct http_collected    text;
	struct http_transfer     transfer;
	char                     methods[HTTP_METHODS_BYTES]; /* for Allow */
	size_t                   part_count;
	char                     parts[HTTP_PARTS_MAX][HTTP_PART_BYTES_MAX + 1];
};

/* The head is there: an answer is queued when it must be refused, none otherwise. MHD_NO: the connection must go. */
enum MHD_Result http_request_begin(struct http_request *rq, const char *version);

/* Some bytes of the body came. MHD_NO: the connection must go. */
enum MHD_Result http_request_data(struct http_request *rq, const void *bytes, size_t len);

/* The whole request is there: its handler runs, and an answer is queued. */
enum MHD_Result http_request_finish(struct http_request *rq);

/* The request is over, one way or the other. */
void http_request_close(struct http_request *rq);

/* Whether bytes of the peer wait in the kernel. */
bool http_request_has_unread(const struct http_request *rq);

/* GET or HEAD. */
bool http_request_reads_only(const struct http_request *rq);

/*
 * Fills rq->route, part, parts and methods. ERR_NOT_FOUND: no route has the path. ERR_METHOD: none of those that have it
 * takes the method; route is one of them, and methods has them all. Some of both go to cfg.stray_post instead.
 */
enum err http_route_find(struct http_request *rq);

/* --- Bodies (http_body.c) --- */

/* At the head: takes a transfer and asks the route. As http_request_begin. length -1: chunked. */
enum MHD_Result http_body_begin(struct http_request *rq, int64_t length);

/* Some bytes came. MHD_NO: the connection must go. */
enum MHD_Result http_body_data(struct http_request *rq, const void *bytes, size_t len);

/* All bytes came: as http_request_finish. */
enum MHD_Result http_body_finish(struct http_request *rq);

/* The request is over, one way or the other: aborts a body that did not reach its end. */
void http_body_close(struct http_request *rq);

/* --- Small bodies (http_text.c) --- */

/* At the head, as http_request_begin. length -1: the head names none. */
enum MHD_Result http_text_begin(struct http_request *rq, int64_t length);
enum MHD_Result http_text_data(struct http_request *rq, const void *bytes, size_t len);
enum MHD_Result http_text_finish(struct http_request *rq);
void            http_text_close(struct http_request *rq);

/* --- Answers (http_answer.c) --- */

/* Makes an error of this request's route. ERR_NOMEM: *a is zeroed. */
enum err http_answer_refusal(struct http_answer *a, struct http_request *rq, enum err e);

/* Hands what a guard, a handler or a body came to, to the library, which sends it. What *a owns is gone afterwards. */
enum MHD_Result http_send(struct http_request *rq, struct http_answer *a, enum err e);
enum MHD_Result http_send_error(struct http_request *rq, enum err e);

#endif
