/* What the files of api/ share. */
#ifndef API_API_INSIDE_H
#define API_API_INSIDE_H

#include "account/bucket.h"
#include "api/api.h"
#include "api/api_token.h"

#include <pthread.h>

/* A route, in the form that net/http takes. */
struct api_bound {
	struct http_route       routes[2]; /* the second ends the table */
	struct http_body        body;
	struct http_text        text;
	const struct api_route *route;
	void                   *part;
	struct api             *api;
};

/* A token that is good, and when its use was last noted (monotonic). */
struct api_good {
	struct token_row row;
	bool             is_noted;
	int64_t          noted_ms;
};

/* A link that waits to be used. until_ms (monotonic) 0: none. */
struct api_waiting {
	struct api_link link;
	uint8_t         digest[TOKEN_DIGEST_BYTES];
	int64_t         until_ms;
};

struct api_watcher {
	void (*revoked)(void *arg, int64_t token);
	void *arg;
};

struct api_tokens {
	pthread_mutex_t    lock;     /* of the tables; never held while anything is waited for */
	pthread_mutex_t    changing; /* held from the beginning of a change to its end on the disk */
	struct api_good   *good;
	size_t             count, cap;
	struct api_waiting waiting[API_LINKS_MAX];
	struct api_watcher watchers[API_WATCHERS_MAX];
	size_t             watcher_count;
};

void api_tokens_init(struct api_tokens *t);
void api_tokens_fini(struct api_tokens *t);

struct api {
	struct loop       *loop;
	struct store      *store;
	const struct conf *conf;
	struct api_bound **bound;
	struct http_part  *parts; /* as many */
	size_t             count;
	struct api_tokens  tokens;
	struct timer       hour; /* when the trail is thinned next */
	pthread_mutex_t    pace_lock;
	struct bucket     *pace; /* actions of each token; under pace_lock */
};

/* The route that a request was for; NULL: none of the api's. */
const struct api_route *api_route_of(const struct api *a, const struct http_request *rq);

void api_trail_init(struct api *a);

/* Notes an action before it begins, and once more when it has ended. begin: the store's errors; then it must not be done. */
enum err api_trail_begin(struct audit_row *row, const struct api_call *c, const struct api_route *route);
void     api_trail_end(struct audit_row *row, const struct api_call *c, enum err result);

/* Decodes %XX. ERR_MALFORMED: not decodable, or too long with its NUL. */
enum err api_decode(char *out, size_t cap, size_t *len, const char *text);

/* Checks that the query has only what the route knows, each once. */
enum err api_query_check(struct api_call *c, const struct api_route *route);

/* Where a page begins. "": at the beginning. ERR_MALFORMED. */
enum err api_cursor_read(struct api_page *p, const char *cursor);

/* {"error":{...}}; problem "" is err_people's sentence. */
enum err api_say_error(struct http_answer *a, enum err e, const char *problem);

#endif
