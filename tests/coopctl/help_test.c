/* Parser, help, manual page and completions are made from the same tables: here they are held to each other. */
#include "coopctl/ctl.h"
#include "coopctl/value.h"

#include "base/auto.h"
#include "os/file.h"
#include "support/coopctl.h"
#include "support/data_folder.h"
#include "support/program.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What print writes, for free(). */
static char *printed(void (*print)(FILE *out))
{
	char  *text = NULL;
	size_t len  = 0;
	FILE  *out  = open_memstream(&text, &len);

	cr_assert_not_null(out);
	print(out);
	fclose(out);
	return text;
}

static char *help_of(const struct ctl_group *g, const struct ctl_command *cmd)
{
	char  *text = NULL;
	size_t len  = 0;
	FILE  *out  = open_memstream(&text, &len);

	cr_assert_not_null(out);
	ctl_print_help(out, g, cmd);
	fclose(out);
	return text;
}

/* "--name" as a word of its own. */
static bool has_option(const char *text, const char *name)
{
	char   word[60];
	size_t len = (size_t)snprintf(word, sizeof(word), "--%s", name);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || strchr(" \n", at[-1])) && strchr(" \n=,", at[len]))
			return true;
	return false;
}

typedef void (*visit)(const struct ctl_group *g, const struct ctl_command *cmd);

static void each_command(visit v)
{
	for (size_t i = 0; ctl_groups[i]; i++)
		for (const struct ctl_command *cmd = ctl_groups[i]->commands; cmd->name; cmd++)
			v(ctl_groups[i], cmd);
}

/* --- Parser and help --- */

static const char *value_for(const struct ctl_option *o)
{
	static char              word[40];
	static const char *const values[] = { [CTL_TEXT] = "text",   [CTL_NUMBER] = "12", [CTL_BYTES] = "64M",
		                              [CTL_SECONDS] = "30m", [CTL_DAYS] = "7d",   [CTL_MOMENT] = "2h" };

	if (!o->words)
		return values[o->kind];
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(o->words, " "), o->words);
	return word;
}

/* Parses "GROUP COMMAND --option VALUE --help"; standard error goes where nobody looks. */
static enum ctl_exit parses(const struct ctl_group *g, const struct ctl_command *cmd, const struct ctl_option *o)
{
	char             option[60];
	const char      *argv[8] = { "coopctl", g->name };
	int              argc    = 2;
	struct ctl       c       = { 0 };
	enum ctl_instead instead;

	if (*cmd->name)
		argv[argc++] = cmd->name;
	snprintf(option, sizeof(option), "--%s", o->name);
	argv[argc++] = option;
	if (o->value)
		argv[argc++] = value_for(o);
	argv[argc++] = "--help";
	return ctl_parse(&c, &instead, argc, argv);
}

static bool is_own(const struct ctl_command *cmd, const char *name)
{
	for (const struct ctl_option *o = cmd->options; o && o->name; o++)
		if (strcmp(o->name, name) == 0)
			return true;
	return false;
}

