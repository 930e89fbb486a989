/*
 * Campaigns, quotas and blobs, for operators: src/admin/PROTOCOL.md.
 */
#include "cloud/cloud.h"

const struct api_route cloud_admin_routes[] = {
	{ 0 },
};
