/*
 * The lobby master: what it is made of, who answers what, and the sweep.
 */
#include "lobby/lobby_inside.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/metric.h"
#include "crypt/hash.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/random.h"

#include <stdlib.h>
#include <string.h>

#define RATE_LOG_MS 1000 /* one line of log in so long about those who are over a limit */

/* --- The lock --- */

void lobby_lock(struct lobby_master *m)
{
	pthread_mutex_lock(&m->lock);
}

void lobby_unlock(struct lobby_master *m)
{
	int64_t live = (int64_t)lobby_live(&m->state);

	atomic_store(&m->live, live);
	metric_set(M_LOBBIES, live);
	pthread_mutex_unlock(&m->lock);
}

void lobby_drain(struct lobby_master *m, bool on)
{
	lobby_lock(m);
	m->state.is_draining = on;
	lobby_unlock(m);
}

int64_t lobby_count(void *master)
{
	struct lobby_master *m = master;

	return atomic_load(&m->live);
}

/* --- Errors --- */

/* What has words in the document. */
static const struct words {
	enum err    e;
	int         status;
	const char *text;
} all_words[] = {
	{ ERR_NOT_FOUND, 404, "not found" },        { ERR_METHOD, 404, "not found" },
	{ ERR_TOO_BIG, 413, "body too large" },     { ERR_HEAD_TOO_BIG, 413, "headers too large" },
	{ ERR_MALFORMED, 400, "bad request line" }, { ERR_LIMIT, 429, "rate" },
};

enum err lobby_errors(struct http_answer *a, struct http_request *rq, enum err e)
{
	(void)rq;
	for (size_t i = 0; i < COUNT_OF(all_words); i++) {
		if (all_words[i].e == e)
			return http_answer_error(a, all_words[i].status, all_words[i].text);
	}
	return http_answer_error(a, err_http(e), err_people(e));
}

/* --- Rates --- */

static const enum metric rate_metrics[LOBBY_CLASS_COUNT] = {
	[LOBBY_CREATE] = M_LOBBY_RATE_CREATE,
	[LOBBY_JOIN]   = M_LOBBY_RATE_JOIN,
	[LOBBY_MUTATE] = M_LOBBY_RATE_MUTATE,
};

static void set_who(struct lobby_ask *q)
{
	const uint8_t     *secret = store_addr_key(q->m->store);
	const struct addr *client = http_client(q->rq);
	uint8_t            key[ADDR_KEY_BYTES];

	addr_key(key, client);
	hash_keyed(q->addr, secret, key, sizeof(key));
	q->has_wide = addr_key_wide(key, client);
	if (q->has_wide)
		hash_keyed(q->addr_wide, secret, key, sizeof(key));
	q->is_exempt = http_is_exempt(q->rq);
}

/* Whoever sends a thousand requests a second does not write a thousand lines. */
static void log_rate(struct lobby_ask *q, enum lobby_class class)
{
	static const char *const names[LOBBY_CLASS_COUNT] = { "create", "join", "mutate" };

	struct lobby_master *m       = q->m;
	int64_t              told_ms = atomic_load(&m->rate_told_ms);
	char                 client[ADDR_TEXT_BYTES];

	atomic_fetch_add(&m->rate_untold, 1);
	if (q->now_ms < told_ms + RATE_LOG_MS || !atomic_compare_exchange_strong(&m->rate_told_ms, &told_ms, q->now_ms))
		return;
	addr_text_log(client, http_client(q->rq));
	log_info("lobby", 0, "refuses", "reason=rate class=%s address=%s count=%lld", names[class], client,
	         (long long)atomic_exchange(&m->rate_untold, 0));
}

static bool take_rate(struct lobby_ask *q, enum lobby_class class)
{
	bool taken = true;

	if (!q->is_exempt) {
		pthread_mutex_lock(&q->m->lock);
		taken = lobby_guard_take(q->m->guard, class, q->addr, q->has_wide ? q->addr_wide : NULL, q->now_ms);
		pthread_mutex_unlock(&q->m->lock);
	}
	if (!taken) {
		metric_inc(rate_metrics[class]);
		log_rate(q, class);
	}
	return taken;
}

/* --- Routes --- */

static const struct post {
	const char *path;
	enum lobby_class class;
	lobby_handler handle;
} posts[] = {
	{ "/v1/host", LOBBY_CREATE, lobby_on_host },
	{ "/v1/challenge", LOBBY_CREATE, lobby_on_challenge },
	{ "/v1/heartbeat", LOBBY_MUTATE, lobby_on_heartbeat },
	{ "/v1/leave", LOBBY_MUTATE, lobby_on_leave },
	{ "/v1/visibility", LOBBY_MUTATE, lobby_on_visibility },
	{ "/v1/join", LOBBY_JOIN, lobby_on_join },
};

