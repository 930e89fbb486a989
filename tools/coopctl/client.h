/*
 * Asks the server: HTTP over its unix socket or over TCP, by libcurl. Proxies of the environment are not used and redirects
 * not followed: the token goes to the server and nobody else.
 */
#ifndef COOPCTL_CLIENT_H
#define COOPCTL_CLIENT_H

#include "coopctl/ctl.h"

#include <jansson.h>
#include <stdint.h>

#define CLIENT_BODY_BYTES_MAX ((size_t)64 * 1024 * 1024) /* of an answer that is kept in memory */
#define CLIENT_PATIENCE_S     60L
#define CLIENT_HASTE_S        3L
#define CLIENT_CODE_BYTES     40
#define CLIENT_MESSAGE_BYTES  512

struct client_request {
	const char   *method; /* NULL: GET */
	const char   *path;   /* below /admin/v1, with parameters: "/games/123456", as client_path made it */
	const json_t *body;   /* NULL: none */
	const char   *text;   /* a body that is no JSON (CSV); NULL: none */
	size_t        text_len;
	bool          dry_run; /* adds dry_run=true */
	bool          patient; /* waits as long as it takes, not CLIENT_PATIENCE_S */
	bool          hasty;   /* waits CLIENT_HASTE_S only */
	FILE         *to;      /* where the bytes of a 200 go as they come; NULL: into the answer */
};

struct client_answer {
	enum ctl_exit exit;
	long          status;                        /* of HTTP; 0: there was no answer */
	char          code[CLIENT_CODE_BYTES];       /* of a failure: the server's, or "unreachable" and the like */
	char          message[CLIENT_MESSAGE_BYTES]; /* of a failure: what is wrong and what to do */
	json_t       *json;                          /* also of most failures; NULL: it was none */
	char         *text;                          /* the body as it came, ended by NUL; NULL with `to` */
	size_t        text_len;
};

/* One request; nothing is printed. For client_answer_free in any case. */
void client_try(struct client_answer *out, struct ctl *c, const struct client_request *rq);
void client_answer_free(struct client_answer *a);

/* The same with any path of the server's, "/metrics": an answer that is no JSON is no failure. */
void client_try_raw(struct client_answer *out, struct ctl *c, const char *path);

/* Says a failure on standard error (and the texts in "problems", if it has them), and returns its exit. */
enum ctl_exit client_say(const struct ctl *c, const struct client_answer *a);

/* client_try; failures are said. *out: the JSON, for json_decref; may be NULL. */
enum ctl_exit client_ask(json_t **out, struct ctl *c, const struct client_request *rq);
enum ctl_exit client_get(json_t **out, struct ctl *c, const char *path);

/*
 * A list whole, all pages of it, as {"items":[...]}; at most so many items, 0: all. path may have parameters.
 */
enum ctl_exit client_list(json_t **out, struct ctl *c, const char *path, int64_t items_max);

/*
 * "/games/%s" with each %s replaced by the next text, percent-encoded; for free(). Ends the program without memory.
 */
char *client_path(const char *format, ...);

/* path with &name=value added (? for the first), percent-encoded; frees path. value NULL: path as it is. */
char *client_query(char *path, const char *name, const char *value);

void client_fini(struct ctl *c);

#endif
