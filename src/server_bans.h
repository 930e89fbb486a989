/*
 * Bans, brought to all who have connections: loaded before anybody listens, and for each new one who is there already ends.
 */
#ifndef SERVER_BANS_H
#define SERVER_BANS_H

#include "cloud/cloud.h"
#include "lobby/lobby_serve.h"
#include "net/ban.h"
#include "net/http.h"
#include "net/tcp.h"
#include "net/ws.h"
#include "p2p/p2p_serve.h"
#include "rooms/rooms_serve.h"
#include "signal/signal_serve.h"
#include "tunnel/tunnel_serve.h"

#include <stdbool.h>
#include <stddef.h>

/* NULL: it is not there. HTTP servers start last, so it is looked at where they will stand. */
struct server_bans {
	struct ws                 *ws;
	struct tcp                *tcp;
	struct tunnel             *tunnel;
	struct cloud              *cloud;
	struct lobby_master       *lobby;
	struct signal_relay       *signal;
	struct rooms              *rooms;
	struct p2p                *p2p;
	struct http_server *const *http, *const *rooms_status;
};

/* Between store_open and store_start. False, after a sentence on standard error. */
bool server_bans_load(struct store *store);

/*
 * How many connections end by this ban; with end, they do. The first on the loop thread; the second, of HTTP, on any. arg is a
 * struct server_bans.
 */
size_t server_bans_end(void *arg, const struct ban *b, bool end);
size_t server_bans_end_http(void *arg, const struct ban *b, bool end);

/* A player who is forgotten: what admin/admin_forget.h asks for. arg as above. */
enum err server_forget_begin(void *arg, const uint8_t id[8]);
void     server_forget_finish(void *arg, const uint8_t id[8], enum err result);
enum err server_forget_name(void *arg, struct api_call *c, const uint8_t name[16], int64_t *rows);

#endif
