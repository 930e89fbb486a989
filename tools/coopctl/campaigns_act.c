#include "coopctl/campaigns.h"

#include "coopctl/act.h"
#include "coopctl/into.h"
#include "coopctl/name.h"
#include "coopctl/value.h"

#include "base/auto.h"
#include "base/text.h"

#include <stdio.h>

enum ctl_exit campaigns_download(struct ctl *c)
{
	const char     *to = ctl_value(c, "output"), *version = ctl_value(c, "of-version");
	struct ctl_name campaign;
	enum ctl_exit   e;

	if (!to)
		return ctl_fail(c, CTL_USAGE, "usage", "where to? -o FILE, or -o - for standard output");
	e = ctl_name_campaign(&campaign, c, ctl_arg(c, 0), "no");
	if (e != CTL_OK)
		return e;

	AUTO(auto_free)
	char *path = client_query(client_path("/campaigns/%s/checkpoint", campaign.id), "version", version);

	return into_file(c, path, to);
}

/* --- Into the trash and out of it --- */

/* {0}: the id; {1}: what people call it. */
static enum ctl_exit act_on_campaign(struct ctl *c, const struct action *a, const char *trash, const json_t *body)
{
	struct ctl_name campaign;
	enum ctl_exit   e = ctl_name_campaign(&campaign, c, ctl_arg(c, 0), trash);

	if (e != CTL_OK)
		return e;
	return act(c, a, (const char *[ACT_TEXTS_MAX]){ campaign.id, campaign.label },
	           &(struct client_request){ .body = body });
}

enum ctl_exit campaigns_revoke(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Its name", "name", PRINT_TEXT },
		{ "Uploads of it that end", "uploads", PRINT_TEXT },
		{ "Downloads of it that end", "downloads", PRINT_TEXT },
		{ 0 },
	};
	static const struct action revoke = {
		.method   = "DELETE",
		.path     = "/campaigns/{0}",
		.destroys = true,
		.what     = "move campaign {1} to the trash",
		.done     = "Campaign {1} is in the trash; coopctl campaigns unrevoke {0} brings it back.",
		.fields   = fields,
	};

	return act_on_campaign(c, &revoke, "no", NULL);
}

enum ctl_exit campaigns_unrevoke(struct ctl *c)
{
	static const struct action unrevoke = {
		.method = "POST",
		.path   = "/campaigns/{0}/unrevoke",
		.what   = "take campaign {1} out of the trash",
		.done   = "Campaign {1} is out of the trash.",
	};
	json_t       *body = json_object();
	int64_t       number;
	enum ctl_exit e;

	if (value_of(&number, c, "number"))
		json_object_set_new(body, "number", json_integer(number));
	e = act_on_campaign(c, &unrevoke, "only", body);
	json_decref(body);
	return e;
}

enum ctl_exit campaigns_purge(struct ctl *c)
{
	static const struct print_column fields[] = { { "Removed for good", "purged", PRINT_TEXT }, { 0 } };
	static const struct action       purge    = {
			 .method   = "DELETE",
			 .path     = "/campaigns/{0}/trash",
			 .destroys = true,
			 .what     = "remove for good all that the trash has of campaign {1}",
			 .done     = "The trash has nothing of campaign {1} any more.",
			 .fields   = fields,
	};

	return act_on_campaign(c, &purge, "only", NULL);
}

/* --- Members --- */

/* The second argument is a player. {0}, {1}: the campaign; {2}: the player. */
static enum ctl_exit act_on_member(struct ctl *c, const struct action *a, bool in_body)
{
	struct ctl_name       campaign, player;
	struct client_request more = { .body = NULL };
	enum ctl_exit         e    = ctl_name_campaign(&campaign, c, ctl_arg(c, 0), "no");

	if (e == CTL_OK)
		e = ctl_name_player(&player, c, ctl_arg(c, 1));
	if (e != CTL_OK)
		return e;

	json_t *body = json_pack("{s:s}", "player", player.id);

	if (in_body && ctl_given(c, "force"))
		json_object_set_new(body, "force", json_true());
	more.body = in_body ? body : NULL;
	e         = act(c, a, (const char *[ACT_TEXTS_MAX]){ campaign.id, campaign.label, player.id }, &more);
	json_decref(body);
	return e;
}

enum ctl_exit campaigns_transfer(struct ctl *c)
{
	static const struct action transfer = {
		.method   = "POST",
		.path     = "/campaigns/{0}/owner",
		.destroys = true,
		.what     = "give campaign {1} to player {2}, and make its owner a member",
		.done     = "Campaign {1} is player {2}'s.",
	};

	return act_on_member(c, &transfer, true);
}

enum ctl_exit campaigns_add_member(struct ctl *c)
{
	static const struct action add = {
		.method = "PUT",
		.path   = "/campaigns/{0}/members/{2}",
		.what   = "make player {2} a member of campaign {1}",
		.done   = "Player {2} is a member of campaign {1}.",
	};

	return act_on_member(c, &add, false);
}

enum ctl_exit campaigns_remove_member(struct ctl *c)
{
	static const struct action remove = {
		.method   = "DELETE",
		.path     = "/campaigns/{0}/members/{2}",
		.destroys = true,
		.what     = "take player {2} out of campaign {1}, for good",
		.done     = "Player {2} is out of campaign {1}.",
	};

	return act_on_member(c, &remove, false);
}

enum ctl_exit campaigns_restore(struct ctl *c)
{
	static const struct print_column fields[] = { { "Version", "version", PRINT_TEXT }, { 0 } };
	static const struct action       restore  = {
		       .method   = "POST",
		       .path     = "/campaigns/{0}/restore",
		       .destroys = true,
		       .what     = "make checkpoint {2} of campaign {1} its newest",
		       .done     = "Campaign {1} has checkpoint {2} as its newest again.",
		       .fields   = fields,
	};
	struct ctl_name campaign;
	int64_t         version;
	enum ctl_exit   e;

	if (!value_number(&version, ctl_arg(c, 1)))
		return ctl_fail(c, CTL_USAGE, "usage", "\"%s\" is no version; coopctl campaigns show lists them",
		                ctl_arg(c, 1));
	e = ctl_name_campaign(&campaign, c, ctl_arg(c, 0), "no");
	if (e != CTL_OK)
		return e;

	json_t *body = json_pack("{s:I}", "version", (json_int_t)version);

	e = act(c, &restore, (const char *[ACT_TEXTS_MAX]){ campaign.id, campaign.label, ctl_arg(c, 1) },
	        &(struct client_request){ .body = body });
	json_decref(body);
	return e;
}
