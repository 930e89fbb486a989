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
	{ "socket", 0, "PATH", "unix socket of the server's API; else COOPCTL_SOCKET, /run/coopd/admin.sock, or ./data/run/admin.sock", NULL, NULL },
	{ "url", 0, "URL", "ask over HTTP instead, http://127.0.0.1:10002; else COOPCTL_URL. Needs a token", NULL, NULL },
	{ "token-file", 0, "FILE", "file with the token; else COOPCTL_TOKEN", NULL, NULL },
	{ "json", 0, NULL, "print the server's JSON, lists whole as {\"items\":[...]}; errors too, on standard error", NULL, NULL },
	{ "yes", 'y', NULL, "do not ask before something is destroyed", NULL, NULL },
	{ "dry-run", 'n', NULL, "only show what would be done", NULL, NULL },
	{ "no-color", 0, NULL, "no colours, also on a terminal (as with NO_COLOR in the environment)", NULL, NULL },
	{ "help", 'h', NULL, "explain the command", NULL, NULL },
	{ "version", 0, NULL, "print coopctl's version", NULL, NULL },
	{ "man", 0, NULL, "print the manual page (coopctl --man | man -l -)", NULL, NULL },
	{ 0 },
};
/* clang-format on */

const struct ctl_group *const ctl_groups[] = {
	&ctl_status,
	&ctl_completions,
	&ctl_help,
	NULL,
};
