/*
 * Sessions and rooms of peer to peer, for operators: src/admin/PROTOCOL.md.
 */
#include "p2p/p2p_serve.h"

const struct api_route p2p_admin_routes[] = {
	{ 0 },
};
