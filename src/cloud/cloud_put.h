/*
 * One upload's bytes on their way: to the temporary file, through the hash and through the container's parser. Only on
 * threads that may touch files, one at a time.
 */
#ifndef CLOUD_CLOUD_PUT_H
#define CLOUD_CLOUD_PUT_H

#include "cloud/container_wire.h"
#include "store/campaign.h"

struct cloud_put {
	struct blob_writer    blob;
	bool                  is_container, has_text;
	int64_t               bytes, bytes_max; /* so far; declared, or the most that may come */
	uint8_t               campaign[CAMPAIGN_ID_BYTES];
	struct container_text text;      /* of a container: its members, once cloud_put_end was ERR_OK */
	struct container      container; /* last: it is large, and most of it is never touched */
};

/* campaign NULL: any bytes. On failure (ERR_SPACE, ERR_IO, ERR_NOMEM) there is nothing to free. */
enum err cloud_put_begin(struct cloud_put *p, struct store *s, const uint8_t *campaign, int64_t bytes_max);

/* ERR_CONTENT: more than bytes_max, or no container of this campaign (as soon as that is seen); ERR_SPACE, ERR_IO. */
enum err cloud_put_add(struct cloud_put *p, const void *bytes, size_t len);

/* All is there: content checked, then hashed and synced. meta of a container is filled. ERR_CONTENT, ERR_SPACE, ERR_IO. */
enum err cloud_put_end(struct cloud_put *p, struct checkpoint_meta *meta);

/* Frees; the temporary file goes unless a job took it. Fine after any failure. */
void cloud_put_fini(struct cloud_put *p);

#endif
