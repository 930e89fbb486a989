/*
 * How the descriptors that a process may have are shared out.
 *
 * A server that runs out of them accepts nobody, and libmicrohttpd asks for the next connection all the time. So each
 * part that strangers can make grow has a bound, and all bounds together fit: HTTP, the operators' socket and transfers
 * come first, then some signaling and some rooms; WebSocket connections and the files of those that store or load checkpoints
 * get what is left.
 */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include "base/err.h"
#include "conf/conf.h"

#include <stdint.h>
#include <stdio.h>

struct server_files {
	int64_t ws_connections; /* how many fit; at most what limits say */
	int64_t cloud_vaults;
	int64_t signal_peers;
	int64_t rooms_connections;
	int64_t rooms_streams;
	int64_t admin_connections, admin_tcp_connections, admin_viewers;
	int64_t http_leaving; /* for http_config.leaving_max */
	int64_t wanted;       /* what the process would have to have for all */
};

/*
 * Shares out so many, of which some are open already. ERR_LIMIT: not even HTTP and some games fit, and one sentence in
 * report says so.
 */
enum err server_files_share(struct server_files *out, const struct conf *conf, int64_t files, int64_t open,
                            FILE *report);

/* What this process has open now. */
int64_t server_files_open(void);

#endif
