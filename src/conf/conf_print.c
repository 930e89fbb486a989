/* The settings written out: as they are, as a sample file, and as tables for the README. */
#include "conf/conf.h"

#include "conf/conf_table.h"
#include "conf/conf_value.h"

#include <stdlib.h>
#include <string.h>

/* A line "[section]" where a new one begins, with an empty line before all but the first. */
static void print_section(FILE *out, size_t id)
{
	if (id == 0)
		fprintf(out, "[%s]\n", conf_rows[id].section);
	else if (strcmp(conf_rows[id].section, conf_rows[id - 1].section) != 0)
		fprintf(out, "\n[%s]\n", conf_rows[id].section);
}

void conf_print(const struct conf *c, FILE *out)
{
	for (size_t id = 0; id < CONF_ROWS; id++) {
		print_section(out, id);
		fprintf(out, "%s = ", conf_rows[id].name);
		conf_value_show(out, &conf_rows[id], conf_field_const(c, &conf_rows[id]));
		fprintf(out, "  # %s\n", c->origins[id].text);
	}
}

/* "default" and "production default" are our own words; other places are files and names. */
static const char *source_name(const char *origin)
{
	return strcmp(origin, CONF_ORIGIN_PRODUCTION) == 0 ? "production" : origin;
}

enum err conf_show(struct conf_shown *out, const struct conf *c, size_t at)
{
	const struct conf_row *row = at < CONF_ROWS ? &conf_rows[at] : NULL;
	const char            *source;
	struct conf_shown      s;

	if (!row)
		return ERR_NOT_FOUND;
	source = source_name(c->origins[at].text);
	s      = (struct conf_shown){
		     .section    = row->section,
		     .name       = row->name,
		     .help       = row->help,
		     .unit       = row->unit,
		     .is_secret  = (row->flags & SECRET) != 0,
		     .can_reload = conf_can_reload(row),
		     .is_default = strcmp(source, CONF_ORIGIN_DEFAULT) == 0 || strcmp(source, "production") == 0,
		     .source     = strdup(source),
	};
	if (!s.is_secret)
		s.value = conf_value_text(row, conf_field_const(c, row));
	if (!s.source || (!s.is_secret && !s.value)) {
		conf_shown_fini(&s);
		return ERR_NOMEM;
	}
	*out = s;
	return ERR_OK;
}

void conf_shown_fini(struct conf_shown *s)
{
	free(s->value);
	free(s->source);
	*s = (struct conf_shown){ 0 };
}

static const char sample_head[] =
	"# Settings of coopd, each with its default. To change one, remove the # before its name.\n"
	"#\n"
	"# Later wins: this file, then the environment (COOP_LOG_LEVEL for level in [log]), then the command line\n"
	"# (--set log.level=debug). coopd --check-config finds mistakes, --print-config shows what is in force.\n"
	"# A # or ; at the start of a line or after a blank begins a comment.\n"
	"# Bytes may be written with K, M or G behind (64K), times with ms, s, m, h or d (90s).\n"
	"\n";

void conf_print_sample(FILE *out)
{
	fputs(sample_head, out);
	for (size_t id = 0; id < CONF_ROWS; id++) {
		const struct conf_row *row = &conf_rows[id];

		print_section(out, id);
		fprintf(out, "\n# %s (", row->help);
		conf_value_describe(out, row);
		if (row->production)
			fprintf(out, "; in production %s", *row->production ? row->production : "empty");
		fprintf(out, ")\n#%s =%s%s\n", row->name, *row->development ? " " : "", row->development);
	}
}

/* A cell's text; a '|' would end the cell. */
static void print_cell(FILE *out, const char *text)
{
	for (; *text; text++)
		fprintf(out, "%s%c", *text == '|' ? "\\" : "", *text);
}

static void print_code(FILE *out, const char *text)
{
	if (!*text)
		return;
	fputc('`', out);
	print_cell(out, text);
	fputc('`', out);
}

static void print_setting_row(FILE *out, const struct conf_row *row)
{
	fprintf(out, "| `%s.%s` | ", row->section, row->name);
	conf_value_describe(out, row);
	fputs(" | ", out);
	print_code(out, row->development);
	fputs(" | ", out);
	if (row->production)
		print_code(out, row->production);
	fprintf(out, " | %s | ", conf_can_reload(row) ? "yes" : "");
	print_cell(out, row->help);
	fputs(" |\n", out);
}

void conf_print_settings_reference(FILE *out)
{
	fputs("| setting | value | default | in production | SIGHUP | what |\n"
	      "| --- | --- | --- | --- | --- | --- |\n",
	      out);
	for (size_t id = 0; id < CONF_ROWS; id++)
		if (conf_rows[id].type != CONF_TYPE_LIMIT)
			print_setting_row(out, &conf_rows[id]);
}

void conf_print_limits_reference(FILE *out)
{
	fputs("| limit | default | allowed | SIGHUP | what |\n"
	      "| --- | --- | --- | --- | --- |\n",
	      out);
	for (size_t id = 0; id < CONF_ROWS; id++) {
		const struct conf_row *row = &conf_rows[id];

		if (row->type != CONF_TYPE_LIMIT)
			continue;
		fprintf(out, "| `limits.%s` | %s | ", row->name, row->development);
		conf_value_describe(out, row);
		fprintf(out, " | %s | ", conf_can_reload(row) ? "yes" : "");
		print_cell(out, row->help);
		fputs(" |\n", out);
	}
}
