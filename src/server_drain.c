#include "server_drain.h"

#include "base/auto.h"
#include "base/event.h"
#include "os/clock.h"
#include "os/log.h"

static void on_deadline(struct timer *t, int64_t now_ms)
{
	struct drain *d = CONTAINER(t, struct drain, deadline);

	(void)now_ms;
	log_info("server", 0, "drained", "the deadline is over; those who are left are closed");
	d->parts.stop(d->parts.stop_arg);
}

void drain_init(struct drain *d, struct loop *loop, const struct drain_parts *parts)
{
	*d = (struct drain){ .loop = loop, .parts = *parts };
	timer_init(&d->deadline, on_deadline);
}

static void tell_parts(struct drain *d, bool on)
{
	const struct drain_parts *p = &d->parts;

	if (p->tunnel)
		tunnel_drain(p->tunnel, on);
	if (p->lobby)
		lobby_drain(p->lobby, on);
	if (p->rooms)
		rooms_drain(p->rooms, on);
	if (p->p2p)
		p2p_drain(p->p2p, on);
	health_set(p->health, on ? HEALTH_DRAINING : HEALTH_READY);
}

void drain_begin(struct drain *d, int64_t deadline_s)
{
	int64_t wall_ms = clock_wall_ms();

	if (!d->is_on)
		d->since_ms = wall_ms;
	d->is_on       = true;
	d->deadline_ms = deadline_s > 0 ? wall_ms + deadline_s * 1000 : 0;
	tell_parts(d, true);
	timer_clear(&d->deadline);
	if (deadline_s > 0)
		timer_set(d->loop, &d->deadline, loop_now_ms(d->loop) + deadline_s * 1000);
	event_emit(E_SERVER_DRAINING, event_bool("on", true));
	log_info("server", 0, "drains", "deadline=%llds", (long long)deadline_s);
}

void drain_end(struct drain *d)
{
	if (!d->is_on)
		return;
	d->is_on = false;
	timer_clear(&d->deadline);
	tell_parts(d, false);
	event_emit(E_SERVER_DRAINING, event_bool("on", false));
	log_info("server", 0, "drains-no-more", "new games are welcome again");
}
