/*
 * What players may see of campaigns. Only reads: a reader's connection will do.
 */
#include "store/campaign.h"

#include "store/campaign_rows.h"

#include <string.h>

/* The query says in which part of the list a campaign is; the first part are his own. */
static enum campaign_role role_in_part(int64_t part)
{
	return part == 0 ? CAMPAIGN_OWNER : CAMPAIGN_MEMBER;
}

static enum err fill(struct campaign_row *row, struct db *db, int64_t number, bool containers_only)
{
	struct checkpoint_row two[2];
	enum err              e = checkpoint_newest(two, db, number, containers_only);

	if (e != ERR_OK)
		return e;
	row->newest       = two[0];
	row->has_previous = two[1].version != 0;
	return ERR_OK;
}

enum err campaign_each(struct db *db, const uint8_t player[PLAYER_ID_BYTES], bool containers_only,
                       const struct limits *limits, enum err (*each)(const struct campaign_row *row, void *arg),
                       void                *arg)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_EACH);
	enum err   e;

	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	q_int(&q, ":containers", containers_only);
	q_int(&q, ":per_owner", limits->cloud_list_per_owner);
	q_int(&q, ":others", limits->cloud_list_others);
	while ((e = q_row(&q)) == ERR_OK) {
		struct campaign_row row;

		q_get_blob(&q, 1, row.id, sizeof(row.id));
		q_get_blob(&q, 2, row.owner, sizeof(row.owner));
		row.bytes = q_get_int(&q, 3);
		row.role  = role_in_part(q_get_int(&q, 4));
		e         = fill(&row, db, q_get_int(&q, 0), containers_only);
		if (e == ERR_OK && (row.newest.version != 0 || !containers_only))
			e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err campaign_find(struct campaign_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                       const uint8_t player[PLAYER_ID_BYTES])
{
	struct campaign_at at;
	enum err           e = campaign_look_inside(&at, db, id, player);

	if (e != ERR_OK)
		return e;
	memcpy(out->id, id, CAMPAIGN_ID_BYTES);
	memcpy(out->owner, at.owner, sizeof(out->owner));
	out->role  = at.role;
	out->bytes = at.bytes;
	return fill(out, db, at.number, false);
}

enum err campaign_each_checkpoint(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                                  enum err (*each)(const struct checkpoint_row *row, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_CHECKPOINT_EACH);
	enum err   e;

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	while ((e = q_row(&q)) == ERR_OK) {
		struct checkpoint_row row;

		checkpoint_read(&row, &q);
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* The newest, or with at 1 the one before it. */
static enum err pick_newest(struct checkpoint_row *out, struct db *db, int64_t number, int at, bool containers_only)
{
	struct checkpoint_row two[2];
	enum err              e = checkpoint_newest(two, db, number, containers_only);

	if (e != ERR_OK)
		return e;
	if (two[at].version == 0)
		return ERR_NOT_FOUND;
	*out = two[at];
	return ERR_OK;
}

enum err campaign_pick(struct checkpoint_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                       const uint8_t player[PLAYER_ID_BYTES], int64_t version, bool containers_only)
{
	struct campaign_at    at;
	struct checkpoint_row found;

	enum err e = campaign_look_inside(&at, db, id, player);
	if (e != ERR_OK)
		return e;
	if (version == 0 || version == -1)
		return pick_newest(out, db, at.number, version == -1, containers_only);
	e = checkpoint_find(&found, db, at.number, version);
	if (e == ERR_OK && containers_only && !found.meta.is_container)
		e = ERR_NOT_FOUND;
	if (e == ERR_OK)
		*out = found;
	return e;
}
