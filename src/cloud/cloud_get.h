/*
 * One checkpoint's bytes on their way to a player. The hash is taken on the way, and the last piece is handed out only
 * when it is right. Only on threads that may touch files, one at a time.
 *
 * A file whose hash was right less than limits.cloud_verified_ms ago, and that is untouched since (same inode, size, mtime
 * and ctime), is not hashed again.
 */
#ifndef CLOUD_CLOUD_GET_H
#define CLOUD_CLOUD_GET_H

#include "store/campaign.h"

struct cloud_get;
struct cloud_verified; /* the files whose hash was right lately; made by cloud_new, any thread */

struct cloud_verified *cloud_verified_new(const struct limits *limits);
void                   cloud_verified_free(struct cloud_verified *v);

/*
 * Picks the checkpoint (campaign_pick) and opens its file; *row is filled. ERR_NOT_FOUND (also for strangers), ERR_BUSY,
 * ERR_STORE; ERR_DAMAGED: the file is missing or of a wrong size, which was reported.
 */
struct cloud_pick {
	const uint8_t *campaign; /* CAMPAIGN_ID_BYTES */
	const uint8_t *player;   /* PLAYER_DIGEST_BYTES; NULL: an operator asks, who may have any (campaign_pick_any) */
	int64_t        version;
	int64_t        number; /* an operator's */
	bool           containers_only;
};
enum err cloud_get_open(struct cloud_get **out, struct checkpoint_row *row, struct store *s, struct cloud_verified *v,
                        const struct cloud_pick *pick);

/*
 * Hashes what is not hashed yet, so that all that is read from here on is right; nothing when it was right lately. Before
 * the first read of a part, whose end may not be the file's. ERR_DAMAGED, reported; ERR_NOMEM.
 */
enum err cloud_get_verify(struct cloud_get *g);

/*
 * Reads up to cap bytes at a place. In order from 0 to the end, the bytes are hashed on the way; the piece that ends the
 * file is not given (ERR_DAMAGED, reported) when the hash is wrong, nor anything after that. Starting elsewhere, the whole
 * file is hashed first.
 */
enum err cloud_get_read(struct cloud_get *g, size_t *len, uint64_t at, void *out, size_t cap);
void     cloud_get_free(struct cloud_get *g);

#endif
