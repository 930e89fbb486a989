/*
 * Lobbies, for operators: src/admin/PROTOCOL.md.
 */
#include "lobby/lobby_serve.h"

const struct api_route lobby_admin_routes[] = {
	{ 0 },
};
