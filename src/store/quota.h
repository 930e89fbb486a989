/*
 * What quotas look at, for the files behind campaign.h only. The figures are gathered here, judged in quota_state.h.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include "store/campaign_rows.h"
#include "store/quota_state.h"
#include "store/reserve.h"

/* Of everybody together. */
struct quota_totals {
	int64_t campaigns, bytes, spare, trash; /* bytes without those in the trash */
	int64_t reserved;                       /* by uploads under way; 0 on a reader's connection */
};
enum err quota_totals(struct quota_totals *out, struct db *db);

/* Sets the gauges. */
enum err quota_show(struct db *db);

struct quota_asked {
	const struct reservation *upload; /* begun or about to; its id is not counted */
	const struct campaign_at *at;
	int64_t                   bytes;
	bool                      is_new_player;
	int64_t                   made_ms; /* the player was first seen; of one who is new: now */
	int64_t                   wall_ms;
};

/*
 * All but the figures about new players and the interval, which only a begin asks about. charged: set to the address of
 * which the owner is a young player; zeros: of none.
 */
enum err quota_gather(struct quota_now *out, uint8_t charged[PLAYER_ADDR_BYTES], struct db *db,
                      const struct quota_asked *asked, const struct limits *limits);

/* How many new players the hour before wall_ms had. */
enum err quota_count_new(struct quota_now *out, struct db *db, const uint8_t addr[PLAYER_ADDR_BYTES], int64_t wall_ms);

/* Notes that the player stores, unless that is known. addr NULL: he is not young, or his address is exempt. */
enum err quota_enroll(struct db *db, const uint8_t player[PLAYER_ID_BYTES], const uint8_t *addr, int64_t wall_ms);

/* From when on a player must have been made to be young. */
int64_t quota_young_from(int64_t wall_ms, const struct limits *limits);

/* Whether whoever stores, made then, counts as young: not from an exempt address. */
bool quota_is_young(int64_t made_ms, const struct reservation *r, int64_t wall_ms, const struct limits *limits);

/*
 * Sheds as the verdict says, at most SHED_MAX rows at a time: of the campaign, of the owner, and in all: first the
 * trash, oldest first, then what is spare of whoever holds most. ERR_QUOTA: it was not enough.
 */
#define SHED_MAX 500
enum err shed(struct db *db, const struct campaign_at *at, const uint8_t owner[PLAYER_ID_BYTES],
              const struct quota_verdict *v);

/* Sheds in all, at most *rows rows, which goes down. ERR_QUOTA: that was not enough, or nothing is left. */
enum err shed_total(int64_t *rows, struct db *db, int64_t bytes);

#endif
