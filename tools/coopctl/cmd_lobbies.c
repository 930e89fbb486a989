/* coopctl lobbies, coopctl signal: the list of open lobbies, and who is registered for signaling. */
#include "coopctl/act.h"
#include "coopctl/list.h"

static const struct print_column lobbies[] = {
	{ "ID", "id", PRINT_TEXT },
	{ "NAME", "name", PRINT_TEXT },
	{ "WORLD", "world", PRINT_TEXT },
	{ "GAME", "game", PRINT_TEXT },
	{ "VERSION", "version", PRINT_TEXT },
	{ "PLAYERS", "players", PRINT_NUMBER },
	{ "MAX", "players_max", PRINT_NUMBER },
	{ "LOCKED", "locked", PRINT_YES },
	{ "LISTED", "listed", PRINT_YES },
	{ "KIND", "kind", PRINT_TEXT },
	{ "PROVED", "proved", PRINT_YES },
	{ "ADDRESS", "address", PRINT_TEXT },
	{ "SINCE", "made_at", PRINT_AGO },
	{ "BEAT", "beat_at", PRINT_AGO },
	{ 0 },
};

static enum ctl_exit run_lobbies(struct ctl *c)
{
	return list_run(c, "/lobbies", lobbies, "No lobby is open.");
}

static enum ctl_exit run_remove(struct ctl *c)
{
	static const struct action remove = {
		.method   = "DELETE",
		.path     = "/lobbies/{0}",
		.destroys = true,
		.what     = "take lobby {0} off the list",
		.done     = "Lobby {0} is off the list.",
	};

	return act_on_args(c, &remove);
}

static const struct ctl_option lobby_options[] = {
	{ .name = "find", .value = "TEXT", .help = "with this in the name or world", .query = "q" },
	{ .name = "game", .value = "GAME", .help = "of this game", .query = "game" },
	LIST_LIMIT,
	{ 0 },
};

static const struct ctl_command lobby_commands[] = {
	{ "list", "", "list the open lobbies", NULL, lobby_options,
	  "coopctl lobbies\ncoopctl lobbies --find ada --game votv", run_lobbies },
	{ "remove", "ID", "take a lobby off the list",
	  "Its host may open another one; coopctl bans add keeps him away.", NULL,
	  "coopctl lobbies remove 0123456789abcdef", run_remove },
	{ 0 },
};
const struct ctl_group ctl_lobbies = { "lobbies", "the list of open lobbies: list, remove", lobby_commands };

static const struct print_column peers[] = {
	{ "IDENTITY", "identity", PRINT_TEXT }, { "ADDRESS", "address", PRINT_TEXT },
	{ "KIND", "kind", PRINT_TEXT },         { "WAITING", "queued_bytes", PRINT_BYTES },
	{ "SINCE", "since_at", PRINT_AGO },     { 0 },
};

static enum ctl_exit run_signal(struct ctl *c)
{
	return list_run(c, "/signal", peers, "Nobody is registered for signaling.");
}

static enum ctl_exit run_close(struct ctl *c)
{
	static const struct action close = {
		.method   = "DELETE",
		.path     = "/signal/{0}",
		.destroys = true,
		.what     = "end the signaling connection of {0}; he may come again",
		.done     = "The signaling connection of {0} is closed.",
	};

	return act_on_args(c, &close);
}

static const struct ctl_option signal_options[] = { LIST_LIMIT, { 0 } };

static const struct ctl_command signal_commands[] = {
	{ "list", "", "list who is registered for signaling", NULL, signal_options, "coopctl signal", run_signal },
	{ "close", "IDENTITY", "end a signaling connection", "IDENTITY in hex, as the list has it (--json: whole).",
	  NULL, "coopctl signal close 9f3c...", run_close },
	{ 0 },
};
const struct ctl_group ctl_signal = { "signal", "who is registered for signaling: list, close", signal_commands };
