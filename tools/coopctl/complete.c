/* The tables as completions for bash and zsh. */
#include "coopctl/ctl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- bash --- */

static void put_option_words(FILE *out, const struct ctl_option *options)
{
	for (; options && options->name; options++)
		fprintf(out, " --%s", options->name);
}

static bool takes_file(const char *value)
{
	return strcmp(value, "FILE") == 0 || strcmp(value, "PATH") == 0 || strcmp(value, "DEST") == 0;
}

/* What stands behind an option: words, a file, or something we cannot know. The command tells options of one name apart. */
static void put_bash_values(FILE *out, const char *command, const struct ctl_option *options)
{
	for (; options && options->name; options++) {
		if (!options->value)
			continue;
		fprintf(out, "\t\"%s--%s\"", command, options->name);
		if (options->letter)
			fprintf(out, "|\"%s-%c\"", command, options->letter);
		if (options->words)
			fprintf(out, ") words=\"%s\" ;;\n", options->words);
		else
			fprintf(out, ") %s ;;\n", takes_file(options->value) ? "files=1" : "none=1");
	}
}

static void put_bash_command(FILE *out, const struct ctl_group *g, const struct ctl_command *cmd)
{
	const char         *at    = cmd->args;
	bool                files = false;
	struct ctl_arg_word word;

	while (ctl_args_next(&at, &word))
		files = files || takes_file(word.name);
	fprintf(out, "\t\"%s %s\") words=\"", g->name, cmd->name);
	put_option_words(out, cmd->options);
	put_option_words(out, ctl_globals);
	fprintf(out, "\"%s ;;\n", files ? " files=1" : "");
}

static void put_bash_group(FILE *out, const struct ctl_group *g)
{
	fprintf(out, "\t%s) subs=\"", g->name);
	for (const struct ctl_command *cmd = g->commands; cmd->name; cmd++)
		fprintf(out, "%s%s", cmd == g->commands ? "" : " ", cmd->name);
	fprintf(out, "\" first=\"%s\" ;;\n", g->commands[0].name);
}

static const char bash_head[] = "# bash completion for coopctl, made by: coopctl completions bash\n"
				"_coopctl() {\n"
				"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
				"\tlocal group='' sub='' subs='' first='' words='' files='' none='' i skip=''\n"
				"\tCOMPREPLY=()\n"
				"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
				"\t\tif [ -n \"$skip\" ]; then skip=''; continue; fi\n"
				"\t\tcase ${COMP_WORDS[i]} in\n"
				"\t\t--socket|--url|--token-file) skip=1 ;;\n"
				"\t\t-*) ;;\n"
				"\t\t*) if [ -z \"$group\" ]; then group=${COMP_WORDS[i]}; elif [ -z \"$sub\" ]; then "
				"sub=${COMP_WORDS[i]}; fi ;;\n"
				"\t\tesac\n"
				"\tdone\n"
				"\tcase $group in\n";

void ctl_print_bash(FILE *out)
{
	fputs(bash_head, out);
	fputs("\t'') words=\"", out);
	for (size_t i = 0; ctl_groups[i]; i++)
		fprintf(out, "%s ", ctl_groups[i]->name);
	put_option_words(out, ctl_globals);
	fputs("\" ;;\n", out);
	for (size_t i = 0; ctl_groups[i]; i++)
		put_bash_group(out, ctl_groups[i]);
	fputs("\tesac\n"
	      "\tif [ -n \"$group\" ]; then\n"
	      "\t\tcase \" $subs \" in *\" $sub \"*) ;; *) sub=$first ;; esac\n"
	      "\t\t[ -n \"$sub\" ] || sub=$first\n"
	      "\tfi\n"
	      "\tcase \"$group $sub\" in\n",
	      out);
	for (size_t i = 0; ctl_groups[i]; i++)
		for (const struct ctl_command *cmd = ctl_groups[i]->commands; cmd->name; cmd++)
			put_bash_command(out, ctl_groups[i], cmd);
	fputs("\tesac\n"
	      "\t[ -z \"$subs\" ] || [ \"$prev\" != \"$group\" ] || words=\"$subs $words\"\n"
	      "\tcase \"$group $sub $prev\" in\n",
	      out);
	for (size_t i = 0; ctl_groups[i]; i++)
		for (const struct ctl_command *cmd = ctl_groups[i]->commands; cmd->name; cmd++) {
			char name[64];

			snprintf(name, sizeof(name), "%s %s ", ctl_groups[i]->name, cmd->name);
			put_bash_values(out, name, cmd->options);
		}
	fputs("\tesac\n\tcase \"$prev\" in\n", out);
	put_bash_values(out, "", ctl_globals);
	fputs("\tesac\n"
	      "\t[ -z \"$none\" ] || return 0\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\t[ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
	      "}\n"
	      "complete -F _coopctl coopctl\n",
	      out);
}

