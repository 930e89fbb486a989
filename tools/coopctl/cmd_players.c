/* coopctl players: who is known, and his code. */
#include "coopctl/act.h"
#include "coopctl/list.h"
#include "coopctl/name.h"
#include "coopctl/value.h"

#include "base/auto.h"

static const struct print_column columns[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "CODE", "code", PRINT_NUMBER },
	{ "SEEN", "seen_at", PRINT_AGO },
	{ "CAMPAIGNS", "campaigns", PRINT_NUMBER },
	{ "BYTES", "bytes", PRINT_BYTES },
	{ "HOSTING", "hosting", PRINT_YES },
	{ "BANNED", "banned", PRINT_YES },
	{ "KNOWN", "made_at", PRINT_AGO },
	{ 0 },
};

static enum ctl_exit run_list(struct ctl *c)
{
	return list_run(c, "/players", columns, "There is no such player.");
}

static const struct print_column fields[] = {
	{ "Id", "id", PRINT_TEXT },
	{ "Code", "code", PRINT_TEXT },
	{ "Seen", "seen_at", PRINT_TIME },
	{ "Known since", "made_at", PRINT_TIME },
	{ "Hosting now", "hosting", PRINT_YES },
	{ "Banned", "banned", PRINT_YES },
	{ "Campaigns", "quota.campaigns.used", PRINT_TEXT },
	{ "  at most", "quota.campaigns.max", PRINT_TEXT },
	{ "Bytes", "quota.bytes.used", PRINT_BYTES },
	{ "  at most", "quota.bytes.max", PRINT_BYTES },
	{ "A checkpoint at most", "quota.checkpoint.max", PRINT_BYTES },
	{ 0 },
};

static const struct print_column campaigns[] = {
	{ "ID", "id", PRINT_TEXT },       { "NAME", "name", PRINT_TEXT },       { "ROLE", "role", PRINT_TEXT },
	{ "SIZE", "bytes", PRINT_BYTES }, { "STORED", "stored_at", PRINT_AGO }, { 0 },
};

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct list_inside lists[] = { { "Campaigns", "campaign_list", campaigns }, { 0 } };
	struct ctl_name                 player;
	enum ctl_exit                   e = ctl_name_player(&player, c, ctl_arg(c, 0));

	if (e != CTL_OK)
		return e;

	AUTO(auto_free) char *path = client_path("/players/%s", player.id);

	return list_show(c, path, fields, lists);
}

static enum ctl_exit run_free_code(struct ctl *c)
{
	static const struct action free_code = {
		.method   = "DELETE",
		.path     = "/players/{0}/code",
		.destroys = true,
		.what     = "take player {0}'s code from him, and end his game if there is one",
		.done     = "Player {0} has no code any more.",
	};
	struct ctl_name player;
	enum ctl_exit   e = ctl_name_player(&player, c, ctl_arg(c, 0));

	return e == CTL_OK ? act(c, &free_code, (const char *[ACT_TEXTS_MAX]){ player.id }, NULL) : e;
}

static const struct print_column of_code[] = {
	{ "Code", "code", PRINT_TEXT },
	{ "Before", "old_code", PRINT_TEXT },
	{ 0 },
};

static enum ctl_exit run_set_code(struct ctl *c)
{
	static const struct action set_code = {
		.method   = "POST",
		.path     = "/players/{0}/code",
		.destroys = true,
		.what     = "give player {0} another code; his friends know the old one",
		.done     = "Player {0} has another code.",
		.fields   = of_code,
	};
	const char     *text = ctl_arg(c, 1);
	int64_t         code = 0;
	struct ctl_name player;
	enum ctl_exit   e = CTL_OK;

	if (text && !value_number(&code, text))
		return ctl_fail(c, CTL_USAGE, "usage", "\"%s\" is no code", text);
	e = ctl_name_player(&player, c, ctl_arg(c, 0));
	if (e != CTL_OK)
		return e;

	json_t *body = json_object();

	if (text)
		json_object_set_new(body, "code", json_integer(code));
	e = act(c, &set_code, (const char *[ACT_TEXTS_MAX]){ player.id }, &(struct client_request){ .body = body });
	json_decref(body);
	return e;
}

static const struct ctl_option list_options[] = {
	{ .name = "code", .value = "CODE", .kind = CTL_NUMBER, .help = "who has this code", .query = "code" },
	{ .name = "find", .value = "ID", .help = "whose id begins so", .query = "q" },
	LIST_LIMIT,
	{ 0 },
};

#define WHO "PLAYER is an id, the beginning of one that no other has, or a code."

static const struct ctl_command commands[] = {
	{ "list", "", "list the players that are known", NULL, list_options,
	  "coopctl players\ncoopctl players --code 123456\ncoopctl players --find 0011", run_list },
	{ "show", "PLAYER", "show one player with his campaigns and what he may store", WHO, NULL,
	  "coopctl players show 00112233445566aa\ncoopctl players show 123456", run_show },
	{ "free-code", "PLAYER", "take a player's code from him",
	  WHO "\n\nA game under it ends. He gets another one when he hosts again.", NULL,
	  "coopctl players free-code 123456", run_free_code },
	{ "set-code", "PLAYER [CODE]", "give a player a certain code, or a new one", WHO, NULL,
	  "coopctl players set-code 00112233445566aa 654321\ncoopctl players set-code 123456  # a new one, whichever",
	  run_set_code },
	{ 0 },
};
const struct ctl_group ctl_players = { "players", "players that are known: list, show, free or set a code", commands };
