/*
 * Players, their codes, and the sweep that gives codes back.
 *
 * Marking does not touch the codes: a day of uptime notes up to which day of use codes were marked on it. A code that
 * is used again has moved past every mark by that. So a mark for a million codes costs one row.
 */
#include "store/player.h"

#include "crypt/hash.h"
#include "store/db.h"
#include "store/upkeep.h"

#include <string.h>

#define CODE_RANGE          900000
#define NEW_PLAYER_KEEP_MS  INT64_C(7200000) /* limits look back an hour */
#define NEW_PLAYER_AHEAD_MS UPTIME_DAY_MS    /* a clock that was set back */

bool player_is_open(const uint8_t digest[PLAYER_DIGEST_BYTES])
{
	static const uint8_t unknown[PLAYER_DIGEST_BYTES - PLAYER_ID_BYTES];

	return memcmp(digest + PLAYER_ID_BYTES, unknown, sizeof(unknown)) == 0;
}

enum err player_adopt(struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_ADOPT);

	q_blob(&q, ":id", digest, PLAYER_ID_BYTES);
	q_blob(&q, ":digest", digest, PLAYER_DIGEST_BYTES);
	return q_done(&q);
}

static enum err insert_player(struct db *db, const struct player_row *row)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_INSERT);

	q_blob(&q, ":id", row->digest, PLAYER_ID_BYTES);
	q_blob(&q, ":digest", row->digest, PLAYER_DIGEST_BYTES);
	q_int(&q, ":now_ms", row->used_ms);
	enum err e = q_done(&q);
	return e == ERR_OK && q_changed(&q) == 0 ? ERR_EXISTS : e;
}

static enum err insert_code(struct db *db, const struct player_row *row)
{
	AUTO_QUERY q = db_query(db, Q_CODE_INSERT);

	q_int(&q, ":code", row->code);
	q_blob(&q, ":player", row->digest, PLAYER_ID_BYTES);
	q_int(&q, ":used_ms", row->used_ms);
	q_int(&q, ":joined", row->joined);
	return q_done(&q);
}

static enum err insert(struct db *db, const struct player_row *row)
{
	enum err e = insert_player(db, row);

	return e == ERR_OK ? insert_code(db, row) : e;
}

static enum err note_new(struct db *db, const uint8_t addr[PLAYER_ADDR_BYTES], int64_t at_ms)
{
	AUTO_QUERY q = db_query(db, Q_NEW_PLAYER_ADD);

	q_blob(&q, ":addr", addr, PLAYER_ADDR_BYTES);
	q_int(&q, ":at_ms", at_ms);
	return q_done(&q);
}

enum err player_add(struct db *db, const struct player_row *row, const uint8_t addr[PLAYER_ADDR_BYTES])
{
	enum err e = insert(db, row);

	return e == ERR_OK ? note_new(db, addr, row->used_ms) : e;
}

enum err player_add_without_code(struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES],
                                 const uint8_t addr[PLAYER_ADDR_BYTES], int64_t now_ms)
{
	struct player_row row = { .used_ms = now_ms };

	memcpy(row.digest, digest, sizeof(row.digest));
	enum err e = insert_player(db, &row);
	return e == ERR_OK ? note_new(db, addr, now_ms) : e;
}

enum err player_find(int64_t *made_ms, struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_FIND);
	uint8_t    found[PLAYER_DIGEST_BYTES];

	q_blob(&q, ":id", digest, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	q_get_blob(&q, 0, found, sizeof(found));
	if (!player_is_open(found) && !equal_secret(found, digest, sizeof(found)))
		return ERR_NOT_ALLOWED;
	*made_ms = q_get_int(&q, 1);
	return ERR_OK;
}

enum err player_is_known(struct db *db, const uint8_t id[PLAYER_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_FIND);

	q_blob(&q, ":id", id, PLAYER_ID_BYTES);
	return q_row(&q);
}

enum err player_check(struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES])
{
	int64_t  made_ms;
	enum err e = player_find(&made_ms, db, digest);

	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	return e == ERR_NOT_ALLOWED ? ERR_NOT_FOUND : e;
}

