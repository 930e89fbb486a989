/*
 * Who may transfer: the uploads and downloads of an HTTP server, counted in all and per client. How fast they must be
 * is net/http_table.h's. A transfer is counted until its thread is done with it, also when its connection was cut
 * before: what it holds, it holds until then. Any thread may call any of these.
 */
#ifndef NET_HTTP_TRANSFER_H
#define NET_HTTP_TRANSFER_H

#include "base/err.h"
#include "net/addr.h"
#include "net/http_share.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct http_transfers {
	pthread_mutex_t    lock;
	struct http_shares shares;
	size_t             count, max, per_address_max;
};

struct http_transfer {
	struct http_share share;
	bool              is_counted;
};

void http_transfers_init(struct http_transfers *all, size_t max, size_t per_address_max);
void http_transfers_fini(struct http_transfers *all);

/*
 * One more of this client, behind whatever proxy; exempt: in all only. ERR_TRANSFERS: as many as may be in all; ERR_LIMIT:
 * as many as one address may have; ERR_NOMEM. The client's own comes first, so that he who fills the server hears so.
 */
enum err http_transfer_take(struct http_transfer *t, struct http_transfers *all, const struct addr *client,
                            bool exempt);
void     http_transfer_give(struct http_transfer *t, struct http_transfers *all); /* if it is counted */

#endif
