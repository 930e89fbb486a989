/*
 * Campaigns changed by an operator. Each change looks first, so that a dry run finds the same errors.
 */
#include "cloud/cloud_admin.h"

#include "os/clock.h"
#include "store/campaign_admin.h"

#include <string.h>

#define SHOWN_CHARS 64

/* A dry run reads on a connection that could not write; else it is a job of the store. */
#define DO(c, run, arg) ((c)->dry_run ? api_read(c, run, arg) : api_change(c, run, arg, sizeof(*(arg))))

/* --- Into the trash and out of it --- */

static enum err run_revoke(struct db *db, void *arg)
{
	return campaign_revoke(arg, db);
}

enum err cloud_admin_revoke(struct api_call *c, void *part)
{
	struct campaign_revoke r = { .wall_ms = clock_wall_ms(), .dry_run = c->dry_run };
	struct live_count      ended;
	struct json           *j;
	enum err               e = api_path_id(r.id, c, 0);

	if (e == ERR_OK)
		e = DO(c, run_revoke, &r);
	if (e != ERR_OK)
		return e;
	ended = c->dry_run ? cloud_count_live(c, part, r.id) : cloud_cut_live(c, part, r.id, r.last_upload);
	j     = api_done();
	if (!j)
		return ERR_NOMEM;
	api_put_text(j, "name", r.was.newest.meta.name, strlen(r.was.newest.meta.name), SHOWN_CHARS);
	json_put_int(j, "number", r.was.number);
	json_put_int(j, "uploads", ended.uploads);
	json_put_int(j, "downloads", ended.downloads);
	return api_answer(c, 200, j);
}

static enum err run_unrevoke(struct db *db, void *arg)
{
	return campaign_unrevoke(arg, db);
}

enum err cloud_admin_unrevoke(struct api_call *c, void *part)
{
	static const char *const known[] = { "number", NULL };
	struct campaign_unrevoke u       = { .wall_ms = clock_wall_ms(), .dry_run = c->dry_run };
	struct json             *j;
	enum err                 e = api_path_id(u.id, c, 0);

	(void)part;
	if (e == ERR_OK)
		e = api_body_only(c, known);
	if (e == ERR_OK)
		e = api_body_int(&u.number, c, "number", 1, INT64_MAX, 0);
	if (e == ERR_OK)
		e = DO(c, run_unrevoke, &u);
	if (e == ERR_EXISTS)
		return api_problem(c, e,
		                   "another campaign has this id by now; revoke that one first if this one is "
		                   "to come back");
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (!j)
		return ERR_NOMEM;
	api_put_text(j, "name", u.is.newest.meta.name, strlen(u.is.newest.meta.name), SHOWN_CHARS);
	json_put_int(j, "number", u.is.number);
	return api_answer(c, 200, j);
}

static enum err run_purge(struct db *db, void *arg)
{
	return campaign_purge(arg, db);
}

enum err cloud_admin_purge(struct api_call *c, void *part)
{
	struct campaign_purge p = { .dry_run = c->dry_run };
	struct json          *j;
	enum err              e = api_path_id(p.id, c, 0);

	(void)part;
	if (e == ERR_OK)
		e = DO(c, run_purge, &p);
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j)
		json_put_int(j, "purged", p.purged);
	return api_answer(c, 200, j);
}

/* --- Owner and members --- */

static enum err run_transfer(struct db *db, void *arg)
{
	return campaign_transfer(arg, db);
}

static enum err explain_transfer(struct api_call *c, enum err e)
{
	switch (e) {
	case ERR_INVALID:
		return api_problem(c, e,
		                   "nothing is known of this player: he must have hosted a game or stored a "
		                   "checkpoint before");
	case ERR_CAMPAIGNS:
		return api_problem(c, e,
		                   "that player owns as many campaigns as he may; raise his quota, or send it "
		                   "again with force");
	case ERR_QUOTA:
		return api_problem(c, e,
		                   "that player has no room for it; raise his quota, or send it again with "
		                   "force");
	case ERR_MEMBERS:
		return api_problem(c, e,
		                   "the campaign has as many members as it may, so that its old owner could be "
		                   "none; remove one first, or send it again with force");
	default:
		return e;
	}
}

enum err cloud_admin_transfer(struct api_call *c, void *part)
{
	static const char *const known[] = { "player", "force", NULL };
	struct campaign_transfer t       = { .wall_ms = clock_wall_ms(),
		                             .dry_run = c->dry_run,
		                             .limits  = &api_conf(c->api)->limits };
	struct json             *j;
	enum err                 e = api_path_id(t.id, c, 0);

	(void)part;
	if (e == ERR_OK)
		e = api_body_only(c, known);
	if (e == ERR_OK)
		e = api_body_id(t.player, c, "player");
	if (e == ERR_OK)
		e = api_body_bool(&t.force, c, "force", false);
	if (e == ERR_OK)
		e = DO(c, run_transfer, &t);
	if (e != ERR_OK)
		return explain_transfer(c, e);
	j = api_done();
	if (!j)
		return ERR_NOMEM;
	api_put_id(j, "owner", t.player);
	api_put_id(j, "old_owner", t.old_owner);
	return api_answer(c, 200, j);
}

static enum err run_member(struct db *db, void *arg)
{
	return campaign_change_member(arg, db);
}

static enum err change_member(struct api_call *c, bool add)
{
	struct campaign_member_change m = { .add = add, .dry_run = c->dry_run, .limits = &api_conf(c->api)->limits };
	enum err                      e = api_path_id(m.id, c, 0);

	if (e == ERR_OK)
		e = api_path_id(m.player, c, 1);
	if (e == ERR_OK)
		e = DO(c, run_member, &m);
	return e == ERR_OK ? api_answer(c, 200, api_done()) : e;
}

enum err cloud_admin_member_add(struct api_call *c, void *part)
{
	(void)part;
	return change_member(c, true);
}

enum err cloud_admin_member_remove(struct api_call *c, void *part)
{
	(void)part;
	return change_member(c, false);
}

/* --- An older checkpoint --- */

static enum err run_go_back(struct db *db, void *arg)
{
	return campaign_go_back(arg, db);
}

enum err cloud_admin_restore(struct api_call *c, void *part)
{
	static const char *const known[] = { "version", NULL };
	struct campaign_go_back  g       = { .wall_ms = clock_wall_ms(),
		                             .keep    = api_conf(c->api)->cloud_keep,
		                             .dry_run = c->dry_run,
		                             .limits  = &api_conf(c->api)->limits };
	struct json             *j;
	enum err                 e = api_path_id(g.id, c, 0);

	(void)part;
	if (e == ERR_OK)
		e = api_body_only(c, known);
	if (e == ERR_OK)
		e = api_body_int(&g.version, c, "version", 1, INT64_MAX, 0);
	if (e == ERR_OK && g.version == 0)
		e = api_problem(c, ERR_INVALID, "version says which one; GET of the campaign lists them");
	if (e == ERR_OK)
		e = DO(c, run_go_back, &g);
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j)
		json_put_int(j, "version", g.version);
	return api_answer(c, 200, j);
}
