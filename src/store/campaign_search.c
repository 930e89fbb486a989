/*
 * Looking for campaigns.
 *
 * The list is walked in the order of an index, a row at a time, and only what fits is looked at further. What no index
 * helps with (parts of names) costs a look at each row, so how many one call looks at has a bound.
 */
#include "store/campaign_admin.h"

#include "base/fold.h"
#include "base/hex.h"
#include "base/text.h"
#include "store/campaign_rows.h"

#include <string.h>

/* --- One --- */

static enum err read_summary(struct campaign_summary *out, struct db *db, int64_t number)
{
	AUTO_QUERY q = db_query(db, Q_SEARCH_ROW);

	q_int(&q, ":campaign", number);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	*out = (struct campaign_summary){
		.number      = number,
		.bytes       = q_get_int(&q, 2),
		.made_ms     = q_get_int(&q, 3),
		.stored_ms   = q_get_int(&q, 4),
		.used_ms     = q_get_int(&q, 5),
		.trashed_ms  = q_get_int(&q, 6),
		.members     = q_get_int(&q, 7),
		.checkpoints = q_get_int(&q, 8),
		.largest     = q_get_int(&q, 9),
	};
	q_get_blob(&q, 0, out->id, sizeof(out->id));
	q_get_blob(&q, 1, out->owner, sizeof(out->owner));
	return ERR_OK;
}

static enum err read_whole(struct campaign_summary *out, struct db *db, int64_t number)
{
	struct checkpoint_row two[2];
	enum err              e = read_summary(out, db, number);

	if (e == ERR_OK)
		e = checkpoint_newest(two, db, number, false);
	if (e == ERR_OK)
		out->newest = two[0];
	return e;
}

enum err campaign_look_up(struct campaign_summary *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                          int64_t number)
{
	AUTO_QUERY q = db_query(db, Q_SEARCH_FIND);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	q_int(&q, ":number", number);
	enum err e = q_row(&q);
	return e == ERR_OK ? read_whole(out, db, q_get_int(&q, 0)) : e;
}

/* --- Many --- */

/* What of a search is compared here. */
struct words {
	struct fold text, level;
	char        id[2 * CAMPAIGN_ID_BYTES + 1]; /* the text, if it can be the beginning of an id; else "" */
};

static void read_words(struct words *w, const struct campaign_search *s)
{
	size_t len = text_length(s->text);

	*w = (struct words){ 0 };
	fold_init(&w->text, s->text);
	fold_init(&w->level, s->level);
	if (len >= sizeof(w->id))
		return;
	for (size_t i = 0; i < len; i++) {
		char c = s->text[i];

		c        = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
		w->id[i] = c;
	}
	if (strspn(w->id, "0123456789abcdef") != len)
		w->id[0] = '\0';
}

static bool has_words(const struct words *w, const struct statement *q)
{
	char    name[CHECKPOINT_TEXT], level[CHECKPOINT_TEXT], hex[2 * CAMPAIGN_ID_BYTES + 1];
	uint8_t id[CAMPAIGN_ID_BYTES];

	q_get_text(q, 4, level, sizeof(level));
	if (!fold_is_in(&w->level, level))
		return false;
	q_get_text(q, 3, name, sizeof(name));
	if (fold_is_in(&w->text, name))
		return true;
	q_get_blob(q, 2, id, sizeof(id));
	hex_encode(hex, id, sizeof(id));
	return w->id[0] && strncmp(hex, w->id, strlen(w->id)) == 0;
}

static void bind(struct statement *q, const struct campaign_place *at, const struct campaign_search *s)
{
	q_int(q, ":stored_ms", at->stored_ms);
	q_int(q, ":number", at->number);
	q_int(q, ":from_ms", s->from_ms);
	q_int(q, ":to_ms", s->to_ms);
	q_int(q, ":trash", s->where);
	q_int(q, ":min_bytes", s->min_bytes);
	q_int(q, ":max_bytes", s->max_bytes);
	q_blob(q, ":owner", s->owner, s->owner ? PLAYER_ID_BYTES : 0);
	q_blob(q, ":member", s->member, s->member ? PLAYER_ID_BYTES : 0);
}

