/*
 * The status page: what HTTP threads show of the rooms.
 *
 *	GET /api/stats	one object of JSON
 *	GET /		the same for people
 *
 * The rooms belong to the loop, which copies them when somebody asks, at most once a second, and does nothing when nobody does.
 * Many of them take it more than one turn.
 * The copy is shared by all who ask within that second; each of its two texts is made by the first who wants it.
 *
 *	HTTP thread --> the last copy is a second old --post--> loop: copies --> everybody who waits
 *	      \________ it is not: takes it ______________________/ 5 s without it: the one before
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"
#include "base/base64.h"
#include "crypt/hash.h"
#include "os/clock.h"
#include "rooms/rooms_snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FRESH_MS 1000
#define WAIT_S   5

enum form { FORM_JSON, FORM_PAGE, FORMS };

/* One copy, with its texts; counted, and gone with its last user. */
struct shown {
	atomic_uint           users;
	struct rooms_snapshot snapshot;
	pthread_mutex_t       making; /* of the texts */
	struct http_shared   *texts[FORMS];
};

struct rooms_status {
	struct rooms    *rooms;
	int64_t          started_ms;
	char             page_rules[HTTP_FIELD_BYTES_MAX]; /* Content-Security-Policy */
	struct loop_post post;
	struct shown    *fresh; /* the loop's: not whole yet */
	pthread_mutex_t  lock;  /* of what follows */
	pthread_cond_t   answered;
	bool             is_asked; /* post is under way */
	bool             is_stopping;
	struct shown    *shown; /* NULL: there was none yet */
	int64_t          shown_ms;
};

/* --- Copies --- */

static void drop_shown(struct shown *s)
{
	if (!s || atomic_fetch_sub(&s->users, 1) > 1)
		return;
	for (size_t i = 0; i < FORMS; i++)
		http_shared_drop(s->texts[i]);
	rooms_snapshot_fini(&s->snapshot);
	pthread_mutex_destroy(&s->making);
	free(s);
}

static void drop_shownp(struct shown **s)
{
	drop_shown(*s);
}

static struct shown *use_shown(struct shown *s)
{
	atomic_fetch_add(&s->users, 1);
	return s;
}

static struct shown *new_shown(void)
{
	struct shown *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->users, 1);
	pthread_mutex_init(&s->making, NULL);
	return s;
}

static struct http_shared *make_text(const struct shown *s, enum form form)
{
	size_t len;
	char  *text =
                form == FORM_JSON ? rooms_snapshot_json(&len, &s->snapshot) : rooms_snapshot_page(&len, &s->snapshot);

	return text ? http_shared_new(text, len) : NULL;
}

/* One use of the text; NULL when out of memory. */
static struct http_shared *use_text(struct shown *s, enum form form)
{
	struct http_shared *text = NULL;

	pthread_mutex_lock(&s->making);
	if (!s->texts[form])
		s->texts[form] = make_text(s, form);
	if (s->texts[form])
		text = http_shared_use(s->texts[form]);
	pthread_mutex_unlock(&s->making);
	return text;
}

/* fresh: NULL when there was no memory; then the one before stays. */
static void publish(struct rooms_status *st, struct shown *fresh, int64_t now_ms)
{
	struct shown *old = NULL;

	pthread_mutex_lock(&st->lock);
	if (fresh) {
		old          = st->shown;
		st->shown    = fresh;
		st->shown_ms = now_ms;
	}
	st->is_asked = false;
	pthread_cond_broadcast(&st->answered);
	pthread_mutex_unlock(&st->lock);
	drop_shown(old);
}

/* On the loop. */
static void answer(struct loop_post *post)
{
	struct rooms_status     *st     = CONTAINER(post, struct rooms_status, post);
	struct rooms            *r      = st->rooms;
	int64_t                  now_ms = loop_now_ms(r->loop);
	enum rooms_snapshot_says says   = ROOMS_SNAPSHOT_NOMEM;

	if (!st->fresh)
		st->fresh = new_shown();
	rooms_leg_count_bytes(r);
	if (st->fresh)
		says = rooms_snapshot_copy(&st->fresh->snapshot, &r->state, now_ms);
	if (says == ROOMS_SNAPSHOT_MORE) {
		loop_post(r->loop, post);
		return;
	}
	if (says == ROOMS_SNAPSHOT_WHOLE) {
		st->fresh->snapshot.uptime_ms = now_ms - st->started_ms;
		publish(st, TAKE(st->fresh), now_ms);
		return;
	}
	drop_shown(TAKE(st->fresh));
	publish(st, NULL, now_ms);
}

