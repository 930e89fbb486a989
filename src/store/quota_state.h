/*
 * May an upload begin (or grow)? From figures to a verdict; no clock, no database.
 *
 * All figures are of what is there already: checkpoints of every generation, and the reservations of other uploads under
 * way. The one that the upload will push out still counts.
 */
#ifndef STORE_QUOTA_STATE_H
#define STORE_QUOTA_STATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define QUOTA_NONE INT64_MAX /* as a limit: there is none */

/* What is held, what of it could be shed, and the most that may be held. */
struct quota_share {
	int64_t bytes, spare, max;
};

struct quota_now {
	int64_t bytes;    /* asked for; 0 while unknown */
	bool    is_new;   /* the campaign would be a new one */
	bool    by_young; /* whoever stores is a young player, and of no address that is exempt */
	int64_t checkpoint_max;
	int64_t campaigns, campaigns_max; /* of its owner; only a new one asks */

	struct quota_share campaign;
	struct quota_share owner;         /* all of the owner's campaigns */
	struct quota_share young;         /* all of the young players of his address; only the owner's own is spare */
	struct quota_share total;         /* with the trash, which is spare */
	int64_t            spare_percent; /* of the total is only for campaigns that are not new */

	int64_t reserved_addr, reserved_addr_max; /* by other uploads under way of the same address */
	int64_t reserved, reserved_percent;       /* by all of them; of the total, see below */

	bool    is_new_player; /* one who is not known at all */
	int64_t new_at_addr, new_at_addr_max, new_in_all, new_in_all_max;

	int64_t since_ms, interval_ms; /* since the player's last accepted upload; QUOTA_NONE: there was none */
};

struct quota_verdict {
	enum err err;
	int64_t  retry_ms; /* of ERR_TOO_SOON */
	/* Of ERR_OK: bytes that must be shed first. What is shed of a campaign also counts for its owner and in all. */
	int64_t shed_campaign, shed_owner, shed_total;
};

/*
 * The first that applies: ERR_TOO_BIG (the checkpoint's own limit, or more than the total could ever hold),
 * ERR_CAMPAIGNS, ERR_QUOTA (campaign, owner, his address, the total; also after shedding all that may be shed),
 * ERR_LIMIT (uploads under way, of the address and in all: over in a moment; one upload alone is never refused by
 * these), ERR_NO_ROOM (too many new players), ERR_TOO_SOON.
 *
 * Of what may be under way in all, young players and new campaigns may use the first half only: keys cost nothing, and
 * whoever makes many must not keep those from storing who have played here for long.
 */
struct quota_verdict quota_judge(const struct quota_now *now);

#endif