enum err player_touch(struct db *db, const struct player_row *row)
{
	AUTO_QUERY q = db_query(db, Q_CODE_TOUCH);

	q_int(&q, ":code", row->code);
	q_blob(&q, ":player", row->digest, PLAYER_ID_BYTES);
	q_int(&q, ":used_ms", row->used_ms);
	q_int(&q, ":joined", row->joined);

	enum err e = q_done(&q);
	if (e == ERR_OK && q_changed(&q) == 0)
		return insert(db, row);
	return e == ERR_OK ? player_adopt(db, row->digest) : e;
}

enum err player_change_code(struct db *db, const struct player_row *row, uint32_t from)
{
	AUTO_QUERY q = db_query(db, Q_CODE_CHANGE);

	q_int(&q, ":from", from);
	q_int(&q, ":code", row->code);
	q_blob(&q, ":player", row->digest, PLAYER_ID_BYTES);
	q_int(&q, ":used_ms", row->used_ms);

	enum err e = q_done(&q);
	return e == ERR_OK && q_changed(&q) == 0 ? ERR_NOT_FOUND : e;
}

static enum err remove_by_id(struct db *db, enum query what, const char *name, const uint8_t *id)
{
	AUTO_QUERY q = db_query(db, what);

	q_blob(&q, name, id, PLAYER_ID_BYTES);
	return q_done(&q);
}

enum err player_remove_code(struct db *db, const uint8_t id[PLAYER_ID_BYTES])
{
	enum err e = remove_by_id(db, Q_CODE_REMOVE, ":player", id);

	return e == ERR_OK ? remove_by_id(db, Q_PLAYER_REMOVE, ":id", id) : e;
}

