/*
 * Campaigns looked for, one of them, and its checkpoints' bytes.
 */
#include "cloud/cloud_admin.h"

#include "base/bytes.h"
#include "cloud/rest.h"
#include "os/clock.h"
#include "store/campaign_admin.h"

#include <limits.h>
#include <string.h>

#define SHOWN_CHARS 64 /* of a text of a checkpoint; none is longer */
#define DAY_MS      INT64_C(86400000)
#define DAYS_MAX    100000
#define KEY_BYTES   16

/* --- What both have --- */

static void put_text(struct json *j, const char *name, const char *text)
{
	api_put_text(j, name, text, strlen(text), SHOWN_CHARS);
}

static void put_meta(struct json *j, const struct checkpoint_meta *meta)
{
	put_text(j, "name", meta->name);
	put_text(j, "level", meta->level);
	put_text(j, "checkpoint", meta->checkpoint);
	put_text(j, "hostname", meta->hostname);
}

static struct json *new_summary(const struct campaign_summary *c)
{
	static const struct checkpoint_meta nothing;
	struct json                        *j = json_object_new();

	if (!j)
		return NULL;
	api_put_id(j, "id", c->id);
	json_put_int(j, "number", c->number);
	put_meta(j, c->newest.version != 0 ? &c->newest.meta : &nothing);
	api_put_id(j, "owner", c->owner);
	json_put_int(j, "members", c->members);
	json_put_int(j, "version", c->newest.version);
	json_put_int(j, "checkpoints", c->checkpoints);
	json_put_int(j, "bytes", c->bytes);
	api_put_time(j, "made_at", c->made_ms);
	api_put_time(j, "stored_at", c->stored_ms);
	api_put_time(j, "used_at", c->used_ms);
	api_put_time(j, "trashed_at", c->trashed_ms);
	return j;
}

/* --- The list --- */

/* A search as it was asked for; what it points to is here. */
struct asked {
	struct campaign_search search;
	char                   text[API_QUERY_BYTES], level[API_QUERY_BYTES];
	uint8_t                owner[PLAYER_ID_BYTES], member[PLAYER_ID_BYTES];
};

static enum err read_where(enum campaign_where *out, struct api_call *c)
{
	static const char *const words[] = { "no", "only", "also" };
	char                     word[API_QUERY_BYTES];
	enum err                 e = api_query_text(word, c, "trash");

	*out = CAMPAIGN_LIVE;
	if (e != ERR_OK || word[0] == '\0')
		return e;
	for (int i = CAMPAIGN_LIVE; i <= CAMPAIGN_ANYWHERE; i++) {
		if (strcmp(word, words[i]) == 0) {
			*out = (enum campaign_where)i;
			return ERR_OK;
		}
	}
	return api_problem(c, ERR_INVALID, "trash is no, only or also");
}

static enum err read_text(char out[API_QUERY_BYTES], struct api_call *c, const char *name)
{
	return api_query_text(out, c, name) == ERR_OK
	               ? ERR_OK
	               : api_problem(c, ERR_MALFORMED, "%s is a text of at most %d bytes, in UTF-8", name,
	                             API_QUERY_BYTES - 1);
}

static enum err read_times(struct campaign_search *s, struct api_call *c)
{
	int64_t  now_ms = clock_wall_ms(), older = -1, newer = -1;
	enum err e = api_query_int(&older, c, "older_than_days", 0, DAYS_MAX, -1);

	if (e == ERR_OK)
		e = api_query_int(&newer, c, "newer_than_days", 0, DAYS_MAX, -1);
	s->from_ms = newer >= 0 ? now_ms - newer * DAY_MS : INT64_MIN;
	s->to_ms   = older >= 0 ? now_ms - older * DAY_MS : INT64_MAX;
	return e;
}

static enum err read_search(struct asked *a, struct api_call *c)
{
	struct campaign_search *s          = &a->search;
	bool                    has_owner  = false;
	bool                    has_member = false;
	enum err                e          = read_text(a->text, c, "q");

