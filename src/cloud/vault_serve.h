/*
 * The vault, live: connections that the tunnel handed over, their requests and answers. Everything here is for the loop
 * thread.
 *
 *	bytes --net/ws--> vault_serve --> vault_wire (parse) --> vault_state (decide) --> vault_ask, _put, _get (do)
 */
#ifndef CLOUD_VAULT_SERVE_H
#define CLOUD_VAULT_SERVE_H

#include "cloud/cloud_inside.h"

/* ERR_NOMEM. */
enum err vault_new(struct vault **out, struct cloud *cloud);

/* Takes the connection over: VAULT_OPENED, or FAULT 11 and the close. */
void vault_open(struct vault *v, struct ws_conn *ws, const uint8_t *key, int64_t now_ms);

/*
 * Uploads and downloads of this campaign that are under way: how many; and all of them ended, uploads with FAULT 12 (after
 * the answer of the request under way, if there is one), downloads with their connection. last_upload: as of campaign_revoke.
 */
struct live_count vault_count(const struct vault *v, const uint8_t campaign[CAMPAIGN_ID_BYTES]);
struct live_count vault_cut(struct vault *v, const uint8_t campaign[CAMPAIGN_ID_BYTES], int64_t last_upload);

/* As cloud_ban. */
size_t vault_ban(struct vault *v, const struct ban *b, bool end);

/* After the loop ended, before the store stops: ends all connections and waits for what is under way. */
void vault_finish(struct vault *v);
void vault_free(struct vault *v);

#endif
