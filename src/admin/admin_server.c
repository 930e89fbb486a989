/*
 * Status, settings, reload, drain, backup: src/admin/PROTOCOL.md.
 */
#include "admin/admin_serve.h"

const struct api_route admin_server_routes[] = {
	{ 0 },
};
