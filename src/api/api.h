/*
 * What the operator's routes of all parts share: who asks, what may be asked for, how it is answered, and that every action
 * is written to the audit trail. The routes, what they answer and what a client sees of all this: src/admin/PROTOCOL.md.
 *
 *	request --> api_guard (Host, Origin, token) --> role, query, body --> [audit: begun] --> handle --> [audit: result]
 *
 * A part has a table of routes. A handler runs on the connection's thread, may wait for the store (api_change) and the loop
 * (api_on_loop), and fills the answer: with api_answer, or with whatever net/http has.
 */
#ifndef API_API_H
#define API_API_H

#include "base/err.h"
#include "base/json.h"
#include "conf/conf.h"
#include "net/http.h"
#include "net/loop.h"
#include "store/audit.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_BODY_BYTES_MAX 65536
#define API_PROBLEM_BYTES  1024
#define API_CURSOR_BYTES   256
#define API_LIMIT_MAX      1000
#define API_LIMIT_DEFAULT  100
#define API_QUERY_BYTES    256

struct api;

enum api_role { API_ANYBODY, API_VIEWER, API_OPERATOR };
const char *api_role_name(enum api_role r); /* "none", "viewer", "operator" */

/* Who asks. */
struct api_caller {
	enum api_role role;
	char          who[AUDIT_WHO_BYTES]; /* "root", "uid 1000", "token 3 (name)" */
	bool          is_unix;
	int64_t       token;      /* its id; 0: by the unix socket's peer */
	int64_t       expires_ms; /* wall; 0: never */
};

/* One request on its way through a handler. */
struct api_call {
	struct api              *api;
	struct http_request     *rq;
	struct http_answer      *answer; /* zeroed */
	const struct api_caller *who;
	bool                     dry_run;
	const struct json       *body; /* of a route with an object; an empty object when nothing was sent; else NULL */
	const char              *text; /* the body as it came, of a route that takes text; else NULL */
	size_t                   text_len;
	char                     problem[API_PROBLEM_BYTES]; /* api_problem's */
	char target[AUDIT_TARGET_BYTES]; /* of the audit trail; at first the path behind /admin/v1/ */
};

/*
 * Fills *c->answer and returns ERR_OK, or an error, which is answered with its code and what api_problem said, or else
 * with err_people's sentence; *c->answer must own nothing then.
 */
typedef enum err (*api_handler)(struct api_call *c, void *part);

/* The table ends with a NULL path. */
struct api_route {
	const char   *method, *path; /* as struct http_route; "/admin/v1/..." */
	enum api_role role;          /* who may at least */
	const char *action; /* "game.close": the name in the audit trail, and ?dry_run= is taken; NULL: it only reads */
	const char
		*query; /* the parameters that are known, with blanks between; NULL: none. Lists: "limit cursor ..." */
	api_handler handle;
	enum api_body { API_NO_BODY, API_OBJECT, API_TEXT } body;
	size_t body_max;                    /* 0: API_BODY_BYTES_MAX */
	void (*secrets)(struct json *body); /* what of the body must not stand in the audit trail; NULL: nothing */
	/*
	 * For an action of anybody's: finds out who it is, by other means than a token, before the trail is written, so that
	 * strangers cannot fill it. NULL: the role is enough.
	 */
	enum err (*admit)(struct api_caller *who, struct api_call *c, void *part);
};

/* conf, loop and store must outlive it. ERR_NOMEM. */
enum err api_new(struct api **out, struct loop *loop, struct store *store, const struct conf *conf);
void     api_free(struct api *a); /* after HTTP has stopped, before the loop is freed; NULL is fine */

/* Once, before the loop runs: from now on the trail is kept only as long as limits.admin_audit_... say. */
void api_trail_start(struct api *a);

struct loop       *api_loop(const struct api *a);
struct store      *api_store(const struct api *a);
const struct conf *api_conf(const struct api *a);

/*
 * Before api_parts. The table must outlive it. part NULL: the part is switched off, and all its routes are answered with
 * ERR_PART_OFF. ERR_NOMEM.
 */
enum err api_add(struct api *a, const struct api_route *routes, void *part);

/* What http_config.more takes; the api's. And each route, in the order they were added, for tests and descriptions. */
const struct http_part *api_parts(const struct api *a, size_t *count);
const struct api_route *api_route_at(const struct api *a, size_t at); /* NULL: there are no more */

/* --- Who asks (api_auth.c) --- */

/* For http_config.guard, with the api as http_config.part; and api_errors for its errors. */
enum err api_guard(struct http_answer *a, struct http_request *rq, void *api);
enum err api_errors(struct http_answer *a, struct http_request *rq, enum err e);

/* ERR_TOKEN: nobody known. */
enum err api_authenticate(struct api_caller *out, struct api *a, const struct http_request *rq);

/* Whose token it is, 64 lower case hex digits. ERR_TOKEN: nobody's. Any thread; waits for nothing but a short lock. */
enum err api_token_caller(struct api_caller *out, struct api *a, const char *token64);

/*
 * revoked is called for each token that is revoked from now on, on the thread of whoever revokes it, which may be any: it must
 * be short and not call back. Expiry is no revocation: see api_caller.expires_ms. Before the routes are served.
 */
#define API_WATCHERS_MAX 4
void api_on_revoke(struct api *a, void (*revoked)(void *arg, int64_t token), void *arg);

/* Whether a Host field over TCP names this server: a loopback name or address, or one of admin.hosts. NULL: it is missing. */
bool api_host_is_ours(const struct conf *conf, const char *host);

/* Whether an Origin field is http or https with this very Host field behind it. NULLs: no. */
bool api_origin_is_own(const char *origin, const char *host);

