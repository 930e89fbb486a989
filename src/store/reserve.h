/*
 * Uploads under way, and when each player's last one was accepted: on the store thread, in memory.
 *
 * Neither means anything after a restart, so neither is in the database. And what a job did here is not undone with the
 * job or its batch: an upload's begin was answered before its batch was committed, and an upload that ends in an error
 * gives its bytes back all the same.
 */
#ifndef STORE_RESERVE_H
#define STORE_RESERVE_H

#include "store/campaign.h"

/* One upload under way. */
struct reservation {
	int64_t             id;                          /* set by reserve_add; never given twice */
	uint8_t             digest[PLAYER_DIGEST_BYTES]; /* of who stores; the first bytes are his id */
	uint8_t             addr[PLAYER_ADDR_BYTES];
	bool                exempt;
	uint8_t             campaign[CAMPAIGN_ID_BYTES];
	int64_t             number;                     /* of the campaign that had the id at the begin; 0: none had */
	uint8_t             owner[PLAYER_ID_BYTES];     /* whose bytes these will be */
	uint8_t             charged[PLAYER_ADDR_BYTES]; /* of which the owner is a young player; zeros: of none */
	int64_t             bytes;
	struct upload_match match;
	bool                keep_both;
	int64_t             wall_ms; /* of the begin */
};

struct reserve;

enum err reserve_new(struct reserve **out);
void     reserve_free(struct reserve *r); /* NULL is fine */

/* Sums over all uploads under way but the one asked about (by its id), as far as they have something in common with it. */
struct reserve_sums {
	int64_t all, addr, owner, campaign; /* bytes */
	int64_t charged;                    /* bytes charged to the address charged */
	int64_t campaigns;                  /* other new ones that the owner would get */
};
struct reserve_sums reserve_sum(const struct reserve *r, const struct reservation *asked,
                                const uint8_t charged[PLAYER_ADDR_BYTES]);

/* The bytes of all of them. */
int64_t reserve_total(const struct reserve *r);

/* Adds a copy and gives its id. ERR_NOMEM. */
enum err reserve_add(struct reserve *r, struct reservation *row);

/* NULL: no such id. Valid until the next reserve_add or reserve_take. */
struct reservation *reserve_find(struct reserve *r, int64_t id);

/* Reserves so many bytes for it in all. */
void reserve_resize(struct reservation *row, int64_t bytes);

/* Takes it out; false: no such id. */
bool reserve_take(struct reservation *out, struct reserve *r, int64_t id);

/*
 * Uploads of this id that are under way belong to the campaign of this number, also those that began before it: so they end
 * with it. Gives the highest id of any reservation up to now.
 */
int64_t reserve_disown(struct reserve *r, const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t number);

/* Uploads of this player are as if they had never begun, and when his last one was is not known. */
void reserve_drop(struct reserve *r, const uint8_t player[PLAYER_ID_BYTES]);

/* Whether the player has an upload under way. */
bool reserve_has(const struct reserve *r, const uint8_t player[PLAYER_ID_BYTES]);

/* The player's upload was accepted just now. ERR_NOMEM. Forgets those over interval_ms ago. */
enum err reserve_accept(struct reserve *r, const uint8_t player[PLAYER_ID_BYTES], int64_t mono_ms, int64_t interval_ms);

/* How long ago that was; INT64_MAX: not known any more. */
int64_t reserve_since(const struct reserve *r, const uint8_t player[PLAYER_ID_BYTES], int64_t mono_ms);

#endif