static bool is_global(const char *name)
{
	for (const struct ctl_option *o = ctl_globals; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return true;
	return false;
}

/* Every option of any command, tried on this one. */
static void try_all_options(const struct ctl_group *g, const struct ctl_command *cmd)
{
	AUTO(auto_free) char *help = help_of(g, cmd);

	for (size_t i = 0; ctl_groups[i]; i++)
		for (const struct ctl_command *of = ctl_groups[i]->commands; of->name; of++)
			for (const struct ctl_option *o = of->options; o && o->name; o++) {
				bool known = is_own(cmd, o->name);

				/* One of the same name may take something else here. */
				if (known && of != cmd)
					continue;
				cr_expect_eq(parses(g, cmd, o), known ? CTL_OK : CTL_USAGE, "%s %s --%s", g->name,
				             cmd->name, o->name);
				cr_expect_eq(has_option(help, o->name), known, "help of %s %s: --%s", g->name,
				             cmd->name, o->name);
			}
	for (const struct ctl_option *o = ctl_globals; o->name; o++) {
		cr_expect_eq(parses(g, cmd, o), CTL_OK, "%s %s --%s", g->name, cmd->name, o->name);
		cr_expect(has_option(help, o->name), "help of %s %s: --%s", g->name, cmd->name, o->name);
	}
}

/* The command with "x" for each argument but the one at empty, which is this text. */
static enum ctl_exit parses_args(const struct ctl_group *g, const struct ctl_command *cmd, size_t count, size_t empty,
                                 const char *text)
{
	const char      *argv[CTL_ARGS_MAX] = { "coopctl", g->name };
	int              argc               = 2;
	struct ctl       c                  = { 0 };
	enum ctl_instead instead;

	if (*cmd->name)
		argv[argc++] = cmd->name;
	for (size_t i = 0; i < count; i++)
		argv[argc++] = i == empty ? text : "x";
	return ctl_parse(&c, &instead, argc, argv);
}

static size_t args_refused;

static void check_empty_args(const struct ctl_group *g, const struct ctl_command *cmd)
{
	const char         *at    = cmd->args;
	size_t              count = 0;
	struct ctl_arg_word word;

	while (ctl_args_next(&at, &word))
		count++;
	cr_expect_eq(parses_args(g, cmd, count, count, ""), CTL_OK, "%s %s", g->name, cmd->name);
	for (size_t i = 0; i < count; i++, args_refused++) {
		cr_expect_eq(parses_args(g, cmd, count, i, ""), CTL_USAGE, "%s %s", g->name, cmd->name);
		cr_expect_eq(parses_args(g, cmd, count, i, " \t"), CTL_USAGE, "%s %s", g->name, cmd->name);
	}
	for (const struct ctl_option *o = cmd->options; o && o->name; o++) {
		char             option[60];
		struct ctl       c = { 0 };
		enum ctl_instead instead;
		const char      *argv[6] = { "coopctl", g->name };
		int              argc    = 2;

		if (!o->value || strcmp(o->value, "TEXT") == 0)
			continue;
		if (*cmd->name)
			argv[argc++] = cmd->name;
		snprintf(option, sizeof(option), "--%s=", o->name);
		argv[argc++] = option;
		argv[argc++] = "--help";
		cr_expect_eq(ctl_parse(&c, &instead, argc, argv), CTL_USAGE, "%s %s %s", g->name, cmd->name, option);
	}
}

/* An empty one is the beginning of every id: whoever leaves a variable empty must not remove the only thing there is. */
Test(coopctl_help, no_command_takes_an_empty_argument)
{
	each_command(check_empty_args);
	cr_expect_gt(args_refused, 30);
}

Test(coopctl_help, an_option_is_taken_when_help_has_it_and_only_then)
{
	cr_assert_not_null(freopen("/dev/null", "w", stderr));
	each_command(try_all_options);
}

/* --- What a row must be --- */

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void check_examples(const struct ctl_group *g, const struct ctl_command *cmd)
{
	AUTO(auto_free) char *lines = strdup(cmd->examples);
	char                  command[80], *rest = lines;
	bool                  own = false;

	snprintf(command, sizeof(command), "coopctl %s%s%s", g->name, *cmd->name ? " " : "", cmd->name);
	for (char *line; (line = strsep(&rest, "\n"));) {
		cr_expect(strstr(line, "coopctl ") != NULL, "%s: %s", command, line);
		own = own || strstr(line, command);
		own = own || (cmd == g->commands && strstr(line, g->name));
	}
	cr_expect(own, "%s is in none of its examples", command);
}

static void check_row(const struct ctl_group *g, const struct ctl_command *cmd)
{
	cr_expect(cmd->summary && *cmd->summary && cmd->summary[strlen(cmd->summary) - 1] != '.', "%s %s", g->name,
	          cmd->name);
	cr_assert(cmd->examples && cmd->run, "%s %s", g->name, cmd->name);
	check_examples(g, cmd);
	for (const struct ctl_option *o = cmd->options; o && o->name; o++) {
		cr_expect(!is_global(o->name), "%s %s: --%s means the same everywhere", g->name, cmd->name, o->name);
		cr_expect(o->help && *o->help && strlen(o->name) > 1, "%s %s --%s", g->name, cmd->name, o->name);
		cr_expect(!o->query || o->value || o->words, "%s %s --%s", g->name, cmd->name, o->name);
		cr_expect(!begins_with(o->name, "no-"), "%s %s --%s", g->name, cmd->name, o->name);
	}
}

Test(coopctl_help, every_command_is_explained_with_examples)
{
	each_command(check_row);
}

/* What follows "coopctl" in the examples is itself taken by the parser. */
static void run_examples(const struct ctl_group *g, const struct ctl_command *cmd)
{
	AUTO(auto_free) char *lines = strdup(cmd->examples);
	char                 *rest  = lines;

	(void)g;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char                 *at = strstr(line, "coopctl ");
		const char           *argv[40];
		int                   argc = 0;
		struct ctl            c    = { 0 };
		enum ctl_instead      instead;
		AUTO(auto_free) char *copy = at ? strdup(at) : NULL;

		cr_assert_not_null(copy);
		copy[strcspn(copy, "|>#)")] = '\0';
		for (char *p = copy; *p && argc < 39;) {
			char end = *p == '"' ? '"' : ' ';

			p += end == '"';
			argv[argc++] = p;
			p            = strchrnul(p, end);
			if (*p)
				*p++ = '\0';
			p += strspn(p, " ");
		}
		argv[argc] = NULL;
		cr_expect_eq(ctl_parse(&c, &instead, argc, argv), CTL_OK, "%s", line);
	}
}

