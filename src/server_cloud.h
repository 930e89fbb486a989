/*
 * What the tunnel and the cloud, which do not know each other, do for each other: connections that ask for checkpoints
 * go to the cloud, and the cloud's players get their codes from the tunnel.
 */
#ifndef SERVER_CLOUD_H
#define SERVER_CLOUD_H

#include "cloud/cloud.h"
#include "tunnel/tunnel_serve.h"

/* Before the first connection. Both must outlive all answers. */
void server_join(struct tunnel *tunnel, struct cloud *cloud);

#endif
