/*
 * Quotas: the defaults, what is used of them, and the rows of one player or campaign that override them.
 *
 * A row, and the answer, is {"campaigns":n,"bytes":n,"checkpoint":n}; null or absent is the default. PUT replaces the whole
 * row. A campaign owns no campaigns, so that it has no such member. Whether the player or the campaign ever was here does
 * not matter.
 */
#include "cloud/cloud_admin.h"

#include "store/campaign_admin.h"

#define IS_DEFAULT (-1)

struct quota {
	bool                  is_player;
	uint8_t               id[8];
	struct quota_override row;
};

/* --- One --- */

static void put_figure(struct json *j, const char *key, int64_t value)
{
	if (value == IS_DEFAULT)
		json_put_null(j, key);
	else
		json_put_int(j, key, value);
}

static void put_row(struct json *j, bool is_player, const struct quota_override *row)
{
	if (is_player)
		put_figure(j, "campaigns", row->campaigns);
	put_figure(j, "bytes", row->bytes);
	put_figure(j, "checkpoint", row->checkpoint);
}

static enum err answer_row(struct api_call *c, struct json *j, const struct quota *q)
{
	if (j)
		put_row(j, q->is_player, &q->row);
	return api_answer(c, 200, j);
}

static enum err run_get(struct db *db, void *arg)
{
	struct quota *q = arg;
	enum err      e = q->is_player ? quota_get_player(&q->row, db, q->id) : quota_get_campaign(&q->row, db, q->id);

	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err get(struct api_call *c, bool is_player)
{
	struct quota q = { .is_player = is_player, .row = { IS_DEFAULT, IS_DEFAULT, IS_DEFAULT } };
	enum err     e = api_path_id(q.id, c, 0);

	if (e == ERR_OK)
		e = api_read(c, run_get, &q);
	return e == ERR_OK ? answer_row(c, json_object_new(), &q) : e;
}

enum err cloud_admin_get_player_quota(struct api_call *c, void *part)
{
	(void)part;
	return get(c, true);
}

enum err cloud_admin_get_campaign_quota(struct api_call *c, void *part)
{
	(void)part;
	return get(c, false);
}

static enum err run_set(struct db *db, void *arg)
{
	struct quota *q = arg;

	return q->is_player ? quota_set_player(db, q->id, &q->row) : quota_set_campaign(db, q->id, &q->row);
}

static enum err set(struct api_call *c, bool is_player)
{
	static const char *const of_player[]   = { "campaigns", "bytes", "checkpoint", NULL };
	static const char *const of_campaign[] = { "bytes", "checkpoint", NULL };
	struct quota             q             = { .is_player = is_player };
	enum err                 e             = api_path_id(q.id, c, 0);

	if (e == ERR_OK)
		e = api_body_only(c, is_player ? of_player : of_campaign);
	if (e == ERR_OK)
		e = api_body_int(&q.row.campaigns, c, "campaigns", 0, INT64_MAX, IS_DEFAULT);
	if (e == ERR_OK)
		e = api_body_int(&q.row.bytes, c, "bytes", 0, INT64_MAX, IS_DEFAULT);
	if (e == ERR_OK)
		e = api_body_int(&q.row.checkpoint, c, "checkpoint", 0, INT64_MAX, IS_DEFAULT);
	if (e == ERR_OK && !c->dry_run)
		e = api_change(c, run_set, &q, sizeof(q));
	return e == ERR_OK ? answer_row(c, api_done(), &q) : e;
}

enum err cloud_admin_set_player_quota(struct api_call *c, void *part)
{
	(void)part;
	return set(c, true);
}

enum err cloud_admin_set_campaign_quota(struct api_call *c, void *part)
{
	(void)part;
	return set(c, false);
}

/* --- Lists --- */

struct rows {
	struct api_page page;
	bool            is_player;
};

static enum err add(const uint8_t id[8], const struct quota_override *row, void *arg)
{
	struct rows *l = arg;
	struct json *j;

	if (!api_page_room(&l->page, id, 8))
		return ERR_OK;
	j = json_object_new();
	if (j) {
		api_put_id(j, "id", id);
		put_row(j, l->is_player, row);
	}
	api_page_add(&l->page, j);
	return ERR_OK;
}

static enum err run_list(struct db *db, void *arg)
{
	struct rows   *l     = arg;
	const uint8_t *after = l->page.has_after ? l->page.after : NULL;

	return l->is_player ? quota_each_player(db, after, l->page.limit + 1, add, l)
	                    : quota_each_campaign(db, after, l->page.limit + 1, add, l);
}

static enum err list(struct api_call *c, bool is_player)
{
	struct rows l = { .is_player = is_player };
	enum err    e = api_page_begin(&l.page, c);

	if (e != ERR_OK)
		return e;
	if (l.page.has_after && l.page.after_len != 8)
		return api_page_end(&l.page, api_problem(c, ERR_MALFORMED, "the cursor is none that this server gave"));
	e = api_read(c, run_list, &l);
	return api_page_end(&l.page, e);
}

enum err cloud_admin_quota_players(struct api_call *c, void *part)
{
	(void)part;
	return list(c, true);
}

enum err cloud_admin_quota_campaigns(struct api_call *c, void *part)
{
	(void)part;
	return list(c, false);
}

/* --- In all --- */

static enum err run_overview(struct db *db, void *arg)
{
	return quota_overview(arg, db);
}

static struct json *new_defaults(const struct limits *l)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "player_campaigns", l->cloud_campaigns);
	json_put_int(j, "player_bytes", l->cloud_player_bytes);
	json_put_null(j, "campaign_bytes"); /* only its owner's */
	json_put_int(j, "checkpoint", l->cloud_checkpoint);
	json_put_int(j, "total_bytes", l->cloud_total);
	return j;
}

static struct json *new_used(const struct quota_overview *o)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "campaigns", o->campaigns);
	json_put_int(j, "bytes", o->bytes);
	json_put_int(j, "spare", o->spare);
	json_put_int(j, "trash", o->trash);
	return j;
}

enum err cloud_admin_quotas(struct api_call *c, void *part)
{
	struct quota_overview o = { 0 };
	struct json          *j;
	enum err              e = api_read(c, run_overview, &o);

	(void)part;
	if (e != ERR_OK)
		return e;
	j = json_object_new();
	if (!j)
		return ERR_NOMEM;
	json_put_json(j, "defaults", new_defaults(&api_conf(c->api)->limits));
	json_put_json(j, "used", new_used(&o));
	json_put_int(j, "overrides", o.overrides);
	return api_answer(c, 200, j);
}
