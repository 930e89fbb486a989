/*
 * Uploads and downloads over HTTP that are under way, by campaign, so that an operator who revokes one reaches them. Each has
 * its own thread, which waits for its peer most of the time: so it is told by a mark, and looks at it whenever it goes on;
 * what an upload holds is let go at once, through its hook. (Those over WebSocket are found by their connections.)
 */
#ifndef CLOUD_CLOUD_LIVE_H
#define CLOUD_CLOUD_LIVE_H

#include "base/list.h"
#include "store/campaign.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct live_all {
	pthread_mutex_t lock;
	struct list     list;
};

/* A part of the caller's own struct for the transfer. */
struct live {
	struct list     in_all;
	uint8_t         campaign[CAMPAIGN_ID_BYTES];
	bool            is_upload;
	_Atomic int64_t cut_to; /* uploads with this reservation or a lower one are cut, and all downloads; -1: none */
	/* Another thread, under the list's lock: it was marked. Must not wait. NULL: nothing to do. */
	void (*on_cut)(struct live *l);
};

void live_all_init(struct live_all *all);
void live_all_fini(struct live_all *all); /* when none is left */

/* campaign, is_upload and on_cut are set. Any thread; live_leave before the struct goes, also when it was cut. */
void live_enter(struct live_all *all, struct live *l);
void live_leave(struct live_all *all, struct live *l);

/* Whether it must end. reservation: an upload's; 0: it has none yet. */
bool live_is_cut(const struct live *l, int64_t reservation);

/* How many there are. */
struct live_count {
	int64_t uploads, downloads;
};
struct live_count live_count(struct live_all *all, const uint8_t campaign[CAMPAIGN_ID_BYTES]);

/* Marks all of this campaign, and says how many. last_upload: as of campaign_revoke. */
struct live_count live_cut(struct live_all *all, const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t last_upload);

#endif
