/*
 * One reload at a time: begin (loop) --> read (own thread) --> take (loop).
 */
#include "server_reload.h"

#include "base/auto.h"
#include "net/addr.h"
#include "os/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct reload {
	struct loop            *loop;
	struct reload_parts     parts;
	struct conf            *running;
	const struct conf_args *args;
	bool                    under_way; /* from begin to take; loop thread only */
	pthread_t               thread;
	struct loop_post        post;
	/* What the thread found; the loop's once it was posted. */
	enum err          loaded;
	struct conf       fresh;
	struct tls_cert  *cert;
	struct http_cert *http_cert;
	char             *report;
	size_t            report_len;
};

/* Each line of a report is one line of log. */
static void log_report(enum log_level level, char *report)
{
	char *rest = report;

	for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_line(level, "server", 0, "reloads", "%s", line);
}

static void forget(struct reload *r)
{
	conf_fini(&r->fresh);
	tls_cert_free(TAKE(r->cert));
	http_cert_free(TAKE(r->http_cert));
}

/* A limit that had to be lowered at the start, and is asked for as before, is nobody's change. */
static void keep_lowered(int64_t *fresh, int64_t asked, int64_t running)
{
	if (*fresh == asked)
		*fresh = running;
}

static void apply(struct reload *r)
{
	AUTO(auto_free) char *report = NULL;
	size_t                len    = 0;
	FILE                 *out    = open_memstream(&report, &len);

	if (!out)
		return;
	keep_lowered(&r->fresh.limits.ws_connections, r->parts.asked.ws_connections, r->running->limits.ws_connections);
	keep_lowered(&r->fresh.limits.signal_peers, r->parts.asked.signal_peers, r->running->limits.signal_peers);
	keep_lowered(&r->fresh.limits.cloud_vaults, r->parts.asked.cloud_vaults, r->running->limits.cloud_vaults);
	keep_lowered(&r->fresh.limits.rooms_connections, r->parts.asked.rooms_connections,
	             r->running->limits.rooms_connections);
	keep_lowered(&r->fresh.limits.rooms_streams, r->parts.asked.rooms_streams, r->running->limits.rooms_streams);
	keep_lowered(&r->fresh.limits.admin_connections, r->parts.asked.admin_connections,
	             r->running->limits.admin_connections);
	keep_lowered(&r->fresh.limits.admin_tcp_connections, r->parts.asked.admin_tcp_connections,
	             r->running->limits.admin_tcp_connections);
	conf_reload(r->running, &r->fresh, out);
	ws_cert_use(r->parts.ws, r->cert);
	if (r->parts.tcp)
		tcp_cert_use(r->parts.tcp, r->cert);
	if (*r->parts.http)
		http_cert_use(*r->parts.http, r->http_cert);
	if (r->parts.lobby)
		lobby_reload(r->parts.lobby, r->running);
	if (r->parts.signal)
		signal_reload(r->parts.signal, r->running, r->parts.signal_token);
	fclose(out);
	log_set_level((enum log_level)r->running->log_level);
	addr_log_whole(r->running->log_addresses == CONF_SCALE_full);
	log_info("server", 0, "reloads", "done");
	log_report(LOG_WARN, report);
}

static void take(struct loop_post *post)
{
	struct reload *r = CONTAINER(post, struct reload, post);

	pthread_join(r->thread, NULL);
	r->under_way = false;
	if (r->loaded == ERR_OK) {
		apply(r);
		forget(r);
	} else {
		log_error("server", 0, "reloads", "nothing changed; the configuration has errors");
		log_report(LOG_ERROR, r->report);
	}
	free(TAKE(r->report));
}

/* The configuration and the certificate, as each library wants it; all are good, or none is taken. */
static enum err load(struct reload *r, FILE *report)
{
	enum err e = conf_load(&r->fresh, r->args, report);

	if (e != ERR_OK)
		return e;
	e = tls_cert_load(&r->cert, r->running, report);
	if (e == ERR_OK)
		e = http_cert_load(&r->http_cert, r->running, report);
	if (e != ERR_OK)
		forget(r);
	return e;
}

static void *read_conf(void *arg)
{
	struct reload *r   = arg;
	FILE          *out = open_memstream(&r->report, &r->report_len);

	r->loaded = ERR_NOMEM;
	if (out) {
		r->loaded = load(r, out);
		fclose(out);
	}
	loop_post(r->loop, &r->post);
	return NULL;
}

struct reload *reload_new(struct loop *loop, const struct reload_parts *parts, struct conf *running,
                          const struct conf_args *args)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->loop     = loop;
	r->parts    = *parts;
	r->running  = running;
	r->args     = args;
	r->post.run = take;
	return r;
}

void reload_free(struct reload *r)
{
	if (r->under_way) {
		pthread_join(r->thread, NULL);
		if (r->loaded == ERR_OK)
			forget(r);
		free(r->report);
	}
	free(r);
}

void reload_begin(struct reload *r)
{
	if (r->under_way)
		return;
	r->under_way = pthread_create(&r->thread, NULL, read_conf, r) == 0;
	if (!r->under_way)
		log_error("server", 0, "reloads", "nothing changed; no thread could be started");
}
