/* Counted in parts of span_ms, so that nothing is lost by rounding however often it is asked. */
#include "account/rate.h"

static int64_t missing_now(const struct rate *r, int64_t rate, int64_t now_ms)
{
	int64_t passed_ms = now_ms - r->at_ms;

	/* By division: a product could be too large. */
	return passed_ms > r->missing / rate ? 0 : r->missing - passed_ms * rate;
}

static bool is_there(int64_t missing, int64_t amount, int64_t span_ms, int64_t burst)
{
	return amount <= burst - missing / span_ms - (missing % span_ms != 0);
}

bool rate_has(const struct rate *r, int64_t amount, int64_t rate, int64_t span_ms, int64_t burst, int64_t now_ms)
{
	return is_there(missing_now(r, rate, now_ms), amount, span_ms, burst);
}

bool rate_take(struct rate *r, int64_t amount, int64_t rate, int64_t span_ms, int64_t burst, int64_t now_ms)
{
	r->missing = missing_now(r, rate, now_ms);
	r->at_ms   = now_ms;
	if (!is_there(r->missing, amount, span_ms, burst))
		return false;
	r->missing += amount * span_ms;
	return true;
}
