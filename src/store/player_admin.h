/*
 * Players as operators see them. All of it only reads.
 */
#ifndef STORE_PLAYER_ADMIN_H
#define STORE_PLAYER_ADMIN_H

#include "conf/limits.h"
#include "store/campaign.h"
#include "store/player.h"

struct player_summary {
	uint8_t id[PLAYER_ID_BYTES];
	int64_t made_ms, seen_ms; /* seen: he opened a game, or a campaign of his was used */
	int64_t code;             /* 0: none */
	int64_t campaigns, bytes; /* that he owns */
	bool    is_hosting;       /* there is a game of his, also while he is away for a moment */
};

/* Those whose ids lie between two, both included, at most max, in their order. each ends it with an error. */
enum err player_list(struct db *db, const uint8_t first[PLAYER_ID_BYTES], const uint8_t last[PLAYER_ID_BYTES],
                     int64_t max, enum err (*each)(const struct player_summary *p, void *arg), void *arg);

/* ERR_NOT_FOUND: nobody has it. */
enum err player_of_code(uint8_t id[PLAYER_ID_BYTES], struct db *db, int64_t code);

/* A campaign that he owns or is a member of; his own first, then by time of storing. At most max. */
struct player_campaign {
	uint8_t id[CAMPAIGN_ID_BYTES];
	bool    owns;
	int64_t bytes, stored_ms;
	char    name[CHECKPOINT_TEXT];
};
enum err player_campaigns(struct db *db, const uint8_t player[PLAYER_ID_BYTES], int64_t max,
                          enum err (*each)(const struct player_campaign *c, void *arg), void *arg);

/* What he may, what of it he uses, and what of it is his own (-1: the default). */
struct player_quota {
	struct quota_figures  figures;
	struct quota_override own;
	int64_t               largest; /* bytes of the largest checkpoint of his campaigns */
};
enum err player_quota(struct player_quota *out, struct db *db, const uint8_t player[PLAYER_ID_BYTES],
                      const struct limits *limits);

#endif
