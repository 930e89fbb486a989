#include "net/tls_watch.h"

#include "base/event.h"
#include "base/metric.h"
#include "os/clock.h"
#include "os/log.h"

#define DAY_S    86400
#define SOON_S   (14 * DAY_S)
#define DAILY_MS ((int64_t)DAY_S * 1000)

static void warn(const struct tls_dates *d, int64_t now_s)
{
	int64_t left_s = d->until_s - now_s;
	char    from[EVENT_TIME_BYTES], until[EVENT_TIME_BYTES];

	event_time(from, d->from_s * 1000);
	event_time(until, d->until_s * 1000);
	if (left_s <= 0)
		log_warn("tls", 0, "certificate-ended",
		         "until=%s: clients refuse it; renew the file of tls.cert, then reload coopd", until);
	else if (d->from_s > now_s)
		log_warn("tls", 0, "certificate-early",
		         "from=%s: clients refuse it until then; is the clock of this machine right?", from);
	else if (left_s < SOON_S)
		log_warn("tls", 0, "certificate-ends",
		         "until=%s days=%lld: renew the file of tls.cert, then reload coopd", until,
		         (long long)(left_s / DAY_S));
}

/* The next look is a day away. */
static void look(struct tls_watch *w)
{
	warn(&w->dates, clock_wall_ms() / 1000);
	timer_set(w->loop, &w->daily, loop_now_ms(w->loop) + DAILY_MS);
}

static void on_day(struct timer *t, int64_t now_ms)
{
	(void)now_ms;
	look(CONTAINER(t, struct tls_watch, daily));
}

void tls_watch_use(struct tls_watch *w, const struct tls_cert *cert)
{
	char until[EVENT_TIME_BYTES];

	if (!cert)
		return;
	w->dates = tls_cert_dates(cert);
	metric_set(M_TLS_CERTIFICATE_START, w->dates.from_s);
	metric_set(M_TLS_CERTIFICATE_EXPIRY, w->dates.until_s);
	event_time(until, w->dates.until_s * 1000);
	log_info("tls", 0, "certificate", "until=%s", until);
	look(w);
}

void tls_watch_start(struct tls_watch *w, struct loop *l, const struct tls_cert *cert)
{
	w->loop = l;
	timer_init(&w->daily, on_day);
	tls_watch_use(w, cert);
}
