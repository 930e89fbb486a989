/* coopctl quota: how much may be stored, by whom. */
#include "coopctl/act.h"
#include "coopctl/list.h"
#include "coopctl/name.h"
#include "coopctl/value.h"

#include "base/auto.h"

#include <string.h>

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Campaigns of a player", "defaults.player_campaigns", PRINT_TEXT },
		{ "Bytes of a player", "defaults.player_bytes", PRINT_BYTES },
		{ "Bytes of a campaign", "defaults.campaign_bytes", PRINT_BYTES },
		{ "Bytes of a checkpoint", "defaults.checkpoint", PRINT_BYTES },
		{ "Bytes in all", "defaults.total_bytes", PRINT_BYTES },
		{ "Campaigns stored", "used.campaigns", PRINT_TEXT },
		{ "Bytes stored", "used.bytes", PRINT_BYTES },
		{ "  spare copies", "used.spare", PRINT_BYTES },
		{ "  trash", "used.trash", PRINT_BYTES },
		{ "Exceptions", "overrides", PRINT_TEXT },
		{ 0 },
	};

	return list_show(c, "/quotas", fields, NULL);
}

static const struct print_column override_columns[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "CAMPAIGNS", "campaigns", PRINT_NUMBER },
	{ "BYTES", "bytes", PRINT_BYTES },
	{ "CHECKPOINT", "checkpoint", PRINT_BYTES },
	{ 0 },
};

static enum ctl_exit run_players(struct ctl *c)
{
	return list_run(c, "/quotas/players", override_columns, "No player has a quota of his own.");
}

static enum ctl_exit run_campaigns(struct ctl *c)
{
	/* Without how many campaigns. */
	static const struct print_column columns[] = {
		{ "ID", "id", PRINT_TEXT },
		{ "BYTES", "bytes", PRINT_BYTES },
		{ "CHECKPOINT", "checkpoint", PRINT_BYTES },
		{ 0 },
	};

	return list_run(c, "/quotas/campaigns", columns, "No campaign has a quota of its own.");
}

static const struct print_column quota_fields[] = {
	{ "Campaigns", "campaigns", PRINT_TEXT },
	{ "Bytes", "bytes", PRINT_BYTES },
	{ "A checkpoint", "checkpoint", PRINT_BYTES },
	{ 0 },
};

/* The options that set something: --campaigns, --bytes, --checkpoint, as the server calls them too. */
static const char *const settable[] = { "campaigns", "bytes", "checkpoint" };

static bool has_option(const struct ctl *c, const char *name)
{
	for (const struct ctl_option *o = c->command->options; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return true;
	return false;
}

/* What is to be in force: what is now (unless --reset), with what the options say. */
static enum ctl_exit wanted(json_t **body, bool *any, struct ctl *c, const char *path)
{
	json_t       *now = NULL;
	enum ctl_exit e   = CTL_OK;

	*any = ctl_given(c, "reset");
	if (!*any)
		e = client_get(&now, c, path);
	if (e != CTL_OK)
		return e;
	*body = json_object();
	for (size_t i = 0; i < COUNT_OF(settable); i++) {
		const json_t *is = json_object_get(now, settable[i]);
		int64_t       n;

		if (!has_option(c, settable[i]))
			continue;
		if (value_of(&n, c, settable[i])) {
			json_object_set_new(*body, settable[i], json_integer(n));
			*any = true;
		} else {
			json_object_set_new(*body, settable[i],
			                    json_is_integer(is) ? json_integer(json_integer_value(is)) : json_null());
		}
	}
	json_decref(now);
	return CTL_OK;
}

/* a: with {0} the id, at the same path as what is shown. */
static enum ctl_exit show_or_set(struct ctl *c, const char *path, const struct action *a, const struct ctl_name *of)
{
	json_t       *body = NULL;
	bool          any  = false;
	enum ctl_exit e    = wanted(&body, &any, c, path);

	if (e == CTL_OK && any)
		e = act(c, a, (const char *[ACT_TEXTS_MAX]){ of->id, of->label },
		        &(struct client_request){ .body = body });
	else if (e == CTL_OK)
		e = list_show(c, path, quota_fields, NULL);
	json_decref(body);
	return e;
}

static enum ctl_exit run_player(struct ctl *c)
{
	static const struct action set = {
		.method = "PUT",
		.path   = "/quotas/players/{0}",
		.what   = "change the quota of player {0}",
		.done   = "The quota of player {0} is set; - is the default.",
		.fields = quota_fields,
	};
	struct ctl_name player;
	enum ctl_exit   e = ctl_name_player(&player, c, ctl_arg(c, 0));

	if (e != CTL_OK)
		return e;

	AUTO(auto_free) char *path = client_path("/quotas/players/%s", player.id);

	return show_or_set(c, path, &set, &player);
}

static enum ctl_exit run_campaign(struct ctl *c)
{
	static const struct action set = {
		.method = "PUT",
		.path   = "/quotas/campaigns/{0}",
		.what   = "change the quota of campaign {1}",
		.done   = "The quota of campaign {1} is set; - is the default.",
		.fields = quota_fields,
	};
	struct ctl_name campaign;
	enum ctl_exit   e = ctl_name_campaign(&campaign, c, ctl_arg(c, 0), "no");

	if (e != CTL_OK)
		return e;

	AUTO(auto_free) char *path = client_path("/quotas/campaigns/%s", campaign.id);

	return show_or_set(c, path, &set, &campaign);
}

#define BYTES                                                                                      \
	{                                                                                          \
		.name = "bytes", .value = "SIZE", .kind = CTL_BYTES, .help = "so much in all, 64M" \
	}
#define CHECKPOINT                                                                                             \
	{                                                                                                      \
		.name = "checkpoint", .value = "SIZE", .kind = CTL_BYTES, .help = "so much for one checkpoint" \
	}
#define RESET                                                                                     \
	{                                                                                         \
		.name = "reset", .help = "the default again, for all that is not given beside it" \
	}

static const struct ctl_option player_options[] = {
	{ .name = "campaigns", .value = "N", .kind = CTL_NUMBER, .help = "so many campaigns" },
	BYTES,
	CHECKPOINT,
	RESET,
	{ 0 },
};
static const struct ctl_option campaign_options[] = { BYTES, CHECKPOINT, RESET, { 0 } };
static const struct ctl_option list_options[]     = { LIST_LIMIT, { 0 } };

static const struct ctl_command commands[] = {
	{ "show", "", "show the defaults and what is used", NULL, NULL, "coopctl quota", run_show },
	{ "players", "", "list the players who have quotas of their own", NULL, list_options, "coopctl quota players",
	  run_players },
	{ "campaigns", "", "list the campaigns that have quotas of their own", NULL, list_options,
	  "coopctl quota campaigns", run_campaigns },
	{ "player", "PLAYER", "show or set the quota of one player",
	  "PLAYER is an id, the beginning of one that no other has, or a code. Without an option it is shown; what no "
	  "option names stays as it is.",
	  player_options,
	  "coopctl quota player 123456\ncoopctl quota player 123456 --bytes 64M --campaigns 20\ncoopctl quota player "
	  "123456 --reset",
	  run_player },
	{ "campaign", "CAMPAIGN", "show or set the quota of one campaign",
	  "CAMPAIGN is an id or a part of the name. Without an option it is shown; what no option names stays as it "
	  "is.",
	  campaign_options, "coopctl quota campaign island --bytes 256M\ncoopctl quota campaign island --reset",
	  run_campaign },
	{ 0 },
};
const struct ctl_group ctl_quota = { "quota", "how much may be stored: defaults, use, exceptions", commands };
