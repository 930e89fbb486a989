/*
 * The tunnel and the cloud, brought together.
 */
#include "server_cloud.h"

void server_join(struct tunnel *tunnel, struct cloud *cloud)
{
	tunnel_set_vault(tunnel, cloud_open_vault, cloud);
}