	if (e == ERR_OK)
		e = read_text(a->level, c, "level");
	if (e == ERR_OK)
		e = api_query_id(a->owner, &has_owner, c, "owner");
	if (e == ERR_OK)
		e = api_query_id(a->member, &has_member, c, "member");
	if (e == ERR_OK)
		e = api_query_int(&s->min_bytes, c, "min_bytes", 0, INT64_MAX, 0);
	if (e == ERR_OK)
		e = api_query_int(&s->max_bytes, c, "max_bytes", 0, INT64_MAX, INT64_MAX);
	if (e == ERR_OK)
		e = read_times(s, c);
	if (e == ERR_OK)
		e = read_where(&s->where, c);
	s->text     = a->text;
	s->level    = a->level;
	s->owner    = has_owner ? a->owner : NULL;
	s->member   = has_member ? a->member : NULL;
	s->rows_max = api_conf(c->api)->limits.admin_search_rows;
	return e;
}

static void write_key(uint8_t key[KEY_BYTES], const struct campaign_place *at)
{
	struct wr w = wr_over(key, KEY_BYTES);

	wr_be(&w, (uint64_t)at->stored_ms, 8);
	wr_be(&w, (uint64_t)at->number, 8);
}

static enum err read_place(struct campaign_place *at, const struct api_page *p)
{
	struct rd r = rd_over(p->after, p->after_len);

	*at = CAMPAIGN_FIRST_PLACE;
	if (!p->has_after)
		return ERR_OK;
	at->stored_ms = (int64_t)rd_be(&r, 8);
	at->number    = (int64_t)rd_be(&r, 8);
	return rd_done(&r) ? ERR_OK : api_problem(p->call, ERR_MALFORMED, "the cursor is none that this server gave");
}

struct found {
	struct asked    asked;
	struct api_page page;
};

static bool add(const struct campaign_summary *c, void *arg)
{
	struct found         *l  = arg;
	struct campaign_place at = { c->stored_ms, c->number };
	uint8_t               key[KEY_BYTES];

	write_key(key, &at);
	if (!api_page_room(&l->page, key, sizeof(key)))
		return false;
	api_page_add(&l->page, new_summary(c));
	return true;
}

static enum err read_list(struct db *db, void *arg)
{
	struct found         *l    = arg;
	bool                  more = false;
	uint8_t               key[KEY_BYTES];
	struct campaign_place at;
	enum err              e = read_place(&at, &l->page);

	if (e == ERR_OK)
		e = campaign_search(&at, &more, db, &l->asked.search, add, l);
	/* The page ends in the middle of the search: the next one goes on behind what was looked at last. */
	if (e == ERR_OK && more) {
		write_key(key, &at);
		l->page.has_more = api_page_room(&l->page, key, sizeof(key)) || l->page.has_more;
	}
	return e;
}

enum err cloud_admin_list(struct api_call *c, void *part)
{
	struct found l = { .page = { .limit = 0 } };
	enum err     e = read_search(&l.asked, c);

	(void)part;
	if (e == ERR_OK)
		e = api_page_begin(&l.page, c);
	if (e != ERR_OK)
		return e;
	e = api_read(c, read_list, &l);
	return api_page_end(&l.page, e);
}

/* --- One --- */

struct one {
	uint8_t                 id[CAMPAIGN_ID_BYTES];
	int64_t                 number;
	const struct limits    *limits;
	struct campaign_summary is;
	struct quota_override   own;
	struct quota_figures    owners;
	struct json            *members, *checkpoints;
};

static enum err add_member(const uint8_t player[PLAYER_ID_BYTES], enum campaign_member_state state, bool used,
                           void *arg)
{
	static const char *const names[] = { "member", "left", "removed" };
	struct json             *j       = json_object_new();

	if (!j)
		return ERR_NOMEM;
	api_put_id(j, "player", player);
	json_put_text(j, "state", names[state]);
	json_put_bool(j, "used", used);
	json_add_json(arg, j);
	return ERR_OK;
}

static enum err add_checkpoint(const struct checkpoint_row *row, void *arg)
{
	struct json *j = json_object_new();