static const struct post *post_of(const char *path)
{
	for (size_t i = 0; i < COUNT_OF(posts); i++) {
		if (strcmp(posts[i].path, path) == 0)
			return &posts[i];
	}
	return NULL;
}

/* The order is the document's: the body, the path, the rate, and then the rest. */
static enum err on_post(struct http_answer *a, struct http_request *rq, char *body, size_t len, void *part)
{
	AUTO(json_freep) struct json *j = NULL;
	struct lobby_ask              q = { .m = part, .a = a, .rq = rq };
	const struct post            *p = post_of(http_path(rq));
	enum err                      e = json_parse_lenient(&j, body, len, JSON_LENIENT_DEPTH_MAX);

	if (e != ERR_OK)
		return e == ERR_MALFORMED ? lobby_refuse(a, 400, "bad json") : e;
	if (!p)
		return ERR_NOT_FOUND;
	q.body    = j;
	q.now_ms  = clock_mono_ms();
	q.wall_ms = clock_wall_ms();
	set_who(&q);
	return take_rate(&q, p->class) ? p->handle(&q) : ERR_LIMIT;
}

static size_t body_max(void *part)
{
	const struct lobby_master *m = part;

	return (size_t)m->conf->limits.lobby_body;
}

static const struct http_text post_text = { .max_of = body_max, .handle = on_post };
static const struct http_body post_body = { .text = &post_text };

const struct http_route lobby_routes[] = {
	{ "GET", "/v1/lobbies", lobby_on_list, NULL, lobby_errors },
	{ "GET", "/v1/latest", lobby_on_latest, NULL, lobby_errors },
	{ "GET", "/v1/thanks", lobby_on_thanks, NULL, lobby_errors },
	{ "POST", "/v1/host", NULL, &post_body, lobby_errors },
	{ "POST", "/v1/challenge", NULL, &post_body, lobby_errors },
	{ "POST", "/v1/heartbeat", NULL, &post_body, lobby_errors },
	{ "POST", "/v1/leave", NULL, &post_body, lobby_errors },
	{ "POST", "/v1/visibility", NULL, &post_body, lobby_errors },
	{ "POST", "/v1/join", NULL, &post_body, lobby_errors },
	{ 0 },
};

const struct http_route lobby_stray_post = { "POST", "", NULL, &post_body, lobby_errors };

/* --- The sweep --- */

static void log_expired(const struct lobby *l, int64_t now_ms)
{
	char id[LOBBY_ID_TEXT_BYTES];

	lobby_log_id(id, l->id);
	metric_inc(M_LOBBY_EXPIRED);
	lobby_event_gone(l->id, "silent");
	log_info("lobby", 0, "expires", "lobby=%s silent=%llds", id, (long long)((now_ms - l->beat_ms) / 1000));
}

/* On a thread that may wait for the lock. */
static void run_sweep(struct loop_work *w)
{
	struct lobby_master *m      = CONTAINER(w, struct lobby_master, sweep_work);
	int64_t              now_ms = clock_mono_ms();
	struct list          gone;

	list_init(&gone);
	lobby_lock(m);
	for (struct lobby *l = lobby_sweep(&m->state, now_ms); l; l = lobby_sweep(&m->state, now_ms))
		list_append(&gone, &l->by_beat);
	lobby_unlock(m);
	for (struct list *at = list_take_first(&gone); at; at = list_take_first(&gone)) {
		struct lobby *l = CONTAINER(at, struct lobby, by_beat);

		lobby_keep_forget(m->keep, l->id);
		log_expired(l, now_ms);
		lobby_free(l);
	}
	lobby_keep_retry(m->keep);
	lobby_tell_refused(m, now_ms);
}

static void on_swept(struct loop_work *w)
{
	struct lobby_master *m = CONTAINER(w, struct lobby_master, sweep_work);

	m->is_sweeping = false;
}

static void on_sweep(struct timer *t, int64_t now_ms)
{
	struct lobby_master *m = CONTAINER(t, struct lobby_master, sweep);

	timer_set(m->loop, t, now_ms + m->conf->limits.lobby_sweep_ms);
	if (m->is_sweeping)
		return;
	m->is_sweeping = true;
	loop_work(m->loop, &m->sweep_work);
}

/* --- The master --- */

/*
 * Settings, and the secrets for those that nobody set: production has refused to start without them already. Elsewhere they
 * are there even when they are not needed: a reload, which reads no file of ours, may find that one is no longer set.
 */
