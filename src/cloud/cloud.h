/*
 * Campaigns and their checkpoints: what both ways to them share. One store, one set of rights, one quota.
 *
 *	vault_*		over WebSocket (tunnel.md's vault; PROTOCOL.md beside this file)
 *	rest_*		over HTTP (openapi.json beside this file)
 *	container_wire	the checkpoint container, as both read it
 *	cloud_put	one upload's bytes on their way to a blob
 *	cloud_get	one checkpoint's bytes on their way to a player, checked
 *
 * Rights, quotas and versions are decided in the store's jobs (store/campaign.h), so that both ways agree.
 */
#ifndef CLOUD_CLOUD_H
#define CLOUD_CLOUD_H

#include "api/api.h"
#include "base/err.h"
#include "conf/conf.h"
#include "net/ban.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/ws.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cloud;

/* Between store_open and store_start. What is passed must outlive it. */
enum err cloud_new(struct cloud **out, struct loop *loop, struct store *store, const struct conf *conf);
void     cloud_free(struct cloud *c); /* after the store has stopped and the loop was drained */

/* On the loop thread: its timers (sweeps of conflicts, trash, expiry). */
void cloud_start(struct cloud *c);
void cloud_stop(struct cloud *c);

/* After the loop ended and before the store stops: ends what is under way for vault connections, and waits for it. */
void cloud_finish(struct cloud *c);

/*
 * The tunnel hands a connection over that sent VAULT_OPEN with this key (16 bytes) and a right version: VAULT_OPENED or
 * FAULT 11 and close, and everything after, is the vault's. For tunnel_set_vault.
 */
void cloud_open_vault(void *cloud, struct ws_conn *ws, const uint8_t *key, int64_t now_ms);

/* How many vault connections this ban of a player is meant for; with end, they are closed. On the loop thread. */
size_t cloud_ban(struct cloud *c, const struct ban *b, bool end);

/*
 * Who gives a player a new code (POST /v1/me/code), as the cloud knows no tunnels. ask may be called on any thread and
 * must not wait; it calls done once, on any thread, with the new code or why there is none. Before the HTTP server
 * starts; without, the route answers ERR_NOT_FOUND.
 */
typedef void (*cloud_code_done)(void *done_arg, enum err e, uint32_t code);
typedef void (*cloud_code_ask)(void *arg, const uint8_t digest[32], cloud_code_done done, void *done_arg);
void cloud_set_new_code(struct cloud *c, cloud_code_ask ask, void *arg);

/* Routes of the REST API, part: the cloud; ended by a NULL path. And those for the admin socket. */
extern const struct http_route rest_routes[];
extern const struct http_route quota_routes[];

/* What operators may ask; their part is the same as above. */
extern const struct api_route cloud_admin_routes[];

#endif
