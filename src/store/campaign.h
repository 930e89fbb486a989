/*
 * Campaigns, their checkpoints, who may use them, and how much everybody uses.
 *
 * Functions that change anything run inside a job on the store thread; those that only read (they say so) take a
 * reader's connection as well.
 *
 * A campaign belongs to whoever first stored under its id. Members are those whom the texts of its checkpoints named,
 * or whom the owner added. Whoever is neither learns nothing about it: reading says ERR_NOT_FOUND.
 *
 * Versions count from 1 and are never used twice for an id, not even after a deletion: not before its last campaign has
 * been gone, from the trash too, for limits.cloud_days of uptime.
 *
 * Which checkpoints stay (store/thin_state.h): the newest cloud.keep, the newest of each of the last 7 days, the owner's
 * last 2 (only the owner's own uploads push those out), and the one before a suspiciously small one; at most 14 and
 * that one. A conflicting one (keep=both) is never the newest and goes after limits.cloud_conflict_ms; of one player 2
 * stay, of all 6.
 *
 * When room is short, older ones go before anybody is refused (shedding). In the whole: first what is in the trash,
 * oldest first; then what its campaign can spare, of whoever holds most. For the bytes of one player or campaign: what
 * his campaigns, or it, can spare, so that a member who stores garbage does not use up the owner's room. Never the newest
 * two of a campaign, nor the owner's last two. Nothing is shed for an upload that is refused all the same.
 */
#ifndef STORE_CAMPAIGN_H
#define STORE_CAMPAIGN_H

#include "base/err.h"
#include "store/blob.h"
#include "store/db.h"
#include "store/player.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAMPAIGN_ID_BYTES    8
#define CHECKPOINT_TEXT      257 /* 64 code points and a NUL */
#define CHECKPOINTS_MAX      32  /* rows of one campaign, conflicts included: more are never kept */
#define CAMPAIGN_NAMED_MAX   256 /* ids taken from one progress text; those beyond the members' limit are ignored */
#define CAMPAIGN_MEMBERS_MAX 256 /* the highest value of limits.cloud_members */

enum campaign_role { CAMPAIGN_STRANGER, CAMPAIGN_MEMBER, CAMPAIGN_OWNER };

/* What is shown of a checkpoint. The texts are valid UTF-8 without control characters. */
struct checkpoint_meta {
	bool    is_container; /* tunnel's container; only such are shown over WebSocket */
	int64_t stamp;        /* Unix seconds, as the player's machine said; 0: unknown */
	char    name[CHECKPOINT_TEXT], level[CHECKPOINT_TEXT], checkpoint[CHECKPOINT_TEXT], hostname[CHECKPOINT_TEXT];
};

struct checkpoint_row {
	int64_t                version;
	uint8_t                sha256[BLOB_HASH_BYTES];
	int64_t                bytes, stored_ms;
	uint8_t                by[PLAYER_ID_BYTES];
	bool                   is_small;    /* under a quarter of the one before it */
	bool                   is_conflict; /* kept beside the newest; never the newest */
	struct checkpoint_meta meta;        /* stamp is already corrected when it was over a day ahead */
};

struct campaign_row {
	uint8_t               id[CAMPAIGN_ID_BYTES];
	uint8_t               owner[PLAYER_ID_BYTES];
	enum campaign_role    role;   /* of the player who asks */
	int64_t               bytes;  /* of all its checkpoints */
	struct checkpoint_row newest; /* of what the asker's side can see; version 0: nothing */
	bool                  has_previous;
};

/* --- Reading --- */

/*
 * What a player may load, in the order it is shown (safety 19): his own, then those he loaded or stored, then others (at
 * most limits.cloud_list_per_owner of one owner and limits.cloud_list_others in all); in each group newest first by time
 * of storing. containers_only: as WebSocket sees them. each may end it with an error, which is returned.
 */
enum err campaign_each(struct db *db, const uint8_t player[PLAYER_ID_BYTES], bool containers_only,
                       const struct limits *limits, enum err (*each)(const struct campaign_row *row, void *arg),
                       void                *arg);

/* One campaign. ERR_NOT_FOUND for strangers too. */
enum err campaign_find(struct campaign_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                       const uint8_t player[PLAYER_ID_BYTES]);