Test(coopctl_help, the_examples_parse)
{
	each_command(run_examples);
}

/* --- Manual page --- */

static char *man_section; /* of the command that is looked at: a copy */

/* The part of the page from this .SS to the next; backslashes taken out. */
static void find_section(const struct ctl_group *g, const struct ctl_command *cmd)
{
	AUTO(auto_free) char *man = printed(ctl_print_man);
	char                  title[120], *from, *to;
	size_t                n = 0;

	for (char *at = man; *at; at++)
		if (*at != '\\' || at[1] == '(')
			man[n++] = *at;
	man[n] = '\0';
	snprintf(title, sizeof(title), "\n.SS coopctl %s%s%s%s%s\n", g->name, *cmd->name ? " " : "", cmd->name,
	         *cmd->args ? " " : "", cmd->args);
	from = strstr(man, title);
	cr_assert_not_null(from, "the page has no %s", title);
	to = strstr(from + 4, "\n.S");
	cr_assert_not_null(to);
	free(man_section);
	man_section = strndup(from, (size_t)(to - from));
}

static void compare_with_man(const struct ctl_group *g, const struct ctl_command *cmd)
{
	size_t options = 0, listed = 0;

	find_section(g, cmd);
	for (const struct ctl_option *o = cmd->options; o && o->name; o++, options++) {
		char word[60];

		snprintf(word, sizeof(word), "fB--%sfR", o->name);
		cr_expect_not_null(strstr(man_section, word), "%s %s: %s", g->name, cmd->name, word);
	}
	for (const char *at = man_section; (at = strstr(at, "\n.TP\n")); at++)
		listed++;
	cr_expect_eq(listed, options, "%s %s: the page has %zu options, the parser %zu", g->name, cmd->name, listed,
	             options);
	cr_expect_not_null(strstr(man_section, cmd->summary));
}

Test(coopctl_help, the_manual_page_has_the_same_options)
{
	each_command(compare_with_man);
	free(man_section);
}

/* mandoc finds no mistake in a page that a program prints about itself. */
static void lint(const char *page, const char *text)
{
	struct program *p;

	cr_assert_eq(file_write(data_path(page), text, strlen(text), 0600), ERR_OK);
	p = program_start((const char *[]){ "mandoc", "-Tlint", "-Werror", page, NULL });
	if (program_await_end(p, 30000) != 0)
		program_print_output(p);
	cr_expect_eq(p->status, 0, "%s", page);
	program_stop(p);
}

static void lint_of_server(const char *option, const char *page)
{
	char   command[4200];
	char   text[200000];
	FILE  *out;
	size_t n;

	snprintf(command, sizeof(command), "'%s' %s", getenv("COOPD_BIN"), option);
	out = popen(command, "re");
	cr_assert_not_null(out);
	n       = fread(text, 1, sizeof(text) - 1, out);
	text[n] = '\0';
	cr_assert_eq(pclose(out), 0);
	cr_assert_gt(n, 1000);
	lint(page, text);
}

Test(coopctl_help, mandoc_finds_no_mistake_in_the_pages)
{
	AUTO(auto_free) char *man = printed(ctl_print_man);

	if (!program_or_skip("mandoc"))
		return;
	lint("coopctl.1", man);
	lint_of_server("--man", "coopd.8");
	lint_of_server("--man-conf", "coopd.conf.5");
}

/* --- Completions --- */

