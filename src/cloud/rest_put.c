/*
 * PUT of a checkpoint.
 *
 *	begin	who, what, on which condition; the store says whether he may and reserves the bytes
 *	data	to the temporary file; of a chunked body, more is reserved before more is taken
 *	end	content checked, synced; the store takes the blob and writes the rows
 *	abort	the reservation is given back, the temporary file goes
 *
 * An operator who revokes the campaign has what the upload holds let go from his own thread (on_cut), whenever this one does
 * not work at it: its peer may be silent. Whoever works at it holds its lock, and looks afterwards whether it was cut.
 *
 * The store may be too slow for whoever waits, and then owns the job for good. So all that a job needs is in a struct of
 * its own, struct upload, and the connection holds it through struct put, which survives it.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "cloud/cloud_event.h"
#include "cloud/cloud_put.h"
#include "cloud/rest.h"
#include "crypt/hash.h"
#include "net/addr.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/ask.h"
#include "store/readers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A chunked body is reserved in such steps. */
#define STEP_BYTES (1024 * 1024)

struct upload {
	struct job           job;
	struct store        *store;
	const struct limits *limits;
	struct cloud_put     put;
	bool                 has_file; /* put was begun */
	struct upload_begin  begin;
	int64_t              grow_to;
	struct upload_end    end;
	struct rest_meta     meta; /* Coop-Meta, or what the container said */
};

struct put {
	struct cloud   *cloud;
	struct live     live;
	pthread_mutex_t lock;   /* guards what is below */
	struct upload  *upload; /* NULL: the store has it, or it was cut */
	int64_t         bytes, reserved;
	int64_t         length; /* -1: chunked */
	bool            has_meta;
	bool            is_whole; /* all bytes are there and hashed */
};

/* --- Jobs --- */

static enum err run_begin(struct job *job, struct db *db)
{
	struct upload *u = CONTAINER(job, struct upload, job);

	return upload_begin(&u->begin, db, u->limits);
}

static enum err run_grow(struct job *job, struct db *db)
{
	struct upload *u = CONTAINER(job, struct upload, job);

	enum err e = upload_grow(db, u->begin.id, u->grow_to, u->limits);

	if (e == ERR_LIMIT)
		u->begin.retry_ms = UPLOAD_RETRY_MS;
	return e;
}

static enum err run_end(struct job *job, struct db *db)
{
	struct upload *u = CONTAINER(job, struct upload, job);

	return upload_end(&u->end, db, u->limits);
}

static enum err run_cancel(struct job *job, struct db *db)
{
	struct upload *u = CONTAINER(job, struct upload, job);

	return upload_cancel(db, u->begin.id);
}

static void free_upload(struct upload *u)
{
	if (u->has_file)
		cloud_put_fini(&u->put);
	free(u);
}

static void done_cancel(struct job *job, enum err result)
{
	(void)result; /* it fails with the store, and the reservations end with the process */
	free_upload(CONTAINER(job, struct upload, job));
}

/* Gives the reservation back and frees u; waits for nothing. Any thread. */
static void cancel(struct upload *u)
{
	static const enum store_surface queues[] = { SURFACE_CLOUD, SURFACE_UPKEEP, SURFACE_ADMIN };

	u->job = (struct job){ .eager = true, .run = run_cancel, .done = done_cancel };
	for (size_t i = 0; i < COUNT_OF(queues); i++) {
		u->job.surface = queues[i];
		if (store_submit(u->store, &u->job) == ERR_OK)
			return;
	}
	log_warn("cloud", 0, "keeps-reservation", "reservation=%lld; the store takes nothing", (long long)u->begin.id);
	free_upload(u);
}

/* Nobody waits for the begin or the growth any more: what it reserved must go. */
static void let_go_reserved(struct job *job, enum err result)
{
	struct upload *u = CONTAINER(job, struct upload, job);

	if (result == ERR_OK || u->begin.id)
		cancel(u);
	else
		free_upload(u);
}

/* The end gave the reservation back, and what it stored stays, as after any answer that got lost. */
static void let_go_end(struct job *job, enum err result)
{
	(void)result;
	free_upload(CONTAINER(job, struct upload, job));
}

static enum err ask(struct put *p, bool eager, enum err (*run)(struct job *job, struct db *db),
                    void (*let_go)(struct job *job, enum err result))
{
	bool     gone = false;
	enum err e;

	p->upload->job = (struct job){ .surface = SURFACE_CLOUD, .eager = eager, .run = run };
	e              = store_ask(p->cloud->store, &p->upload->job, &gone, let_go);
	if (!gone)
		return e;
	p->upload = NULL;
	return ERR_BUSY;
}

/* --- Answers --- */