enum err player_digest(uint8_t digest[PLAYER_DIGEST_BYTES], struct db *db, const uint8_t id[PLAYER_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_FIND);

	q_blob(&q, ":id", id, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		q_get_blob(&q, 0, digest, PLAYER_DIGEST_BYTES);
	return e;
}

enum err player_each(struct db *db, enum err (*each)(const struct player_row *row, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_CODE_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct player_row row = {
			.code    = (uint32_t)q_get_int(&q, 1),
			.used_ms = q_get_int(&q, 2),
			.joined  = q_get_int(&q, 3) != 0,
		};
		q_get_blob(&q, 0, row.digest, sizeof(row.digest));
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err player_each_new(struct db *db, int64_t                                                               since_ms,
                         void (*each)(const uint8_t addr[PLAYER_ADDR_BYTES], int64_t at_ms, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_NEW_PLAYER_EACH);
	enum err   e;

	q_int(&q, ":since_ms", since_ms);
	while ((e = q_row(&q)) == ERR_OK) {
		uint8_t addr[PLAYER_ADDR_BYTES];

		q_get_blob(&q, 0, addr, sizeof(addr));
		each(addr, q_get_int(&q, 1), arg);
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* One sweep under way. */
struct sweep {
	struct db                 *db;
	const struct player_sweep *rules;
	int64_t                    day; /* of uptime */
	uint8_t                   *digests;
	size_t                     count;
};

static enum err use_live(struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_CODE_USE_LIVE);

	q_int(&q, ":used_ms", s->rules->wall_ms);
	q_int(&q, ":used_day", s->day);
	return q_done(&q);
}

static enum err mark(struct sweep *s)
{
	int64_t marked_to = s->day - s->rules->code_days;
	if (marked_to < 0)
		return ERR_OK;

	AUTO_QUERY q = db_query(s->db, Q_UPTIME_MARK);

	q_int(&q, ":marked_to", marked_to);
	q_int(&q, ":day", s->day);
	return q_done(&q);
}

/* The last day of use that was marked long enough ago; -1 when there is none. */
static enum err find_expired_day(int64_t *out, const struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_UPTIME_MARKED);

	q_int(&q, ":day", s->day - s->rules->marked_days);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	*out = q_get_null(&q, 0) ? -1 : q_get_int(&q, 0);
	/* An operator who made the time longer means the codes that are marked, too. */
	if (*out > s->day - s->rules->code_days)
		*out = s->day - s->rules->code_days;
	return ERR_OK;
}

static int64_t room_left(const struct sweep *s)
{
	return PLAYER_SWEEP_MAX - (int64_t)s->count;
}

/* Takes over the digests that the query finds, max at most, which is no more than there is room for. */
static enum err collect(struct sweep *s, struct statement *q, int64_t max)
{
	enum err e;

	q_int(q, ":max", max);
	while ((e = q_row(q)) == ERR_OK) {
		q_get_blob(q, 0, s->digests + s->count * PLAYER_DIGEST_BYTES, PLAYER_DIGEST_BYTES);
		s->count++;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* Those collected from number first on. A query that still walks over the rows must be over. */
static enum err remove_from(struct sweep *s, size_t first)
{
	for (size_t i = first; i < s->count; i++) {
		const uint8_t *id = s->digests + i * PLAYER_DIGEST_BYTES;

		enum err e = player_remove_code(s->db, id);
		if (e != ERR_OK)
			return e;
	}
	return ERR_OK;
}

static enum err collect_expired(struct sweep *s)
{
	int64_t  expired_day;
	enum err e = find_expired_day(&expired_day, s);
	if (e != ERR_OK || expired_day < 0)
		return e;

	AUTO_QUERY q = db_query(s->db, Q_CODE_EXPIRED);

	q_int(&q, ":used_day", expired_day);
	return collect(s, &q, room_left(s));
}

/* How many codes are taken beyond the share of the range at which sparing begins. */
static enum err count_surplus(int64_t *out, const struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_CODE_COUNT);
	enum err   e = q_row(&q);

	if (e == ERR_OK)
		*out = q_get_int(&q, 0) - CODE_RANGE * s->rules->spare_percent / 100;
	return e;
}

/*
 * Unused both by the clock and by days of uptime: the codes of a server that was off for a week, or whose clock was
 * far ahead when it started, have not aged by that.
 */
static enum err collect_spare(struct sweep *s)
{
	int64_t  surplus;
	enum err e = count_surplus(&surplus, s);
	if (e != ERR_OK || surplus <= 0)
		return e;

	AUTO_QUERY q = db_query(s->db, Q_CODE_SPARE);

	q_int(&q, ":used_day", s->day - s->rules->spare_ms / UPTIME_DAY_MS);
	q_int(&q, ":used_ms", s->rules->wall_ms - s->rules->spare_ms);
	return collect(s, &q, surplus < room_left(s) ? surplus : room_left(s));
}

static enum err prune_new_players(struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_NEW_PLAYER_PRUNE);

	q_int(&q, ":from_ms", s->rules->wall_ms - NEW_PLAYER_KEEP_MS);
	q_int(&q, ":to_ms", s->rules->wall_ms + NEW_PLAYER_AHEAD_MS);
	return q_done(&q);
}

static enum err remove_expired(struct sweep *s)
{
	enum err e = collect_expired(s);

	return e == ERR_OK ? remove_from(s, 0) : e;
}

static enum err remove_spare(struct sweep *s)
{
	size_t   first = s->count;
	enum err e     = collect_spare(s);

	return e == ERR_OK ? remove_from(s, first) : e;
}

enum err player_sweep(uint8_t **digests, size_t *count, struct db *db, const struct player_sweep *rules)
{
	static enum err (*const steps[])(struct sweep * s) = { use_live, mark, remove_expired, remove_spare,
		                                               prune_new_players };
	struct upkeep today;

	enum err e = upkeep_look(&today, db, rules->wall_ms, rules->mono_ms);
	if (e != ERR_OK)
		return e;

	struct sweep             s     = { .db = db, .rules = rules, .day = today.day };
	AUTO(auto_free) uint8_t *found = malloc((size_t)PLAYER_SWEEP_MAX * PLAYER_DIGEST_BYTES);
	if (!found)
		return ERR_NOMEM;
	s.digests = found;
	for (size_t i = 0; today.trusted && i < COUNT_OF(steps); i++) {
		e = steps[i](&s);
		if (e != ERR_OK)
			return e;
	}
	*digests = TAKE(found);
	*count   = s.count;
	return ERR_OK;
}
