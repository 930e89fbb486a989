/*
 * Inside the REST API: what its files share.
 *
 *	rest_routes	the table
 *	rest_key	who asks
 *	rest_meta	what a request says in its fields: ids, conditions, Coop-Meta
 *	rest_say	answers and errors as JSON
 *	rest_read	lists, one campaign, downloads
 *	rest_put	uploads
 *	rest_rights	members, deleting, restoring
 *	rest_code	a new code
 *
 * Handlers fill in their errors themselves (rest_error), so that all have the form of this API; what net/ refuses on the
 * way to them gets it through rest_error too (struct http_route's errors).
 */
#ifndef CLOUD_REST_H
#define CLOUD_REST_H

#include "base/err.h"
#include "base/json.h"
#include "cloud/cloud_inside.h"
#include "store/campaign.h"

#include <stdbool.h>
#include <stdint.h>

/* --- rest_key.c --- */

/*
 * The digest of the key that the request carries; its first PLAYER_ID_BYTES are the player's public id. ERR_TLS_REQUIRED
 * where no key may travel, whatever it says; ERR_NO_KEY; ERR_BANNED.
 */
enum err rest_player(uint8_t digest[PLAYER_DIGEST_BYTES], const struct cloud *c, struct http_request *rq);

/* The same, and the campaign that the path names: ERR_NOT_FOUND unless it is 16 lower case hex digits. */
struct rest_who {
	uint8_t digest[PLAYER_DIGEST_BYTES];
	uint8_t campaign[CAMPAIGN_ID_BYTES];
};
enum err rest_who(struct rest_who *out, const struct cloud *c, struct http_request *rq);

/* An id as paths and Coop-Meta have it: 16 lower case hex digits and nothing else. ERR_NOT_FOUND. */
enum err rest_id(uint8_t out[8], const char *text);

/* ?version=N: 0 when it is not there. ERR_MALFORMED for anything but a positive number. */
enum err rest_version(int64_t *out, const struct http_request *rq);

/* --- rest_meta.c --- */

#define REST_META_BYTES_MAX 8192

/* What a client says about bytes that do not say it themselves. */
struct rest_meta {
	struct checkpoint_meta shown;
	size_t                 player_count; /* those beyond the array are ignored */
	uint8_t                players[CAMPAIGN_NAMED_MAX][PLAYER_ID_BYTES];
};

/* Coop-Meta. Unknown members are ignored; ERR_MALFORMED for wrong types, ids that are none, and what is no JSON. */
enum err rest_meta_parse(struct rest_meta *out, const char *text);

/* If-Match and If-None-Match of an upload; NULL: not sent. "*" in If-Match is told by *any. ERR_MALFORMED. */
enum err rest_match_parse(struct upload_match *out, bool *any, const char *if_match, const char *if_none_match);

/* Whether If-None-Match of a download names this ETag (or is "*"). */
bool rest_etag_is_listed(const char *if_none_match, const char *etag);

/* --- rest_say.c --- */

#define REST_ETAG_BYTES  48 /* "<version>-<16 hex digits>", with its quotes and a NUL */
#define REST_QUERY_BYTES 64

/* {"error":{"code":...,"message":...}}; the form of every error here. */
enum err rest_error(struct http_answer *a, struct http_request *rq, enum err e);

/*
 * The same in two steps, for those with further members: an object with code and message (NULL when out of memory), which
 * rest_error_send takes over.
 */
struct json *rest_error_begin(enum err e);
enum err     rest_error_send(struct http_answer *a, enum err e, struct json *error);

/* 204. */
enum err rest_done(struct http_answer *a);

void rest_etag(char out[REST_ETAG_BYTES], const struct checkpoint_row *row);

/* Members of an object. */
void rest_put_id(struct json *j, const char *key, const uint8_t id[8]);
void rest_put_meta(struct json *j, const struct checkpoint_meta *meta);

/* NULL when out of memory, which json_put_json remembers. */
struct json *rest_checkpoint(const struct checkpoint_row *row);
struct json *rest_quota(const struct quota_figures *q);

/* Of this player, read now; NULL when they cannot be. */
struct json *rest_quota_of(const struct cloud *c, const uint8_t player[PLAYER_ID_BYTES]);

/* --- Handlers --- */

enum err rest_list(struct http_answer *a, struct http_request *rq, void *part);
enum err rest_campaign(struct http_answer *a, struct http_request *rq, void *part);
/* A checkpoint's bytes, with its ETag, ranges and digests; *a owns nothing after an error. rest_download is this for a player. */
enum err rest_send_checkpoint(struct http_answer *a, struct http_request *rq, struct cloud *c,
                              const struct cloud_pick *pick);

enum err rest_download(struct http_answer *a, struct http_request *rq, void *part);
enum err rest_restore(struct http_answer *a, struct http_request *rq, void *part);
enum err rest_member_add(struct http_answer *a, struct http_request *rq, void *part);
enum err rest_member_remove(struct http_answer *a, struct http_request *rq, void *part);
enum err rest_forget(struct http_answer *a, struct http_request *rq, void *part);
enum err rest_code(struct http_answer *a, struct http_request *rq, void *part);

extern const struct http_body rest_upload;

#endif
