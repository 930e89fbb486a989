/*
 * Games and codes, for operators: src/admin/PROTOCOL.md.
 */
#include "tunnel/tunnel_inside.h"

#define GAME "/admin/v1/games/{code}"
#define CODE "/admin/v1/players/{id}/code"

const struct api_route tunnel_admin_routes[] = {
	{ "GET", "/admin/v1/games", API_VIEWER, NULL, "limit cursor host player", tunnel_admin_games,
	  .body = API_NO_BODY },
	{ "GET", GAME, API_VIEWER, NULL, NULL, tunnel_admin_game, .body = API_NO_BODY },
	{ "DELETE", GAME, API_OPERATOR, "game.close", NULL, tunnel_admin_close, .body = API_NO_BODY },
	{ "DELETE", GAME "/friends/{number}", API_OPERATOR, "game.kick", NULL, tunnel_admin_kick, .body = API_NO_BODY },
	{ "DELETE", CODE, API_OPERATOR, "player.free_code", NULL, tunnel_admin_free_code, .body = API_NO_BODY },
	{ "POST", CODE, API_OPERATOR, "player.set_code", NULL, tunnel_admin_set_code, .body = API_OBJECT },
	{ 0 },
};