static void is_completed(const struct ctl_group *g, const struct ctl_command *cmd)
{
	AUTO(auto_free) char *bash = printed(ctl_print_bash);
	AUTO(auto_free) char *zsh  = printed(ctl_print_zsh);
	char                  bash_case[80], zsh_case[80], *from, *line;

	snprintf(bash_case, sizeof(bash_case), "\t\"%s %s\") words=\"", g->name, cmd->name);
	snprintf(zsh_case, sizeof(zsh_case), "\t'%s %s')\n", g->name, cmd->name);
	from = strstr(bash, bash_case);
	cr_assert_not_null(from, "%s", bash_case);
	line = strndup(from, strcspn(from, "\n"));
	for (const struct ctl_option *o = cmd->options; o && o->name; o++)
		cr_expect(has_option(line, o->name) || strstr(line, o->name), "%s: --%s", bash_case, o->name);
	free(line);
	cr_expect_not_null(strstr(zsh, zsh_case));
}

Test(coopctl_help, the_completions_have_every_command_and_option)
{
	each_command(is_completed);
}

/* The shell itself is asked what it would offer behind these words. */
static void expect_bash_offers(const char *script, const char *words, const char *offer)
{
	char                  command[1000];
	struct program       *p;
	AUTO(auto_free) char *said = NULL;

	snprintf(command, sizeof(command),
	         ". ./%s; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _coopctl; echo \" ${COMPREPLY[*]} \"",
	         script, words);
	p = program_start((const char *[]){ "bash", "-c", command, NULL });
	cr_expect_eq(program_await_end(p, 30000), 0);
	said = program_output(p);
	cr_expect_not_null(strstr(said, offer), "bash offers behind %s: %s", words, said);
	program_stop(p);
}

Test(coopctl_help, bash_completes)
{
	AUTO(auto_free) char *bash = printed(ctl_print_bash);

	if (!program_or_skip("bash"))
		return;
	cr_assert_eq(file_write(data_path("completion"), bash, strlen(bash), 0600), ERR_OK);
	expect_bash_offers("completion", "coopctl ''", " campaigns ");
	expect_bash_offers("completion", "coopctl camp", " campaigns ");
	expect_bash_offers("completion", "coopctl campaigns rev", " revoke ");
	expect_bash_offers("completion", "coopctl campaigns --trash ''", " no only also ");
	expect_bash_offers("completion", "coopctl --socket /x games ki", " kick ");
	expect_bash_offers("completion", "coopctl tokens add x --role op", " operator ");
	expect_bash_offers("completion", "coopctl games close --dr", " --dry-run ");
	expect_bash_offers("completion", "coopctl campaigns download x -o compl", " completion ");
}

Test(coopctl_help, zsh_reads_its_completion)
{
	AUTO(auto_free) char *zsh = printed(ctl_print_zsh);
	struct program       *p;

	if (!program_or_skip("zsh"))
		return;
	cr_assert_eq(file_write(data_path("_coopctl"), zsh, strlen(zsh), 0600), ERR_OK);
	p = program_start((const char *[]){ "zsh", "-n", "_coopctl", NULL });
	if (program_await_end(p, 30000) != 0)
		program_print_output(p);
	cr_expect_eq(p->status, 0);
	program_stop(p);
}

/* --- The server's own options --- */

Test(coopctl_help, the_servers_options_are_in_its_manual_page)
{
	static const char *const options[] = { "config",       "data",    "set",      "check-config",
		                               "print-config", "man",     "man-conf", "sample-config",
		                               "verify-blobs", "version", "help",     "settings-reference" };
	char                     command[4200], man[100000], help[20000];
	FILE                    *out;

	snprintf(command, sizeof(command), "'%s' --man | tr -d '\\\\'", getenv("COOPD_BIN"));
	out = popen(command, "re");
	cr_assert_not_null(out);
	man[fread(man, 1, sizeof(man) - 1, out)] = '\0';
	pclose(out);
	snprintf(command, sizeof(command), "'%s' --help", getenv("COOPD_BIN"));
	out = popen(command, "re");
	cr_assert_not_null(out);
	help[fread(help, 1, sizeof(help) - 1, out)] = '\0';
	pclose(out);
	for (size_t i = 0; i < COUNT_OF(options); i++) {
		char word[60];

		snprintf(word, sizeof(word), "fB--%sfR", options[i]);
		cr_expect_not_null(strstr(man, word), "%s", word);
		cr_expect(has_option(help, options[i]), "--%s", options[i]);
	}
}