enum err campaign_search(struct campaign_place *at, bool *more, struct db *db, const struct campaign_search *search,
                         bool (*each)(const struct campaign_summary *c, void *arg), void *arg)
{
	AUTO_QUERY   q    = db_query(db, Q_SEARCH_WALK);
	int64_t      rows = 0;
	struct words w;
	enum err     e;

	read_words(&w, search);
	bind(&q, at, search);
	*more = false;
	while ((e = q_row(&q)) == ERR_OK) {
		struct campaign_summary c;

		if (rows++ == search->rows_max) {
			*more = true;
			return ERR_OK;
		}
		if (has_words(&w, &q)) {
			e = read_whole(&c, db, q_get_int(&q, 0));
			if (e != ERR_OK || !each(&c, arg))
				return e;
		}
		*at = (struct campaign_place){ q_get_int(&q, 1), q_get_int(&q, 0) };
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* --- What one has --- */

enum err campaign_checkpoints(struct db *db, int64_t                                               number,
                              enum err (*each)(const struct checkpoint_row *row, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_SEARCH_CHECKPOINTS);
	enum err   e;

	q_int(&q, ":campaign", number);
	while ((e = q_row(&q)) == ERR_OK) {
		struct checkpoint_row row;

		checkpoint_read(&row, &q);
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err campaign_members(struct db *db, int64_t number,
                          enum err (*each)(const uint8_t player[PLAYER_ID_BYTES], enum campaign_member_state state,
                                           bool used, void *arg),
                          void *arg)
{
	AUTO_QUERY q = db_query(db, Q_SEARCH_MEMBERS);
	enum err   e;

	_Static_assert((int)CAMPAIGN_MEMBER_REMOVED == (int)MEMBER_REMOVED, "one order of states");
	q_int(&q, ":campaign", number);
	while ((e = q_row(&q)) == ERR_OK) {
		uint8_t player[PLAYER_ID_BYTES];

		q_get_blob(&q, 0, player, sizeof(player));
		e = each(player, (enum campaign_member_state)q_get_int(&q, 1), q_get_int(&q, 2) != 0, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err campaign_pick_any(struct checkpoint_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                           int64_t number, int64_t version)
{
	struct campaign_summary c;
	enum err                e = campaign_look_up(&c, db, id, number);

	if (e != ERR_OK)
		return e;
	if (version != 0)
		return checkpoint_find(out, db, c.number, version);
	*out = c.newest;
	return out->version != 0 ? ERR_OK : ERR_NOT_FOUND;
}

/* --- Quotas --- */

static int64_t get_override(const struct statement *q, int column)
{
	return q_get_null(q, column) ? -1 : q_get_int(q, column);
}

static enum err each_quota(struct db *db, enum query id, const uint8_t *after, int64_t max,
                           enum err (*each)(const uint8_t id[8], const struct quota_override *o, void *arg), void *arg)
{
	AUTO_QUERY q         = db_query(db, id);
	int        of_player = id == Q_PLAYER_QUOTA_EACH;
	enum err   e;

	q_blob(&q, ":after", after, after ? 8 : 0);
	q_int(&q, ":max", max);
	while ((e = q_row(&q)) == ERR_OK) {
		struct quota_override o = { of_player ? get_override(&q, 1) : -1, get_override(&q, 1 + of_player),
			                    get_override(&q, 2 + of_player) };
		uint8_t               whose[8];

		q_get_blob(&q, 0, whose, sizeof(whose));
		e = each(whose, &o, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err quota_each_player(struct db *db, const uint8_t *after, int64_t max,
                           enum err (*each)(const uint8_t id[8], const struct quota_override *o, void *arg), void *arg)
{
	return each_quota(db, Q_PLAYER_QUOTA_EACH, after, max, each, arg);
}

enum err quota_each_campaign(struct db *db, const uint8_t *after, int64_t max,
                             enum err (*each)(const uint8_t id[8], const struct quota_override *o, void *arg),
                             void *arg)
{
	return each_quota(db, Q_CAMPAIGN_QUOTA_EACH, after, max, each, arg);
}
