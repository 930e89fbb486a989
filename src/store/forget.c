#include "store/forget.h"

#include "base/hex.h"
#include "base/text.h"
#include "store/audit.h"
#include "store/campaign_admin.h"
#include "store/campaign_rows.h"
#include "store/quota.h"

#include <string.h>
#include <strings.h>

#define ID_HEX (2 * PLAYER_ID_BYTES)

static enum err run_for(struct db *db, enum query what, const char *name, const uint8_t *id)
{
	AUTO_QUERY q = db_query(db, what);

	q_blob(&q, name, id, PLAYER_ID_BYTES);
	return q_done(&q);
}

/* --- Looking --- */

static enum err look(struct forget *f, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_FORGET_LOOK);

	q_blob(&q, ":id", f->id, sizeof(f->id));
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;

	int64_t shared = q_get_int(&q, 2);

	f->code        = q_get_int(&q, 1);
	f->given       = f->has_heir ? shared : 0;
	f->undecided   = f->has_heir || f->deletes || f->to_members ? 0 : shared;
	f->deleted     = q_get_int(&q, 3) - f->given - f->undecided;
	f->trash       = q_get_int(&q, 4);
	f->memberships = q_get_int(&q, 5);
	f->checkpoints = q_get_int(&q, 6);
	f->audit       = q_get_int(&q, 7);
	f->is_banned   = q_get_int(&q, 8) != 0;
	f->is_known    = q_get_int(&q, 0) || f->checkpoints || q_get_int(&q, 9);
	return ERR_OK;
}

