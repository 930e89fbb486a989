/*
 * An upload.
 *
 *	job: may he?  --> PUT_GO --> PARTs gather --> work: write, hash, parse --> ... --> work: check, sync --> job: keep
 *	                                                                                              --> PUT_DONE
 *
 * PARTs gather while those before them are written; when there is room for no further message the connection is paused.
 * Whatever goes wrong on the way is answered at END, as the client reads its answer then. However it ends, the
 * reservation is given back and the temporary file removed.
 */
#include "cloud/cloud_event.h"
#include "cloud/cloud_put.h"

#include "base/auto.h"
#include "cloud/vault_conn.h"
#include "os/clock.h"
#include "os/log.h"

#include <stdlib.h>
#include <string.h>

#define GATHER_BYTES 262144
#define RETRY_MS     1000

struct vault_put {
	struct errand          errand;
	struct vault_conn     *conn; /* NULL: nobody waits for the answer */
	bool                   busy; /* the errand is under way */
	bool                   has_reservation;
	bool                   is_open;   /* a file was begun */
	bool                   wants_end; /* END has come */
	bool                   is_last;   /* the piece under way is the last */
	enum err               failed;    /* of a piece of work */
	uint32_t               declared;
	struct upload_begin    begin;
	struct upload_end      end;
	struct checkpoint_meta meta;
	struct cloud_put      *put;
	uint8_t               *gather, *writing;
	size_t                 gather_len, writing_len;
	struct timer           retry;
	struct list            in_waiting;
};

static struct vault_put *put_of(struct errand *e)
{
	return CONTAINER(e, struct vault_put, errand);
}

static struct vault_put *put_of_job(struct job *job)
{
	return CONTAINER(job, struct vault_put, errand.job);
}

static void free_put(struct vault_put *p)
{
	free(p->put);
	free(p->gather);
	free(p->writing);
	free(p);
}

/* The end: the reservation, then the file, then the memory. */

static void let_go(struct vault_put *p);

static enum err run_cancel(struct job *job, struct db *db)
{
	return upload_cancel(db, put_of_job(job)->begin.id);
}

static void on_cancelled(struct errand *e, enum err result)
{
	struct vault_put *p = put_of(e);

	p->busy = false;
	if (result == ERR_BUSY && !e->vault->is_over) {
		list_append(&e->vault->waiting, &p->in_waiting);
		timer_set(e->vault->cloud->loop, &p->retry, loop_now_ms(e->vault->cloud->loop) + RETRY_MS);
		return;
	}
	p->has_reservation = false;
	let_go(p);
}

static void on_retry(struct timer *t, int64_t now_ms)
{
	struct vault_put *p = CONTAINER(t, struct vault_put, retry);

	(void)now_ms;
	list_remove(&p->in_waiting);
	let_go(p);
}

void vault_put_give_up(struct vault *v)
{
	struct list *first;

	while ((first = list_take_first(&v->waiting))) {
		struct vault_put *p = CONTAINER(first, struct vault_put, in_waiting);

		timer_clear(&p->retry);
		p->has_reservation = false;
		let_go(p);
	}
}

static void run_fini(struct errand *e)
{
	cloud_put_fini(put_of(e)->put);
}

static void on_fini(struct errand *e)
{
	free_put(put_of(e));
}

static void let_go(struct vault_put *p)
{
	if (p->conn)
		p->conn->put = NULL;
	p->conn = NULL;
	if (p->busy)
		return; /* until it is back */
	if (p->has_reservation) {
		p->busy = true;
		errand_job(&p->errand, ERRAND_EAGER, run_cancel, on_cancelled);
	} else if (p->is_open) {
		errand_work(&p->errand, run_fini, on_fini);
	} else {
		free_put(p);
	}
}

void vault_put_leave(struct vault_conn *c)
{
	if (!c->put)
		return;
	if (c->put->has_reservation && !c->put->end.id)
		metric_inc(M_CLOUD_BROKEN_OFF);
	let_go(c->put);
}

void vault_put_refuse(struct vault_conn *c)
{
	metric_inc(M_CLOUD_REFUSED);
	let_go(c->put);
}

static void answer(struct vault_put *p, enum err e)
{
	struct vault_conn *c = p->conn;
	uint8_t            campaign[CAMPAIGN_ID_BYTES];

	memcpy(campaign, p->begin.campaign, sizeof(campaign));
	let_go(p);
	if (!c)
		return;
	if (e == ERR_OK) {
		vault_answer(c, &(struct vault_msg){ .op = VAULT_PUT_DONE });
		return;
	}
	metric_inc(M_CLOUD_REFUSED);
	cloud_event_refused(campaign, c->digest, CLOUD_BY_VAULT, e);
	vault_answer_err(c, e);
}

/* PUT */

static enum err run_begin(struct job *job, struct db *db)
{
	struct vault_put *p = put_of_job(job);

	return upload_begin(&p->begin, db, &p->errand.vault->cloud->conf->limits);
}

static void on_begun(struct errand *e, enum err result)
{
	struct vault_put *p = put_of(e);

	p->busy            = false;
	p->has_reservation = result == ERR_OK;
	if (result != ERR_OK)
		answer(p, result);
	else if (!p->conn)
		let_go(p);
	else
		vault_grant(p->conn, p->declared);
}

