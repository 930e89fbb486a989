#include "server_drain.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/service.h"

#define LOOK_MS     5000
#define EMPTY_LOOKS 2 /* in a row: figures are some seconds old */

static void on_deadline(struct timer *t, int64_t now_ms)
{
	struct drain *d = CONTAINER(t, struct drain, deadline);

	(void)now_ms;
	timer_clear(&d->look);
	if (d->hands_over) {
		log_info("server", 0, "drained", "the deadline is over; a new process takes over");
		d->parts.hand_over(d->parts.arg);
		return;
	}
	log_info("server", 0, "drained", "the deadline is over; those who are left are closed");
	d->parts.stop(d->parts.arg);
}

/* Of those who would notice. */
static bool is_empty(void)
{
	static const enum metric left[] = { M_TUNNEL_GAMES, M_LOBBIES,           M_ROOMS_OPEN,    M_ROOMS_PLAYERS,
		                            M_P2P_SESSIONS, M_CLOUD_UPLOADS_NOW, M_HTTP_TRANSFERS };

	for (size_t i = 0; i < COUNT_OF(left); i++) {
		if (metric_get(left[i]) > 0)
			return false;
	}
	return true;
}

static void on_look(struct timer *t, int64_t now_ms)
{
	struct drain *d = CONTAINER(t, struct drain, look);

	d->empty_looks = is_empty() ? d->empty_looks + 1 : 0;
	if (d->empty_looks < EMPTY_LOOKS) {
		timer_set(d->loop, t, now_ms + LOOK_MS);
		return;
	}
	timer_clear(&d->deadline);
	log_info("server", 0, "drained", "nobody is left; a new process takes over");
	d->parts.hand_over(d->parts.arg);
}

void drain_init(struct drain *d, struct loop *loop, const struct drain_parts *parts)
{
	*d = (struct drain){ .loop = loop, .parts = *parts };
	timer_init(&d->deadline, on_deadline);
	timer_init(&d->look, on_look);
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

void drain_begin(struct drain *d, int64_t deadline_s, bool hands_over)
{
	int64_t wall_ms = clock_wall_ms();

	if (!d->is_on)
		d->since_ms = wall_ms;
	d->is_on       = true;
	d->hands_over  = hands_over;
	d->empty_looks = 0;
	d->deadline_ms = deadline_s > 0 ? wall_ms + deadline_s * 1000 : 0;
	tell_parts(d, true);
	timer_clear(&d->deadline);
	if (deadline_s > 0)
		timer_set(d->loop, &d->deadline, loop_now_ms(d->loop) + deadline_s * 1000);
	timer_clear(&d->look);
	if (hands_over)
		timer_set(d->loop, &d->look, loop_now_ms(d->loop) + LOOK_MS);
	event_emit(E_SERVER_DRAINING, event_bool("on", true));
	service_tell("STATUS=drains");
	log_info("server", 0, "drains", "deadline=%llds then=%s", (long long)deadline_s,
	         hands_over ? "hand-over" : "stop");
}

void drain_end(struct drain *d)
{
	if (!d->is_on)
		return;
	d->is_on      = false;
	d->hands_over = false;
	timer_clear(&d->deadline);
	timer_clear(&d->look);
	tell_parts(d, false);
	event_emit(E_SERVER_DRAINING, event_bool("on", false));
	service_tell("STATUS=serves");
	log_info("server", 0, "drains-no-more", "new games are welcome again");
}
