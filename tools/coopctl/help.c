/* The tables as help on a terminal. */
#include "coopctl/ctl.h"

#include <stdio.h>
#include <string.h>

#define INDENT     2
#define TEXT_WIDTH 78

/* Words of text, broken into lines that begin at column `indent`; `at`: where the first one begins. */
static void print_wrapped(FILE *out, const char *text, size_t indent, size_t at)
{
	while (*text) {
		size_t word = strcspn(text, " \n");

		if (at > indent && at + 1 + word > TEXT_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, word, out);
		at += word;
		text += word;
		if (strncmp(text, "\n\n", 2) == 0) {
			fprintf(out, "\n\n%*s", (int)indent, "");
			at = indent;
		}
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}

static size_t print_option_name(FILE *out, const struct ctl_option *o)
{
	int n = fprintf(out, "%*s", INDENT, "");

	n += o->letter ? fprintf(out, "-%c, ", o->letter) : 0;
	n += fprintf(out, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
	return n > 0 ? (size_t)n : 0;
}

static void print_options(FILE *out, const struct ctl_option *options)
{
	enum { COLUMN = 26 };

	for (; options->name; options++) {
		size_t at = print_option_name(out, options);

		if (at + 2 > COLUMN)
			at = (size_t)fprintf(out, "\n") - 1;
		fprintf(out, "%*s", (int)(COLUMN - at), "");
		print_wrapped(out, options->help, COLUMN, COLUMN);
		if (options->words) {
			fprintf(out, "%*s(one of: ", COLUMN, "");
			fprintf(out, "%s)\n", options->words);
		}
	}
}

static void print_usage(FILE *out, const struct ctl_group *g, const struct ctl_command *cmd)
{
	fprintf(out, "coopctl %s%s%s%s%s%s", g->name, *cmd->name ? " " : "", cmd->name, *cmd->args ? " " : "",
	        cmd->args, cmd->options ? " [OPTION...]" : "");
}

static void print_examples(FILE *out, const char *lines)
{
	for (const char *end; *lines; lines = *end ? end + 1 : end) {
		end = strchrnul(lines, '\n');
		fprintf(out, "%*s%.*s\n", INDENT, "", (int)(end - lines), lines);
	}
}

static void print_command(FILE *out, const struct ctl_group *g, const struct ctl_command *cmd)
{
	print_usage(out, g, cmd);
	fprintf(out, "\n\n%*s", INDENT, "");
	print_wrapped(out, cmd->summary, INDENT, INDENT);
	if (cmd->details) {
		fprintf(out, "\n%*s", INDENT, "");
		print_wrapped(out, cmd->details, INDENT, INDENT);
	}
	if (cmd->options) {
		fputs("\nOptions:\n", out);
		print_options(out, cmd->options);
	}
	fputs("\nOptions of every command:\n", out);
	print_options(out, ctl_globals);
	fputs("\nExamples:\n", out);
	print_examples(out, cmd->examples);
}

static void print_group(FILE *out, const struct ctl_group *g)
{
	fprintf(out, "coopctl %s: %s\n", g->name, g->summary);
	for (const struct ctl_command *cmd = g->commands; cmd->name; cmd++) {
		fprintf(out, "\n%*s", INDENT, "");
		print_usage(out, g, cmd);
		fprintf(out, "\n%*s", 2 * INDENT + 2, "");
		print_wrapped(out, cmd->summary, 2 * INDENT + 2, 2 * INDENT + 2);
	}
	fprintf(out, "\nWithout a second word it is %s. coopctl %s COMMAND --help explains one, with examples.\n",
	        g->commands[0].name, g->name);
}

static void print_all(FILE *out)
{
	enum { COLUMN = 14 };

	fputs("coopctl looks after a coopd: what is going on, what is stored, what is wrong, and make it stop.\n\n"
	      "  coopctl COMMAND [OPTION...]\n\nCommands:\n",
	      out);
	for (size_t i = 0; ctl_groups[i]; i++) {
		fprintf(out, "  %-*s", COLUMN - INDENT, ctl_groups[i]->name);
		print_wrapped(out, ctl_groups[i]->summary, COLUMN, COLUMN);
	}
	fputs("\nOptions of every command:\n", out);
	print_options(out, ctl_globals);
	fputs("\nExit status:\n", out);
	for (int i = 0; i < CTL_EXITS; i++)
		fprintf(out, "  %d  %s\n", i, ctl_exits[i]);
	fputs("\ncoopctl COMMAND --help explains each, with examples; coopctl --man is all of it.\n", out);
}

void ctl_print_help(FILE *out, const struct ctl_group *g, const struct ctl_command *cmd)
{
	if (!g)
		print_all(out);
	else if (cmd)
		print_command(out, g, cmd);
	else if (*g->commands[0].name == '\0')
		print_command(out, g, &g->commands[0]);
	else
		print_group(out, g);
}
