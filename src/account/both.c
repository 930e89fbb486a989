#include "account/both.h"

bool both_count_init(struct both_count *c, int64_t max, size_t keys_max, uint64_t seed)
{
	c->of_address = count_new(max, keys_max, seed);
	c->of_wide    = count_new(max * BOTH_FACTOR, keys_max, seed + 1);
	if (c->of_address && c->of_wide)
		return true;
	both_count_fini(c);
	return false;
}

void both_count_fini(struct both_count *c)
{
	count_freep(&c->of_address);
	count_freep(&c->of_wide);
	*c = (struct both_count){ 0 };
}

bool both_count_take(struct both_count *c, const struct both_keys *k)
{
	if (!count_take(c->of_address, k->address))
		return false;
	if (!k->has_wide || count_take(c->of_wide, k->wide))
		return true;
	count_give(c->of_address, k->address);
	return false;
}

void both_count_add(struct both_count *c, const struct both_keys *k)
{
	count_add(c->of_address, k->address);
	if (k->has_wide)
		count_add(c->of_wide, k->wide);
}

void both_count_give(struct both_count *c, const struct both_keys *k)
{
	count_give(c->of_address, k->address);
	if (k->has_wide)
		count_give(c->of_wide, k->wide);
}

bool both_window_init(struct both_window *w, int64_t max, int64_t span_ms, size_t keys_max, uint64_t seed)
{
	w->of_address = window_new(max, span_ms, keys_max, seed);
	w->of_wide    = window_new(max * BOTH_FACTOR, span_ms, keys_max, seed + 1);
	if (w->of_address && w->of_wide)
		return true;
	both_window_fini(w);
	return false;
}

void both_window_fini(struct both_window *w)
{
	window_freep(&w->of_address);
	window_freep(&w->of_wide);
	*w = (struct both_window){ 0 };
}

bool both_window_is_full(struct both_window *w, const struct both_keys *k, int64_t now_ms)
{
	return window_is_full(w->of_address, k->address, now_ms) ||
	       (k->has_wide && window_is_full(w->of_wide, k->wide, now_ms));
}

bool both_window_take(struct both_window *w, const struct both_keys *k, int64_t now_ms)
{
	if (both_window_is_full(w, k, now_ms) || !window_take(w->of_address, k->address, now_ms))
		return false;
	if (k->has_wide)
		window_note(w->of_wide, k->wide, now_ms);
	return true;
}

bool both_bucket_init(struct both_bucket *b, int64_t rate_per_s, int64_t burst, size_t keys_max, uint64_t seed)
{
	b->of_address = bucket_new(rate_per_s, burst, keys_max, seed);
	b->of_wide    = bucket_new(rate_per_s * BOTH_FACTOR, burst * BOTH_FACTOR, keys_max, seed + 1);
	if (b->of_address && b->of_wide)
		return true;
	both_bucket_fini(b);
	return false;
}

void both_bucket_fini(struct both_bucket *b)
{
	bucket_freep(&b->of_address);
	bucket_freep(&b->of_wide);
	*b = (struct both_bucket){ 0 };
}

bool both_bucket_take(struct both_bucket *b, const struct both_keys *k, int64_t now_ms)
{
	return bucket_take(b->of_address, k->address, now_ms) &&
	       (!k->has_wide || bucket_take(b->of_wide, k->wide, now_ms));
}
