/*
 * Two plain lists. Both are short: connections bound the uploads, and the disk how many are accepted in an interval.
 */
#include "store/reserve.h"

#include "base/metric.h"

#include <string.h>

struct accepted {
	uint8_t player[PLAYER_ID_BYTES];
	int64_t mono_ms;
};

struct reserve {
	struct reservation *rows;
	size_t              count, cap;
	int64_t             last_id;
	struct accepted    *accepted;
	size_t              accepted_count, accepted_cap;
};

enum err reserve_new(struct reserve **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? ERR_OK : ERR_NOMEM;
}

void reserve_free(struct reserve *r)
{
	if (!r)
		return;
	free(r->rows);
	free(r->accepted);
	free(r);
}

static bool is_same(const uint8_t *a, const uint8_t *b, size_t len)
{
	return memcmp(a, b, len) == 0;
}

static void add(struct reserve_sums *s, const struct reservation *row, const struct reservation *asked,
                const uint8_t *charged)
{
	bool same_owner    = is_same(row->owner, asked->owner, sizeof(row->owner));
	bool same_campaign = is_same(row->campaign, asked->campaign, sizeof(row->campaign));

	s->all += row->bytes;
	if (!row->exempt && is_same(row->addr, asked->addr, sizeof(row->addr)))
		s->addr += row->bytes;
	if (is_same(row->charged, charged, sizeof(row->charged)))
		s->charged += row->bytes;
	if (same_owner)
		s->owner += row->bytes;
	if (same_campaign)
		s->campaign += row->bytes;
	if (same_owner && !same_campaign && row->number == 0)
		s->campaigns++;
}

struct reserve_sums reserve_sum(const struct reserve *r, const struct reservation *asked,
                                const uint8_t charged[PLAYER_ADDR_BYTES])
{
	struct reserve_sums s = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		if (r->rows[i].id != asked->id)
			add(&s, &r->rows[i], asked, charged);
	}
	return s;
}

int64_t reserve_total(const struct reserve *r)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < r->count; i++)
		bytes += r->rows[i].bytes;
	return bytes;
}

/* Room for one more; the old array stays when there is no memory. */
static enum err grow(void **array, size_t *cap, size_t count, size_t each)
{
	if (count < *cap)
		return ERR_OK;
	size_t more   = *cap ? *cap * 2 : 16;
	void  *bigger = realloc(*array, more * each);
	if (!bigger)
		return ERR_NOMEM;
	*array = bigger;
	*cap   = more;
	return ERR_OK;
}

enum err reserve_add(struct reserve *r, struct reservation *row)
{
	void    *rows = r->rows;
	enum err e    = grow(&rows, &r->cap, r->count, sizeof(*r->rows));

	r->rows = rows;
	if (e != ERR_OK)
		return e;
	row->id             = ++r->last_id;
	r->rows[r->count++] = *row;
	metric_add(M_CLOUD_RESERVED_BYTES, row->bytes);
	metric_add(M_CLOUD_UPLOADS_NOW, 1);
	return ERR_OK;
}

struct reservation *reserve_find(struct reserve *r, int64_t id)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->rows[i].id == id)
			return &r->rows[i];
	}
	return NULL;
}

void reserve_resize(struct reservation *row, int64_t bytes)
{
	metric_add(M_CLOUD_RESERVED_BYTES, bytes - row->bytes);
	row->bytes = bytes;
}

bool reserve_take(struct reservation *out, struct reserve *r, int64_t id)
{
	struct reservation *row = reserve_find(r, id);

	if (!row)
		return false;
	*out = *row;
	*row = r->rows[--r->count];
	metric_add(M_CLOUD_RESERVED_BYTES, -out->bytes);
	metric_add(M_CLOUD_UPLOADS_NOW, -1);
	return true;
}

int64_t reserve_disown(struct reserve *r, const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t number)
{
	for (size_t i = 0; i < r->count; i++) {
		if (is_same(r->rows[i].campaign, campaign, CAMPAIGN_ID_BYTES))
			r->rows[i].number = number;
	}
	return r->last_id;
}

static void forget_accepted(struct reserve *r, const uint8_t *player)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->accepted_count; i++) {
		if (!is_same(r->accepted[i].player, player, PLAYER_ID_BYTES))
			r->accepted[kept++] = r->accepted[i];
	}
	r->accepted_count = kept;
}

void reserve_drop(struct reserve *r, const uint8_t player[PLAYER_ID_BYTES])
{
	struct reservation dropped;

	for (size_t i = r->count; i > 0; i--) {
		if (is_same(r->rows[i - 1].digest, player, PLAYER_ID_BYTES))
			reserve_take(&dropped, r, r->rows[i - 1].id);
	}
	forget_accepted(r, player);
}

bool reserve_has(const struct reserve *r, const uint8_t player[PLAYER_ID_BYTES])
{
	for (size_t i = 0; i < r->count; i++) {
		if (is_same(r->rows[i].digest, player, PLAYER_ID_BYTES))
			return true;
	}
	return false;
}

/* In the order of time, so those that no longer matter stand first. */
static void forget(struct reserve *r, int64_t before_ms)
{
	size_t old = 0;

	while (old < r->accepted_count && r->accepted[old].mono_ms <= before_ms)
		old++;
	if (old == 0)
		return;
	r->accepted_count -= old;
	memmove(r->accepted, r->accepted + old, r->accepted_count * sizeof(*r->accepted));
}

enum err reserve_accept(struct reserve *r, const uint8_t player[PLAYER_ID_BYTES], int64_t mono_ms, int64_t interval_ms)
{
	forget(r, mono_ms - interval_ms);
	if (interval_ms == 0)
		return ERR_OK;

	void    *rows = r->accepted;
	enum err e    = grow(&rows, &r->accepted_cap, r->accepted_count, sizeof(*r->accepted));

	r->accepted = rows;
	if (e != ERR_OK)
		return e;
	struct accepted *a = &r->accepted[r->accepted_count++];
	memcpy(a->player, player, sizeof(a->player));
	a->mono_ms = mono_ms;
	return ERR_OK;
}

int64_t reserve_since(const struct reserve *r, const uint8_t player[PLAYER_ID_BYTES], int64_t mono_ms)
{
	for (size_t i = r->accepted_count; i > 0; i--) {
		if (is_same(r->accepted[i - 1].player, player, PLAYER_ID_BYTES))
			return mono_ms - r->accepted[i - 1].mono_ms;
	}
	return INT64_MAX;
}
