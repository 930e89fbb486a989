#include "cloud/cloud.h"

#include "base/auto.h"
#include "cloud/cloud_inside.h"
#include "cloud/vault_serve.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/campaign.h"

#include <stdlib.h>

#define SWEEP_FIRST_MS 5000
#define SWEEP_AGAIN_MS 2000 /* when one did not finish */
#define SWEEP_MS       3600000

struct sweep_job {
	struct job       job;
	struct loop_post post;
	struct cloud    *cloud;
	bool             more;
};

static enum err run_sweep(struct job *job, struct db *db)
{
	struct sweep_job *j = CONTAINER(job, struct sweep_job, job);

	return campaign_sweep(&j->more, db, clock_wall_ms(), clock_mono_ms(), &j->cloud->conf->limits);
}

static void on_swept(struct loop_post *p)
{
	struct sweep_job *j       = CONTAINER(p, struct sweep_job, post);
	struct cloud     *c       = j->cloud;
	enum err          result  = j->job.result;
	int64_t           next_ms = result == ERR_OK && j->more ? SWEEP_AGAIN_MS : SWEEP_MS;

	if (result != ERR_OK)
		log_warn("cloud", 0, "sweeps", "error=%s", err_name(result));
	free(j);
	c->is_sweeping = false;
	if (!c->is_stopped)
		timer_set(c->loop, &c->sweep, loop_now_ms(c->loop) + next_ms);
}

/* Store thread. */
static void deliver(struct job *first, void *arg)
{
	struct cloud *c = arg;

	for (struct job *next, *j = first; j; j = next) {
		next = j->next; /* j is the loop's from here on */
		loop_post(c->loop, &CONTAINER(j, struct sweep_job, job)->post);
	}
}

/* Never called: deliver does all. The store wants one. */
static void done_nothing(struct job *job, enum err result)
{
	(void)job;
	(void)result;
}

static void on_sweep(struct timer *t, int64_t now_ms)
{
	struct cloud     *c = CONTAINER(t, struct cloud, sweep);
	struct sweep_job *j = c->is_sweeping ? NULL : calloc(1, sizeof(*j));

	timer_set(c->loop, t, now_ms + SWEEP_MS);
	if (!j)
		return;
	j->cloud    = c;
	j->post.run = on_swept;
	j->job      = (struct job){
		     .port = &c->port, .surface = SURFACE_UPKEEP, .lazy = true, .run = run_sweep, .done = done_nothing
	};
	c->is_sweeping = true;

	enum err refused = store_submit(c->store, &j->job);

	if (refused == ERR_OK)
		return;
	j->job.result = refused;
	loop_post(c->loop, &j->post);
}

enum err cloud_new(struct cloud **out, struct loop *loop, struct store *store, const struct conf *conf)
{
	struct cloud *c = calloc(1, sizeof(*c));

	if (!c)
		return ERR_NOMEM;
	c->loop     = loop;
	c->store    = store;
	c->conf     = conf;
	c->port     = (struct job_port){ .deliver = deliver, .arg = c };
	c->verified = cloud_verified_new(&conf->limits);
	timer_init(&c->sweep, on_sweep);
	live_all_init(&c->live);
	if (!c->verified || vault_new(&c->vault, c) != ERR_OK) {
		cloud_free(c);
		return ERR_NOMEM;
	}
	*out = c;
	return ERR_OK;
}

void cloud_start(struct cloud *c)
{
	timer_set(c->loop, &c->sweep, clock_mono_ms() + SWEEP_FIRST_MS);
}

void cloud_stop(struct cloud *c)
{
	c->is_stopped = true;
	timer_clear(&c->sweep);
}

void cloud_finish(struct cloud *c)
{
	cloud_stop(c);
	vault_finish(c->vault);
}

void cloud_free(struct cloud *c)
{
	if (!c)
		return;
	cloud_stop(c);
	vault_free(c->vault);
	cloud_verified_free(c->verified);
	live_all_fini(&c->live);
	free(c);
}

void cloud_open_vault(void *cloud, struct ws_conn *ws, const uint8_t *key, int64_t now_ms)
{
	struct cloud *c = cloud;

	vault_open(c->vault, ws, key, now_ms);
}

size_t cloud_ban(struct cloud *c, const struct ban *b, bool end)
{
	return vault_ban(c->vault, b, end);
}
