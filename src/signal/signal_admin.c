/*
 * Registered peers, for operators: src/admin/PROTOCOL.md.
 */
#include "signal/signal_serve.h"

const struct api_route signal_admin_routes[] = {
	{ 0 },
};
