/* coopctl games: who plays right now. */
#include "coopctl/act.h"
#include "coopctl/list.h"

#include "base/auto.h"

#include <stdio.h>

static const struct print_column columns[] = {
	{ "CODE", "code", PRINT_NUMBER },        { "STATE", "state", PRINT_STATE },
	{ "FRIENDS", "friends", PRINT_NUMBER },  { "HOST", "host", PRINT_TEXT },
	{ "HOST HERE", "connected", PRINT_YES }, { "TO FRIENDS", "rate_down", PRINT_RATE },
	{ "TO HOST", "rate_up", PRINT_RATE },    { "DROPPED", "down.dropped", PRINT_NUMBER },
	{ "SINCE", "made_at", PRINT_AGO },       { 0 },
};

static enum ctl_exit run_list(struct ctl *c)
{
	return list_run(c, "/games", columns, "No game is played.");
}

static const struct print_column fields[] = {
	{ "Code", "code", PRINT_TEXT },
	{ "State", "state", PRINT_STATE },
	{ "Host", "host", PRINT_TEXT },
	{ "Host is here", "connected", PRINT_YES },
	{ "His address", "address", PRINT_TEXT },
	{ "Protocol", "version", PRINT_TEXT },
	{ "Since", "made_at", PRINT_TIME },
	{ "To the host", "up.bytes", PRINT_BYTES },
	{ "  datagrams", "up.datagrams", PRINT_TEXT },
	{ "  dropped", "up.dropped", PRINT_TEXT },
	{ "  now", "rate_up", PRINT_RATE },
	{ "To friends", "down.bytes", PRINT_BYTES },
	{ "  datagrams", "down.datagrams", PRINT_TEXT },
	{ "  dropped", "down.dropped", PRINT_TEXT },
	{ "  now", "rate_down", PRINT_RATE },
	{ "Drops by reason", "drops", PRINT_TEXT },
	{ 0 },
};

static const struct print_column friends[] = {
	{ "NUMBER", "number", PRINT_NUMBER },
	{ "PLAYER", "player", PRINT_TEXT },
	{ "ADDRESS", "address", PRINT_TEXT },
	{ "HERE", "connected", PRINT_YES },
	{ "JOINED", "joined_at", PRINT_AGO },
	{ "SENT", "up.bytes", PRINT_BYTES },
	{ "GOT", "down.bytes", PRINT_BYTES },
	{ "DROPPED", "down.dropped", PRINT_NUMBER },
	{ 0 },
};

static enum ctl_exit run_show(struct ctl *c)
{
	static const struct list_inside lists[] = { { "Friends", "friends", friends }, { 0 } };
	AUTO(auto_free) char           *path    = client_path("/games/%s", ctl_arg(c, 0));

	return list_show(c, path, fields, lists);
}

static enum ctl_exit run_close(struct ctl *c)
{
	static const struct print_column of_close[] = { { "Friends in it", "friends", PRINT_TEXT }, { 0 } };
	static const struct action       close      = {
			   .method   = "DELETE",
			   .path     = "/games/{0}",
			   .destroys = true,
			   .what     = "end game {0} for its host and all friends",
			   .done     = "Game {0} is closed.",
			   .fields   = of_close,
	};

	return act_on_args(c, &close);
}

static enum ctl_exit run_kick(struct ctl *c)
{
	static const struct action kick = {
		.method   = "DELETE",
		.path     = "/games/{0}/friends/{1}",
		.destroys = true,
		.what     = "take friend {1} out of game {0}; he may come again (coopctl bans add keeps him out)",
		.done     = "Friend {1} is out of game {0}. He may come again; coopctl bans add keeps him out.",
	};

	return act_on_args(c, &kick);
}

static const struct ctl_option list_options[] = {
	{ .name = "host", .value = "PLAYER", .help = "hosted by the player of this id", .query = "host" },
	{ .name = "player", .value = "PLAYER", .help = "with this player, as host or friend", .query = "player" },
	LIST_LIMIT,
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "list", "", "list the games that are played", NULL, list_options,
	  "coopctl games\ncoopctl games --player 00112233445566aa\ncoopctl games --json | jq '.items[].code'",
	  run_list },
	{ "show", "CODE", "show one game with its friends, traffic and drops", NULL, NULL, "coopctl games show 123456",
	  run_show },
	{ "close", "CODE", "end a game", "Host and friends are told that it is over.", NULL,
	  "coopctl games close 123456\ncoopctl games close 123456 --dry-run", run_close },
	{ "kick", "CODE NUMBER", "take a friend out of a game",
	  "NUMBER is his place, as coopctl games show has it. He loses the place and may come again.", NULL,
	  "coopctl games kick 123456 2", run_kick },
	{ 0 },
};
const struct ctl_group ctl_games = { "games", "games that are played now: list, show, close, kick", commands };
