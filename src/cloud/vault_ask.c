/* Questions that have one answer: LIST and FORGET. */
#include "base/auto.h"
#include "cloud/cloud_event.h"
#include "cloud/listing_wire.h"
#include "cloud/vault_conn.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/readers.h"

#include <stdlib.h>
#include <string.h>

struct vault_ask {
	struct errand      errand;
	struct vault_conn *conn;                        /* NULL: it is gone */
	uint8_t            player[PLAYER_DIGEST_BYTES]; /* its first PLAYER_ID_BYTES are the id */
	uint8_t            campaign[CAMPAIGN_ID_BYTES];
	int64_t            wall_ms;
	enum err           result;
	enum campaign_role role; /* of who forgets it */
	struct listing    *listing;
};

static struct vault_ask *ask_of(struct errand *e)
{
	return CONTAINER(e, struct vault_ask, errand);
}

static void free_ask(struct vault_ask *a)
{
	free(a->listing);
	free(a);
}

static struct vault_ask *new_ask(struct vault_conn *c)
{
	struct vault_ask *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->errand.vault = c->vault;
	a->conn         = c;
	a->wall_ms      = clock_wall_ms();
	memcpy(a->player, c->digest, sizeof(a->player));
	c->ask = a;
	return a;
}

/* It came back: NULL when nobody wants to know. */
static struct vault_conn *asker(struct vault_ask *a)
{
	if (a->conn)
		a->conn->ask = NULL;
	return a->conn;
}

void vault_ask_leave(struct vault_conn *c)
{
	if (c->ask)
		c->ask->conn = NULL;
	c->ask = NULL;
}

/* LIST; on a thread that may touch files. */

static enum err list_row(const struct campaign_row *row, void *arg)
{
	const struct checkpoint_meta *m    = &row->newest.meta;
	struct listing_line           line = { .campaign     = row->id,
		                               .is_owner     = row->role == CAMPAIGN_OWNER,
		                               .stamp        = m->stamp,
		                               .level        = m->level,
		                               .checkpoint   = m->checkpoint,
		                               .name         = m->name,
		                               .hostname     = m->hostname,
		                               .has_previous = row->has_previous };

	return listing_add(arg, &line) ? ERR_OK : ERR_LIMIT;
}

static void run_list(struct errand *e)
{
	struct vault_ask *a     = ask_of(e);
	struct cloud     *cloud = e->vault->cloud;
	struct db        *db;

	a->result = readers_take(&db, cloud->store);
	if (a->result != ERR_OK)
		return;
	a->result = player_check(db, a->player);
	if (a->result == ERR_OK)
		a->result = campaign_each(db, a->player, true, &cloud->conf->limits, list_row, a->listing);
	readers_give(cloud->store, db);
	if (a->listing->is_cut) /* that is what ended it */
		a->result = ERR_OK;
}

static void on_listed(struct errand *e)
{
	struct vault_ask  *a = ask_of(e);
	struct vault_conn *c = asker(a);

	if (c && a->result == ERR_OK) {
		ws_send(c->ws, a->listing->message, a->listing->len);
		vault_answered(c);
	} else if (c) {
		vault_answer_err(c, a->result);
	}
	free_ask(a);
}

void vault_list(struct vault_conn *c)
{
	struct vault_ask *a = new_ask(c);

	if (a)
		a->listing = malloc(sizeof(*a->listing));
	if (!a || !a->listing) {
		vault_ask_leave(c);
		free(a);
		vault_answer_err(c, ERR_NOMEM);
		return;
	}
	listing_init(a->listing);
	errand_work(&a->errand, run_list, on_listed);
}

/* FORGET */

static enum err run_forget(struct job *job, struct db *db)
{
	struct vault_ask *a = CONTAINER(job, struct vault_ask, errand.job);

	enum err e = player_check(db, a->player);
	if (e == ERR_OK)
		e = campaign_role_of(&a->role, db, a->campaign, a->player);
	return e == ERR_OK ? campaign_forget(db, a->campaign, a->player, a->wall_ms) : e;
}

static void on_forgotten(struct errand *e, enum err result)
{
	struct vault_ask  *a = ask_of(e);
	struct vault_conn *c = asker(a);

	if (result == ERR_OK && a->role == CAMPAIGN_OWNER)
		cloud_event_deleted(a->campaign, a->player);
	if (c && result == ERR_OK)
		vault_answer(c, &(struct vault_msg){ .op = VAULT_FORGOTTEN });
	else if (c)
		vault_answer_err(c, result);
	free_ask(a);
}

void vault_forget(struct vault_conn *c, const uint8_t campaign[VAULT_ID_BYTES])
{
	struct vault_ask *a = new_ask(c);

	if (!a) {
		vault_answer_err(c, ERR_NOMEM);
		return;
	}
	memcpy(a->campaign, campaign, sizeof(a->campaign));
	errand_job(&a->errand, ERRAND_DURABLE, run_forget, on_forgotten);
}

/* A note nobody waits for */

static enum err run_loaded(struct job *job, struct db *db)
{
	struct vault_ask *a = CONTAINER(job, struct vault_ask, errand.job);

	return campaign_loaded(db, a->campaign, a->player, a->wall_ms);
}

static void on_noted(struct errand *e, enum err result)
{
	if (result != ERR_OK)
		log_debug("vault", 0, "notes-loaded", "error=%s", err_name(result));
	free_ask(ask_of(e));
}

void vault_note_loaded(struct vault_conn *c, const uint8_t campaign[VAULT_ID_BYTES])
{
	struct vault_ask *a = new_ask(c);

	if (!a)
		return;
	vault_ask_leave(c);
	memcpy(a->campaign, campaign, sizeof(a->campaign));
	errand_job(&a->errand, ERRAND_LAZY, run_loaded, on_noted);
}
