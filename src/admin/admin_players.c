/*
 * Players, as they are kept: src/admin/PROTOCOL.md.
 */
#include "admin/admin_banned.h"
#include "admin/admin_serve.h"
#include "os/clock.h"
#include "store/player_admin.h"

#include <string.h>

#define CODE_MIN        100000
#define CODE_MAX        999999
#define CAMPAIGNS_SHOWN 1000
#define NAME_CHARS      64

static enum err new_player(struct json **out, struct db *db, const struct player_summary *p)
{
	bool         banned = false;
	enum err     e      = is_banned(&banned, db, p->id, clock_wall_ms());
	struct json *j      = e == ERR_OK ? json_object_new() : NULL;

	if (!j)
		return e == ERR_OK ? ERR_NOMEM : e;
	api_put_id(j, "id", p->id);
	if (p->code != 0)
		json_put_int(j, "code", p->code);
	else
		json_put_null(j, "code");
	api_put_time(j, "made_at", p->made_ms);
	api_put_time(j, "seen_at", p->seen_ms);
	json_put_int(j, "campaigns", p->campaigns);
	json_put_int(j, "bytes", p->bytes);
	json_put_bool(j, "hosting", p->is_hosting);
	json_put_bool(j, "banned", banned);
	*out = j;
	return ERR_OK;
}

/* --- The list --- */

struct page_of_players {
	struct api_page page;
	struct db      *db;
	int64_t         code; /* 0: any */
	uint8_t         first[PLAYER_ID_BYTES], last[PLAYER_ID_BYTES];
};

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char       *at       = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The first and the last id that begin so. */
static enum err read_beginning(struct page_of_players *l, struct api_call *c)
{
	char     text[API_QUERY_BYTES];
	enum err e   = api_query_text(text, c, "q");
	size_t   len = e == ERR_OK ? strlen(text) : 0;

	memset(l->first, 0, sizeof(l->first));
	memset(l->last, 0xff, sizeof(l->last));
	for (size_t i = 0; i < len; i++) {
		int digit = i < 2 * PLAYER_ID_BYTES ? digit_of(text[i]) : -1;
		int shift = i % 2 == 0 ? 4 : 0;

		if (digit < 0)
			return api_problem(c, ERR_INVALID, "q is the beginning of an id, up to 16 hex digits");
		l->first[i / 2] = (uint8_t)(l->first[i / 2] | digit << shift);
		l->last[i / 2]  = (uint8_t)(l->last[i / 2] & ~((~digit & 15) << shift));
	}
	return e;
}

/* The page begins behind the last one of the page before. */
static enum err go_on(struct page_of_players *l)
{
	if (!l->page.has_after)
		return ERR_OK;
	if (l->page.after_len != sizeof(l->first))
		return api_problem(l->page.call, ERR_MALFORMED, "the cursor is none that this server gave");
	if (memcmp(l->page.after, l->first, sizeof(l->first)) < 0)
		return ERR_OK;
	memcpy(l->first, l->page.after, sizeof(l->first));
	for (size_t i = sizeof(l->first); i > 0 && ++l->first[i - 1] == 0; i--)
		;
	return ERR_OK;
}

static enum err add(const struct player_summary *p, void *arg)
{
	struct page_of_players *l = arg;
	struct json            *j;
	enum err                e;

	if (!api_page_room(&l->page, p->id, sizeof(p->id)))
		return ERR_OK;
	e = new_player(&j, l->db, p);
	if (e == ERR_OK)
		api_page_add(&l->page, j);
	return e;
}

/* Of the player alone who has the code; false: nobody has it, or it is not among those asked for. */
static bool narrow(struct page_of_players *l, enum err *e)
{
	uint8_t id[PLAYER_ID_BYTES];

	*e = player_of_code(id, l->db, l->code);
	if (*e != ERR_OK || memcmp(id, l->first, sizeof(id)) < 0 || memcmp(id, l->last, sizeof(id)) > 0) {
		*e = *e == ERR_NOT_FOUND ? ERR_OK : *e;
		return false;
	}
	memcpy(l->first, id, sizeof(id));
	memcpy(l->last, id, sizeof(id));
	return true;
}

static enum err read_list(struct db *db, void *arg)
{
	struct page_of_players *l = arg;
	enum err                e = ERR_OK;

