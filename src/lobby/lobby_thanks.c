/*
 * GET /v1/thanks: a text file of the operator's, read again at most every limits.lobby_thanks_ms, as an answer that all
 * share. A read that goes wrong leaves the last good one; a file that is gone takes it away.
 *
 * One thread reads. Meanwhile the others get what was known before; only the very first ones wait for it.
 */
#include "lobby/lobby_inside.h"

#include "base/auto.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 65536

void lobby_thanks_init(struct lobby_thanks *t, const char *path, int64_t every_ms)
{
	*t = (struct lobby_thanks){ .path = path, .every_ms = every_ms };
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->known, NULL);
}

void lobby_thanks_fini(struct lobby_thanks *t)
{
	http_shared_drop(t->body);
	pthread_cond_destroy(&t->known);
	pthread_mutex_destroy(&t->lock);
}

/* {"text":...}. ERR_MALFORMED: an empty file, or no text. */
static enum err make_body(struct http_shared **out, const char *text, size_t len)
{
	AUTO(json_freep) struct json *j = json_object_new();
	char                         *body;

	if (!j)
		return ERR_NOMEM;
	if (len == 0 || strlen(text) != len)
		return ERR_MALFORMED;
	json_put_text(j, "text", text);
	body = json_text(j);
	if (!body)
		return ERR_MALFORMED; /* it is not UTF-8 */
	*out = http_shared_new(body, strlen(body));
	return *out ? ERR_OK : ERR_NOMEM;
}

static enum err read_body(struct http_shared **out, const char *path)
{
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 0;
	enum err              e    = *path ? file_read(&text, &len, path, TEXT_BYTES_MAX) : ERR_NOT_FOUND;

	return e == ERR_OK ? make_body(out, text, len) : e;
}

/* With the lock held, which is let go while the file is read. */
static void look(struct lobby_thanks *t, int64_t now_ms)
{
	struct http_shared *fresh = NULL;
	enum err            e;

	t->is_reading = true;
	pthread_mutex_unlock(&t->lock);
	e = read_body(&fresh, t->path);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		log_warn("lobby", 0, "fails", "thanks.file cannot be served: error=%s", err_name(e));
	pthread_mutex_lock(&t->lock);
	t->is_reading = false;
	t->is_known   = true;
	t->is_missing = e == ERR_NOT_FOUND;
	t->next_ms    = now_ms + t->every_ms;
	if (e == ERR_OK || t->is_missing) {
		http_shared_drop(t->body);
		t->body = fresh;
	}
	pthread_cond_broadcast(&t->known);
}

/* The answer to give, or NULL. */
static struct http_shared *current(struct lobby_thanks *t, bool *is_missing, int64_t now_ms)
{
	struct http_shared *body;

	pthread_mutex_lock(&t->lock);
	if (!t->is_reading && (!t->is_known || now_ms >= t->next_ms))
		look(t, now_ms);
	while (!t->is_known)
		pthread_cond_wait(&t->known, &t->lock);
	body        = t->body ? http_shared_use(t->body) : NULL;
	*is_missing = t->is_missing;
	pthread_mutex_unlock(&t->lock);
	return body;
}

enum err lobby_on_thanks(struct http_answer *a, struct http_request *rq, void *part)
{
	struct lobby_master *m = part;
	bool                 is_missing;

	(void)rq;
	a->shared = current(&m->thanks, &is_missing, clock_mono_ms());
	if (!a->shared)
		return is_missing ? lobby_refuse(a, 404, "no list") : lobby_refuse(a, 503, "list unavailable");
	a->type     = "application/json";
	a->no_store = true;
	a->status   = 200;
	return ERR_OK;
}
