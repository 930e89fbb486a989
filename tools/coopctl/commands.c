/* The table of contents: all commands in the order in which help lists them, and what is common to them. */
#include "coopctl/ctl.h"

const char *const ctl_exits[CTL_EXITS] = {
	[CTL_OK]            = "done",
	[CTL_REFUSED]       = "the server refused, or failed; the error's code says why",
	[CTL_USAGE]         = "the command line is wrong",
	[CTL_UNREACHABLE]   = "the server cannot be reached",
	[CTL_NOT_FOUND]     = "there is no such thing",
	[CTL_FORBIDDEN]     = "no permission: no token, a wrong one, or one whose role does not do",
	[CTL_NOT_CONFIRMED] = "not confirmed: nothing was done",
	[CTL_CONFLICT]      = "in conflict with what is there, or the name is not unique",
};

/* clang-format off */
const struct ctl_option ctl_globals[] = {
	{ .name = "socket", .value = "PATH",
	  .help = "unix socket of the server's API; else COOPCTL_SOCKET, /run/coopd/admin.sock, or ./data/run/admin.sock" },
	{ .name = "url", .value = "URL",
	  .help = "ask over HTTP instead, http://127.0.0.1:10002; else COOPCTL_URL. Needs a token" },
	{ .name = "token-file", .value = "FILE",
	  .help = "file with the token; else COOPCTL_TOKEN" },
	{ .name = "json",
	  .help = "print the server's JSON, lists whole as {\"items\":[...]}; errors too, on standard error" },
	{ .name = "yes", .letter = 'y',
	  .help = "do not ask before something is destroyed" },
	{ .name = "dry-run", .letter = 'n',
	  .help = "only show what would be done" },
	{ .name = "no-color",
	  .help = "no colours, also on a terminal (as with NO_COLOR in the environment)" },
	{ .name = "help", .letter = 'h',
	  .help = "explain the command" },
	{ .name = "version",
	  .help = "print coopctl's version" },
	{ .name = "man",
	  .help = "print the manual page (coopctl --man | man -l -)" },
	{ 0 },
};

const struct ctl_group *const ctl_groups[] = {
	&ctl_status, &ctl_top, &ctl_events, &ctl_doctor, &ctl_games, &ctl_players, &ctl_campaigns, &ctl_quota, &ctl_blobs, &ctl_lobbies, &ctl_signal, &ctl_rooms,
	&ctl_boards, &ctl_p2p, &ctl_bans, &ctl_audit, &ctl_web, &ctl_tokens, &ctl_settings, &ctl_reload, &ctl_drain,
	&ctl_backup, &ctl_publish, &ctl_completions, &ctl_help, NULL,
};
/* clang-format on */
