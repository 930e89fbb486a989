#include "store/backup_clock.h"

#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/backup_clock_state.h"
#include "store/backup_manifest.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define LOOK_EVERY_MS 60000

struct backup_clock {
	struct backup *backup;
	char           dest[PATH_MAX];
	int64_t        every_ms, due_ms; /* monotonic */
	pthread_t      thread;
	bool           joinable;

	pthread_mutex_t lock; /* guards from here */
	pthread_cond_t  changed;
	bool            stop;
};

/* The end of the last good one; *began is its beginning, from which the interval counts. 0: there was none. */
static int64_t find_last(int64_t *began, const char *dest)
{
	struct backup_manifest m;
	int64_t                ended = 0;

	*began = 0;
	if (backup_manifest_read(&m, dest) != ERR_OK)
		return 0;
	*began = m.list[m.count - 1].began_ms;
	ended  = m.list[m.count - 1].ended_ms;
	backup_manifest_fini(&m);
	return ended;
}

struct backup_clock *backup_clock_new(struct backup *b, const char *dir, int64_t every_ms)
{
	struct backup_clock *c = calloc(1, sizeof(*c));
	pthread_condattr_t   attr;
	int64_t              began, ended;

	if (!c || !text_format(c->dest, sizeof(c->dest), "%s/" BACKUP_SCHEDULED, dir)) {
		free(c);
		return NULL;
	}
	c->backup   = b;
	c->every_ms = every_ms;
	ended       = find_last(&began, c->dest);
	c->due_ms   = clock_mono_ms() + backup_wait_first(every_ms, clock_wall_ms(), began);
	backup_note_schedule(b, every_ms, ended);
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	return c;
}

/* Under the lock. The real time, whatever a test does to ours. */
static void wait_ms(struct backup_clock *c, int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&c->changed, &c->lock, &until);
}

/* False: the server ends. */
static bool wait_until_due(struct backup_clock *c)
{
	bool stop;

	pthread_mutex_lock(&c->lock);
	while (!c->stop) {
		int64_t left = c->due_ms - clock_mono_ms();

		if (left <= 0)
			break;
		wait_ms(c, left < LOOK_EVERY_MS ? left : LOOK_EVERY_MS);
	}
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return !stop;
}

static void *run(void *arg)
{
	struct backup_clock *c = arg;
	char                 problem[BACKUP_PROBLEM_BYTES];

	while (wait_until_due(c)) {
		int64_t           began = clock_mono_ms();
		enum err          e     = backup_make_scheduled(c->backup, c->dest, problem);
		enum backup_ended how   = e == ERR_OK ? BACKUP_GOOD : e == ERR_HELD ? BACKUP_BUSY : BACKUP_FAILED;

		if (how == BACKUP_FAILED && e != ERR_CLOSED)
			log_warn("store", 0, "backup-failed",
			         "dest=%s why=\"%s\" note=\"the next try is in an hour at most; the backups before are "
			         "as they "
			         "were\"",
			         c->dest, problem[0] ? problem : err_people(e));
		c->due_ms = clock_mono_ms() + backup_wait_next(c->every_ms, how, clock_mono_ms() - began);
		if (e == ERR_CLOSED)
			break;
	}
	return NULL;
}

enum err backup_clock_start(struct backup_clock *c)
{
	c->joinable = pthread_create(&c->thread, NULL, run, c) == 0;
	return c->joinable ? ERR_OK : ERR_NOMEM;
}

void backup_clock_poke(struct backup_clock *c)
{
	pthread_mutex_lock(&c->lock);
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void backup_clock_free(struct backup_clock *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->joinable)
		pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
