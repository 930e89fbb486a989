/*
 * What the files behind campaign.h, and only they, share: one campaign as a job sees it, its checkpoints as rows.
 */
#ifndef STORE_CAMPAIGN_ROWS_H
#define STORE_CAMPAIGN_ROWS_H

#include "store/campaign.h"

#define CAMPAIGN_TRASH_EACH 10 /* campaigns of one owner in the trash; the one made first goes for an eleventh */

/* Of rows of members. */
enum member_state { MEMBER_IS, MEMBER_LEFT, MEMBER_REMOVED };

/* A campaign that is not in the trash. */
struct campaign_at {
	int64_t            number; /* 0: there is none */
	uint8_t            owner[PLAYER_ID_BYTES];
	int64_t            bytes, spare;
	enum campaign_role role; /* of the player who asks */
};

/* ERR_NOT_FOUND: nothing has the id (*out is zeroed); strangers are told apart by role alone. Only reads. */
enum err campaign_look(struct campaign_at *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                       const uint8_t player[PLAYER_ID_BYTES]);

/* The same, ERR_NOT_FOUND for strangers too. */
enum err campaign_look_inside(struct campaign_at *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                              const uint8_t player[PLAYER_ID_BYTES]);

/* The same, ERR_NOT_FOUND for all but the owner. */
enum err campaign_look_as_owner(struct campaign_at *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                                const uint8_t player[PLAYER_ID_BYTES]);

/* Columns from version to hostname, in the order in which every query of sql/campaign.sql gives them. */
void checkpoint_read(struct checkpoint_row *out, const struct statement *q);

/* The newest and the one before it, without conflicts; version 0: there is none. Only reads. */
enum err checkpoint_newest(struct checkpoint_row out[2], struct db *db, int64_t number, bool containers_only);

enum err checkpoint_find(struct checkpoint_row *out, struct db *db, int64_t number, int64_t version);

/* Gives row the next version of the id, and adds it. The campaign was used and stored at row->stored_ms. */
enum err checkpoint_add(struct checkpoint_row *row, struct db *db, int64_t number, const uint8_t id[CAMPAIGN_ID_BYTES]);

/* Removes a row; its blob may become garbage. */
enum err checkpoint_drop(struct db *db, int64_t number, int64_t version, const uint8_t sha256[BLOB_HASH_BYTES]);

/* Removes what need not stay, and notes what is spare; see thin_state.h. */
enum err campaign_thin(struct db *db, int64_t number, const uint8_t owner[PLAYER_ID_BYTES], int64_t keep);

/* Removes a campaign for good, with all it has. *rows (may be NULL) grows by the number of its checkpoints and 1. */
enum err campaign_drop(struct db *db, int64_t number, int64_t *rows);

/* Into the trash; of what its owner has there, the first goes for good when it is one too many. */
enum err campaign_put_in_trash(struct db *db, const struct campaign_at *at, int64_t wall_ms);

/* Members that a text names: those who may be put in are, as long as there is room. */
enum err members_name(struct db *db, const struct campaign_at *at, const uint8_t (*members)[PLAYER_ID_BYTES],
                      size_t count, const struct limits *limits);

enum err member_put(struct db *db, int64_t number, const uint8_t player[PLAYER_ID_BYTES], enum member_state state);

/* Whether the player is a member, and how many there are. Only reads. */
enum err member_look(bool *is_member, int64_t *members, struct db *db, int64_t number,
                     const uint8_t player[PLAYER_ID_BYTES]);

/* The player, a member, loaded or stored it. */
enum err member_use(struct db *db, int64_t number, const uint8_t player[PLAYER_ID_BYTES]);

/* A query whose only parameter is :campaign, done. */
enum err campaign_run(struct db *db, enum query id, int64_t number);

#endif
