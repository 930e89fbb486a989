/*
 * The audit trail: what an action is noted as, and how long it is kept.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "base/event.h"
#include "base/text.h"
#include "net/addr.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/db.h"
#include "store/upkeep.h"

#include <stdlib.h>
#include <string.h>

#define THIN_EVERY_ROWS 100
#define THIN_EVERY_MS   INT64_C(3600000)
#define DAY_MS          INT64_C(86400000)

struct keep {
	int64_t days, rows;
};

/* A clock that is doubted makes nothing old. */
static enum err thin(struct db *db, const struct keep *k)
{
	return audit_thin(db, upkeep_doubts_clock(db) ? 0 : clock_wall_ms() - k->days * DAY_MS, k->rows);
}

static struct keep keep_of(const struct api *a)
{
	return (struct keep){ .days = a->conf->limits.admin_audit_days, .rows = a->conf->limits.admin_audit_rows };
}

/* --- By the clock: also where nobody does anything any more --- */

struct thinning {
	struct job  job;
	struct keep keep;
};

static enum err run_thinning(struct job *job, struct db *db)
{
	struct thinning *t = CONTAINER(job, struct thinning, job);

	return thin(db, &t->keep);
}

static void end_thinning(struct job *job, enum err result)
{
	(void)result; /* there is a next hour */
	free(CONTAINER(job, struct thinning, job));
}

static void on_hour(struct timer *timer, int64_t now_ms)
{
	struct api      *a = CONTAINER(timer, struct api, hour);
	struct thinning *t = calloc(1, sizeof(*t));

	timer_set(a->loop, &a->hour, now_ms + THIN_EVERY_MS);
	if (!t)
		return;
	t->job  = (struct job){ .surface = SURFACE_ADMIN, .lazy = true, .run = run_thinning, .done = end_thinning };
	t->keep = keep_of(a);
	if (store_submit(a->store, &t->job) != ERR_OK)
		free(t);
}

void api_trail_init(struct api *a)
{
	timer_init(&a->hour, on_hour);
}

void api_trail_start(struct api *a)
{
	timer_set(a->loop, &a->hour, loop_now_ms(a->loop) + THIN_EVERY_MS);
}

/* --- One action --- */

struct begin {
	struct audit_row row;
	struct keep      keep;
};

static enum err run_begin(struct db *db, void *arg)
{
	struct begin *b = arg;
	enum err      e = audit_begin(db, &b->row);

	return e == ERR_OK && b->row.id % THIN_EVERY_ROWS == 0 ? thin(db, &b->keep) : e;
}

static enum err run_end(struct db *db, void *arg)
{
	return audit_end(db, arg);
}

/* What was asked for, as far as the trail may know it. */
static enum err put_detail(char out[AUDIT_DETAIL_BYTES], const struct api_route *route, const struct json *body)
{
	AUTO(auto_free) char         *text = json_text(body);
	AUTO(json_freep) struct json *copy = NULL;

	out[0] = '\0';
	if (!text)
		return ERR_NOMEM;
	if (route->secrets) {
		if (json_parse(&copy, text, strlen(text)) != ERR_OK)
			return ERR_NOMEM;
		route->secrets(copy);
		free(text);
		text = json_text(copy);
		if (!text)
			return ERR_NOMEM;
	}
	if (strcmp(text, "{}") != 0)
		text_copy(out, AUDIT_DETAIL_BYTES, text);
	text_make_utf8(out);
	return ERR_OK;
}

static void put_target(struct audit_row *row, const struct api_call *c)
{
	text_copy(row->target, sizeof(row->target), c->target);
	text_make_utf8(row->target);
}

enum err api_trail_begin(struct audit_row *row, const struct api_call *c, const struct api_route *route)
{
	struct begin b = { .keep = keep_of(c->api) };
	char         address[ADDR_TEXT_BYTES];
	enum err     e;

	b.row = (struct audit_row){ .at_ms = clock_wall_ms(), .is_unix = c->who->is_unix };
	addr_text(address, http_client(c->rq));
	text_copy(b.row.who, sizeof(b.row.who), c->who->who);
	text_copy(b.row.address, sizeof(b.row.address), address);
	text_copy(b.row.action, sizeof(b.row.action), route->action);
	put_target(&b.row, c);
	e = c->body ? put_detail(b.row.detail, route, c->body) : ERR_OK;
	if (e == ERR_OK)
		e = api_change(c, run_begin, &b, sizeof(b));
	*row = b.row;
	return e;
}

void api_trail_end(struct audit_row *row, const struct api_call *c, enum err result)
{
	char     target[4 * AUDIT_TARGET_BYTES];
	enum err e;

	row->ended_ms = clock_wall_ms();
	put_target(row, c);
	text_copy(row->result, sizeof(row->result), err_rest(result));
	e = api_change(c, run_end, row, sizeof(*row));
	event_emit(E_ADMIN_ACTION, event_int("audit", row->id), event_word("action", row->action),
	           event_text("target", row->target, strlen(row->target)), event_word("who", row->who),
	           event_word("result", row->result));
	text_escape(target, sizeof(target), row->target, strlen(row->target));
	log_info("admin", (uint64_t)row->id, "did", "action=%s target=\"%s\" who=\"%s\" result=%s%s", row->action,
	         target, row->who, row->result, e == ERR_OK ? "" : " (the trail does not know how it ended)");
}