static enum err load_settings(struct lobby_master *m, FILE *report)
{
	enum err e = ERR_OK;

	if (!m->conf->server_production)
		e = store_secret_text(m->made.turn, m->store, "turn_secret", report);
	if (e == ERR_OK && !m->conf->server_production)
		e = store_secret_text(m->made.signal, m->store, "signal_token", report);
	if (e != ERR_OK)
		return e;
	m->settings = lobby_settings_new(m->conf, &m->made, NULL);
	return m->settings ? ERR_OK : ERR_NOMEM;
}

static enum err load(struct lobby_master *m, FILE *report)
{
	enum err e = lobby_keep_load(m->keep, m->guard, clock_mono_ms(), clock_wall_ms());

	if (e != ERR_OK)
		fprintf(report, "coopd: the kept lobbies cannot be read: %s.\n", err_people(e));
	lobby_lock(m); /* counts them */
	lobby_unlock(m);
	return e == ERR_OK ? load_settings(m, report) : e;
}

static enum err build(struct lobby_master *m)
{
	const struct limits *limits = &m->conf->limits;

	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->settings_lock, NULL);
	timer_init(&m->sweep, on_sweep);
	m->sweep_work   = (struct loop_work){ .run = run_sweep, .done = on_swept };
	m->rate_told_ms = clock_mono_ms() - RATE_LOG_MS;
	log_lines_init(&m->refused);
	lobby_thanks_init(&m->thanks, m->conf->thanks_file, limits->lobby_thanks_ms);
	if (lobby_state_init(&m->state, limits, random_u64()) != ERR_OK)
		return ERR_NOMEM;
	m->guard = lobby_guard_new(limits, random_u64());
	m->keep  = lobby_keep_new(m->store, &m->state, &m->lock);
	m->proof = lobby_proof_new((size_t)limits->lobby_nonces);
	m->list  = lobby_list_new(&m->state, &m->lock);
	return m->guard && m->keep && m->proof && m->list ? ERR_OK : ERR_NOMEM;
}

enum err lobby_master_new(struct lobby_master **out, struct loop *loop, struct store *store, const struct conf *conf,
                          uint16_t signal_port, FILE *report)
{
	struct lobby_master *m = calloc(1, sizeof(*m));
	enum err             e = ERR_NOMEM;

	if (m) {
		m->loop        = loop;
		m->store       = store;
		m->conf        = conf;
		m->signal_port = signal_port;
		e              = build(m);
	}
	if (e != ERR_OK)
		fputs("coopd: there is no memory for the lobbies.\n", report);
	else
		e = load(m, report);
	if (e != ERR_OK) {
		lobby_master_free(m);
		return e;
	}
	*out = m;
	return ERR_OK;
}

void lobby_master_start(struct lobby_master *m)
{
	timer_set(m->loop, &m->sweep, clock_mono_ms() + m->conf->limits.lobby_sweep_ms);
}

void lobby_master_stop(struct lobby_master *m)
{
	timer_clear(&m->sweep);
}

static bool is_swept(void *arg)
{
	const struct lobby_master *m = arg;

	return !m->is_sweeping;
}

void lobby_master_finish(struct lobby_master *m)
{
	lobby_master_stop(m);
	loop_drain_until(m->loop, is_swept, m);
	lobby_keep_retry(m->keep); /* the store writes what it was given before it stops */
}

void lobby_master_free(struct lobby_master *m)
{
	if (!m)
		return;
	if (m->keep)
		lobby_keep_free(m->keep);
	lobby_list_free(m->list);
	if (m->proof)
		lobby_proof_free(m->proof);
	if (m->guard)
		lobby_guard_free(m->guard);
	wipe_secret(&m->made, sizeof(m->made));
	lobby_settings_drop(m->settings);
	lobby_state_fini(&m->state);
	lobby_thanks_fini(&m->thanks);
	log_lines_fini(&m->refused);
	pthread_mutex_destroy(&m->settings_lock);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void lobby_reload(struct lobby_master *m, const struct conf *conf)
{
	struct lobby_settings *now   = lobby_settings_use(m);
	struct lobby_settings *fresh = lobby_settings_new(conf, &m->made, now);

	lobby_settings_drop(now);
	if (!fresh) {
		log_error("lobby", 0, "reloads", "nothing changed: there is no memory for the settings");
		return;
	}
	pthread_mutex_lock(&m->settings_lock);
	now         = m->settings;
	m->settings = fresh;
	pthread_mutex_unlock(&m->settings_lock);
	lobby_settings_drop(now);
}
