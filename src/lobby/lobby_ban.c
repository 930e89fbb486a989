/*
 * Bans: lobbies of hosts who may not be here any more. Who comes to make or keep one is refused in lobby_host and lobby_beat,
 * and by net/http before that.
 */
#include "lobby/lobby_inside.h"

#include "base/auto.h"
#include "base/metric.h"
#include "os/log.h"

#include <string.h>

/* Of a direct lobby it is known also after a start, since joiners are told. */
static bool direct_addr(struct addr *out, const struct lobby *l)
{
	return l->is_direct && addr_parse(out, l->direct_addr, strlen(l->direct_addr), true) == ERR_OK;
}

static bool is_meant(const struct ban *b, const struct lobby *l)
{
	struct addr direct;

	return ban_is_identity(b, l->key) || ban_is_address(b, &l->client) ||
	       (direct_addr(&direct, l) && ban_is_address(b, &direct));
}

bool lobby_is_banned(const struct lobby *l)
{
	return ban_has_identity(l->key) || ban_has_address(&l->client);
}

void lobby_bury_banned(struct lobby_master *m, struct lobby *l)
{
	char id[LOBBY_ID_TEXT_BYTES];

	if (!l)
		return;
	lobby_keep_forget(m->keep, l->id);
	lobby_log_id(id, l->id);
	metric_inc(M_LOBBY_BANNED);
	log_info("lobby", 0, "banned", "lobby=%s live=%lld", id, (long long)lobby_count(m));
	lobby_free(l);
}

/* With the lock held. Pending ones are looked at when they are admitted. */
static size_t take_out(struct list *gone, struct lobby_master *m, const struct ban *b, bool end)
{
	struct list *next;
	size_t       count = 0;

	for (struct list *at = m->state.by_beat.next; at != &m->state.by_beat; at = next) {
		struct lobby *l = CONTAINER(at, struct lobby, by_beat);

		next = at->next;
		if (l->is_pending || !is_meant(b, l))
			continue;
		count++;
		if (!end)
			continue;
		lobby_remove(&m->state, l);
		list_append(gone, &l->by_beat);
	}
	return count;
}

size_t lobby_ban(struct lobby_master *m, const struct ban *b, bool end)
{
	struct list  gone;
	struct list *first;
	size_t       count;

	list_init(&gone);
	lobby_lock(m);
	count = take_out(&gone, m, b, end);
	lobby_unlock(m);
	while ((first = list_take_first(&gone)))
		lobby_bury_banned(m, CONTAINER(first, struct lobby, by_beat));
	return count;
}
