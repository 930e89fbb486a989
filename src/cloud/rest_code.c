/*
 * POST /v1/me/code: asks whoever gives codes, and waits, though not for ever.
 */
#include "base/auto.h"
#include "cloud/rest.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define WAIT_S 5

/* Shared by the thread that waits and the answer, which may come when nobody waits any more: the last one frees it. */
struct code_wait {
	pthread_mutex_t lock;
	pthread_cond_t  answered;
	unsigned        users;
	bool            is_done;
	enum err        result;
	uint32_t        code;
};

void cloud_set_new_code(struct cloud *c, cloud_code_ask ask, void *arg)
{
	c->new_code     = ask;
	c->new_code_arg = arg;
}

static struct code_wait *new_wait(void)
{
	struct code_wait  *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->answered, &attr);
	pthread_condattr_destroy(&attr);
	w->users = 2;
	return w;
}

/* With the lock held; it is not afterwards. */
static void leave(struct code_wait *w)
{
	bool last = --w->users == 0;

	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	pthread_cond_destroy(&w->answered);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Busy is one whose last change is under way still: that is his own doing, as a change too many is. */
static void on_code(void *arg, enum err e, uint32_t code)
{
	struct code_wait *w = arg;

	pthread_mutex_lock(&w->lock);
	w->is_done = true;
	w->result  = e == ERR_BUSY ? ERR_LIMIT : e;
	w->code    = code;
	pthread_cond_signal(&w->answered);
	leave(w);
}

static enum err wait_for_code(uint32_t *code, struct cloud *c, const uint8_t digest[PLAYER_DIGEST_BYTES])
{
	struct code_wait *w = new_wait();
	struct timespec   until;
	int               late = 0;
	enum err          e;

	if (!w)
		return ERR_NOMEM;
	c->new_code(c->new_code_arg, digest, on_code, w);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&w->lock);
	while (!w->is_done && late == 0)
		late = pthread_cond_timedwait(&w->answered, &w->lock, &until);
	e     = w->is_done ? w->result : ERR_BUSY;
	*code = w->code;
	leave(w);
	return e;
}

enum err rest_code(struct http_answer *a, struct http_request *rq, void *part)
{
	struct cloud                 *c = part;
	AUTO(json_freep) struct json *j = NULL;
	uint8_t                       digest[PLAYER_DIGEST_BYTES];
	uint32_t                      code = 0;
	enum err                      e    = rest_player(digest, c, rq);

	if (e == ERR_OK)
		e = c->new_code ? wait_for_code(&code, c, digest) : ERR_NOT_FOUND;
	if (e != ERR_OK)
		return rest_error(a, rq, e);
	j = json_object_new();
	if (!j)
		return ERR_NOMEM;
	json_put_int(j, "code", code);
	return http_answer_json(a, 200, j);
}
