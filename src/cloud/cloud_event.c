#include "cloud/cloud_event.h"

#include "base/event.h"

static struct event_field via(enum cloud_way way)
{
	return event_word("via", way == CLOUD_BY_VAULT ? "vault" : "rest");
}

void cloud_event_stored(const uint8_t campaign[CAMPAIGN_ID_BYTES], const struct upload_end *end,
                        const uint8_t player[PLAYER_ID_BYTES], enum cloud_way way)
{
	if (end->made)
		event_emit(E_CAMPAIGN_MADE, event_id("campaign", campaign), event_id("player", player));
	event_emit(E_CHECKPOINT_STORED, event_id("campaign", campaign), event_int("version", end->stored.version),
	           event_int("bytes", end->stored.bytes), event_id("player", player), via(way));
}

void cloud_event_refused(const uint8_t campaign[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES],
                         enum cloud_way way, enum err why)
{
	event_emit(E_CHECKPOINT_REFUSED, event_id("campaign", campaign), event_id("player", player), via(way),
	           event_word("reason", err_rest(why)));
}

void cloud_event_loaded(const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t version, uint64_t bytes,
                        const uint8_t player[PLAYER_ID_BYTES], enum cloud_way way)
{
	event_emit(E_CHECKPOINT_LOADED, event_id("campaign", campaign), event_int("version", version),
	           event_int("bytes", (int64_t)bytes), event_id("player", player), via(way));
}

void cloud_event_deleted(const uint8_t campaign[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES])
{
	event_emit(E_CAMPAIGN_DELETED, event_id("campaign", campaign), event_id("by", player));
}

void cloud_event_restored(const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t version,
                          const uint8_t player[PLAYER_ID_BYTES])
{
	event_emit(E_CAMPAIGN_RESTORED, event_id("campaign", campaign), event_int("version", version),
	           event_id("by", player));
}
