/*
 * The audit trail: src/admin/PROTOCOL.md.
 */
#include "admin/admin_serve.h"

const struct api_route admin_audit_routes[] = {
	{ 0 },
};
