#include "cloud/cloud_live.h"

#include <string.h>

void live_all_init(struct live_all *all)
{
	pthread_mutex_init(&all->lock, NULL);
	list_init(&all->list);
}

void live_all_fini(struct live_all *all)
{
	pthread_mutex_destroy(&all->lock);
}

void live_enter(struct live_all *all, struct live *l)
{
	atomic_store(&l->cut_to, -1);
	list_init(&l->in_all);
	pthread_mutex_lock(&all->lock);
	list_append(&all->list, &l->in_all);
	pthread_mutex_unlock(&all->lock);
}

void live_leave(struct live_all *all, struct live *l)
{
	pthread_mutex_lock(&all->lock);
	list_remove(&l->in_all);
	pthread_mutex_unlock(&all->lock);
}

bool live_is_cut(const struct live *l, int64_t reservation)
{
	int64_t cut_to = atomic_load(&l->cut_to);

	if (!l->is_upload)
		return cut_to >= 0;
	return reservation > 0 && reservation <= cut_to;
}

static void count(struct live_count *out, const struct live *l)
{
	if (l->is_upload)
		out->uploads++;
	else
		out->downloads++;
}

static bool is_of(const struct live *l, const uint8_t *campaign)
{
	return memcmp(l->campaign, campaign, CAMPAIGN_ID_BYTES) == 0;
}

struct live_count live_count(struct live_all *all, const uint8_t campaign[CAMPAIGN_ID_BYTES])
{
	struct live_count out = { 0 };

	pthread_mutex_lock(&all->lock);
	for (struct list *at = all->list.next; at != &all->list; at = at->next) {
		const struct live *l = CONTAINER(at, struct live, in_all);

		if (is_of(l, campaign))
			count(&out, l);
	}
	pthread_mutex_unlock(&all->lock);
	return out;
}

struct live_count live_cut(struct live_all *all, const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t last_upload)
{
	struct live_count out = { 0 };

	pthread_mutex_lock(&all->lock);
	for (struct list *at = all->list.next; at != &all->list; at = at->next) {
		struct live *l = CONTAINER(at, struct live, in_all);

		if (!is_of(l, campaign))
			continue;
		count(&out, l);
		atomic_store(&l->cut_to, last_upload);
		if (l->on_cut)
			l->on_cut(l);
	}
	pthread_mutex_unlock(&all->lock);
	return out;
}
