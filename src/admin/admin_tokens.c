/*
 * Tokens, one-time links, who am I: src/admin/PROTOCOL.md.
 */
#include "admin/admin_serve.h"

const struct api_route admin_token_routes[] = {
	{ 0 },
};
