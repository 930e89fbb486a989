/*
 * One reload at a time: begin (loop) --> read (own thread) --> take (loop).
 */
#include "server_reload.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "base/text.h"
#include "net/addr.h"
#include "os/log.h"
#include "os/service.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASK_PATIENCE_S 10
#define PROBLEMS_MAX   20 /* of a configuration that are told; a file may have a mistake in each line */

/* What a look at the files found. */
struct loaded {
	struct conf       fresh;
	struct tls_cert  *cert;
	struct http_cert *http_cert;
};

struct reload {
	struct loop            *loop;
	struct reload_parts     parts;
	struct conf            *running;
	const struct conf_args *args;
	bool                    under_way; /* from begin to take; loop thread only */
	pthread_t               thread;
	struct loop_post        post;
	/* What the thread found; the loop's once it was posted. */
	enum err      loaded;
	struct loaded found;
	char         *report;
	/* For those who wait. */
	pthread_mutex_t      lock; /* of what follows */
	pthread_cond_t       ended;
	uint64_t             begun, done; /* reloads, counted */
	bool                 again;       /* somebody asked while one was under way */
	bool                 is_over;
	enum err             last;
	struct reload_result result; /* of the last */
};

/* Each line of a report is one line of log. */
static void log_report(enum log_level level, char *report)
{
	char *rest = report;

	for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_line(level, "server", 0, "reloads", "%s", line);
}

static void forget(struct loaded *l)
{
	conf_fini(&l->fresh);
	tls_cert_free(TAKE(l->cert));
	http_cert_free(TAKE(l->http_cert));
}

/* A limit that had to be lowered at the start, and is asked for as before, is nobody's change. */
static void keep_lowered(int64_t *fresh, int64_t asked, int64_t running)
{
	if (*fresh == asked)
		*fresh = running;
}

static void keep_all_lowered(struct conf *fresh, const struct reload *r)
{
	keep_lowered(&fresh->limits.ws_connections, r->parts.asked.ws_connections, r->running->limits.ws_connections);
	keep_lowered(&fresh->limits.signal_peers, r->parts.asked.signal_peers, r->running->limits.signal_peers);
	keep_lowered(&fresh->limits.cloud_vaults, r->parts.asked.cloud_vaults, r->running->limits.cloud_vaults);
	keep_lowered(&fresh->limits.rooms_connections, r->parts.asked.rooms_connections,
	             r->running->limits.rooms_connections);
	keep_lowered(&fresh->limits.rooms_streams, r->parts.asked.rooms_streams, r->running->limits.rooms_streams);
	keep_lowered(&fresh->limits.admin_connections, r->parts.asked.admin_connections,
	             r->running->limits.admin_connections);
	keep_lowered(&fresh->limits.admin_tcp_connections, r->parts.asked.admin_tcp_connections,
	             r->running->limits.admin_tcp_connections);
	keep_lowered(&fresh->limits.admin_viewers, r->parts.asked.admin_viewers, r->running->limits.admin_viewers);
}

static void use_certs(struct reload *r)
{
	ws_cert_use(r->parts.ws, r->found.cert);
	tls_watch_use(r->parts.tls_watch, r->found.cert);
	if (r->parts.tcp)
		tcp_cert_use(r->parts.tcp, r->found.cert);
	if (*r->parts.http)
		http_cert_use(*r->parts.http, r->found.http_cert);
}

/* Texts of a reload that was taken; they are the result's. */
static void apply_to(struct reload *r, FILE *out, FILE *changed)
{
	keep_all_lowered(&r->found.fresh, r);
	conf_reload(r->running, &r->found.fresh, out, changed);
	r->parts.taken(r->parts.arg);
	if (*r->running->tls_cert) /* listeners with TLS do not come in a reload */
		use_certs(r);
	if (r->parts.lobby)
		lobby_reload(r->parts.lobby, r->running);
	if (r->parts.signal)
		signal_reload(r->parts.signal, r->running, r->parts.signal_token);
	metric_set(M_CLOUD_MAX_BYTES, r->running->limits.cloud_total);
	log_set_level((enum log_level)r->running->log_level);
	addr_log_whole(r->running->log_addresses == CONF_SCALE_full);
	log_info("server", 0, "reloads", "done");
	event_emit(E_SERVER_RELOADED, event_bool("ok", true));
}

