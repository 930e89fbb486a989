/* The settings as a manual page, coopd.conf.5. */
#include "conf/conf.h"

#include "base/roff.h"
#include "base/version.h"
#include "conf/conf_table.h"
#include "conf/conf_value.h"

#include <string.h>

static const char head[] =
	".SH NAME\ncoopd.conf \\- settings of coopd\n"
	".SH DESCRIPTION\n"
	"Settings of\n.BR coopd (8).\n"
	"It reads the file that \\fB\\-\\-config\\fR names; else ./coopd.conf if there is one, in production\n"
	"/etc/coopd/coopd.conf. Without any setting it listens on 127.0.0.1 only and keeps its files in ./data.\n"
	".PP\n"
	"Sections stand in brackets, settings below them as \\fIname\\fR = \\fIvalue\\fR. A # or ; at the start of a "
	"line or\n"
	"after a blank begins a comment. Bytes may be written with K, M or G behind (64K), times with ms, s, m, h or d "
	"(90s).\n"
	"Lists have blanks between their words.\n"
	".PP\n"
	"Later wins: this file, then the environment (COOP_LOG_LEVEL for level in [log]), then the command line\n"
	"(\\fB\\-\\-set log.level=debug\\fR). A mistake anywhere, and nothing is taken: \\fBcoopd "
	"\\-\\-check\\-config\\fR finds "
	"all,\n"
	"\\fBcoopd \\-\\-print\\-config\\fR shows what is in force and where it comes from, and \\fBcoopd "
	"\\-\\-sample\\-config\\fR\n"
	"prints a file with every setting to begin with.\n"
	".PP\n"
	"Secrets, tls.cert and tls.key may also be files of a folder that the environment names as "
	"CREDENTIALS_DIRECTORY: "
	"systemd's\n"
	"LoadCredential= does that, and secrets of containers can. Such a file has the setting's name, turn.secret "
	"for\n"
	"example. It counts where neither this file nor anything later sets the same.\n";

static const char tail[] = ".SH FILES\n"
			   ".TP\n\\&./coopd.conf\n"
			   ".TP\n/etc/coopd/coopd.conf\nIn production (server.production).\n"
			   ".TP\n/etc/coopd/coopd.conf.sample\nEvery setting, explained, with its default.\n"
			   ".SH SEE ALSO\n.BR coopd (8),\n.BR coopctl (1)\n";

static void put_default(FILE *out, const char *text)
{
	if (!*text) {
		fputs("empty", out);
		return;
	}
	fputs("\\fB", out);
	roff_text(out, text);
	fputs("\\fR", out);
}

/* What may stand there, by the table's words, which have no leading dot. */
static void put_form(FILE *out, const struct conf_row *row)
{
	char  form[256] = "";
	FILE *memory    = fmemopen(form, sizeof(form), "w");

	if (!memory)
		return;
	conf_value_describe(memory, row);
	fclose(memory);
	roff_text(out, form);
}

static void put_row(FILE *out, const struct conf_row *row)
{
	fputs(".TP\n\\fB", out);
	roff_text(out, row->name);
	fputs("\\fR (", out);
	put_form(out, row);
	fputs(")\n", out);
	roff_text(out, row->help);
	fputs(".\nDefault: ", out);
	put_default(out, row->development);
	if (row->production) {
		fputs("; in production ", out);
		put_default(out, row->production);
	}
	fputs(conf_can_reload(row) ? ". Taken while running (SIGHUP).\n" : ".\n", out);
}

void conf_print_man(FILE *out)
{
	fprintf(out, ".TH COOPD.CONF 5 \"\" \"coopd %s\" \"coopd\"\n", COOPD_VERSION);
	fputs(head, out);
	fputs(".SH SETTINGS\n", out);
	for (size_t id = 0; id < CONF_ROWS; id++) {
		if (id == 0 || strcmp(conf_rows[id].section, conf_rows[id - 1].section) != 0)
			fprintf(out, ".SS [%s]\n", conf_rows[id].section);
		put_row(out, &conf_rows[id]);
	}
	fputs(tail, out);
}