enum err forget_shared(struct forget_shared *out, size_t *count, size_t cap, struct db *db,
                       const uint8_t id[PLAYER_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_FORGET_SHARED);
	enum err   e = ERR_OK;

	q_blob(&q, ":id", id, PLAYER_ID_BYTES);
	for (*count = 0; *count < cap && (e = q_row(&q)) == ERR_OK; (*count)++) {
		q_get_blob(&q, 0, out[*count].id, CAMPAIGN_ID_BYTES);
		out[*count].members = q_get_int(&q, 1);
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err judge(const struct forget *f, struct db *db)
{
	if (f->has_heir) {
		enum err e = memcmp(f->heir, f->id, sizeof(f->id)) == 0 ? ERR_NOT_FOUND : player_is_known(db, f->heir);

		return e == ERR_NOT_FOUND ? ERR_INVALID : e;
	}
	return f->undecided > 0 ? ERR_CONFLICT : ERR_OK;
}

/* --- His campaigns --- */

struct owned {
	int64_t number;
	uint8_t id[CAMPAIGN_ID_BYTES];
	bool    is_in_trash, is_shared;
};

static enum err next_campaign(struct owned *out, struct db *db, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_FORGET_NEXT_CAMPAIGN);

	q_blob(&q, ":id", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	out->number = q_get_int(&q, 0);
	q_get_blob(&q, 1, out->id, sizeof(out->id));
	out->is_in_trash = q_get_int(&q, 2) != 0;
	out->is_shared   = q_get_int(&q, 3) != 0;
	return ERR_OK;
}

static enum err find_member(uint8_t *out, struct db *db, const struct owned *c, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_FORGET_MEMBER_KNOWN);

	q_int(&q, ":campaign", c->number);
	q_blob(&q, ":id", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		q_get_blob(&q, 0, out, PLAYER_ID_BYTES);
	return e;
}

/* Who gets it; ERR_NOT_FOUND: nobody, it goes. */
static enum err find_heir(uint8_t *out, const struct forget *f, struct db *db, const struct owned *c)
{
	if (c->is_in_trash || !c->is_shared)
		return ERR_NOT_FOUND;
	if (f->has_heir) {
		memcpy(out, f->heir, PLAYER_ID_BYTES);
		return ERR_OK;
	}
	return f->to_members ? find_member(out, db, c, f->id) : ERR_NOT_FOUND;
}

/* Nobody is asked whether he has room for it: it is there already, and its members play it. */
static enum err give(const struct forget *f, struct db *db, const struct owned *c, const uint8_t *heir)
{
	struct campaign_transfer t = { .wall_ms = f->wall_ms, .force = true, .limits = f->limits };

	memcpy(t.id, c->id, sizeof(t.id));
	memcpy(t.player, heir, sizeof(t.player));
	return campaign_transfer(&t, db);
}

static enum err drop(struct db *db, const struct owned *c)
{
	if (!c->is_in_trash && db_reserve(db))
		reserve_disown(db_reserve(db), c->id, c->number);
	enum err e = campaign_drop(db, c->number, NULL);
	return e == ERR_OK ? run_for(db, Q_FORGET_QUOTA, ":campaign", c->id) : e;
}

static enum err leave_campaigns(const struct forget *f, struct db *db)
{
	struct owned c;
	uint8_t      heir[PLAYER_ID_BYTES];
	enum err     e;

	while ((e = next_campaign(&c, db, f->id)) == ERR_OK) {
		e = find_heir(heir, f, db, &c);
		if (e == ERR_OK)
			e = give(f, db, &c, heir);
		else if (e == ERR_NOT_FOUND)
			e = drop(db, &c);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* --- The trail --- */

/* Each place of the id, in any case, becomes the word, which is shorter. */
static void redact(char *text, const char *hex)
{
	const size_t word = strlen(FORGET_WORD);

	for (char *at = text; strlen(at) >= ID_HEX; at++) {
		if (strncasecmp(at, hex, ID_HEX) != 0)
			continue;
		memcpy(at, FORGET_WORD, word);
		memmove(at + word, at + ID_HEX, strlen(at + ID_HEX) + 1);
	}
}

/* The next row behind *id that names him; ERR_NOT_FOUND. */
static enum err next_row(int64_t *id, char *target, char *detail, struct db *db, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_FORGET_AUDIT_NEXT);

	q_int(&q, ":after", *id);
	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	*id = q_get_int(&q, 0);
	q_get_text(&q, 1, target, AUDIT_TARGET_BYTES);
	q_get_text(&q, 2, detail, AUDIT_DETAIL_BYTES);
	return ERR_OK;
}

static enum err put_row(struct db *db, int64_t id, const char *target, const char *detail)
{
	AUTO_QUERY q = db_query(db, Q_FORGET_AUDIT_PUT);

	q_int(&q, ":id", id);
	q_text(&q, ":target", target);
	q_text(&q, ":detail", detail);
	return q_done(&q);
}

static enum err redact_trail(struct db *db, const uint8_t *player)
{
	char     hex[ID_HEX + 1], target[AUDIT_TARGET_BYTES], detail[AUDIT_DETAIL_BYTES];
	int64_t  id = 0;
	enum err e;

	hex_encode(hex, player, PLAYER_ID_BYTES);
	while ((e = next_row(&id, target, detail, db, player)) == ERR_OK) {
		redact(target, hex);
		redact(detail, hex);
		e = put_row(db, id, target, detail);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* --- All of it --- */

/* What only names him goes before what it refers to. */
static enum err remove_rows(struct db *db, const uint8_t *id)
{
	static const struct {
		enum query  what;
		const char *name;
	} steps[] = {
		{ Q_FORGET_MEMBERSHIPS, ":id" }, { Q_FORGET_UPLOADER, ":id" }, { Q_FORGET_PLACES, ":id" },
		{ Q_FORGET_GAMES, ":id" },       { Q_CODE_REMOVE, ":player" }, { Q_PLAYER_QUOTA_REMOVE, ":player" },
		{ Q_HOLDER_REMOVE, ":player" },  { Q_PLAYER_REMOVE, ":id" },   { Q_FORGOTTEN_HEIR, ":id" },
	};
	enum err e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < COUNT_OF(steps); i++)
		e = run_for(db, steps[i].what, steps[i].name, id);
	return e;
}

/* A second time, an heir who gets nothing does not take the place of the one who got the campaigns. */
static enum err note(const struct forget *f, struct db *db)
{
	struct forgotten row = { .has_heir = false };
	enum err         e   = forgotten_find(&row, db, f->id);

	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	if (!row.has_heir || f->given > 0) {
		row.has_heir = row.has_heir || f->has_heir || f->to_members;
		memcpy(row.heir, f->heir, sizeof(row.heir));
	}
	row.at_ms = f->wall_ms;
	return forgotten_add(db, f->id, &row);
}

static enum err apply(const struct forget *f, struct db *db)
{
	enum err e = leave_campaigns(f, db);

	if (db_reserve(db))
		reserve_drop(db_reserve(db), f->id);
	if (e == ERR_OK)
		e = remove_rows(db, f->id);
	if (e == ERR_OK)
		e = redact_trail(db, f->id);
	if (e == ERR_OK)
		e = note(f, db);
	return e == ERR_OK ? quota_show(db) : e;
}

enum err forget_player(struct forget *f, struct db *db)
{
	enum err e = look(f, db);

	if (e == ERR_OK)
		e = judge(f, db);
	return e == ERR_OK && !f->dry_run ? apply(f, db) : e;
}
