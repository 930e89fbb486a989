/*
 * What waits for the peers of the rooms: each has so much room, and all together have a budget. Who does not read loses his
 * connection, and nobody waits for him.
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"
#include "base/metric.h"

static void count(struct rooms *r, size_t more, size_t less)
{
	r->queued_bytes = r->queued_bytes + more - less;
	metric_set(M_ROOMS_QUEUED_BYTES, (int64_t)r->queued_bytes);
}

static struct rooms_peer *largest(const struct rooms *r)
{
	struct rooms_peer *most = NULL;

	for (struct list *at = r->waiting.next; at != &r->waiting; at = at->next) {
		struct rooms_peer *p = CONTAINER(at, struct rooms_peer, in_waiting);

		if (!most || p->out.bytes > most->out.bytes)
			most = p;
	}
	return most;
}

/* One that is on its way out already has had its chance to read. */
static void cut_short(struct rooms_peer *p)
{
	rooms_out_clear(p);
	if (p->tcp)
		tcp_reset(p->tcp);
}

static void keep_budget(struct rooms *r)
{
	while (r->queued_bytes > (size_t)r->conf->limits.rooms_output_total) {
		struct rooms_peer *p = largest(r);

		if (p->is_leaving)
			cut_short(p);
		else
			rooms_give_up(p, ROOMS_END_OUTPUT_BUDGET);
	}
}

bool rooms_out_put(struct rooms_peer *p, const void *bytes, size_t len, enum rooms_end *why)
{
	struct rooms *r     = p->rooms;
	struct iovec  piece = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };

	*why = p->out.bytes + len > (size_t)r->conf->limits.rooms_output ? ROOMS_END_OUTPUT : ROOMS_END_MEMORY;
	if (*why == ROOMS_END_OUTPUT || !chain_put(&p->out, &r->block_pool, &piece, 1))
		return false;
	count(r, len, 0);
	if (list_is_empty(&p->in_waiting))
		list_append(&r->waiting, &p->in_waiting);
	keep_budget(r);
	return true;
}

void rooms_out_sent(struct rooms_peer *p, size_t bytes)
{
	chain_drop(&p->out, &p->rooms->block_pool, bytes);
	count(p->rooms, 0, bytes);
	if (p->out.bytes == 0)
		list_remove(&p->in_waiting);
}

void rooms_out_clear(struct rooms_peer *p)
{
	count(p->rooms, 0, p->out.bytes);
	chain_clear(&p->out, &p->rooms->block_pool);
	list_remove(&p->in_waiting);
}
