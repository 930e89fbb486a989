/*
 * Inside the cloud: what operators may ask of it. The table is in cloud_admin.c.
 *
 *	cloud_admin_look	campaigns looked for and looked at, a checkpoint's bytes
 *	cloud_admin_do		campaigns changed
 *	cloud_admin_blobs	the blobs, and their sweep
 *	quota_serve		quotas: the defaults, and what differs from them
 */
#ifndef CLOUD_CLOUD_ADMIN_H
#define CLOUD_CLOUD_ADMIN_H

#include "api/api.h"
#include "cloud/cloud_inside.h"

enum err cloud_admin_list(struct api_call *c, void *part);
enum err cloud_admin_one(struct api_call *c, void *part);
enum err cloud_admin_checkpoint(struct api_call *c, void *part);

enum err cloud_admin_revoke(struct api_call *c, void *part);
enum err cloud_admin_unrevoke(struct api_call *c, void *part);
enum err cloud_admin_purge(struct api_call *c, void *part);
enum err cloud_admin_transfer(struct api_call *c, void *part);
enum err cloud_admin_member_add(struct api_call *c, void *part);
enum err cloud_admin_member_remove(struct api_call *c, void *part);
enum err cloud_admin_restore(struct api_call *c, void *part);

enum err cloud_admin_quotas(struct api_call *c, void *part);
enum err cloud_admin_quota_players(struct api_call *c, void *part);
enum err cloud_admin_quota_campaigns(struct api_call *c, void *part);
enum err cloud_admin_get_player_quota(struct api_call *c, void *part);
enum err cloud_admin_get_campaign_quota(struct api_call *c, void *part);
enum err cloud_admin_set_player_quota(struct api_call *c, void *part);
enum err cloud_admin_set_campaign_quota(struct api_call *c, void *part);

enum err cloud_admin_blobs(struct api_call *c, void *part);
enum err cloud_admin_sweep(struct api_call *c, void *part);

/* Of a campaign, whichever way they came: how many are under way; all of them ended (last_upload: as of campaign_revoke). */
struct live_count cloud_count_live(const struct api_call *c, struct cloud *cloud, const uint8_t id[CAMPAIGN_ID_BYTES]);
struct live_count cloud_cut_live(const struct api_call *c, struct cloud *cloud, const uint8_t id[CAMPAIGN_ID_BYTES],
                                 int64_t last_upload);

#endif
