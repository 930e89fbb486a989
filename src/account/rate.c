/* Counted in parts of span_ms, so that nothing is lost by rounding however often it is asked. */
#include "account/rate.h"

bool rate_take(struct rate *r, int64_t amount, int64_t rate, int64_t span_ms, int64_t burst, int64_t now_ms)
{
	int64_t passed_ms = now_ms - r->at_ms;

	/* By division: a product could be too large. */
	r->missing = passed_ms > r->missing / rate ? 0 : r->missing - passed_ms * rate;
	r->at_ms   = now_ms;
	if (amount > burst - r->missing / span_ms - (r->missing % span_ms != 0))
		return false;
	r->missing += amount * span_ms;
	return true;
}