static enum err apply(struct reload *r, struct reload_result *result)
{
	size_t                len = 0, changed_len = 0;
	FILE                 *out     = open_memstream(&result->restart, &len);
	FILE                 *changed = open_memstream(&result->changed, &changed_len);
	AUTO(auto_free) char *lines   = NULL;

	if (out && changed)
		apply_to(r, out, changed);
	if (out)
		fclose(out);
	if (changed)
		fclose(changed);
	if (!out || !changed)
		return ERR_NOMEM;
	lines = strdup(result->restart);
	if (lines)
		log_report(LOG_WARN, lines);
	return ERR_OK;
}

/* --- Those who wait --- */

void reload_result_fini(struct reload_result *result)
{
	free(TAKE(result->changed));
	free(TAKE(result->restart));
	free(TAKE(result->problems));
}

static void tell(struct reload *r, enum err e, const struct reload_result *result)
{
	pthread_mutex_lock(&r->lock);
	reload_result_fini(&r->result);
	r->result = *result;
	r->last   = e;
	r->done   = r->begun;
	pthread_cond_broadcast(&r->ended);
	pthread_mutex_unlock(&r->lock);
}

void reload_end_asks(struct reload *r)
{
	pthread_mutex_lock(&r->lock);
	r->is_over = true;
	pthread_cond_broadcast(&r->ended);
	pthread_mutex_unlock(&r->lock);
}

struct ask {
	struct reload *reload;
	uint64_t       wanted; /* the reload that began after this was asked */
};

static void on_ask(void *arg)
{
	struct ask    *a = arg;
	struct reload *r = a->reload;

	if (r->under_way) { /* it may have read the file already */
		r->again  = true;
		a->wanted = r->begun + 1;
		return;
	}
	reload_begin(r);
	a->wanted = r->begun;
}

static char *copy_text(const char *text)
{
	return strdup(text ? text : "");
}

static enum err copy_result(struct reload_result *out, const struct reload *r)
{
	*out = (struct reload_result){ .changed  = copy_text(r->result.changed),
		                       .restart  = copy_text(r->result.restart),
		                       .problems = copy_text(r->result.problems) };
	if (out->changed && out->restart && out->problems)
		return r->last;
	reload_result_fini(out);
	return ERR_NOMEM;
}

enum err reload_ask(struct reload_result *out, struct reload *r)
{
	struct ask      a = { .reload = r };
	struct timespec until;
	enum err        e  = loop_ask(r->loop, on_ask, &a);
	int             rc = 0;

	*out = (struct reload_result){ 0 };
	if (e != ERR_OK)
		return e;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ASK_PATIENCE_S;
	pthread_mutex_lock(&r->lock);
	while (r->done < a.wanted && !r->is_over && rc == 0)
		rc = pthread_cond_timedwait(&r->ended, &r->lock, &until);
	if (r->done >= a.wanted)
		e = copy_result(out, r);
	else
		e = r->is_over ? ERR_DRAINING : ERR_BUSY;
	pthread_mutex_unlock(&r->lock);
	return e;
}

static void take(struct loop_post *post)
{
	struct reload       *r      = CONTAINER(post, struct reload, post);
	struct reload_result result = { 0 };
	enum err             e      = r->loaded;

	pthread_join(r->thread, NULL);
	r->under_way = false;
	if (e == ERR_OK) {
		e = apply(r, &result);
		forget(&r->found);
	} else {
		result.problems = copy_text(r->report);
		log_error("server", 0, "reloads", "nothing changed; %s",
		          e == ERR_NOMEM ? "the server is out of memory" : "the configuration has errors");
		event_emit(E_SERVER_RELOADED, event_bool("ok", false));
		if (r->report)
			log_report(LOG_ERROR, r->report);
		e = e == ERR_NOMEM ? e : ERR_INVALID;
	}
	free(TAKE(r->report));
	service_tell("READY=1");
	tell(r, e, &result);
	if (r->again)
		reload_begin(r);
}

