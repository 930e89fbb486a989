#include "server_watch.h"

#include "base/auto.h"
#include "base/version.h"
#include "os/log.h"
#include "os/service.h"

#include <unistd.h>

#define PARTS 3 /* of its patience: one that is lost does no harm */

static bool is_alive(struct watch *w)
{
	int64_t silent_ms = store_silent_ms(w->store);
	bool    was_hung  = w->is_hung;

	w->is_hung = silent_ms >= w->limits->watchdog_store_ms;
	if (w->is_hung && !was_hung)
		log_error("server", 0, "hangs",
		          "part=store ms=%lld the service manager is not told any more that all is well",
		          (long long)silent_ms);
	return !w->is_hung;
}

static void on_time(struct timer *t, int64_t now_ms)
{
	struct watch *w = CONTAINER(t, struct watch, timer);

	if (is_alive(w))
		service_tell("WATCHDOG=1");
	timer_set(w->loop, t, now_ms + service_watchdog_ms() / PARTS);
}

void watch_init(struct watch *w, struct loop *loop, struct store *store, const struct limits *limits)
{
	*w = (struct watch){ .loop = loop, .store = store, .limits = limits };
	timer_init(&w->timer, on_time);
}

void watch_ready(struct watch *w)
{
	/* After a hand-over it may have missed who serves now. */
	service_tell("READY=1\nMAINPID=%ld\nSTATUS=coopd %s serves", (long)getpid(), COOPD_VERSION);
	if (service_watchdog_ms() > 0)
		timer_set(w->loop, &w->timer, loop_now_ms(w->loop));
}

void watch_stopping(struct watch *w)
{
	timer_clear(&w->timer);
	service_tell("STOPPING=1\nSTATUS=ends games and transfers, and commits what is kept");
}
