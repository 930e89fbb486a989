/*
 * What operators who watch are told of campaigns, whichever way a player came.
 */
#ifndef CLOUD_CLOUD_EVENT_H
#define CLOUD_CLOUD_EVENT_H

#include "base/err.h"
#include "store/campaign.h"

#include <stdint.h>

enum cloud_way { CLOUD_BY_VAULT, CLOUD_BY_REST };

/* player: an id, or what begins with one, as a digest does. */
void cloud_event_stored(const uint8_t campaign[CAMPAIGN_ID_BYTES], const struct upload_end *end,
                        const uint8_t player[PLAYER_ID_BYTES], enum cloud_way way);
void cloud_event_refused(const uint8_t campaign[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES],
                         enum cloud_way way, enum err why);
void cloud_event_loaded(const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t version, uint64_t bytes,
                        const uint8_t player[PLAYER_ID_BYTES], enum cloud_way way);
void cloud_event_deleted(const uint8_t campaign[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES]);
void cloud_event_restored(const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t version,
                          const uint8_t player[PLAYER_ID_BYTES]);

#endif
