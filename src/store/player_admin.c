#include "store/player_admin.h"

#include "store/campaign_rows.h"

#include <string.h>

enum err player_list(struct db *db, const uint8_t first[PLAYER_ID_BYTES], const uint8_t last[PLAYER_ID_BYTES],
                     int64_t max, enum err (*each)(const struct player_summary *p, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_EACH_ADMIN);
	enum err   e;

	q_blob(&q, ":first", first, PLAYER_ID_BYTES);
	q_blob(&q, ":last", last, PLAYER_ID_BYTES);
	q_int(&q, ":max", max);
	while ((e = q_row(&q)) == ERR_OK) {
		struct player_summary p = { .made_ms    = q_get_int(&q, 1),
			                    .code       = q_get_int(&q, 2),
			                    .seen_ms    = q_get_int(&q, 3),
			                    .campaigns  = q_get_int(&q, 4),
			                    .bytes      = q_get_int(&q, 5),
			                    .is_hosting = q_get_int(&q, 6) != 0 };

		q_get_blob(&q, 0, p.id, sizeof(p.id));
		e = each(&p, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err player_of_code(uint8_t id[PLAYER_ID_BYTES], struct db *db, int64_t code)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_OF_CODE);

	q_int(&q, ":code", code);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		q_get_blob(&q, 0, id, PLAYER_ID_BYTES);
	return e;
}

enum err player_campaigns(struct db *db, const uint8_t player[PLAYER_ID_BYTES], int64_t max,
                          enum err (*each)(const struct player_campaign *c, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_CAMPAIGNS);
	enum err   e;

	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	q_int(&q, ":max", max);
	while ((e = q_row(&q)) == ERR_OK) {
		struct player_campaign c = { .bytes     = q_get_int(&q, 2),
			                     .stored_ms = q_get_int(&q, 3),
			                     .owns      = q_get_int(&q, 4) != 0 };
		struct checkpoint_row  two[2];

		q_get_blob(&q, 1, c.id, sizeof(c.id));
		e = checkpoint_newest(two, db, q_get_int(&q, 0), false);
		if (e == ERR_OK && two[0].version != 0)
			memcpy(c.name, two[0].meta.name, sizeof(c.name));
		if (e == ERR_OK)
			e = each(&c, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err find_largest(int64_t *out, struct db *db, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_LARGEST);

	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = q_get_int(&q, 0);
	return e;
}

enum err player_quota(struct player_quota *out, struct db *db, const uint8_t player[PLAYER_ID_BYTES],
                      const struct limits *limits)
{
	enum err e = quota_figures(&out->figures, db, player, limits);

	if (e == ERR_OK)
		e = find_largest(&out->largest, db, player);
	if (e != ERR_OK)
		return e;
	out->own = (struct quota_override){ -1, -1, -1 };
	e        = quota_get_player(&out->own, db, player);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
