/* The tables as a manual page, coopctl.1. */
#include "coopctl/ctl.h"

#include "base/roff.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

static void put_options(FILE *out, const struct ctl_option *options)
{
	for (; options && options->name; options++) {
		fputs(".TP\n", out);
		if (options->letter)
			fprintf(out, "\\fB\\-%c\\fR, ", options->letter);
		fputs("\\fB\\-\\-", out);
		roff_text(out, options->name);
		fputs("\\fR", out);
		if (options->value)
			fprintf(out, " \\fI%s\\fR", options->value);
		fputc('\n', out);
		roff_text(out, options->help);
		if (options->words) {
			fputs(" (one of: ", out);
			roff_text(out, options->words);
			fputs(")", out);
		}
		fputs(".\n", out);
	}
}

static void put_command(FILE *out, const struct ctl_group *g, const struct ctl_command *cmd)
{
	fputs(".SS coopctl ", out);
	roff_text(out, g->name);
	if (*cmd->name) {
		fputc(' ', out);
		roff_text(out, cmd->name);
	}
	if (*cmd->args) {
		fputc(' ', out);
		roff_text(out, cmd->args);
	}
	fputc('\n', out);
	roff_text(out, cmd->summary);
	fputs(".\n", out);
	if (cmd->details) {
		fputs(".PP\n", out);
		roff_paragraphs(out, cmd->details);
	}
	put_options(out, cmd->options);
	roff_code(out, cmd->examples);
}

static void put_head(FILE *out)
{
	fprintf(out, ".TH COOPCTL 1 \"\" \"coopd %s\" \"coopd\"\n", COOPD_VERSION);
	fputs(".SH NAME\ncoopctl \\- look after a coopd\n"
	      ".SH SYNOPSIS\n\\fBcoopctl\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
	      ".SH DESCRIPTION\n"
	      "coopctl asks a running\n.BR coopd (8)\nover its unix socket, where root and the user it runs as need no "
	      "token, or over\nHTTP with one: what is going on, what is stored, what is wrong; and makes it stop.\n"
	      ".PP\nWhat destroys something is tried first without doing it; coopctl shows what would happen and asks. "
	      "Where nobody\ncan be asked it does nothing, unless there is \\fB\\-\\-yes\\fR.\n"
	      ".PP\nControl characters, and others that cannot be seen, in texts of players are printed as \\ex1b and "
	      "\\eu{202e}.\n",
	      out);
}

static void put_tail(FILE *out)
{
	fputs(".SH JSON\nWith \\fB\\-\\-json\\fR standard output is what the server answered, as its\n"
	      "documentation and GET /admin/v1/openapi.json describe it; members may be added in later versions.\n"
	      "Lists are joined from all their pages, as {\"items\":[...]}.\n"
	      "Errors are {\"error\":{\"code\":\"...\",\"message\":\"...\"}} on standard error.\n"
	      ".SH EXIT STATUS\n",
	      out);
	for (int i = 0; i < CTL_EXITS; i++) {
		fprintf(out, ".TP\n%d\n", i);
		roff_text(out, ctl_exits[i]);
		fputs(".\n", out);
	}
	fputs(".SH ENVIRONMENT\n"
	      ".TP\nCOOPCTL_SOCKET, COOPCTL_URL, COOPCTL_TOKEN\nWhat \\fB\\-\\-socket\\fR, \\fB\\-\\-url\\fR and "
	      "\\fB\\-\\-token\\-file\\fR would say. Of the first two the URL is used when both are there.\nA token is "
	      "never taken from the command line, which everybody on the machine can read.\n"
	      ".TP\nNO_COLOR\nWhen it is not empty there are no colours.\n"
	      ".TP\nCOLUMNS\nTables are cut to so many columns, not to the width of the terminal.\n"
	      ".SH FILES\n.TP\n/run/coopd/admin.sock, ./data/run/admin.sock\nThe sockets that are looked for.\n"
	      ".SH SEE ALSO\n.BR coopd (8),\n.BR coopd.conf (5)\n",
	      out);
}

void ctl_print_man(FILE *out)
{
	put_head(out);
	fputs(".SH OPTIONS\nOf every command:\n", out);
	put_options(out, ctl_globals);
	fputs(".SH COMMANDS\n", out);
	for (size_t i = 0; ctl_groups[i]; i++)
		for (const struct ctl_command *cmd = ctl_groups[i]->commands; cmd->name; cmd++)
			put_command(out, ctl_groups[i], cmd);
	put_tail(out);
}
