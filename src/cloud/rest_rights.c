/*
 * What a player decides about a campaign: who else may use it, that it goes, that an older checkpoint is the newest.
 */
#include "base/auto.h"
#include "cloud/cloud_event.h"
#include "cloud/rest.h"
#include "os/clock.h"
#include "store/ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct change {
	struct job            job;
	const struct limits  *limits;
	struct rest_who       who;
	uint8_t               member[PLAYER_ID_BYTES];
	int64_t               version, wall_ms, keep;
	enum campaign_role    role; /* of who forgets it */
	struct checkpoint_row row;  /* what restore made */
};

static enum err run_restore(struct job *job, struct db *db)
{
	struct change *c = CONTAINER(job, struct change, job);
	enum err       e = player_check(db, c->who.digest);

	if (e != ERR_OK)
		return e;
	return campaign_restore(&c->row, db, c->who.campaign, c->who.digest, c->version, c->wall_ms, c->keep,
	                        c->limits);
}

static enum err run_add(struct job *job, struct db *db)
{
	struct change *c = CONTAINER(job, struct change, job);
	enum err       e = player_check(db, c->who.digest);

	if (e != ERR_OK)
		return e;
	return campaign_member_add(db, c->who.campaign, c->who.digest, c->member, c->limits);
}

static enum err run_remove(struct job *job, struct db *db)
{
	struct change *c = CONTAINER(job, struct change, job);
	enum err       e = player_check(db, c->who.digest);

	if (e != ERR_OK)
		return e;
	return campaign_member_remove(db, c->who.campaign, c->who.digest, c->member);
}

static enum err run_forget(struct job *job, struct db *db)
{
	struct change *c = CONTAINER(job, struct change, job);
	enum err       e = player_check(db, c->who.digest);

	if (e == ERR_OK)
		e = campaign_role_of(&c->role, db, c->who.campaign, c->who.digest);
	return e == ERR_OK ? campaign_forget(db, c->who.campaign, c->who.digest, c->wall_ms) : e;
}

/* The answer came too late: what was done stays done, as after any answer that got lost. */
static void let_go(struct job *job, enum err result)
{
	(void)result;
	free(CONTAINER(job, struct change, job));
}

/* Asks the store. *c is NULL afterwards when it is the store's. */
static enum err ask(struct change **c, const struct cloud *cloud, enum err (*run)(struct job *job, struct db *db))
{
	bool     gone = false;
	enum err e;

	(*c)->limits      = &cloud->conf->limits;
	(*c)->wall_ms     = clock_wall_ms();
	(*c)->keep        = cloud->conf->cloud_keep;
	(*c)->job.surface = SURFACE_CLOUD;
	(*c)->job.run     = run;
	e                 = store_ask(cloud->store, &(*c)->job, &gone, let_go);
	if (!gone)
		return e;
	*c = NULL;
	return ERR_BUSY;
}

enum err rest_restore(struct http_answer *a, struct http_request *rq, void *part)
{
	AUTO(auto_free) struct change *c     = calloc(1, sizeof(*c));
	AUTO(json_freep) struct json  *j     = NULL;
	enum err                       e     = c ? rest_who(&c->who, part, rq) : ERR_NOMEM;
	int64_t                        asked = 0;

	if (e == ERR_OK)
		e = rest_version(&asked, rq);
	if (e == ERR_OK && asked == 0)
		e = ERR_MALFORMED;
	if (e == ERR_OK) {
		c->version = asked;
		e          = ask(&c, part, run_restore);
	}
	if (e != ERR_OK)
		return rest_error(a, rq, e);
	cloud_event_restored(c->who.campaign, c->row.version, c->who.digest);
	j = rest_checkpoint(&c->row);
	e = http_answer_json(a, c->row.version == asked ? 200 : 201, j);
	if (e == ERR_OK && a->status == 201)
		http_answer_field(a, "Location", "/v1/campaigns/%s/checkpoint?version=%" PRId64, http_path_part(rq, 0),
		                  c->row.version);
	return e;
}

static enum err change_member(struct http_answer *a, struct http_request *rq, void *part,
                              enum err (*run)(struct job *job, struct db *db))
{
	AUTO(auto_free) struct change *c = calloc(1, sizeof(*c));
	enum err                       e = c ? rest_who(&c->who, part, rq) : ERR_NOMEM;

	if (e == ERR_OK)
		e = rest_id(c->member, http_path_part(rq, 1));
	if (e == ERR_OK)
		e = ask(&c, part, run);
	return e == ERR_OK ? rest_done(a) : rest_error(a, rq, e);
}

enum err rest_member_add(struct http_answer *a, struct http_request *rq, void *part)
{
	return change_member(a, rq, part, run_add);
}

enum err rest_member_remove(struct http_answer *a, struct http_request *rq, void *part)
{
	return change_member(a, rq, part, run_remove);
}

enum err rest_forget(struct http_answer *a, struct http_request *rq, void *part)
{
	AUTO(auto_free) struct change *c = calloc(1, sizeof(*c));
	enum err                       e = c ? rest_who(&c->who, part, rq) : ERR_NOMEM;

	if (e == ERR_OK)
		e = ask(&c, part, run_forget);
	if (e == ERR_OK && c->role == CAMPAIGN_OWNER)
		cloud_event_deleted(c->who.campaign, c->who.digest);
	return e == ERR_OK ? rest_done(a) : rest_error(a, rq, e);
}
