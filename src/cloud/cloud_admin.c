/*
 * Campaigns, quotas and blobs, for operators: src/admin/PROTOCOL.md.
 */
#include "cloud/cloud_admin.h"

#include "cloud/vault_serve.h"

#define CAMPAIGNS "/admin/v1/campaigns"
#define CAMPAIGN  CAMPAIGNS "/{id}"
#define MEMBER    CAMPAIGN "/members/{player}"
#define QUOTAS    "/admin/v1/quotas"
#define BLOBS     "/admin/v1/blobs"

#define QUOTA_BODY_BYTES 1024

#define SEARCH "limit cursor q owner member level min_bytes max_bytes older_than_days newer_than_days trash"

const struct api_route cloud_admin_routes[] = {
	{ .method = "GET", .path = CAMPAIGNS, .role = API_VIEWER, .query = SEARCH, .handle = cloud_admin_list },
	{ .method = "GET", .path = CAMPAIGN, .role = API_VIEWER, .query = "number", .handle = cloud_admin_one },
	{ .method = "GET",
	  .path   = CAMPAIGN "/checkpoint",
	  .role   = API_OPERATOR,
	  .query  = "version number",
	  .handle = cloud_admin_checkpoint },
	{ .method = "DELETE",
	  .path   = CAMPAIGN,
	  .role   = API_OPERATOR,
	  .action = "campaign.revoke",
	  .handle = cloud_admin_revoke },
	{ .method = "POST",
	  .path   = CAMPAIGN "/unrevoke",
	  .role   = API_OPERATOR,
	  .action = "campaign.unrevoke",
	  .handle = cloud_admin_unrevoke,
	  .body   = API_OBJECT },
	{ .method = "DELETE",
	  .path   = CAMPAIGN "/trash",
	  .role   = API_OPERATOR,
	  .action = "campaign.purge",
	  .handle = cloud_admin_purge },
	{ .method = "POST",
	  .path   = CAMPAIGN "/owner",
	  .role   = API_OPERATOR,
	  .action = "campaign.transfer",
	  .handle = cloud_admin_transfer,
	  .body   = API_OBJECT },
	{ .method = "PUT",
	  .path   = MEMBER,
	  .role   = API_OPERATOR,
	  .action = "campaign.member_add",
	  .handle = cloud_admin_member_add },
	{ .method = "DELETE",
	  .path   = MEMBER,
	  .role   = API_OPERATOR,
	  .action = "campaign.member_remove",
	  .handle = cloud_admin_member_remove },
	{ .method = "POST",
	  .path   = CAMPAIGN "/restore",
	  .role   = API_OPERATOR,
	  .action = "campaign.restore",
	  .handle = cloud_admin_restore,
	  .body   = API_OBJECT },
	{ .method = "GET", .path = QUOTAS, .role = API_VIEWER, .handle = cloud_admin_quotas },
	{ .method = "GET",
	  .path   = QUOTAS "/players",
	  .role   = API_VIEWER,
	  .query  = "limit cursor",
	  .handle = cloud_admin_quota_players },
	{ .method = "GET",
	  .path   = QUOTAS "/campaigns",
	  .role   = API_VIEWER,
	  .query  = "limit cursor",
	  .handle = cloud_admin_quota_campaigns },
	{ .method = "GET", .path = QUOTAS "/players/{id}", .role = API_VIEWER, .handle = cloud_admin_get_player_quota },
	{ .method = "GET",
	  .path   = QUOTAS "/campaigns/{id}",
	  .role   = API_VIEWER,
	  .handle = cloud_admin_get_campaign_quota },
	{ .method   = "PUT",
	  .path     = QUOTAS "/players/{id}",
	  .role     = API_OPERATOR,
	  .action   = "quota.set",
	  .handle   = cloud_admin_set_player_quota,
	  .body     = API_OBJECT,
	  .body_max = QUOTA_BODY_BYTES },
	{ .method   = "PUT",
	  .path     = QUOTAS "/campaigns/{id}",
	  .role     = API_OPERATOR,
	  .action   = "quota.set",
	  .handle   = cloud_admin_set_campaign_quota,
	  .body     = API_OBJECT,
	  .body_max = QUOTA_BODY_BYTES },
	{ .method = "GET", .path = BLOBS, .role = API_VIEWER, .handle = cloud_admin_blobs },
	{ .method = "POST",
	  .path   = BLOBS "/sweep",
	  .role   = API_OPERATOR,
	  .action = "blobs.sweep",
	  .handle = cloud_admin_sweep,
	  .body   = API_OBJECT },
	{ 0 },
};

/* --- What is under way --- */

/* A question to the vault, on the loop. */
struct vault_question {
	struct vault     *vault;
	const uint8_t    *campaign;
	int64_t           last_upload;
	struct live_count count;
};

static void run_count(void *arg)
{
	struct vault_question *q = arg;

	q->count = vault_count(q->vault, q->campaign);
}

static void run_cut(void *arg)
{
	struct vault_question *q = arg;

	q->count = vault_cut(q->vault, q->campaign, q->last_upload);
}

/* Once the loop has ended nothing is under way there. */
static struct live_count ask_vault(const struct api_call *c, struct vault_question *q, void (*run)(void *arg))
{
	return api_on_loop(c, run, q) == ERR_OK ? q->count : (struct live_count){ 0 };
}

static struct live_count sum(struct live_count a, struct live_count b)
{
	return (struct live_count){ a.uploads + b.uploads, a.downloads + b.downloads };
}

struct live_count cloud_count_live(const struct api_call *c, struct cloud *cloud, const uint8_t id[CAMPAIGN_ID_BYTES])
{
	struct vault_question q = { .vault = cloud->vault, .campaign = id };

	return sum(live_count(&cloud->live, id), ask_vault(c, &q, run_count));
}

struct live_count cloud_cut_live(const struct api_call *c, struct cloud *cloud, const uint8_t id[CAMPAIGN_ID_BYTES],
                                 int64_t last_upload)
{
	struct vault_question q = { .vault = cloud->vault, .campaign = id, .last_upload = last_upload };

	return sum(live_cut(&cloud->live, id, last_upload), ask_vault(c, &q, run_cut));
}
