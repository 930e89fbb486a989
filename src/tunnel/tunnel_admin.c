/*
 * Games and codes, for operators: src/admin/PROTOCOL.md.
 */
#include "tunnel/tunnel_serve.h"

const struct api_route tunnel_admin_routes[] = {
	{ 0 },
};
