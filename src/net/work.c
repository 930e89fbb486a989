#include "net/work.h"

#include "os/log.h"
#include "os/priority.h"

#include <signal.h>

void work_init(struct work *k)
{
	*k     = (struct work){ 0 };
	k->end = &k->first;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->more, NULL);
}

static void run(struct loop_work *w)
{
	w->run(w);
	loop_post(w->loop, &w->post);
}

/* NULL: stopping. */
static struct loop_work *take(struct work *k)
{
	pthread_mutex_lock(&k->lock);
	while (!k->first && !k->stopping)
		pthread_cond_wait(&k->more, &k->lock);

	struct loop_work *w = k->first;

	if (w) {
		k->first = w->next;
		if (!k->first)
			k->end = &k->first;
	}
	pthread_mutex_unlock(&k->lock);
	return w;
}

static void *run_all(void *arg)
{
	struct loop_work *w;

	priority_give_way();
	while ((w = take(arg)))
		run(w);
	return NULL;
}

/* Signals are for the loop thread. */
static void start(struct work *k)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (k->thread_count < WORK_THREADS && pthread_create(&k->threads[k->thread_count], NULL, run_all, k) == 0)
		k->thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	k->started = true;
	if (k->thread_count == 0)
		log_error("loop", 0, "has-no-threads", "file work is done on the loop, which everybody feels");
}

void work_add(struct work *k, struct loop_work *w)
{
	if (!k->started)
		start(k);
	if (k->thread_count == 0) {
		run(w);
		return;
	}
	w->next = NULL;
	pthread_mutex_lock(&k->lock);
	*k->end = w;
	k->end  = &w->next;
	pthread_cond_signal(&k->more);
	pthread_mutex_unlock(&k->lock);
}

void work_fini(struct work *k)
{
	pthread_mutex_lock(&k->lock);
	k->stopping = true;
	pthread_cond_broadcast(&k->more);
	pthread_mutex_unlock(&k->lock);
	for (size_t i = 0; i < k->thread_count; i++)
		pthread_join(k->threads[i], NULL);
	pthread_cond_destroy(&k->more);
	pthread_mutex_destroy(&k->lock);
}
