/*
 * Lists of live things, which the loop has in no order: a page is the lowest so many behind the cursor, found in one pass.
 *
 *	HTTP thread --> loop: walk offers each thing, the lowest are looked at --> HTTP thread: JSON of what was seen
 *
 * A view is a flat copy of what is shown of a thing, and begins with its key, by which the list is ordered.
 */
#ifndef API_API_LIVE_H
#define API_API_LIVE_H

#include "api/api.h"

#include <stddef.h>
#include <stdint.h>

#define API_LIVE_KEY_BYTES_MAX 64

struct api_live;

struct api_live_kind {
	size_t view_bytes, key_bytes; /* key_bytes at most API_LIVE_KEY_BYTES_MAX */
	/* Loop thread: offers every thing of the part. */
	void (*walk)(struct api_live *l, void *part);
	void (*key_of)(uint8_t *key, const void *thing);
	int (*compare)(const void *a, const void *b); /* two things, as memcmp of their keys */
	/* Loop thread: fills the view, which is zeroed, key and all. */
	void (*look)(void *view, const void *thing);
	/* NULL when out of memory. */
	struct json *(*json)(const void *view);
};

/* From walk. */
void api_live_offer(struct api_live *l, void *thing);

/* Answers the page that was asked for. */
enum err api_live_list(struct api_call *c, const struct api_live_kind *kind, void *part);

#endif
