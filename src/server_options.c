#include "server_options.h"

#include "base/auto.h"
#include "base/roff.h"
#include "base/version.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define HELP_COLUMN 31

static const struct server_option {
	const char           *name, *value; /* value: what stands for it in help; NULL: it takes none */
	enum server_option_id id;
	const char           *help; /* lines of help */
} rows[] = {
	{ "config", "FILE", SERVER_OPT_CONFIG,
	  "read FILE instead of ./coopd.conf (in production /etc/coopd/coopd.conf)" },
	{ "data", "DIR", SERVER_OPT_DATA, "keep everything below DIR (the same as --set server.data=DIR)" },
	{ "set", "SECTION.KEY=VALUE", SERVER_OPT_SET,
	  "one setting, stronger than file and environment; as often as wanted" },
	{ "check-config", NULL, SERVER_OPT_CHECK,
	  "say every problem of the configuration, with file and line; exit 1 if there is any" },
	{ "print-config", NULL, SERVER_OPT_PRINT, "all settings, their values and where each came from" },
	{ "sample-config", NULL, SERVER_OPT_SAMPLE, "a commented configuration file with every setting" },
	{ "verify-blobs", NULL, SERVER_OPT_VERIFY,
	  "read every stored checkpoint and compare it with its hash; exit 1 if any is damaged\n"
	  "(coopd must not be running on that data folder)" },
	{ "restore", "SRC", SERVER_OPT_RESTORE,
	  "put the backup SRC, a folder of coopctl backup or one coop-TIME.db in it, in the place of\n"
	  "what is in the data folder; all of it is checked before anything changes (coopd must not\n"
	  "be running on that data folder)" },
	{ "restore-damaged", NULL, SERVER_OPT_DAMAGED,
	  "with --restore: leave out and list the checkpoints that are damaged in the backup, instead\n"
	  "of refusing all of it" },
	{ "import", "DIR", SERVER_OPT_IMPORT,
	  "take over codes and campaigns from the data folder of the Python relay; nothing that is here is\n"
	  "changed, and what is left out is said; exit 3 then (coopd must not be running on our data folder)" },
	{ "import-check", "DIR", SERVER_OPT_IMPORT_CHECK, "say what --import would do, and change nothing" },
	{ "settings-reference", NULL, SERVER_OPT_SETTINGS, "the settings as a table (Markdown)" },
	{ "limits-reference", NULL, SERVER_OPT_LIMITS, "the limits as a table (Markdown)" },
	{ "errors-reference", NULL, SERVER_OPT_ERRORS, "the errors as a table (Markdown)" },
	{ "man", NULL, SERVER_OPT_MAN, "the manual page of coopd" },
	{ "man-conf", NULL, SERVER_OPT_MAN_CONF, "the manual page of coopd.conf" },
	{ "version", NULL, SERVER_OPT_VERSION, "versions of coopd and its libraries" },
	{ "help", NULL, SERVER_OPT_HELP, "this" },
};
_Static_assert(COUNT_OF(rows) == SERVER_OPTIONS, "the size of getopt's table");

static const char what[] =
	"coopd lets players host co-op games at home: it carries their game datagrams, so that friends join from "
	"anywhere\nwithout opening ports, and keeps their codes and campaigns over restarts.";

static const char more[] = "The environment counts too: COOP_SECTION_KEY=VALUE. Without any setting coopd listens on "
			   "127.0.0.1 only and keeps\nits files in ./data.";

void server_options_fill(struct option out[SERVER_OPTIONS + 1])
{
	memset(out, 0, (SERVER_OPTIONS + 1) * sizeof(out[0]));
	for (size_t i = 0; i < SERVER_OPTIONS; i++)
		out[i] = (struct option){ .name    = rows[i].name,
			                  .has_arg = rows[i].value ? required_argument : no_argument,
			                  .val     = (int)rows[i].id };
}

static void print_row(FILE *out, const struct server_option *row)
{
	int         at   = fprintf(out, "  --%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
	const char *line = row->help;

	for (const char *end; *line; line = *end ? end + 1 : end, at = 0) {
		end = strchrnul(line, '\n');
		fprintf(out, "%*s%.*s\n", at < HELP_COLUMN ? HELP_COLUMN - at : 1, "", (int)(end - line), line);
	}
}

void server_options_print_help(FILE *out)
{
	fprintf(out, "%s\n\n", what);
	fputs("  coopd [OPTION...]            serve until SIGTERM or Ctrl-C; SIGHUP reads the configuration again\n\n",
	      out);
	for (size_t i = 0; i < SERVER_OPTIONS; i++) {
		if (rows[i].id == SERVER_OPT_CHECK)
			fputc('\n', out);
		print_row(out, &rows[i]);
	}
	fprintf(out, "\n%s\n", more);
}

void server_options_print_man(FILE *out)
{
	fprintf(out, ".TH COOPD 8 \"\" \"coopd %s\" \"coopd\"\n", COOPD_VERSION);
	fputs(".SH NAME\ncoopd \\- server for co\\-op games that are hosted at home\n"
	      ".SH SYNOPSIS\n\\fBcoopd\\fR [\\fIOPTION\\fR...]\n.SH DESCRIPTION\n",
	      out);
	roff_paragraphs(out, what);
	fputs(".PP\nIt serves until SIGTERM or SIGINT, and then stops in good order; SIGHUP has it read the "
	      "configuration "
	      "again, SIGUSR1 hand over to a new process.\nIts log goes to standard error.\n.BR coopctl (1)\nlooks "
	      "after it while it runs.\n.SH OPTIONS\n",
	      out);
	for (size_t i = 0; i < SERVER_OPTIONS; i++) {
		fputs(".TP\n\\fB\\-\\-", out);
		roff_text(out, rows[i].name);
		fputs("\\fR", out);
		if (rows[i].value)
			fprintf(out, " \\fI%s\\fR", rows[i].value);
		fputc('\n', out);
		roff_paragraphs(out, rows[i].id == SERVER_OPT_HELP ? "a list of the options" : rows[i].help);
	}
	fputs(".SH EXIT STATUS\n.TP\n0\nIt was stopped in good order, or what was asked for is printed or found good.\n"
	      ".TP\n1\nIt could not start, or a check found something; standard error or the log says what.\n"
	      ".TP\n2\nThe command line is wrong.\n"
	      ".TP\n3\nOf \\-\\-import and \\-\\-import\\-check: some of it was left out, which standard output says. "
	      "Of "
	      "\\-\\-restore with \\-\\-restore\\-damaged: restored, but for what it lists.\n"
	      ".TP\n4\nA restore has begun to change the data folder and could not end; the next start of coopd, or "
	      "the next "
	      "\\-\\-restore, ends it.\n"
	      ".SH ENVIRONMENT\n.TP\nCOOP_SECTION_KEY\nA setting, stronger than "
	      "the "
	      "file:\n.BR coopd.conf (5).\n.SH FILES\n.TP\n\\&./coopd.conf, /etc/coopd/coopd.conf\nThe settings; the "
	      "second "
	      "in production.\n.TP\n\\&./data, /var/lib/coopd\nAll that is kept; the second in production.\n"
	      ".TP\n\\&./data/run, /run/coopd\nThe unix sockets; the second in production.\n"
	      ".SH SEE ALSO\n.BR coopctl (1),\n.BR coopd.conf (5)\n",
	      out);
}
