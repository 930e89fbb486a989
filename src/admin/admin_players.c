/*
 * Players, as they are kept: src/admin/PROTOCOL.md.
 */
#include "admin/admin_serve.h"

const struct api_route admin_player_routes[] = {
	{ 0 },
};