/* The configuration and the certificate, as each library wants it; all are good, or none is taken. */
static enum err load(struct loaded *l, const struct reload *r, FILE *report)
{
	enum err e = conf_load(&l->fresh, r->args, report);

	if (e != ERR_OK)
		return e;
	e = tls_cert_load(&l->cert, &l->fresh, report);
	if (e == ERR_OK)
		e = http_cert_load(&l->http_cert, &l->fresh, report);
	if (e != ERR_OK)
		forget(l);
	return e;
}

/* The first lines, and that there are more, which takes less room than those. */
static void shorten(char *report)
{
	char *end = report;

	for (int lines = 0; end && lines < PROBLEMS_MAX; lines++) {
		end = strchr(end, '\n');
		end = end ? end + 1 : NULL;
	}
	if (end && *end)
		text_copy(end, strlen(end) + 1, "and more\n");
}

/* As load; *report is for free(), NULL without memory. */
static enum err load_and_report(struct loaded *l, char **report, const struct reload *r)
{
	size_t   len = 0;
	FILE    *out = open_memstream(report, &len);
	enum err e   = out ? load(l, r, out) : ERR_NOMEM;

	if (out)
		fclose(out);
	if (*report)
		shorten(*report);
	return e;
}

static void *read_conf(void *arg)
{
	struct reload *r = arg;

	r->loaded = load_and_report(&r->found, &r->report, r);
	loop_post(r->loop, &r->post);
	return NULL;
}

/* --- Only tried --- */

struct trial {
	struct reload *reload;
	struct loaded  found;
	FILE          *restart, *changed;
};

static void compare(void *arg)
{
	struct trial *t = arg;

	keep_all_lowered(&t->found.fresh, t->reload);
	conf_compare(t->reload->running, &t->found.fresh, t->restart, t->changed);
}

static enum err compare_on_loop(struct reload_result *out, struct trial *t)
{
	size_t   restart_len = 0, changed_len = 0;
	enum err e = ERR_NOMEM;

	t->restart = open_memstream(&out->restart, &restart_len);
	t->changed = open_memstream(&out->changed, &changed_len);
	if (t->restart && t->changed)
		e = loop_ask(t->reload->loop, compare, t);
	if (t->restart)
		fclose(t->restart);
	if (t->changed)
		fclose(t->changed);
	return e;
}

enum err reload_try(struct reload_result *out, struct reload *r)
{
	struct trial t = { .reload = r };
	enum err     e;

	*out = (struct reload_result){ 0 };
	e    = load_and_report(&t.found, &out->problems, r);
	if (e != ERR_OK)
		return e == ERR_NOMEM ? e : ERR_INVALID;
	e = compare_on_loop(out, &t);
	forget(&t.found);
	return e;
}

struct reload *reload_new(struct loop *loop, const struct reload_parts *parts, struct conf *running,
                          const struct conf_args *args)
{
	struct reload     *r = calloc(1, sizeof(*r));
	pthread_condattr_t monotonic;

	if (!r)
		return NULL;
	r->loop     = loop;
	r->parts    = *parts;
	r->running  = running;
	r->args     = args;
	r->post.run = take;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void reload_free(struct reload *r)
{
	if (r->under_way) {
		pthread_join(r->thread, NULL);
		if (r->loaded == ERR_OK)
			forget(&r->found);
		free(r->report);
	}
	reload_result_fini(&r->result);
	pthread_cond_destroy(&r->ended);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void reload_begin(struct reload *r)
{
	if (r->under_way)
		return;
	r->again = false;
	pthread_mutex_lock(&r->lock);
	r->begun++;
	pthread_mutex_unlock(&r->lock);
	service_tell_reloading();
	r->under_way = pthread_create(&r->thread, NULL, read_conf, r) == 0;
	if (!r->under_way) {
		log_error("server", 0, "reloads", "nothing changed; no thread could be started");
		service_tell("READY=1");
		tell(r, ERR_NOMEM, &(struct reload_result){ 0 });
	}
}
