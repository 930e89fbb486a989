/*
 * Bans: src/admin/PROTOCOL.md.
 */
#include "admin/admin_serve.h"

const struct api_route admin_ban_routes[] = {
	{ 0 },
};