/* What the refused upload was to be, as far as it is known by now. */
static struct json *describe_mine(const struct put *p)
{
	const struct upload  *u = p->upload;
	struct json          *j = json_object_new();
	char                  text[REST_ETAG_BYTES], sha256[2 * BLOB_HASH_BYTES + 1];
	struct checkpoint_row base = { .version = u->begin.match.version };

	if (!j)
		return NULL;
	memcpy(base.sha256, u->begin.match.hash8, sizeof(u->begin.match.hash8));
	rest_etag(text, &base);
	if (base.version > 0)
		json_put_text(j, "based_on", text);
	else
		json_put_null(j, "based_on");
	if (p->length >= 0 || p->is_whole)
		json_put_int(j, "size", p->is_whole ? p->bytes : p->length);
	if (p->is_whole) {
		hex_encode(sha256, u->put.blob.sha256, BLOB_HASH_BYTES);
		json_put_text(j, "sha256", sha256);
	}
	if (p->has_meta || p->is_whole)
		rest_put_meta(j, &u->meta.shown);
	return j;
}

static void add_conflict(struct json *error, const struct put *p)
{
	const struct upload         *u      = p->upload;
	const struct checkpoint_row *newest = u->end.newest.version ? &u->end.newest : &u->begin.newest;

	if (newest->version > 0)
		json_put_json(error, "newest", rest_checkpoint(newest));
	else
		json_put_null(error, "newest");
	json_put_json(error, "yours", describe_mine(p));
}

static void add_quota(struct json *error, const struct put *p)
{
	struct json *quota = rest_quota_of(p->cloud, p->upload->begin.digest);

	if (quota)
		json_put_json(error, "quota", quota);
}

/* An error with what helps whoever gets it. */
static enum err refuse(struct http_answer *a, const struct put *p, enum err e)
{
	const struct upload *u     = p->upload;
	enum err             as    = e == ERR_EXISTS ? ERR_PRECONDITION : e;
	struct json         *error = rest_error_begin(as);
	enum err             said;

	if (error && u && e == ERR_CONFLICT)
		add_conflict(error, p);
	if (error && u && (e == ERR_QUOTA || e == ERR_CAMPAIGNS || e == ERR_TOO_BIG))
		add_quota(error, p);
	if (u)
		cloud_event_refused(u->begin.campaign, u->begin.digest, CLOUD_BY_REST, as);
	said = rest_error_send(a, as, error);
	if (said == ERR_OK && u && u->begin.retry_ms > 0 && err_http(as) == 429)
		http_answer_field(a, "Retry-After", "%" PRId64, (u->begin.retry_ms + 999) / 1000);
	return said;
}

/* A member learns how much this campaign holds, not how much its owner has besides. */
static struct json *quota_after(const struct upload *u)
{
	const struct quota_figures *q = &u->end.quota;
	struct json                *j, *bytes;

	if (q->campaigns_max > 0)
		return rest_quota(q);
	j     = json_object_new();
	bytes = json_object_new();
	if (!j || !bytes) {
		json_free(j);
		json_free(bytes);
		return NULL;
	}
	json_put_int(bytes, "used", q->bytes);
	json_put_json(j, "bytes", bytes);
	return j;
}

static enum err answer_stored(struct http_answer *a, const struct put *p)
{
	const struct upload          *u   = p->upload;
	const struct checkpoint_row  *row = &u->end.stored;
	AUTO(json_freep) struct json *j   = rest_checkpoint(row);
	char                          id[2 * CAMPAIGN_ID_BYTES + 1], etag[REST_ETAG_BYTES];
	enum err                      e;

	if (!j)
		return ERR_NOMEM;
	hex_encode(id, u->begin.campaign, CAMPAIGN_ID_BYTES);
	rest_etag(etag, row);
	json_put_text(j, "id", id);
	if (row->is_small)
		json_put_text(j, "warning",
		              "this checkpoint is much smaller than the one before it, as a lost save would be; the "
		              "one "
		              "before is kept");
	if (row->is_conflict)
		json_put_json(j, "newest", rest_checkpoint(&u->end.newest));
	json_put_json(j, "quota", quota_after(u));
	e = http_answer_json(a, 201, j);
	if (e != ERR_OK)
		return e;
	http_answer_field(a, "Location", "/v1/campaigns/%s/checkpoint?version=%" PRId64, id, row->version);
	http_answer_field(a, "ETag", "%s", etag);
	return ERR_OK;
}

/* --- The head --- */

/* A field that may come once: ERR_MALFORMED when it comes twice; *out NULL when it is not there. */
static enum err one_field(const char **out, const struct http_request *rq, const char *name)
{
	*out = http_header(rq, name);
	return !*out && http_has_header(rq, name) ? ERR_MALFORMED : ERR_OK;
}

