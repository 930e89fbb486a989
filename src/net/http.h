/*
 * HTTP servers over libmicrohttpd: a thread per connection, small stacks, our own caps and deadlines.
 *
 * A part gives a table of routes. A handler runs on the connection's thread; it may wait for the store, 5 s at most,
 * and fills an answer. GET and HEAD keep the connection; every answer to a request with a body, and every error,
 * closes it.
 *
 * What is refused before a handler sees anything: a head that could be read in two ways (400, net/http_head.h; so is one
 * with a NUL anywhere, or with folded lines), a
 * forwarding field of a trusted proxy that names no address (400), a path that is written oddly or that no route has
 * (404), a method that the path's routes lack (405, with Allow), a body where the route takes none (413). Errors are
 * {"error":"text"}, but for the few that the library itself answers: a malformed request line or field, a length that
 * is no number, a head that is too long (431).
 *
 * With tls.cert and tls.key the same is served over TLS 1.2 and 1.3 (GnuTLS, the library's): handshake, head and body
 * together have the one deadline of a request.
 *
 * Banned addresses are closed at accept; one that a proxy names is answered with ERR_BANNED, in the route's form of errors.
 *
 * Who may take how many connections, and for how long: net/http_table.h.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/err.h"
#include "conf/conf.h"
#include "net/addr.h"
#include "net/ban.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct http_server;
struct http_request;
struct json;

/*
 * A body that is made while it is sent, on the connection's thread, in constant memory. read fills up to cap bytes and
 * returns how many (at least 1); -1 breaks the connection, so that the peer cannot take what it has for the whole. free
 * is called once, whatever becomes of the answer.
 */
struct http_stream {
	uint64_t bytes; /* exactly so many come */
	ssize_t (*read)(void *arg, uint64_t at, void *out, size_t cap);
	void (*free)(void *arg);
	void *arg;
};

/*
 * Bytes that many answers share, made once: never changed, counted, freed with their last user. Any thread.
 * http_shared_new takes bytes over (for free()); NULL, and bytes freed, when out of memory.
 */
struct http_shared;
struct http_shared *http_shared_new(char *bytes, size_t len);
struct http_shared *http_shared_use(struct http_shared *s);  /* one user more */
void                http_shared_drop(struct http_shared *s); /* one less; NULL is fine */

#define HTTP_FIELDS_MAX      8
#define HTTP_FIELD_BYTES_MAX 360 /* with a NUL; a page's policy is the longest */

#define HTTP_PARTS_MAX      4
#define HTTP_PART_BYTES_MAX 127

/* What a handler answers with. body is for free() unless is_static; not looked at when there is a stream or shared. */
struct http_answer {
	int                 status;
	const char         *type; /* Content-Type, static */
	char               *body;
	size_t              body_len;
	bool                is_static;
	bool                no_store; /* Cache-Control: no-store */
	struct http_shared *shared;   /* the body, when not NULL; this use of it is the answer's */

	/*
	 * A body that is streamed: counts as a transfer (below). NULL: body. http_answer_stream sets it; a pointer set
	 * otherwise must stay after the handler returned, until the stream's free.
	 */
	const struct http_stream *stream;
	struct http_stream        own_stream;             /* http_answer_stream's */
	uint64_t                  part_first, part_bytes; /* of a 206: http_answer_range's */

	size_t field_count;
	struct {
		const char *name; /* static */
		char        value[HTTP_FIELD_BYTES_MAX];
	} fields[HTTP_FIELDS_MAX]; /* added by http_answer_field */
};

/* The body is this stream, which is copied. */
void http_answer_stream(struct http_answer *a, const struct http_stream *stream);

