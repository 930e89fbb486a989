/*
 * Rooms, players and boards, for operators: src/admin/PROTOCOL.md.
 */
#include "rooms/rooms_serve.h"

const struct api_route rooms_admin_routes[] = {
	{ 0 },
};