/* If-Match: * is kept by any checkpoint, so by the newest that is there now; by none if there is none. */
static void match_any(struct put *p)
{
	struct upload_begin *b = &p->upload->begin;
	struct campaign_row  row;
	struct db           *db;
	bool                 found = false;

	if (readers_take(&db, p->cloud->store) == ERR_OK) {
		found = campaign_find(&row, db, b->campaign, b->digest) == ERR_OK && row.newest.version > 0;
		readers_give(p->cloud->store, db);
	}
	/* No ETag is like this one, so the store refuses, strangers first of all. */
	if (!found)
		b->match = (struct upload_match){ .kind = UPLOAD_IF_NEWEST, .version = -1 };
}

static enum err read_conditions(struct put *p, const struct http_request *rq)
{
	struct upload_begin *b    = &p->upload->begin;
	const char          *keep = http_query(rq, "keep"), *if_match, *if_none_match;
	bool                 any  = false;
	enum err             e    = one_field(&if_match, rq, "If-Match");

	if (e == ERR_OK)
		e = one_field(&if_none_match, rq, "If-None-Match");
	if (e == ERR_OK)
		e = rest_match_parse(&b->match, &any, if_match, if_none_match);
	if (e == ERR_OK && http_has_query(rq, "keep") && (!keep || strcmp(keep, "both") != 0))
		e = ERR_MALFORMED;
	if (e != ERR_OK)
		return e;
	b->keep_both = keep != NULL;
	if (any)
		match_any(p);
	return ERR_OK;
}

static enum err read_meta(struct put *p, const struct http_request *rq)
{
	const char *field;
	enum err    e = one_field(&field, rq, "Coop-Meta");

	if (e != ERR_OK || !field)
		return e;
	p->has_meta = true;
	return rest_meta_parse(&p->upload->meta, field);
}

static enum err read_head(struct put *p, struct http_request *rq)
{
	struct upload_begin *b = &p->upload->begin;
	struct rest_who      who;
	uint8_t              key[ADDR_KEY_BYTES];
	enum err             e = rest_who(&who, p->cloud, rq);

	if (e != ERR_OK)
		return e;
	memcpy(b->digest, who.digest, sizeof(b->digest));
	memcpy(b->campaign, who.campaign, sizeof(b->campaign));
	addr_key(key, http_client(rq));
	hash_keyed(b->addr, store_addr_key(p->cloud->store), key, sizeof(key));
	b->exempt = http_is_exempt(rq);
	b->bytes  = p->length;
	e         = read_meta(p, rq);
	return e == ERR_OK ? read_conditions(p, rq) : e;
}

static enum err reserve(struct put *p)
{
	struct upload_begin *b = &p->upload->begin;
	enum err             e;

	if (p->length == 0)
		return ERR_CONTENT;
	if (!store_has_space(p->cloud->store))
		return ERR_SPACE;
	b->mono_ms = clock_mono_ms();
	b->wall_ms = clock_wall_ms();
	e          = ask(p, true, run_begin, let_go_reserved);
	if (e == ERR_OK)
		p->reserved = p->length > 0 ? p->length : 0;
	return e;
}

/* --- The four of struct http_body --- */

static void drop_upload(struct put *p)
{
	if (p->upload && p->upload->begin.id)
		cancel(p->upload);
	else if (p->upload)
		free_upload(p->upload);
	p->upload = NULL;
}

/* Waits for nobody: one that is worked at finds the mark itself. */
static void on_cut(struct live *l)
{
	struct put *p = CONTAINER(l, struct put, live);

	if (pthread_mutex_trylock(&p->lock) != 0)
		return;
	if (p->upload && live_is_cut(l, p->upload->begin.id))
		drop_upload(p);
	pthread_mutex_unlock(&p->lock);
}

/* After work that went well: ERR_GONE when the campaign was revoked before or meanwhile. The lock is held. */
static enum err check_cut(const struct put *p)
{
	return !p->upload || live_is_cut(&p->live, p->upload->begin.id) ? ERR_GONE : ERR_OK;
}