/* --- On HTTP threads --- */

/* With the lock, which is let go meanwhile. */
static void ask(struct rooms_status *st)
{
	struct timespec until;
	int             late = 0;

	if (!st->is_asked) {
		st->is_asked = true;
		loop_post(st->rooms->loop, &st->post);
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	while (st->is_asked && !st->is_stopping && late == 0)
		late = pthread_cond_timedwait(&st->answered, &st->lock, &until);
}

/* For drop_shown; NULL: there is none, and the loop did not answer. */
static struct shown *current(struct rooms_status *st)
{
	struct shown *s = NULL;

	pthread_mutex_lock(&st->lock);
	if (!st->is_stopping && (!st->shown || clock_mono_ms() - st->shown_ms >= FRESH_MS))
		ask(st);
	if (st->shown)
		s = use_shown(st->shown);
	pthread_mutex_unlock(&st->lock);
	return s;
}

static enum err show(struct http_answer *a, struct rooms_status *st, enum form form, const char *type)
{
	AUTO(drop_shownp) struct shown *s = current(st);

	if (!s)
		return http_answer_error(a, 503, "the rooms do not answer at the moment; try again in a few seconds");
	a->shared = use_text(s, form);
	if (!a->shared)
		return ERR_NOMEM;
	a->status   = 200;
	a->type     = type;
	a->no_store = true;
	http_answer_field(a, "X-Content-Type-Options", "nosniff");
	return ERR_OK;
}

static enum err on_stats(struct http_answer *a, struct http_request *rq, void *part)
{
	struct rooms *r = part;

	(void)rq;
	return show(a, r->status, FORM_JSON, "application/json");
}

static enum err on_page(struct http_answer *a, struct http_request *rq, void *part)
{
	struct rooms *r = part;
	enum err      e = show(a, r->status, FORM_PAGE, "text/html; charset=utf-8");

	(void)rq;
	if (e == ERR_OK && a->status == 200)
		http_answer_field(a, "Content-Security-Policy", "%s", r->status->page_rules);
	return e;
}

const struct http_route rooms_status_routes[] = {
	{ "GET", "/api/stats", on_stats, NULL, NULL },
	{ "GET", "/", on_page, NULL, NULL },
	{ 0 },
};

/* --- The whole of it --- */

/* Nothing is loaded, run, framed or sent; this one style sheet holds. */
static void write_page_rules(char out[HTTP_FIELD_BYTES_MAX])
{
	uint8_t digest[HASH_SHA256_BYTES];
	char    text[BASE64_BYTES(HASH_SHA256_BYTES)];

	hash_sha256(digest, rooms_page_style, strlen(rooms_page_style));
	base64_encode(text, digest, sizeof(digest));
	snprintf(out, HTTP_FIELD_BYTES_MAX,
	         "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors "
	         "'none'",
	         text);
}

enum err rooms_status_init(struct rooms *r)
{
	struct rooms_status *st = calloc(1, sizeof(*st));
	pthread_condattr_t   attr;

	if (!st)
		return ERR_NOMEM;
	st->rooms      = r;
	st->started_ms = loop_now_ms(r->loop);
	st->post.run   = answer;
	write_page_rules(st->page_rules);
	pthread_mutex_init(&st->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&st->answered, &attr);
	pthread_condattr_destroy(&attr);
	r->status = st;
	return ERR_OK;
}

void rooms_status_stop(struct rooms *r)
{
	pthread_mutex_lock(&r->status->lock);
	r->status->is_stopping = true;
	pthread_cond_broadcast(&r->status->answered);
	pthread_mutex_unlock(&r->status->lock);
}

void rooms_status_fini(struct rooms *r)
{
	struct rooms_status *st = r->status;

	if (!st)
		return;
	drop_shown(st->fresh);
	drop_shown(st->shown);
	pthread_cond_destroy(&st->answered);
	pthread_mutex_destroy(&st->lock);
	free(st);
}