	l->db = db;
	if (l->code != 0 && !narrow(l, &e))
		return e;
	return player_list(db, l->first, l->last, l->page.limit + 1, add, l);
}

static enum err on_list(struct api_call *c, void *part)
{
	struct page_of_players l = { .code = 0 };
	enum err               e = api_query_int(&l.code, c, "code", CODE_MIN, CODE_MAX, 0);

	(void)part;
	if (e == ERR_OK)
		e = read_beginning(&l, c);
	if (e == ERR_OK)
		e = api_page_begin(&l.page, c);
	if (e != ERR_OK)
		return e;
	e = go_on(&l);
	/* Behind the last id there is. */
	if (e == ERR_OK && memcmp(l.first, l.last, sizeof(l.first)) <= 0 &&
	    !(l.page.has_after && memcmp(l.page.after, l.last, sizeof(l.last)) >= 0))
		e = api_read(c, read_list, &l);
	return api_page_end(&l.page, e);
}

/* --- One --- */

struct one {
	uint8_t              id[PLAYER_ID_BYTES];
	const struct limits *limits;
	struct db           *db;
	struct json         *player, *campaigns;
	struct player_quota  quota;
};

static enum err take_player(const struct player_summary *p, void *arg)
{
	struct one *o = arg;

	return new_player(&o->player, o->db, p);
}

static enum err add_campaign(const struct player_campaign *pc, void *arg)
{
	struct json *j = json_object_new();

	if (!j)
		return ERR_NOMEM;
	api_put_id(j, "id", pc->id);
	api_put_text(j, "name", pc->name, strlen(pc->name), NAME_CHARS);
	json_put_text(j, "role", pc->owns ? "owner" : "member");
	json_put_int(j, "bytes", pc->bytes);
	api_put_time(j, "stored_at", pc->stored_ms);
	json_add_json(arg, j);
	return ERR_OK;
}

static enum err read_one(struct db *db, void *arg)
{
	struct one *o = arg;
	enum err    e;

	o->db = db;
	e     = player_list(db, o->id, o->id, 1, take_player, o);
	if (e == ERR_OK && !o->player)
		return ERR_NOT_FOUND;
	if (e == ERR_OK)
		e = player_campaigns(db, o->id, CAMPAIGNS_SHOWN, add_campaign, o->campaigns);
	return e == ERR_OK ? player_quota(&o->quota, db, o->id, o->limits) : e;
}

static void put_figure(struct json *quota, const char *name, int64_t used, int64_t max, int64_t own)
{
	struct json *j = json_object_new();

	if (j) {
		json_put_int(j, "used", used);
		json_put_int(j, "max", max);
		if (own < 0)
			json_put_null(j, "override");
		else
			json_put_int(j, "override", own);
	}
	json_put_json(quota, name, j);
}

static struct json *new_quota(const struct player_quota *q)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	put_figure(j, "campaigns", q->figures.campaigns, q->figures.campaigns_max, q->own.campaigns);
	put_figure(j, "bytes", q->figures.bytes, q->figures.bytes_max, q->own.bytes);
	put_figure(j, "checkpoint", q->largest, q->figures.checkpoint_max, q->own.checkpoint);
	return j;
}

static enum err on_one(struct api_call *c, void *part)
{
	struct one o = { .limits = &api_conf(c->api)->limits };
	enum err   e = api_path_id(o.id, c, 0);

	(void)part;
	if (e != ERR_OK)
		return e;
	o.campaigns = json_array_new();
	e           = o.campaigns ? api_read(c, read_one, &o) : ERR_NOMEM;
	if (e != ERR_OK) {
		json_free(o.player);
		json_free(o.campaigns);
		return e;
	}
	json_put_json(o.player, "campaign_list", o.campaigns);
	json_put_json(o.player, "quota", new_quota(&o.quota));
	return api_answer(c, 200, o.player);
}

const struct api_route admin_player_routes[] = {
	{ .method = "GET",
	  .path   = "/admin/v1/players",
	  .role   = API_VIEWER,
	  .query  = "limit cursor code q",
	  .handle = on_list },
	{ .method = "GET", .path = "/admin/v1/players/{id}", .role = API_VIEWER, .handle = on_one },
	{ 0 },
};