static void ask_begin(struct vault_put *p, const struct vault_msg *msg)
{
	const struct vault_conn *c = p->conn;

	p->declared = msg->size;
	p->begin    = (struct upload_begin){
		   .exempt = c->is_exempt, .bytes = msg->size, .mono_ms = clock_mono_ms(), .wall_ms = clock_wall_ms()
	};
	memcpy(p->begin.digest, c->digest, sizeof(p->begin.digest));
	memcpy(p->begin.addr, c->addr, sizeof(p->begin.addr));
	memcpy(p->begin.campaign, msg->campaign, sizeof(p->begin.campaign));
	p->busy = true;
	errand_job(&p->errand, ERRAND_EAGER, run_begin, on_begun);
}

static struct vault_put *new_put(struct vault_conn *c)
{
	struct vault_put *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->errand.vault = c->vault;
	p->conn         = c;
	p->put          = malloc(sizeof(*p->put));
	p->gather       = malloc(GATHER_BYTES);
	p->writing      = malloc(GATHER_BYTES);
	list_init(&p->in_waiting);
	timer_init(&p->retry, on_retry);
	if (!p->put || !p->gather || !p->writing) {
		free_put(p);
		return NULL;
	}
	c->put = p;
	return p;
}

void vault_put_begin(struct vault_conn *c, const struct vault_msg *msg)
{
	struct vault_put *p = new_put(c);

	if (p)
		ask_begin(p, msg);
	else
		vault_answer_err(c, ERR_NOMEM);
}

/* PART and END */

/* On a thread that may touch files. */
static void run_piece(struct errand *e)
{
	struct vault_put *p = put_of(e);

	if (p->failed == ERR_OK && !p->is_open) {
		p->failed  = cloud_put_begin(p->put, e->vault->cloud->store, p->begin.campaign, p->declared);
		p->is_open = p->failed == ERR_OK;
	}
	if (p->failed == ERR_OK && p->writing_len > 0)
		p->failed = cloud_put_add(p->put, p->writing, p->writing_len);
	if (p->failed == ERR_OK && p->is_last)
		p->failed = cloud_put_end(p->put, &p->meta);
}

static enum err run_end(struct job *job, struct db *db)
{
	struct vault_put *p = put_of_job(job);

	return upload_end(&p->end, db, &p->errand.vault->cloud->conf->limits);
}

static void on_ended(struct errand *e, enum err result)
{
	struct vault_put *p = put_of(e);

	p->busy = false;
	/* It was given back, unless the job never ran; giving it back twice does no harm. */
	p->has_reservation = result != ERR_OK;
	if (result == ERR_OK) {
		log_info("vault", p->conn ? ws_conn_id(p->conn->ws) : 0, "stores", "bytes=%u version=%lld new=%d",
		         p->declared, (long long)p->end.stored.version, p->end.made);
		cloud_event_stored(p->begin.campaign, &p->end, p->begin.digest, CLOUD_BY_VAULT);
	}
	answer(p, result);
}

static void keep(struct vault_put *p)
{
	p->end  = (struct upload_end){ .id           = p->begin.id,
		                       .blob         = &p->put->blob,
		                       .meta         = p->meta,
		                       .members      = (const uint8_t(*)[PLAYER_ID_BYTES])p->put->text.members,
		                       .member_count = p->put->text.member_count,
		                       .keep         = p->errand.vault->cloud->conf->cloud_keep,
		                       .mono_ms      = clock_mono_ms(),
		                       .wall_ms      = clock_wall_ms() };
	p->busy = true;
	errand_job(&p->errand, ERRAND_DURABLE, run_end, on_ended);
}

static void write_gathered(struct vault_put *p);

static void on_piece(struct errand *e)
{
	struct vault_put  *p = put_of(e);
	struct vault_conn *c = p->conn;

	p->busy        = false;
	p->writing_len = 0;
	if (!c) {
		let_go(p);
	} else if (!p->is_last) {
		bool was_full = vault_put_is_full(p);

		if (p->gather_len > 0 || p->wants_end)
			write_gathered(p);
		if (was_full)
			vault_go_on(c);
	} else if (p->failed != ERR_OK) {
		answer(p, p->failed);
	} else {
		keep(p);
	}
}

static void write_gathered(struct vault_put *p)
{
	uint8_t *bytes = p->writing;

	p->writing     = p->gather;
	p->writing_len = p->gather_len;
	p->gather      = bytes;
	p->gather_len  = 0;
	p->is_last     = p->wants_end;
	p->busy        = true;
	errand_work(&p->errand, run_piece, on_piece);
}

bool vault_put_is_of(const struct vault_put *p, const uint8_t campaign[VAULT_ID_BYTES])
{
	/* What the store says of the begin is not to be looked at before it has come back. */
	return p->has_reservation && memcmp(p->begin.campaign, campaign, VAULT_ID_BYTES) == 0;
}

int64_t vault_put_reservation(const struct vault_put *p)
{
	return p->begin.id;
}

bool vault_put_is_full(const struct vault_put *p)
{
	return GATHER_BYTES - p->gather_len < WS_MESSAGE_BYTES_MAX;
}

void vault_put_take(struct vault_conn *c, const uint8_t *bytes, size_t len)
{
	struct vault_put *p = c->put;

	if (len == 0)
		return;
	memcpy(p->gather + p->gather_len, bytes, len);
	p->gather_len += len;
	if (!p->busy)
		write_gathered(p);
	else if (vault_put_is_full(p))
		ws_pause(c->ws);
}

void vault_put_end(struct vault_conn *c)
{
	struct vault_put *p = c->put;

	p->wants_end = true;
	if (!p->busy)
		write_gathered(p);
}
