/*
 * Answers as JSON. No path, no file name and no key is ever in one.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "cloud/rest.h"
#include "os/log.h"
#include "store/readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TIME_BYTES 32

/* --- Answers --- */

enum err rest_done(struct http_answer *a)
{
	static char nothing[] = "";

	a->body      = nothing;
	a->is_static = true;
	a->status    = 204;
	a->no_store  = true;
	return ERR_OK;
}

struct json *rest_error_begin(enum err e)
{
	struct json *error = json_object_new();

	if (!error)
		return NULL;
	json_put_text(error, "code", err_rest(e));
	json_put_text(error, "message", err_people(e));
	return error;
}

enum err rest_error_send(struct http_answer *a, enum err e, struct json *error)
{
	AUTO(json_freep) struct json *j = json_object_new();

	if (err_fault(e) == ERR_FAULT_US && !err_is_load(e))
		log_warn("cloud", 0, "fails", "error=%s", err_name(e));
	*a = (struct http_answer){ 0 };
	if (!j || !error) {
		json_free(error);
		return ERR_NOMEM;
	}
	json_put_json(j, "error", error);
	return http_answer_json(a, err_http(e), j);
}

enum err rest_error(struct http_answer *a, struct http_request *rq, enum err e)
{
	(void)rq;
	return rest_error_send(a, e, rest_error_begin(e));
}

/* --- Their parts --- */

void rest_etag(char out[REST_ETAG_BYTES], const struct checkpoint_row *row)
{
	char hash[2 * 8 + 1];

	hex_encode(hash, row->sha256, 8);
	snprintf(out, REST_ETAG_BYTES, "\"%" PRId64 "-%s\"", row->version, hash);
}

void rest_put_id(struct json *j, const char *key, const uint8_t id[8])
{
	char text[17];

	hex_encode(text, id, 8);
	json_put_text(j, key, text);
}

void rest_put_meta(struct json *j, const struct checkpoint_meta *meta)
{
	json_put_int(j, "stamp", meta->stamp);
	json_put_text(j, "level", meta->level);
	json_put_text(j, "checkpoint", meta->checkpoint);
	json_put_text(j, "name", meta->name);
	json_put_text(j, "hostname", meta->hostname);
}

static void put_time(struct json *j, const char *key, int64_t wall_ms)
{
	char      text[TIME_BYTES];
	time_t    at = (time_t)(wall_ms / 1000);
	struct tm utc;

	if (gmtime_r(&at, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
		json_put_text(j, key, text);
	else
		json_put_null(j, key);
}

struct json *rest_checkpoint(const struct checkpoint_row *row)
{
	struct json *j = json_object_new();
	char         text[2 * BLOB_HASH_BYTES + 1];

	if (!j)
		return NULL;
	json_put_int(j, "version", row->version);
	rest_etag(text, row);
	json_put_text(j, "etag", text);
	json_put_int(j, "size", row->bytes);
	hex_encode(text, row->sha256, BLOB_HASH_BYTES);
	json_put_text(j, "sha256", text);
	rest_put_meta(j, &row->meta);
	json_put_bool(j, "container", row->meta.is_container);
	put_time(j, "stored_at", row->stored_ms);
	rest_put_id(j, "by", row->by);
	json_put_bool(j, "small", row->is_small);
	json_put_bool(j, "conflict", row->is_conflict);
	return j;
}

static struct json *used_of(int64_t used, int64_t max)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "used", used);
	json_put_int(j, "max", max);
	return j;
}

struct json *rest_quota(const struct quota_figures *q)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_json(j, "campaigns", used_of(q->campaigns, q->campaigns_max));
	json_put_json(j, "bytes", used_of(q->bytes, q->bytes_max));
	json_put_int(j, "checkpoint_max", q->checkpoint_max);
	return j;
}

struct json *rest_quota_of(const struct cloud *c, const uint8_t player[PLAYER_ID_BYTES])
{
	struct quota_figures q;
	struct db           *db;
	enum err             e = readers_take(&db, c->store);

	if (e != ERR_OK)
		return NULL;
	e = quota_figures(&q, db, player, &c->conf->limits);
	readers_give(c->store, db);
	return e == ERR_OK ? rest_quota(&q) : NULL;
}
