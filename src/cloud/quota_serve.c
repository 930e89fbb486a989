/*
 * Quotas of one player or campaign, for the operator: rows that override the defaults.
 *
 *	GET, PUT /admin/v1/quotas/players/{id}
 *	GET, PUT /admin/v1/quotas/campaigns/{id}
 *
 * The body, and the answer, is {"campaigns":n,"bytes":n,"checkpoint":n}; null or absent is the default. PUT replaces the
 * whole row. A campaign owns no campaigns, so that it has no such member.
 */
#include "base/auto.h"
#include "cloud/rest.h"
#include "store/ask.h"
#include "store/readers.h"

#include <stdlib.h>
#include <string.h>

#define BODY_BYTES_MAX 1024
#define IS_DEFAULT     (-1)

struct quota {
	struct job            job;
	bool                  is_player;
	uint8_t               id[8];
	struct quota_override row;
	size_t                len;
	char                  body[BODY_BYTES_MAX];
};

/* The one thing in which the two kinds of paths differ. */
static bool is_player_path(const struct http_request *rq)
{
	static const char players[] = "/admin/v1/quotas/players/";

	return strncmp(http_path(rq), players, strlen(players)) == 0;
}

/* --- Answers --- */

static void put_figure(struct json *j, const char *key, int64_t value)
{
	if (value == IS_DEFAULT)
		json_put_null(j, key);
	else
		json_put_int(j, key, value);
}

static enum err answer_row(struct http_answer *a, const struct quota *q)
{
	AUTO(json_freep) struct json *j = json_object_new();

	if (!j)
		return ERR_NOMEM;
	if (q->is_player)
		put_figure(j, "campaigns", q->row.campaigns);
	put_figure(j, "bytes", q->row.bytes);
	put_figure(j, "checkpoint", q->row.checkpoint);
	return http_answer_json(a, 200, j);
}

static enum err on_get(struct http_answer *a, struct http_request *rq, void *part)
{
	const struct cloud *c = part;
	struct quota        q = { .is_player = is_player_path(rq), .row = { IS_DEFAULT, IS_DEFAULT, IS_DEFAULT } };
	struct db          *db;
	enum err            e = rest_id(q.id, http_path_part(rq, 0));

	if (e == ERR_OK)
		e = readers_take(&db, c->store);
	if (e != ERR_OK)
		return rest_error(a, rq, e);
	e = q.is_player ? quota_get_player(&q.row, db, q.id) : quota_get_campaign(&q.row, db, q.id);
	readers_give(c->store, db);
	/* No row is the default, and whether the player ever came does not matter. */
	return e == ERR_OK || e == ERR_NOT_FOUND ? answer_row(a, &q) : rest_error(a, rq, e);
}

/* --- PUT --- */

static enum err begin(void **sink, struct http_answer *a, struct http_request *rq, int64_t length, void *part)
{
	struct quota *q = calloc(1, sizeof(*q));
	enum err      e = q ? rest_id(q->id, http_path_part(rq, 0)) : ERR_NOMEM;

	(void)part;
	if (e == ERR_OK && length > BODY_BYTES_MAX)
		e = ERR_TOO_BIG;
	if (e != ERR_OK) {
		free(q);
		return rest_error(a, rq, e);
	}
	q->is_player = is_player_path(rq);
	*sink        = q;
	return ERR_OK;
}

static enum err data(void *sink, const uint8_t *bytes, size_t len)
{
	struct quota *q = sink;

	if (len > sizeof(q->body) - q->len)
		return ERR_TOO_BIG;
	memcpy(q->body + q->len, bytes, len);
	q->len += len;
	return ERR_OK;
}

static enum err read_figure(int64_t *out, const struct json *j, const char *key)
{
	enum err e = json_get_int(out, j, key);

	if (e == ERR_NOT_FOUND)
		*out = IS_DEFAULT;
	return e == ERR_MALFORMED || *out < IS_DEFAULT || (e == ERR_OK && *out < 0) ? ERR_MALFORMED : ERR_OK;
}

static enum err read_row(struct quota *q)
{
	AUTO(json_freep) struct json *j = NULL;
	enum err                      e = json_parse(&j, q->body, q->len);

	if (e == ERR_OK)
		e = read_figure(&q->row.campaigns, j, "campaigns");
	if (e == ERR_OK && !q->is_player && q->row.campaigns != IS_DEFAULT)
		e = ERR_MALFORMED;
	if (e == ERR_OK)
		e = read_figure(&q->row.bytes, j, "bytes");
	return e == ERR_OK ? read_figure(&q->row.checkpoint, j, "checkpoint") : e;
}

static enum err run_set(struct job *job, struct db *db)
{
	struct quota *q = CONTAINER(job, struct quota, job);

	return q->is_player ? quota_set_player(db, q->id, &q->row) : quota_set_campaign(db, q->id, &q->row);
}

static void let_go(struct job *job, enum err result)
{
	(void)result;
	free(CONTAINER(job, struct quota, job));
}

static enum err end(struct http_answer *a, struct http_request *rq, void *sink, void *part)
{
	const struct cloud           *c    = part;
	AUTO(auto_free) struct quota *q    = sink;
	bool                          gone = false;
	enum err                      e    = read_row(q);

	if (e == ERR_OK) {
		q->job.surface = SURFACE_ADMIN;
		q->job.run     = run_set;
		e              = store_ask(c->store, &q->job, &gone, let_go);
	}
	if (gone) {
		q = NULL;
		return rest_error(a, rq, ERR_BUSY);
	}
	return e == ERR_OK ? answer_row(a, q) : rest_error(a, rq, e);
}

static void give_up(struct http_answer *a, struct http_request *rq, void *sink, enum err why)
{
	free(sink);
	if (a && rest_error(a, rq, why) != ERR_OK)
		*a = (struct http_answer){ 0 };
}

static const struct http_body body = { .begin = begin, .data = data, .end = end, .abort = give_up };

const struct http_route quota_routes[] = {
	{ "GET", "/admin/v1/quotas/players/{id}", on_get, NULL, rest_error },
	{ "PUT", "/admin/v1/quotas/players/{id}", NULL, &body, rest_error },
	{ "GET", "/admin/v1/quotas/campaigns/{id}", on_get, NULL, rest_error },
	{ "PUT", "/admin/v1/quotas/campaigns/{id}", NULL, &body, rest_error },
	{ 0 },
};
