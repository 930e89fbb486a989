/*
 * Codes and campaigns of an older server come in, each whole or not at all. Nothing that is here is changed by that, so importing
 * twice does nothing the second time. Quotas count what came in, and refuse none of it.
 *
 * A player of whom only the id is known is made with zeros for the rest of his digest: player_is_open.
 */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "base/err.h"
#include "store/campaign.h"
#include "store/player.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum import_verdict {
	IMPORT_NEW,        /* it came in, or would */
	IMPORT_SAME,       /* it is here already */
	IMPORT_OTHER_CODE, /* the player has another code here */
	IMPORT_TAKEN,      /* the code, or the campaign's id, is another player's here */
	IMPORT_FORGOTTEN,  /* the player was forgotten here */
	IMPORT_DELETED     /* a campaign of this id was here and was deleted */
};

struct import_code {
	uint8_t             id[PLAYER_ID_BYTES];
	int64_t             code, used_ms; /* the code is in range */
	bool                dry_run;
	enum import_verdict verdict;
};
/* Inside a job; with dry_run a reader's connection will do. Errors are the store's. */
enum err import_code(struct import_code *c, struct db *db);

struct import_checkpoint {
	struct blob_writer    *blob; /* finished; not looked at in a dry run */
	struct checkpoint_meta meta;
	int64_t                stored_ms;
};

#define IMPORT_CHECKPOINTS_MAX 2
struct import_campaign {
	uint8_t                   id[CAMPAIGN_ID_BYTES], owner[PLAYER_ID_BYTES];
	int64_t                   made_ms, stored_ms, wall_ms;
	struct import_checkpoint *checkpoints[IMPORT_CHECKPOINTS_MAX]; /* the older one first; at least one */
	size_t                    checkpoint_count;
	const uint8_t (*members)[PLAYER_ID_BYTES]; /* those beyond limits.cloud_members are left out */
	size_t               member_count;
	int64_t              keep; /* cloud.keep */
	const struct limits *limits;
	bool                 dry_run;
	enum import_verdict  verdict;
};
enum err import_campaign(struct import_campaign *c, struct db *db);

#endif