/* --- What was asked for (api_ask.c) --- */

/* An id as paths, parameters and members have it: exactly 16 lower case hex digits. False: it is none. */
bool api_id(uint8_t out[8], const char *text);

/* The n-th {name} of the path. ERR_NOT_FOUND for what is none: such a thing cannot be there. */
enum err api_path_id(uint8_t out[8], const struct api_call *c, size_t n); /* 16 lower case hex digits */
enum err api_path_int(int64_t *out, const struct api_call *c, size_t n, int64_t min, int64_t max);
/* A text of a peer's: as api_put_key wrote it. */
enum err api_path_key(uint8_t *out, size_t cap, size_t *len, const struct api_call *c, size_t n);
enum err api_key(uint8_t *out, size_t cap, size_t *len, const char *part); /* the same from anywhere */

/* A parameter, decoded, valid UTF-8; "" when it is not there. ERR_MALFORMED: not decodable, or too long. */
enum err api_query_text(char out[API_QUERY_BYTES], const struct api_call *c, const char *name);
/* otherwise: when it is not there. ERR_INVALID. */
enum err api_query_int(int64_t *out, struct api_call *c, const char *name, int64_t min, int64_t max, int64_t otherwise);
/* 16 hex digits; *has is false when it is not there. ERR_INVALID. */
enum err api_query_id(uint8_t out[8], bool *has, struct api_call *c, const char *name);

/* Members of the body. ERR_UNKNOWN when there is one that is not in known, which ends with a NULL; it is named. */
enum err api_body_only(struct api_call *c, const char *const *known);
/* ERR_INVALID, which names the member, for other types or values; *out is `otherwise` when it is not there or null. */
enum err api_body_int(int64_t *out, struct api_call *c, const char *name, int64_t min, int64_t max, int64_t otherwise);
enum err api_body_bool(bool *out, struct api_call *c, const char *name, bool otherwise);
/* At most cap - 1 bytes, without control characters, "" when it is not there. */
enum err api_body_text(char *out, size_t cap, struct api_call *c, const char *name);
enum err api_body_id(uint8_t out[8], struct api_call *c, const char *name); /* ERR_INVALID also when it is not there */

/* What is wrong, for the person who asks: one sentence. Returns e. */
enum err api_problem(struct api_call *c, enum err e, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What the audit trail names as target instead of the path. */
void api_target(struct api_call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- Doing it (api_do.c) --- */

/* Has run(arg) called on the loop thread and waits. ERR_DRAINING: the server ends. */
enum err api_on_loop(const struct api_call *c, void (*run)(void *arg), void *arg);

/*
 * Runs change(db, arg) as a job of the store, and answers when it is on disk. It gets a copy of the len bytes of arg, which
 * must mean something without the caller (no pointers to his stack); they are copied back. Its errors; ERR_BUSY also when it
 * took over 5 s: then it is left out, unless it was under way just then.
 */
enum err api_change(const struct api_call *c, enum err (*change)(struct db *db, void *arg), void *arg, size_t len);

/* Runs read(db, arg) on a reader's connection, in one transaction; under 2 s. */
enum err api_read(const struct api_call *c, enum err (*read)(struct db *db, void *arg), void *arg);

/* --- Answers (api_say.c) --- */

/* Takes j over; NULL (no memory) is an error. status 200 or 201. Adds "dry_run":true to what was only tried. */
enum err api_answer(struct api_call *c, int status, struct json *j);

/* {"ok":true} and what the caller adds; NULL when out of memory. */
struct json *api_done(void);

/* Members. A time of 0 ms is null; ids are 8 bytes; key: a peer's text as a path takes it; text: cleaned for people. */
void api_put_time(struct json *j, const char *name, int64_t wall_ms);
void api_put_id(struct json *j, const char *name, const uint8_t id[8]);
void api_put_hex(struct json *j, const char *name, const void *bytes, size_t len);
void api_put_key(struct json *j, const char *name, const void *bytes, size_t len); /* len at most 64 */
void api_put_text(struct json *j, const char *name, const void *bytes, size_t len, size_t chars_max);

/* --- Lists (api_page.c) ---
 *
 *	struct api_page p;
 *	e = api_page_begin(&p, c);
 *	... for each thing in order that stands behind p.after (if p.has_after):
 *		if (!api_page_room(&p, key, key_len))	the page is full: this one begins the next page
 *			break;
 *		api_page_add(&p, item);
 *	return api_page_end(&p, e);
 *
 * A key says where a thing stands in the order of the list, in bytes.
 */
struct api_page {
	struct api_call *call;
	int64_t          limit;
	bool             has_after;
	uint8_t          after[API_CURSOR_BYTES / 2]; /* key of the last thing of the page before */
	size_t           after_len;
	struct json     *items;
	int64_t          count;
	bool             has_more;
	uint8_t          last[API_CURSOR_BYTES / 2]; /* key of the last one added */
	size_t           last_len;
};
/* ERR_INVALID: limit; ERR_MALFORMED: a cursor that is none. */
enum err api_page_begin(struct api_page *p, struct api_call *c);
/* The key of the next thing. False: no room; the page is over. len at most 127. */
bool api_page_room(struct api_page *p, const void *key, size_t len);
/* The thing itself, which is taken over; NULL is remembered as a lack of memory. */
void api_page_add(struct api_page *p, struct json *item);
/* Answers, or, with an error, frees. */
enum err api_page_end(struct api_page *p, enum err e);

/* The key as a number, for lists in the order of one; otherwise: when the list begins at its beginning. */
int64_t api_page_after_int(const struct api_page *p, int64_t otherwise);
bool    api_page_room_int(struct api_page *p, int64_t key);

#endif