/* Its checkpoints, newest version first; its members (without the owner). For whom campaign_find was ERR_OK. */
enum err campaign_each_checkpoint(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                                  enum err (*each)(const struct checkpoint_row *row, void *arg), void *arg);
enum err campaign_each_member(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                              enum err (*each)(const uint8_t player[PLAYER_ID_BYTES], void *arg), void *arg);

/*
 * The checkpoint to load. version 0: the newest; -1: the one before it (both as WebSocket sees them when
 * containers_only); else that version. ERR_NOT_FOUND also for strangers.
 */
enum err campaign_pick(struct checkpoint_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                       const uint8_t player[PLAYER_ID_BYTES], int64_t version, bool containers_only);

/* What a player uses and may use. */
struct quota_figures {
	int64_t campaigns, campaigns_max; /* owned */
	int64_t bytes, bytes_max;         /* of the campaigns he owns, all generations */
	int64_t checkpoint_max;           /* bytes of one checkpoint */
};
enum err quota_figures(struct quota_figures *out, struct db *db, const uint8_t player[PLAYER_ID_BYTES],
                       const struct limits *limits);

/* --- Uploads: begun, (grown), ended or cancelled --- */

enum upload_match_kind { UPLOAD_ANY, UPLOAD_IF_NEWEST, UPLOAD_IF_NONE };
struct upload_match {
	enum upload_match_kind kind;
	int64_t                version; /* IF_NEWEST: the ETag's two parts */
	uint8_t                hash8[8];
};

/*
 * May this player store now? Reserves the bytes; what is reserved lives as long as the process and counts in every
 * quota. In this order:
 *
 *	ERR_NOT_ALLOWED		neither owner nor member; or the key is not the one known by the player's id
 *	ERR_EXISTS		IF_NONE, and there is a checkpoint
 *	ERR_CONFLICT		IF_NEWEST, unless keep_both; *newest is set
 *	ERR_TOO_BIG		over the limit of one checkpoint (the campaign's own, else its owner's own, else the default)
 *	ERR_CAMPAIGNS		an eleventh
 *	ERR_QUOTA		bytes of the campaign, of its owner, of the young players of his address, or in all, when
 *				shedding does not help; a new campaign leaves cloud_spare_percent of the total alone
 *	ERR_LIMIT		too much is under way, from this address or in all: over in a moment, so no ERR_QUOTA,
 *				after which games give up; with retry_ms. One upload alone is never refused by this. In all:
 *				cloud_reserved_percent of the total, of which young players (under cloud_young_days, not of an
 *				exempt address) and new campaigns may use the first half only
 *	ERR_NO_ROOM		a new player, of an address (or a server) that had its share for this hour
 *	ERR_TOO_SOON		with retry_ms
 *
 * A player is new when nothing is known of him; his first upload counts like his first code. ERR_OK starts the player's
 * 10 s; nothing else does.
 *
 * It promises nothing durable: its job is eager (store.h). If its batch cannot be kept, the reservation stays.
 */
struct upload_begin {
	/* asked */
	uint8_t             digest[PLAYER_DIGEST_BYTES]; /* SHA-256 of the key */
	uint8_t             addr[PLAYER_ADDR_BYTES];
	bool                exempt; /* limits per address do not count */
	uint8_t             campaign[CAMPAIGN_ID_BYTES];
	int64_t             bytes; /* -1: not known yet; upload_grow as they come */
	struct upload_match match;
	bool                keep_both;
	int64_t             mono_ms, wall_ms;
	/* answered */
	int64_t               id; /* of the reservation */
	int64_t               retry_ms;
	struct checkpoint_row newest; /* of ERR_CONFLICT; version 0: there is none */
};
enum err upload_begin(struct upload_begin *u, struct db *db, const struct limits *limits);

/*
 * Reserves so many bytes in all for an upload of unknown length. ERR_TOO_BIG, ERR_QUOTA, ERR_LIMIT (over in about
 * UPLOAD_RETRY_MS); ERR_NOT_FOUND: no such id. What was reserved before stays reserved then. Eager.
 */
#define UPLOAD_RETRY_MS 10000
enum err upload_grow(struct db *db, int64_t id, int64_t bytes, const struct limits *limits);

/* Gives the reservation back; unknown ids are fine. */
enum err upload_cancel(struct db *db, int64_t id);