/* --- zsh --- */

/* Text inside single quotes, with what _arguments and _describe would read taken out. */
static void put_zsh_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void put_zsh_option(FILE *out, const struct ctl_option *o, const char *dash, const char *name, int name_len)
{
	fprintf(out, "\t\t'%s%.*s%s[", dash, name_len, name, o->value && dash[1] ? "=" : "");
	put_zsh_text(out, o->help);
	fputc(']', out);
	if (o->value && o->words)
		fprintf(out, ":%s:(%s)", o->value, o->words);
	else if (o->value)
		fprintf(out, ":%s:%s", o->value, takes_file(o->value) ? "_files" : " ");
	fputs("' \\\n", out);
}

static void put_zsh_options(FILE *out, const struct ctl_option *options)
{
	for (; options && options->name; options++) {
		put_zsh_option(out, options, "--", options->name, (int)strlen(options->name));
		if (options->letter)
			put_zsh_option(out, options, "-", &options->letter, 1);
	}
}

static void put_zsh_command(FILE *out, const struct ctl_group *g, const struct ctl_command *cmd)
{
	const char         *at = cmd->args;
	struct ctl_arg_word word;

	fprintf(out, "\t'%s %s')\n\t\t_arguments -s \\\n", g->name, cmd->name);
	put_zsh_options(out, cmd->options);
	put_zsh_options(out, ctl_globals);
	while (ctl_args_next(&at, &word))
		fprintf(out, "\t\t'%s:%s:%s' \\\n",
		        word.repeated   ? "*"
		        : word.optional ? ":"
		                        : "",
		        word.name, takes_file(word.name) ? "_files" : " ");
	fputs("\t\t&& return 0 ;;\n", out);
}

static void put_zsh_group(FILE *out, const struct ctl_group *g)
{
	fprintf(out, "\t%s)\n\t\tlocal -a subs=(", g->name);
	for (const struct ctl_command *cmd = g->commands; cmd->name; cmd++) {
		fprintf(out, "\n\t\t\t'%s:", cmd->name);
		put_zsh_text(out, cmd->summary);
		fputc('\'', out);
	}
	fprintf(out,
	        ")\n\t\tif (( CURRENT == 3 )) && [[ $words[3] != -* ]]; then _describe command subs; return; fi\n"
	        "\t\tsub=${words[3]}\n"
	        "\t\tif [[ -z $sub || $sub == -* ]]; then sub=%s; else (( CURRENT-- )); shift words; fi ;;\n",
	        g->commands[0].name);
}

void ctl_print_zsh(FILE *out)
{
	fputs("#compdef coopctl\n# zsh completion for coopctl, made by: coopctl completions zsh\n"
	      "_coopctl() {\n\tlocal group sub=''\n\tlocal -a groups=(",
	      out);
	for (size_t i = 0; ctl_groups[i]; i++) {
		fprintf(out, "\n\t\t'%s:", ctl_groups[i]->name);
		put_zsh_text(out, ctl_groups[i]->summary);
		fputc('\'', out);
	}
	fputs(")\n\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then _describe command groups; return; fi\n"
	      "\tgroup=${words[2]}\n\tcase $group in\n",
	      out);
	for (size_t i = 0; ctl_groups[i]; i++)
		if (ctl_groups[i]->commands[0].name[0])
			put_zsh_group(out, ctl_groups[i]);
	fputs("\tesac\n\t(( CURRENT-- )); shift words\n\tcase \"$group $sub\" in\n", out);
	for (size_t i = 0; ctl_groups[i]; i++)
		for (const struct ctl_command *cmd = ctl_groups[i]->commands; cmd->name; cmd++)
			put_zsh_command(out, ctl_groups[i], cmd);
	fputs("\t*)\n\t\t_arguments \\\n", out);
	put_zsh_options(out, ctl_globals);
	fputs("\t\t&& return 0 ;;\n\tesac\n}\n_coopctl \"$@\"\n", out);
}
