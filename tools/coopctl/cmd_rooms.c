/* coopctl rooms: rooms of recompiled games and who is in them. */
#include "coopctl/act.h"
#include "coopctl/list.h"

#include "base/auto.h"

static const struct print_column columns[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "TITLE", "title", PRINT_TEXT },
	{ "MEMBERS", "members", PRINT_NUMBER },
	{ "MAX", "max", PRINT_NUMBER },
	{ "OWNER", "owner", PRINT_TEXT },
	{ "OPEN", "open", PRINT_YES },
	{ "SINCE", "made_at", PRINT_AGO },
	{ 0 },
};

static enum ctl_exit run_list(struct ctl *c)
{
	return list_run(c, "/rooms", columns, "There is no room.");
}

static const struct print_column fields[] = {
	{ "Id", "id", PRINT_TEXT },           { "Title", "title", PRINT_TEXT },
	{ "Members", "members", PRINT_TEXT }, { "  at most", "max", PRINT_TEXT },
	{ "Owner", "owner", PRINT_TEXT },     { "Open", "open", PRINT_YES },
	{ "Since", "made_at", PRINT_TIME },   { 0 },
};

static const struct print_column members[] = {
	{ "MEMBER", "member", PRINT_TEXT },
	{ "USER", "user", PRINT_TEXT },
	{ "NAME", "name", PRINT_TEXT },
	{ "ADDRESS", "address", PRINT_TEXT },
	{ 0 },
};

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct list_inside lists[] = { { "In it", "member_list", members }, { 0 } };
	AUTO(auto_free) char           *path    = client_path("/rooms/%s", ctl_arg(c, 0));

	return list_show(c, path, fields, lists);
}

static enum ctl_exit run_close(struct ctl *c)
{
	static const struct action close = {
		.method   = "DELETE",
		.path     = "/rooms/{0}",
		.destroys = true,
		.what     = "close room {0} for all who are in it",
		.done     = "Room {0} is closed.",
	};

	return act_on_args(c, &close);
}

static enum ctl_exit run_kick(struct ctl *c)
{
	static const struct action kick = {
		.method   = "DELETE",
		.path     = "/rooms/{0}/members/{1}",
		.destroys = true,
		.what     = "take member {1} out of room {0}",
		.done     = "Member {1} is out of room {0}.",
	};

	return act_on_args(c, &kick);
}

static enum ctl_exit run_players(struct ctl *c)
{
	static const struct print_column players[] = {
		{ "USER", "user", PRINT_TEXT },
		{ "NAME", "name", PRINT_TEXT },
		{ "TITLE", "title", PRINT_TEXT },
		{ "ADDRESS", "address", PRINT_TEXT },
		{ "ROOMS", "rooms", PRINT_NUMBER },
		{ "SINCE", "since_at", PRINT_AGO },
		{ 0 },
	};

	return list_run(c, "/rooms/players", players, "Nobody is connected to the rooms.");
}

static enum ctl_exit run_disconnect(struct ctl *c)
{
	static const struct action disconnect = {
		.method   = "DELETE",
		.path     = "/rooms/players/{0}",
		.destroys = true,
		.what     = "end the connection of user {0}, who leaves all rooms; he may come again",
		.done     = "User {0} is disconnected.",
	};

	return act_on_args(c, &disconnect);
}

#define TITLE                                                                                \
	{                                                                                    \
		.name = "title", .value = "TITLE", .help = "of this title", .query = "title" \
	}

static const struct ctl_option list_options[]   = { TITLE, LIST_LIMIT, { 0 } };
static const struct ctl_option player_options[] = {
	TITLE,
	{ .name = "find", .value = "TEXT", .help = "with this in the name", .query = "q" },
	LIST_LIMIT,
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "list", "", "list the rooms", NULL, list_options, "coopctl rooms\ncoopctl rooms --title racer", run_list },
	{ "show", "ID", "show one room and who is in it", NULL, NULL, "coopctl rooms show 7", run_show },
	{ "close", "ID", "close a room", NULL, NULL, "coopctl rooms close 7", run_close },
	{ "kick", "ID MEMBER", "take a member out of a room", "MEMBER is his number there, as show has it.", NULL,
	  "coopctl rooms kick 7 2", run_kick },
	{ "players", "", "list who is connected", NULL, player_options, "coopctl rooms players --find ada",
	  run_players },
	{ "disconnect", "USER", "end a player's connection", "USER is his number, as players has it.", NULL,
	  "coopctl rooms disconnect 12", run_disconnect },
	{ 0 },
};
const struct ctl_group ctl_rooms = { "rooms", "rooms and who is in them: list, show, close, kick, disconnect",
	                             commands };