static void free_put(struct put *p)
{
	live_leave(&p->cloud->live, &p->live);
	drop_upload(p);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct put *new_put(struct cloud *c, int64_t length)
{
	struct put *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->upload = calloc(1, sizeof(*p->upload));
	if (!p->upload) {
		free(p);
		return NULL;
	}
	p->cloud          = c;
	p->length         = length;
	p->live.is_upload = true;
	p->live.on_cut    = on_cut;
	list_init(&p->live.in_all);
	pthread_mutex_init(&p->lock, NULL);
	p->upload->store  = c->store;
	p->upload->limits = &c->conf->limits;
	return p;
}

static enum err open_file(struct put *p)
{
	struct upload *u   = p->upload;
	int64_t        max = p->length >= 0 ? p->length : INT64_MAX;
	enum err       e   = cloud_put_begin(&u->put, u->store, p->has_meta ? NULL : u->begin.campaign, max);

	u->has_file = e == ERR_OK;
	return e;
}

/* From before the reservation on, so that nobody who revokes the campaign can miss it. */
static enum err enter(struct put *p)
{
	enum err e;

	memcpy(p->live.campaign, p->upload->begin.campaign, sizeof(p->live.campaign));
	live_enter(&p->cloud->live, &p->live);
	pthread_mutex_lock(&p->lock);
	e = reserve(p);
	if (e == ERR_OK)
		e = open_file(p);
	if (e == ERR_OK)
		e = check_cut(p);
	pthread_mutex_unlock(&p->lock);
	return e;
}

static enum err begin(void **sink, struct http_answer *a, struct http_request *rq, int64_t length, void *part)
{
	struct put *p = new_put(part, length);
	enum err    e;

	if (!p)
		return rest_error(a, rq, ERR_NOMEM);
	e = read_head(p, rq);
	if (e == ERR_OK)
		e = enter(p);
	if (e != ERR_OK) {
		enum err said;

		live_leave(&p->cloud->live, &p->live);
		said = refuse(a, p, e);

		free_put(p);
		return said;
	}
	*sink = p;
	return ERR_OK;
}

static enum err grow_to(struct put *p, int64_t bytes)
{
	enum err e;

	p->upload->grow_to = bytes;
	e                  = ask(p, true, run_grow, let_go_reserved);
	if (e == ERR_OK)
		p->reserved = bytes;
	return e;
}

/* Near a limit a whole step is refused, though what has really come may still fit. */
static enum err grow(struct put *p, int64_t bytes)
{
	int64_t  step = (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
	enum err e    = grow_to(p, step);

	if ((e == ERR_TOO_BIG || e == ERR_QUOTA || e == ERR_LIMIT) && step > bytes)
		e = grow_to(p, bytes);
	return e;
}

static enum err take(struct put *p, const uint8_t *bytes, size_t len)
{
	int64_t  all = p->bytes + (int64_t)len;
	enum err e   = check_cut(p);

	if (e == ERR_OK && p->length < 0 && all > p->reserved)
		e = grow(p, all);
	if (e == ERR_OK)
		e = cloud_put_add(&p->upload->put, bytes, len);
	p->bytes = all;
	return e == ERR_OK ? check_cut(p) : e;
}

static enum err data(void *sink, const uint8_t *bytes, size_t len)
{
	struct put *p = sink;
	enum err    e;

	pthread_mutex_lock(&p->lock);
	e = take(p, bytes, len);
	pthread_mutex_unlock(&p->lock);
	return e;
}

static enum err store(struct put *p)
{
	struct upload *u = p->upload;
	enum err       e = p->bytes > 0 ? cloud_put_end(&u->put, &u->meta.shown) : ERR_CONTENT;

	if (e != ERR_OK)
		return e;
	p->is_whole = true;
	if (!p->has_meta) {
		u->meta.player_count = u->put.text.member_count;
		memcpy(u->meta.players, u->put.text.members, sizeof(u->meta.players));
	}
	u->end = (struct upload_end){
		.id           = u->begin.id,
		.blob         = &u->put.blob,
		.meta         = u->meta.shown,
		.members      = (const uint8_t(*)[PLAYER_ID_BYTES])u->meta.players,
		.member_count = u->meta.player_count,
		.keep         = p->cloud->conf->cloud_keep,
		.mono_ms      = clock_mono_ms(),
		.wall_ms      = clock_wall_ms(),
	};
	e = ask(p, false, run_end, let_go_end);
	if (e != ERR_OK)
		return e;
	u->begin.id = 0; /* the end gave the reservation back */
	cloud_event_stored(u->begin.campaign, &u->end, u->begin.digest, CLOUD_BY_REST);
	return ERR_OK;
}

static enum err end(struct http_answer *a, struct http_request *rq, void *sink, void *part)
{
	struct put *p = sink;
	enum err    e;

	(void)rq;
	(void)part;
	/* What was stored before the campaign was revoked was stored; else the store knows that it is gone. */
	pthread_mutex_lock(&p->lock);
	e = check_cut(p);
	if (e == ERR_OK)
		e = store(p);
	e = e == ERR_OK ? answer_stored(a, p) : refuse(a, p, e);
	pthread_mutex_unlock(&p->lock);
	free_put(p);
	return e;
}

static void abort_upload(struct http_answer *a, struct http_request *rq, void *sink, enum err why)
{
	struct put *p = sink;

	(void)rq;
	live_leave(&p->cloud->live, &p->live);
	if (a && refuse(a, p, why) != ERR_OK)
		*a = (struct http_answer){ 0 };
	free_put(p);
}

const struct http_body rest_upload = { .begin = begin, .data = data, .end = end, .abort = abort_upload };
