/*
 * Members of campaigns.
 *
 * Somebody who is no longer a member stays as a row, so that a text does not put him back: one whom the owner removed
 * never, one who left only if he ever used the campaign (else naming him would be a way to pester him); one who was forgotten
 * (store/forget.h) not before he is known again. Of such rows
 * there are so many at most; then whom the owner adds takes the place of one.
 */
#include "store/campaign_rows.h"
#include "store/forget.h"

#include <string.h>

#define ROWS_MAX 512 /* of one campaign, those who are no members any more included */

enum err campaign_each_member(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                              enum err (*each)(const uint8_t player[PLAYER_ID_BYTES], void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_MEMBER_EACH);
	enum err   e;

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	while ((e = q_row(&q)) == ERR_OK) {
		uint8_t player[PLAYER_ID_BYTES];

		q_get_blob(&q, 0, player, sizeof(player));
		e = each(player, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

struct member {
	bool              is_known; /* there is a row */
	enum member_state state;
	bool              used;
};

static enum err find(struct member *out, struct db *db, int64_t number, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_MEMBER_FIND);

	*out = (struct member){ 0 };
	q_int(&q, ":campaign", number);
	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = (struct member){ true, (enum member_state)q_get_int(&q, 0), q_get_int(&q, 1) != 0 };
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err member_put(struct db *db, int64_t number, const uint8_t player[PLAYER_ID_BYTES], enum member_state state)
{
	AUTO_QUERY q = db_query(db, Q_MEMBER_PUT);

	q_int(&q, ":campaign", number);
	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	q_int(&q, ":state", state);
	return q_done(&q);
}

struct count {
	int64_t members, rows;
};

static enum err count_all(struct count *out, struct db *db, int64_t number)
{
	AUTO_QUERY q = db_query(db, Q_MEMBER_COUNT);

	q_int(&q, ":campaign", number);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = (struct count){ q_get_int(&q, 0), q_get_int(&q, 1) };
	return e;
}

enum err member_look(bool *is_member, int64_t *members, struct db *db, int64_t number,
                     const uint8_t player[PLAYER_ID_BYTES])
{
	struct member m;
	struct count  has;
	enum err      e = find(&m, db, number, player);

	if (e == ERR_OK)
		e = count_all(&has, db, number);
	if (e != ERR_OK)
		return e;
	*is_member = m.is_known && m.state == MEMBER_IS;
	*members   = has.members;
	return ERR_OK;
}

/*
 * Becomes a member if there is room; else ERR_MEMBERS. by_owner: of those who are none any more, one is forgotten for
 * him; else the owner of a campaign in which many came and went could add nobody.
 */
static enum err join(struct db *db, int64_t number, const uint8_t *player, const struct member *m, bool by_owner,
                     const struct limits *limits)
{
	struct count has;
	enum err     e = count_all(&has, db, number);

	if (e != ERR_OK)
		return e;
	bool full = !m->is_known && has.rows >= ROWS_MAX;
	if (has.members >= limits->cloud_members || (full && !by_owner))
		return ERR_MEMBERS;
	if (full)
		e = campaign_run(db, Q_MEMBER_FORGET_ONE, number);
	return e == ERR_OK ? member_put(db, number, player, MEMBER_IS) : e;
}

static enum err name(struct db *db, int64_t number, const uint8_t *player, const struct limits *limits)
{
	struct member m;
	bool          forgotten;
	enum err      e = find(&m, db, number, player);

	if (e != ERR_OK)
		return e;
	if (m.is_known && !(m.state == MEMBER_LEFT && m.used))
		return ERR_OK;
	e = forgotten_is(&forgotten, db, player);
	if (e != ERR_OK || forgotten)
		return e;
	e = join(db, number, player, &m, false, limits);
	return e == ERR_MEMBERS ? ERR_OK : e;
}

enum err members_name(struct db *db, const struct campaign_at *at, const uint8_t (*members)[PLAYER_ID_BYTES],
                      size_t count, const struct limits *limits)
{
	enum err e = ERR_OK;

	for (size_t i = 0; i < count && i < CAMPAIGN_NAMED_MAX && e == ERR_OK; i++) {
		if (memcmp(members[i], at->owner, PLAYER_ID_BYTES) != 0)
			e = name(db, at->number, members[i], limits);
	}
	return e;
}

enum err member_use(struct db *db, int64_t number, const uint8_t player[PLAYER_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_MEMBER_USED);

	q_int(&q, ":campaign", number);
	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	return q_done(&q);
}

enum err campaign_member_add(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const uint8_t owner[PLAYER_ID_BYTES],
                             const uint8_t member[PLAYER_ID_BYTES], const struct limits *limits)
{
	struct campaign_at at;
	struct member      m = { .is_known = false };

	enum err e = campaign_look_as_owner(&at, db, id, owner);
	if (e == ERR_OK)
		e = find(&m, db, at.number, member);
	if (e != ERR_OK || memcmp(owner, member, PLAYER_ID_BYTES) == 0 || (m.is_known && m.state == MEMBER_IS))
		return e;
	return join(db, at.number, member, &m, true, limits);
}

enum err campaign_member_remove(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                                const uint8_t owner[PLAYER_ID_BYTES], const uint8_t member[PLAYER_ID_BYTES])
{
	struct campaign_at at;
	struct member      m;

	enum err e = campaign_look_as_owner(&at, db, id, owner);
	if (e == ERR_OK)
		e = find(&m, db, at.number, member);
	if (e == ERR_OK && (!m.is_known || m.state != MEMBER_IS))
		e = ERR_NOT_FOUND;
	return e == ERR_OK ? member_put(db, at.number, member, MEMBER_REMOVED) : e;
}