	if (!j)
		return ERR_NOMEM;
	json_put_int(j, "version", row->version);
	json_put_int(j, "bytes", row->bytes);
	api_put_hex(j, "sha256", row->sha256, sizeof(row->sha256));
	api_put_time(j, "stored_at", row->stored_ms);
	api_put_id(j, "by", row->by);
	json_put_int(j, "stamp", row->meta.stamp);
	put_meta(j, &row->meta);
	json_put_bool(j, "small", row->is_small);
	json_put_bool(j, "conflict", row->is_conflict);
	json_put_bool(j, "container", row->meta.is_container);
	json_add_json(arg, j);
	return ERR_OK;
}

static enum err read_one(struct db *db, void *arg)
{
	struct one *o = arg;
	enum err    e = campaign_look_up(&o->is, db, o->id, o->number);

	if (e == ERR_OK)
		e = campaign_members(db, o->is.number, add_member, o->members);
	if (e == ERR_OK)
		e = campaign_checkpoints(db, o->is.number, add_checkpoint, o->checkpoints);
	if (e == ERR_OK)
		e = quota_figures(&o->owners, db, o->is.owner, o->limits);
	if (e != ERR_OK)
		return e;
	e = quota_get_campaign(&o->own, db, o->id);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static void put_figure(struct json *j, const char *name, int64_t value)
{
	if (value < 0)
		json_put_null(j, name);
	else
		json_put_int(j, name, value);
}

/* Of its bytes in all only an own quota is a bound, besides what its owner may hold. */
static struct json *new_quota(const struct one *o)
{
	struct json *j = json_object_new(), *bytes = json_object_new(), *checkpoint = json_object_new();

	if (!j || !bytes || !checkpoint) {
		json_free(j);
		json_free(bytes);
		json_free(checkpoint);
		return NULL;
	}
	json_put_int(bytes, "used", o->is.bytes);
	put_figure(bytes, "max", o->own.bytes);
	put_figure(bytes, "override", o->own.bytes);
	json_put_int(checkpoint, "used", o->is.largest);
	json_put_int(checkpoint, "max", o->own.checkpoint >= 0 ? o->own.checkpoint : o->owners.checkpoint_max);
	put_figure(checkpoint, "override", o->own.checkpoint);
	json_put_json(j, "bytes", bytes);
	json_put_json(j, "checkpoint", checkpoint);
	return j;
}

static enum err answer_one(struct api_call *c, struct one *o, const struct live_count *live)
{
	struct json *j = new_summary(&o->is);

	if (!j) {
		json_free(o->members);
		json_free(o->checkpoints);
		return ERR_NOMEM;
	}
	json_put_json(j, "member_list", o->members);
	json_put_json(j, "checkpoint_list", o->checkpoints);
	json_put_int(j, "uploads", live->uploads);
	json_put_int(j, "downloads", live->downloads);
	json_put_json(j, "quota", new_quota(o));
	return api_answer(c, 200, j);
}

enum err cloud_admin_one(struct api_call *c, void *part)
{
	struct one        o    = { .own = { -1, -1, -1 }, .limits = &api_conf(c->api)->limits };
	struct live_count live = { 0 };
	enum err          e    = api_path_id(o.id, c, 0);

	if (e == ERR_OK)
		e = api_query_int(&o.number, c, "number", 1, INT64_MAX, 0);
	if (e != ERR_OK)
		return e;
	o.members     = json_array_new();
	o.checkpoints = json_array_new();
	e             = o.members && o.checkpoints ? api_read(c, read_one, &o) : ERR_NOMEM;
	if (e != ERR_OK) {
		json_free(o.members);
		json_free(o.checkpoints);
		return e;
	}
	/* What is under way is of the one that has the id now. */
	if (o.is.trashed_ms == 0)
		live = cloud_count_live(c, part, o.id);
	return answer_one(c, &o, &live);
}

/* --- Bytes --- */

enum err cloud_admin_checkpoint(struct api_call *c, void *part)
{
	uint8_t           id[CAMPAIGN_ID_BYTES];
	struct cloud_pick pick = { .campaign = id };
	enum err          e    = api_path_id(id, c, 0);

	if (e == ERR_OK)
		e = api_query_int(&pick.version, c, "version", 1, INT64_MAX, 0);
	if (e == ERR_OK)
		e = api_query_int(&pick.number, c, "number", 1, INT64_MAX, 0);
	return e == ERR_OK ? rest_send_checkpoint(c->answer, c->rq, part, &pick) : e;
}
