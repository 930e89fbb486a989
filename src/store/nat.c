/* Counted by day, so that the table stays small however many checks there are. */
#include "store/nat.h"

#include "store/db.h"

#define DAY_MS INT64_C(86400000)

static enum err forget(struct db *db, int64_t before_day)
{
	AUTO_QUERY q = db_query(db, Q_NAT_FORGET);

	q_int(&q, ":before_day", before_day);
	return q_done(&q);
}

enum err nat_count(struct db *db, const struct nat_found *found, int64_t wall_ms, int64_t keep_days)
{
	int64_t  day = wall_ms / DAY_MS;
	enum err e   = forget(db, day - keep_days + 1);
	if (e != ERR_OK)
		return e;

	AUTO_QUERY q = db_query(db, Q_NAT_COUNT);

	q_int(&q, ":day", day);
	q_int(&q, ":type", found->type);
	q_int(&q, ":reason", found->reason);
	q_int(&q, ":mapping", found->mapping);
	q_int(&q, ":conflict", found->conflict);
	q_int(&q, ":is_partial", found->is_partial);
	return q_done(&q);
}
