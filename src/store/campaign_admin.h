/*
 * Campaigns as operators see and change them, also those in the trash.
 *
 * Those that change take a struct with what is asked and what is answered. With dry_run they look only, and a reader's
 * connection will do; else they run inside a job. Unless said otherwise they mean the campaign that has the id now, and
 * ERR_NOT_FOUND says that none has.
 */
#ifndef STORE_CAMPAIGN_ADMIN_H
#define STORE_CAMPAIGN_ADMIN_H

#include "store/campaign.h"

/* --- Looking for them --- */

struct campaign_summary {
	int64_t               number; /* tells it from others of the same id */
	uint8_t               id[CAMPAIGN_ID_BYTES], owner[PLAYER_ID_BYTES];
	int64_t               bytes, largest;                          /* of all checkpoints, of the largest one */
	int64_t               made_ms, stored_ms, used_ms, trashed_ms; /* trashed_ms 0: it is not in the trash */
	int64_t               members, checkpoints;                    /* how many */
	struct checkpoint_row newest;                                  /* version 0: there is none */
};

enum campaign_where { CAMPAIGN_LIVE, CAMPAIGN_IN_TRASH, CAMPAIGN_ANYWHERE };

/* A place in the order of the list: behind what was stored then, of what was stored at once behind this number. */
struct campaign_place {
	int64_t stored_ms, number;
};
#define CAMPAIGN_FIRST_PLACE ((struct campaign_place){ INT64_MAX, INT64_MAX })

struct campaign_search {
	const uint8_t      *owner, *member; /* PLAYER_ID_BYTES; NULL: any */
	const char         *text;           /* part of the name in any case, or the beginning of the id; "": any */
	const char         *level;          /* part of the level in any case; "": any */
	int64_t             min_bytes, max_bytes; /* of all checkpoints */
	int64_t             from_ms, to_ms;       /* stored then */
	enum campaign_where where;
	int64_t             rows_max; /* looked at, at most */
};

/*
 * Those that fit, the one stored last first, from behind *at on; *at is then the last that was looked at. each ends it with
 * false, for one that belongs behind *at. *more: rows_max was reached before the end. Only reads.
 */
enum err campaign_search(struct campaign_place *at, bool *more, struct db *db, const struct campaign_search *search,
                         bool (*each)(const struct campaign_summary *c, void *arg), void *arg);

/*
 * The one of this id that is not in the trash, else the one that came there last; number not 0: the one of this number.
 * Only reads.
 */
enum err campaign_look_up(struct campaign_summary *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                          int64_t number);

/* Of one that campaign_look_up found. Newest version first; members before those who left and were removed. Only read. */
enum err campaign_checkpoints(struct db *db, int64_t                                               number,
                              enum err (*each)(const struct checkpoint_row *row, void *arg), void *arg);

enum campaign_member_state { CAMPAIGN_MEMBER_IS, CAMPAIGN_MEMBER_LEFT, CAMPAIGN_MEMBER_REMOVED };
enum err campaign_members(struct db *db, int64_t number,
                          enum err (*each)(const uint8_t player[PLAYER_ID_BYTES], enum campaign_member_state state,
                                           bool used, void *arg),
                          void *arg);

/* A checkpoint for an operator; version 0: the newest. number: as of campaign_look_up. Only reads. */
enum err campaign_pick_any(struct checkpoint_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                           int64_t number, int64_t version);

/* --- Changing them --- */

/*
 * Into the trash, as if its owner had deleted it. Uploads of the id that are under way, also those that began before it had
 * a campaign, end in ERR_GONE. last_upload: those whose reservation has this id or a lower one.
 */
struct campaign_revoke {
	uint8_t                 id[CAMPAIGN_ID_BYTES];
	int64_t                 wall_ms;
	bool                    dry_run;
	int64_t                 last_upload;
	struct campaign_summary was;
};
enum err campaign_revoke(struct campaign_revoke *r, struct db *db);

/*
 * Out of the trash: the one of this number, or with 0 the one that came there last. ERR_NOT_FOUND: there is none such;
 * ERR_EXISTS: the id has another campaign by now. Whether the owner has room is not asked.
 */
struct campaign_unrevoke {
	uint8_t                 id[CAMPAIGN_ID_BYTES];
	int64_t                 number, wall_ms;
	bool                    dry_run;
	struct campaign_summary is;
};
enum err campaign_unrevoke(struct campaign_unrevoke *u, struct db *db);

/* All that the trash has of the id goes for good. ERR_NOT_FOUND: it has nothing. */
struct campaign_purge {
	uint8_t id[CAMPAIGN_ID_BYTES];
	bool    dry_run;
	int64_t purged; /* campaigns */
};
enum err campaign_purge(struct campaign_purge *p, struct db *db);

/*
 * Gives it to a player, who must be known (ERR_INVALID). The old owner becomes a member who has used it. ERR_CAMPAIGNS,
 * ERR_QUOTA: the new one has no room for it; ERR_MEMBERS: it has as many members as it may, and the new owner was none of
 * them; none of these with force. Nothing is thinned: what the old owner's uploads held back may go with the next upload.
 */
struct campaign_transfer {
	uint8_t              id[CAMPAIGN_ID_BYTES], player[PLAYER_ID_BYTES];
	int64_t              wall_ms;
	bool                 force, dry_run;
	const struct limits *limits;
	uint8_t              old_owner[PLAYER_ID_BYTES];
	struct quota_figures quota; /* the new owner's, afterwards */
};
enum err campaign_transfer(struct campaign_transfer *t, struct db *db);

/* As campaign_member_add and campaign_member_remove, for its owner. Adding the owner changes nothing. */
struct campaign_member_change {
	uint8_t              id[CAMPAIGN_ID_BYTES], player[PLAYER_ID_BYTES];
	bool                 add, dry_run;
	const struct limits *limits;
};
enum err campaign_change_member(struct campaign_member_change *m, struct db *db);

/* As campaign_restore, for its owner. ERR_NOT_FOUND also for an unknown version. Then version is the new one's. */
struct campaign_go_back {
	uint8_t              id[CAMPAIGN_ID_BYTES];
	int64_t              version, wall_ms, keep; /* keep: cloud.keep */
	bool                 dry_run;
	const struct limits *limits;
};
enum err campaign_go_back(struct campaign_go_back *g, struct db *db);

/* --- Quotas that differ from the defaults, in the order of the ids, behind one (NULL: from the first on); only read --- */

enum err quota_each_player(struct db *db, const uint8_t *after, int64_t max,
                           enum err (*each)(const uint8_t id[8], const struct quota_override *o, void *arg), void *arg);
enum err quota_each_campaign(struct db *db, const uint8_t *after, int64_t max,
                             enum err (*each)(const uint8_t id[8], const struct quota_override *o, void *arg),
                             void *arg);

/* What is used in all, and how many rows differ from the defaults. */
struct quota_overview {
	int64_t campaigns, bytes, spare, trash, overrides;
};
enum err quota_overview(struct quota_overview *out, struct db *db);

#endif
