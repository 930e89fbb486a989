#include "admin/admin_events.h"

#include "admin/admin_viewer.h"
#include "base/auto.h"
#include "os/clock.h"
#include "os/log.h"

#include <stdlib.h>

#define TICK_MS       1000
#define MESSAGE_BYTES 8192
#define SLACK_BYTES   16384 /* what a viewer may have waiting besides events: answers, a set, what it lost */

/* --- News --- */

static void pump_all(struct admin_events *a)
{
	struct list *next;

	for (struct list *at = a->watching.next; at != &a->watching; at = next) {
		next = at->next;
		admin_viewer_pump(CONTAINER(at, struct viewer, in));
	}
}

static void on_news(struct loop_post *p)
{
	struct admin_events *a = CONTAINER(p, struct admin_events, news);

	atomic_store(&a->has_news, false);
	pump_all(a);
}

/* On the thread of whoever emits. One message to the loop is enough for all that comes before it is looked at. */
static void wake(void *arg)
{
	struct admin_events *a = arg;

	metric_inc(M_ADMIN_EVENTS);
	if (!atomic_exchange(&a->has_news, true))
		loop_post(a->loop, &a->news);
}

/* --- Tokens that hold no longer --- */

struct revoked {
	struct loop_post     post;
	struct admin_events *all;
	int64_t              token;
};

/* token 0: any. */
static void close_those_with(struct admin_events *a, int64_t token)
{
	struct list *next;

	for (struct list *at = a->watching.next; at != &a->watching; at = next) {
		struct viewer *v = CONTAINER(at, struct viewer, in);

		next = at->next;
		if (v->who.token != 0 && (token == 0 || v->who.token == token))
			admin_viewer_close(v, ADMIN_CLOSE_TOKEN, M_ADMIN_VIEWERS_TOKEN);
	}
}

static void on_revoked(struct loop_post *p)
{
	struct revoked *r = CONTAINER(p, struct revoked, post);

	close_those_with(r->all, r->token);
	free(r);
}

/* On the thread of whoever revokes. */
static void note_revoked(void *arg, int64_t token)
{
	struct admin_events *a = arg;
	struct revoked      *r = malloc(sizeof(*r));

	if (!r) {
		atomic_store(&a->lost_revoked, true);
		return;
	}
	*r = (struct revoked){ .post = { .run = on_revoked }, .all = a, .token = token };
	loop_post(a->loop, &r->post);
}

static void close_expired(struct admin_events *a, int64_t wall_ms)
{
	struct list *next;

	/* Whose token it was is not known any more: all with one come again, if they may. */
	if (atomic_exchange(&a->lost_revoked, false))
		close_those_with(a, 0);
	for (struct list *at = a->watching.next; at != &a->watching; at = next) {
		struct viewer *v = CONTAINER(at, struct viewer, in);

		next = at->next;
		if (v->who.expires_ms != 0 && wall_ms >= v->who.expires_ms)
			admin_viewer_close(v, ADMIN_CLOSE_TOKEN, M_ADMIN_VIEWERS_TOKEN);
	}
}

/* --- Once a second --- */

static void run_measure(struct loop_work *w)
{
	(void)w;
	admin_process_measure();
}

static void on_measured(struct loop_work *w)
{
	CONTAINER(w, struct admin_events, measuring)->is_measuring = false;
}

static void measure(struct admin_events *a)
{
	if (a->is_measuring)
		return;
	a->is_measuring = true;
	a->measuring    = (struct loop_work){ .run = run_measure, .done = on_measured };
	loop_work(a->loop, &a->measuring);
}

/* The store itself cannot tell: while it is slow, its thread does not run. */
static void look_at_store(struct admin_events *a)
{
	enum store_health health    = store_health(a->cfg.store);
	bool              has_space = store_has_space(a->cfg.store);

	if (health != a->health)
		event_emit(E_STORE_HEALTH, event_word("health", store_health_text(health)),
		           event_word("was", store_health_text(a->health)));
	if (has_space != a->has_space)
		event_emit(E_STORE_SPACE, event_bool("enough", has_space),
		           event_int("free_bytes", metric_get(M_STORE_FREE_BYTES)),
		           event_int("wal_bytes", metric_get(M_STORE_WAL_BYTES)));
	a->health    = health;
	a->has_space = has_space;
}

static void on_tick(struct timer *t, int64_t now_ms)
{
	struct admin_events *a       = CONTAINER(t, struct admin_events, tick);
	int64_t              wall_ms = clock_wall_ms();
	struct list         *next;

	look_at_store(a);
	measure(a);
	close_expired(a, wall_ms);
	a->set_len = admin_figures_next(a->set, &a->figures, wall_ms, clock_lap_us());
	for (struct list *at = a->watching.next; at != &a->watching; at = next) {
		next = at->next;
		admin_viewer_on_set(CONTAINER(at, struct viewer, in));
	}
	timer_set(a->loop, t, now_ms + TICK_MS);
}

/* --- Life --- */

enum err admin_events_new(struct admin_events **out, struct loop *loop, const struct admin_events_config *cfg)
{
	struct admin_events *a      = calloc(1, sizeof(*a));
	const struct limits *limits = &cfg->conf->limits;

	if (!a)
		return ERR_NOMEM;
	a->loop         = loop;
	a->cfg          = *cfg;
	a->news.run     = on_news;
	a->has_space    = true;
	a->watching_max = (size_t)limits->admin_viewers;
	a->waiting_max  = (size_t)limits->admin_viewers_waiting;
	list_init(&a->waiting);
	list_init(&a->watching);
	timer_init(&a->tick, on_tick);
	a->handler = (struct ws_handler){ .part        = a,
		                          .opened      = admin_viewer_opened,
		                          .message     = admin_viewer_message,
		                          .closed      = admin_viewer_closed,
		                          .message_max = MESSAGE_BYTES,
		                          .control_max = a->waiting_max + SLACK_BYTES };
	ws_set_door(cfg->ws, &(struct ws_door){ .path            = ADMIN_EVENTS_PATH,
	                                        .handler         = &a->handler,
	                                        .connections_max = 2 * a->watching_max,
	                                        .make_room       = admin_viewer_make_room });
	api_on_revoke(cfg->api, note_revoked, a);
	*out = a;
	return ERR_OK;
}

void admin_events_start(struct admin_events *a)
{
	event_on_new(wake, a);
	timer_set(a->loop, &a->tick, loop_now_ms(a->loop));
}

void admin_events_stop(struct admin_events *a)
{
	pump_all(a);
	timer_clear(&a->tick);
	event_on_new(NULL, NULL);
	a->is_stopped = true;
}

void admin_events_free(struct admin_events *a)
{
	if (!a)
		return;
	event_on_new(NULL, NULL);
	timer_clear(&a->tick);
	free(a);
}
