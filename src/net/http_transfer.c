/*
 * Counts of transfers.
 */
#include "net/http_transfer.h"

#include "base/metric.h"

void http_transfers_init(struct http_transfers *all, size_t max, size_t per_address_max)
{
	*all = (struct http_transfers){ .max = max, .per_address_max = per_address_max };
	pthread_mutex_init(&all->lock, NULL);
	http_shares_init(&all->shares);
}

void http_transfers_fini(struct http_transfers *all)
{
	http_shares_fini(&all->shares);
	pthread_mutex_destroy(&all->lock);
}

static enum err take(struct http_transfer *t, struct http_transfers *all, const struct addr *client, bool exempt)
{
	enum err e = exempt ? ERR_OK : http_share_join(&t->share, &all->shares, client);

	if (e != ERR_OK)
		return e;
	if (http_share_over(&t->share, all->per_address_max))
		e = ERR_LIMIT;
	else if (all->count >= all->max)
		e = ERR_TRANSFERS;
	if (e != ERR_OK) {
		http_share_leave(&t->share, &all->shares);
		return e;
	}
	all->count++;
	t->is_counted = true;
	return ERR_OK;
}

enum err http_transfer_take(struct http_transfer *t, struct http_transfers *all, const struct addr *client, bool exempt)
{
	enum err e;

	*t = (struct http_transfer){ 0 };
	pthread_mutex_lock(&all->lock);
	e = take(t, all, client, exempt);
	pthread_mutex_unlock(&all->lock);
	if (e == ERR_OK)
		metric_inc(M_HTTP_TRANSFERS);
	else
		metric_inc(M_HTTP_REFUSED_TRANSFERS);
	return e;
}

void http_transfer_give(struct http_transfer *t, struct http_transfers *all)
{
	if (!t->is_counted)
		return;
	pthread_mutex_lock(&all->lock);
	http_share_leave(&t->share, &all->shares);
	all->count--;
	t->is_counted = false;
	pthread_mutex_unlock(&all->lock);
	metric_add(M_HTTP_TRANSFERS, -1);
}
