/*
 * Results for statistics (p2p.nat_history_days), without players and addresses: written when something else is, and given up when
 * the store has no room, for nobody waits for them.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "os/clock.h"
#include "store/nat.h"

#include <stdlib.h>

struct history_job {
	struct job       job;
	struct nat_found found;
	int64_t          wall_ms, keep_days;
};

static enum err run(struct job *job, struct db *db)
{
	const struct history_job *j = CONTAINER(job, struct history_job, job);

	return nat_count(db, &j->found, j->wall_ms, j->keep_days);
}

static void done(struct job *job, enum err result)
{
	(void)result;
	free(CONTAINER(job, struct history_job, job));
}

void p2p_nat_keep(struct p2p *p, const struct p2p_nat_result *r)
{
	struct history_job *j;

	if (p->conf->p2p_nat_history_days == 0)
		return;
	j = calloc(1, sizeof(*j));
	if (!j)
		return;
	j->job       = (struct job){ .surface = SURFACE_P2P, .lazy = true, .run = run, .done = done };
	j->found     = (struct nat_found){ .type       = (int)r->type,
		                           .reason     = (int)r->reason,
		                           .mapping    = (int)r->mapping,
		                           .conflict   = r->conflict,
		                           .is_partial = r->partial };
	j->wall_ms   = clock_wall_ms();
	j->keep_days = p->conf->p2p_nat_history_days;
	if (store_submit(p->store, &j->job) != ERR_OK)
		free(j);
}