/*
 * The bytes are there and synced: takes the blob, writes the rows, thins. The reservation is given back whatever
 * happens. Refusals, in this order: ERR_NOT_FOUND (no such reservation), ERR_GONE (the campaign was deleted since the
 * begin), ERR_CAMPAIGNS (new, and the owner has his number), ERR_NOT_ALLOWED (rights again), ERR_EXISTS, ERR_CONFLICT
 * (as at the begin; *newest is set), ERR_QUOTA (more bytes than reserved, or they became another player's, and there is
 * no room). The caller checked content and size before (faults 12). With keep_both and nothing to be kept beside, it is
 * simply the first.
 */
struct upload_end {
	/* asked */
	int64_t                id;
	struct blob_writer    *blob;
	struct checkpoint_meta meta;
	const uint8_t (*members)[PLAYER_ID_BYTES]; /* named in the text */
	size_t  member_count;
	int64_t keep; /* cloud.keep */
	int64_t mono_ms, wall_ms;
	/* answered */
	struct checkpoint_row stored; /* its is_conflict: kept beside the newest */
	struct checkpoint_row newest; /* of ERR_CONFLICT, or the newest beside a kept conflict */
	bool                  made;   /* the campaign is new */
	struct quota_figures  quota;  /* of the campaign's owner if he stores, else bytes of this campaign only */
};
enum err upload_end(struct upload_end *u, struct db *db, const struct limits *limits);

/* --- Other changes --- */

/* What the player is in it: member or owner. ERR_NOT_FOUND: neither, or it is not there. */
enum err campaign_role_of(enum campaign_role *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                          const uint8_t player[PLAYER_ID_BYTES]);

/*
 * Owner: the campaign goes to the trash (7 days, if there is room so long, and 10 of one owner; an operator can restore
 * it); member: it is no longer his. ERR_NOT_FOUND.
 */
enum err campaign_forget(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES],
                         int64_t wall_ms);

/*
 * Owner only (ERR_NOT_FOUND else, and for an unknown version): version becomes the newest again, under a new version
 * number, in *out; the one that is the newest stays as it is. Never fails for lack of room: the old row goes instead.
 */
enum err campaign_restore(struct checkpoint_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                          const uint8_t player[PLAYER_ID_BYTES], int64_t version, int64_t wall_ms, int64_t keep,
                          const struct limits *limits);

/*
 * Owner only (ERR_NOT_FOUND else). Add: ERR_MEMBERS at limits.cloud_members; fine for one who is a member, and for the
 * owner. Remove: texts do not put him back; ERR_NOT_FOUND when he is none. Those who left or were removed are remembered
 * until there are hundreds; then whom the owner adds takes the place of one who left, else of one who was removed.
 */
enum err campaign_member_add(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const uint8_t owner[PLAYER_ID_BYTES],
                             const uint8_t member[PLAYER_ID_BYTES], const struct limits *limits);
enum err campaign_member_remove(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                                const uint8_t owner[PLAYER_ID_BYTES], const uint8_t member[PLAYER_ID_BYTES]);

/* It was loaded: counts as use of the campaign, and as loaded by the player. For lazy jobs. */
enum err campaign_loaded(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES],
                         int64_t wall_ms);

/* --- Quotas for one player or campaign: rows that override the defaults; -1: back to the default --- */

struct quota_override {
	int64_t campaigns;  /* owned; players only */
	int64_t bytes;      /* held: of the player's campaigns, or of the campaign */
	int64_t checkpoint; /* of one checkpoint */
};
enum err quota_set_player(struct db *db, const uint8_t player[PLAYER_ID_BYTES], const struct quota_override *o);
enum err quota_set_campaign(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const struct quota_override *o);
/* Reading. ERR_NOT_FOUND: no row. */
enum err quota_get_player(struct quota_override *out, struct db *db, const uint8_t player[PLAYER_ID_BYTES]);
enum err quota_get_campaign(struct quota_override *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES]);

/* --- By the clock: one sweep of about CAMPAIGN_SWEEP_MAX rows; *more: call again soon --- */

#define CAMPAIGN_SWEEP_MAX 100
/*
 * Conflicts over their hour, trash over 7 days of uptime, campaigns unused for 180 (marked, then removed 7 days later),
 * versions of ids that went so long ago, players of whom nothing is left. Sheds, so that one of the largest checkpoints always has room. Nothing while the clock
 * is doubted (upkeep.h). Also sets the gauges.
 */
enum err campaign_sweep(bool *more, struct db *db, int64_t wall_ms, int64_t mono_ms, const struct limits *limits);

#endif
