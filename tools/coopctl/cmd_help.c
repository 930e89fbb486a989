/* coopctl help, coopctl completions: what is made from the tables, and asks no server. */
#include "coopctl/ctl.h"

#include <string.h>

static enum ctl_exit run_help(struct ctl *c)
{
	const char               *first = ctl_arg(c, 0), *second = ctl_arg(c, 1);
	const struct ctl_group   *g   = first ? ctl_group_find(first) : NULL;
	const struct ctl_command *cmd = g && second ? ctl_command_find(g, second) : NULL;

	if ((first && !g) || (second && !cmd))
		return ctl_fail(c, CTL_USAGE, "usage", "there is no command \"%s%s%s\"; coopctl help lists them", first,
		                second ? " " : "", second ? second : "");
	ctl_print_help(stdout, g, cmd);
	return CTL_OK;
}

static enum ctl_exit run_completions(struct ctl *c)
{
	const char *shell = ctl_arg(c, 0);

	if (strcmp(shell, "bash") == 0)
		ctl_print_bash(stdout);
	else if (strcmp(shell, "zsh") == 0)
		ctl_print_zsh(stdout);
	else
		return ctl_fail(c, CTL_USAGE, "usage", "there are completions for bash and zsh, not for \"%s\"", shell);
	return CTL_OK;
}

static const struct ctl_command help_commands[] = {
	{ "", "[COMMAND] [SUBCOMMAND]", "explain a command, or list all", NULL, NULL,
	  "coopctl help\ncoopctl help campaigns\ncoopctl help games close", run_help },
	{ 0 },
};
const struct ctl_group ctl_help = { "help", "explain a command, or list all", help_commands };

static const struct ctl_command completions_commands[] = {
	{ "", "SHELL", "print the completions for a shell, bash or zsh",
	  "make install puts them where the shells look.", NULL,
	  "source <(coopctl completions bash)\ncoopctl completions zsh >~/.zfunc/_coopctl", run_completions },
	{ 0 },
};
const struct ctl_group ctl_completions = { "completions", "print the completions for bash or zsh",
	                                   completions_commands };