/* Adds one field to the head of the answer. The value must fit and hold no controls (our own bugs). */
void http_answer_field(struct http_answer *a, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Turns a 200 with a stream into a 206 if the request, a GET, asks for one range of bytes, and its If-Range, if any, is
 * this etag, quotes and all; into a 416 in the route's form of errors, with no other field of a, if the range lies
 * beyond the end. Any other Range is ignored. Adds Accept-Ranges and Content-Range. The stream's read gets the place in
 * the whole. Call it last: what it leaves in *a is for the library.
 */
void http_answer_range(struct http_answer *a, const struct http_request *rq, const char *etag);

/* Fills *a, which is zeroed; an error becomes its HTTP status with {"error":"text"}, and *a must own nothing then. */
typedef enum err (*http_handler)(struct http_answer *a, struct http_request *rq, void *part);

/*
 * Whether the request already has what has this etag, quotes and all (If-None-Match, compared weakly, * included; several
 * lines are one list). Then the answer is a 304 with the same ETag and Cache-Control and no body.
 */
bool http_has_match(const struct http_request *rq, const char *etag);

/* Whether the client takes gzip (Accept-Encoding: gzip or x-gzip or *, with a q that is not 0). */
bool http_takes_gzip(const struct http_request *rq);

/*
 * A small body, taken at once. Its head must name a length of at most max, and no coding: otherwise
 * ERR_TOO_BIG, without reading it; so is a POST without a length. (A length beside a coding, or two lengths, are
 * ERR_MALFORMED, as everywhere.) The body is read within the deadline of the request, counts as no transfer, and is
 * followed by a NUL that does not count. Bytes behind it are ignored. Fills the answer as an http_handler.
 */
struct http_text {
	size_t max;
	enum err (*handle)(struct http_answer *a, struct http_request *rq, char *body, size_t len, void *part);
	size_t (*max_of)(void *part); /* says how much instead of max, when not NULL */
	bool may_be_absent;           /* a head that says nothing of a body has an empty one, and is not too big */
};

/*
 * Takes a request's body as it comes, on the connection's thread. Where a route has none, a body is 413.
 *
 *	begin	the head is there, before any byte of the body: an error, or an answer with a status, refuses it; *sink is
 *		what the others get. The body's length by Content-Length; -1: chunked. Runs before 100 Continue.
 *	data	some bytes; after an error the rest is read and dropped (up to a bound; beyond it the connection goes), and
 *		that error is the answer
 *	end	all is there, as the length said: fills the answer
 *	abort	instead of end, when the connection broke, was too slow (ERR_SLOW), or data failed: frees sink. After data
 *		failed, *a may be filled with the answer; a NULL means nobody hears it.
 *
 * An accepted body is a transfer: it leaves the deadline of requests, and counts in limits.http_transfers... (503
 * transfers, 429 rate in the first call) and must keep limits.http_transfer_rate.
 */
struct http_body {
	enum err (*begin)(void **sink, struct http_answer *a, struct http_request *rq, int64_t length, void *part);
	enum err (*data)(void *sink, const uint8_t *bytes, size_t len);
	enum err (*end)(struct http_answer *a, struct http_request *rq, void *sink, void *part);
	void (*abort)(struct http_answer *a, struct http_request *rq, void *sink, enum err why);
	const struct http_text *text; /* not NULL: a small body, and none of the above is called */
};

/* Makes *a an error of a route in that route's own form; ERR_NOMEM, and *a is zeroed then. */
typedef enum err (*http_error_form)(struct http_answer *a, struct http_request *rq, enum err e);

/* A HEAD request is a GET whose body is not sent. The table ends with a NULL path. */
struct http_route {
	const char *method;
	/*
	 * Exact; or with {names} in place of whole parts, "/v1/campaigns/{id}/checkpoint": http_path_part gives them.
	 * An exact path wins over one with names.
	 */
	const char             *path;
	http_handler            handler; /* NULL when there is a body */
	const struct http_body *body;    /* NULL: takes none */
	http_error_form
		errors; /* of whatever net/ itself refuses under this path (404 and 405 too); NULL: {"error":"text"} */
};

/* The n-th {name} of the path, from 0. Not empty. */
const char *http_path_part(const struct http_request *rq, size_t n);

/*
 * The value of ?name=value, undecoded, but that a + is a blank; "" without a value. NULL when it is not there, or there
 * twice: then http_has_query says so, and the request is an error (ERR_MALFORMED), since nobody knows which one counts.
 */
const char *http_query(const struct http_request *rq, const char *name);
bool        http_has_query(const struct http_request *rq, const char *name);

/* All that stands behind the first ? of the target, as it came; "" when nothing does. */
const char *http_raw_query(const struct http_request *rq);

/* Whether the request came over TLS, loopback, a unix socket, or from a trusted proxy: a key may travel there. */
bool http_is_private(const struct http_request *rq);

/* Whether limits per address do not count: loopback without forwarding field, outside production. */
bool http_is_exempt(const struct http_request *rq);

/* Until it is answered, the request is this player's. Say it before asking whether he is banned. */
void http_set_player(struct http_request *rq, const uint8_t id[BAN_PLAYER_BYTES]);

/* Whose route the path is; NULL: no route has it. For guards, which are asked before the handler. */
const struct http_route *http_route_of(const struct http_request *rq);
void                    *http_part_of(const struct http_request *rq);

/* Whether the peer is on a unix socket, and which user it is; over TCP false, *uid is untouched. */
bool http_peer_uid(const struct http_request *rq, uid_t *uid);

/* A part and its routes, for a server of several. */
struct http_part {
	const struct http_route *routes;
	void                    *part;
};

struct http_config {
	const char              *name; /* in logs */
	const struct http_route *routes;
	void                    *part;
	const struct http_part  *more; /* further parts, whose paths are others; NULL: none */
	size_t                   more_count;
	/*
	 * Where a POST goes whose path no route has, or none for POST, so that its body can be judged first: a route of
	 * more's or of routes, or one of its own, whose text.handle answers. NULL: 404 or 405 at once; that is also for a
	 * path whose routes have another form of errors than this one.
	 */
	const struct http_route *stray_post;
	void                    *stray_part;
	http_error_form          errors; /* where no route has the path; NULL: {"error":"text"} */
	/*
	 * Asked about each request before its route is looked for: an error, or an answer with a status, ends it. NULL:
	 * the rule of the public front, http_guard_origin.
	 */
	http_handler guard;
	bool         takes_banned;                     /* the operator's: he must not lock himself out */
	int64_t      connections_max, per_address_max; /* per_address_max 0: none */
	int64_t      leaving_max; /* connections that were ended and still have a descriptor; 0: HTTP_LEAVING_MAX */
};

/* So many that a storm of newcomers finds the fair rules at work; with fewer, some of it is refused before they are asked. */
#define HTTP_LEAVING_MAX 1024

/* A listening socket (TCP or unix). */
struct http_listen {
	int  fd;
	bool is_tls;
};

/*
 * Serves on these sockets, which it owns from here on, also on failure. Each gets its own daemon, and all share the caps.
 * cfg's strings and tables, and conf, must outlive it. cert: for those with TLS, NULL when there are none; it is copied.
 * ERR_IO, ERR_NOMEM; ERR_MALFORMED: http.trusted_proxies names no networks.
 */
struct http_cert;
enum err http_start(struct http_server **out, const struct http_config *cfg, const struct conf *conf,
                    const struct http_listen *on, size_t count, const struct http_cert *cert);

/*
 * The certificate chain and key of the settings: load them on a thread that may wait, then use them from any. New
 * connections get them, those there are notice nothing. ERR_MALFORMED with a line in report, when they cannot be read, are
 * none, or do not belong together; ERR_NOMEM. *out is NULL without tls.cert. Using NULL does nothing.
 */
enum err http_cert_load(struct http_cert **out, const struct conf *conf, FILE *report);
void     http_cert_use(struct http_server *s, const struct http_cert *cert);
void     http_cert_free(struct http_cert *cert);

/*
 * Takes no connection any more; those that are there are served on. The listening sockets stay open: with another process that has
 * them, who comes now waits for that one. Any thread, one at a time.
 */
void http_accept_end(struct http_server *s);

/* Stops accepting, lets running requests end (2 s at most), closes, frees. Waits for handlers that still run. */
void http_stop(struct http_server *s);

/* Takes http.trusted_proxies from conf as it is now, for new requests; without memory they stay. On the thread that changes conf. */
void http_reload(struct http_server *s);

/* Looks at every deadline now: after the test clock was moved. Any thread. */
void http_poke(struct http_server *s);

/*
 * How many connections this ban is meant for: of an address, also behind a proxy while it asks, or of a player while he is
 * answered (http_set_player). With end, they are shut down, in the middle of a transfer too. Any thread.
 */
size_t http_ban(struct http_server *s, const struct ban *b, bool end);

/* Of a request; the strings live as long as the handler runs. */
const char        *http_method(const struct http_request *rq);
const char        *http_path(const struct http_request *rq);
const char        *http_header(const struct http_request *rq,
                               const char                *name); /* the only line of this name, no blanks around it; or NULL */
const struct addr *http_client(const struct http_request *rq); /* behind trusted proxies */

/* Whether any line has this name; a name that ends in * stands for all that begin so. */
bool http_has_header(const struct http_request *rq, const char *name);

/* Refuses anything but GET and HEAD from a web page (ERR_ORIGIN), unless http.allowed_origins names its origin. */
enum err http_guard_origin(struct http_answer *a, struct http_request *rq, void *part);

/* Makes *a an answer of this status with the object's text, not to be stored by caches. ERR_NOMEM; also for a NULL body. */
enum err http_answer_json(struct http_answer *a, int status, const struct json *body);

/* Makes *a an error of this status, {"error":"text"}. ERR_NOMEM; *a is zeroed then. */
enum err http_answer_error(struct http_answer *a, int status, const char *text);

#endif
