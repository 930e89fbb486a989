/* The command line, read by the tables of all commands. */
#include "coopctl/ctl.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "coopctl/print.h"
#include "coopctl/value.h"
#include "os/file.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TOKEN_DIGITS         64
#define TOKEN_FILE_BYTES_MAX 4096
#define SYSTEM_SOCKET        "/run/coopd/admin.sock"
#define LOCAL_SOCKET         "./data/run/admin.sock"

/* --- What was given --- */

const char *ctl_arg(const struct ctl *c, size_t at)
{
	return at < c->arg_count ? c->args[at] : NULL;
}

static const struct ctl_option *option_in(const struct ctl_option *options, const char *name, size_t len)
{
	for (; options && options->name; options++) {
		bool is_letter = len == 1 && options->letter == name[0];

		if (is_letter || (strncmp(options->name, name, len) == 0 && options->name[len] == '\0'))
			return options;
	}
	return NULL;
}

static const struct ctl_option *option_find(const struct ctl *c, const char *name, size_t len)
{
	const struct ctl_option *own = c->command ? option_in(c->command->options, name, len) : NULL;

	return own ? own : option_in(ctl_globals, name, len);
}

const char *ctl_value(const struct ctl *c, const char *option)
{
	const struct ctl_option *known = option_find(c, option, strlen(option));

	assert(known && strcmp(known->name, option) == 0);
	for (size_t i = 0; i < c->value_count; i++)
		if (c->values[i].option == known)
			return c->values[i].text;
	return NULL;
}

size_t ctl_values(const char **out, size_t cap, const struct ctl *c, const char *option)
{
	const struct ctl_option *known = option_find(c, option, strlen(option));
	size_t                   count = 0;

	for (size_t i = 0; i < c->value_count && count < cap; i++)
		if (c->values[i].option == known)
			out[count++] = c->values[i].text;
	return count;
}

bool ctl_given(const struct ctl *c, const char *option)
{
	return ctl_value(c, option) != NULL;
}

/* Each of its lines is one of ours, as the server's list of what is wrong with a configuration. */
static void print_failure(char *message)
{
	const char *before = "coopctl: ";
	char       *rest   = message, *line;

	while ((line = strtok_r(rest, "\n", &rest))) {
		AUTO(auto_free) char *escaped = print_escape(line);

		fprintf(stderr, "%s%s\n", before, escaped);
		before = "  ";
	}
}

enum ctl_exit ctl_fail(const struct ctl *c, enum ctl_exit e, const char *code, const char *format, ...)
{
	char    message[1024];
	va_list args;

	va_start(args, format);
	text_formatv(message, sizeof(message), format, args);
	va_end(args);
	text_make_utf8(message);
	if (c->json) {
		json_t *error = json_pack("{s:{s:s,s:s}}", "error", "code", code, "message", message);

		print_json(stderr, error);
		json_decref(error);
		return e;
	}

	print_failure(message);
	return e;
}

/* --- Commands --- */

const struct ctl_group *ctl_group_find(const char *name)
{
	for (size_t i = 0; ctl_groups[i]; i++)
		if (strcmp(ctl_groups[i]->name, name) == 0)
			return ctl_groups[i];
	return NULL;
}

const struct ctl_command *ctl_command_find(const struct ctl_group *g, const char *name)
{
	for (const struct ctl_command *cmd = g->commands; cmd->name; cmd++)
		if (strcmp(cmd->name, name) == 0)
			return cmd;
	return NULL;
}

static bool has_second_word(const struct ctl_group *g)
{
	return g->commands[0].name[0] != '\0';
}

#define NEAR_ENOUGH 3

static void consider(const char **nearest, size_t *distance, const char *word, const char *name)
{
	size_t d = text_distance(word, name, NEAR_ENOUGH);

	if (d < *distance) {
		*distance = d;
		*nearest  = name;
	}
}

static enum ctl_exit unknown_command(const struct ctl *c, const struct ctl_group *g, const char *word)
{
	const char *nearest  = NULL;
	size_t      distance = NEAR_ENOUGH;

	for (size_t i = 0; !g && ctl_groups[i]; i++)
		consider(&nearest, &distance, word, ctl_groups[i]->name);
	for (const struct ctl_command *cmd = g ? g->commands : NULL; cmd && cmd->name; cmd++)
		consider(&nearest, &distance, word, cmd->name);
	return ctl_fail(c, CTL_USAGE, "usage", "there is no command \"%s%s%s\"%s%s%s; coopctl %s%s--help lists them",
	                g ? g->name : "", g ? " " : "", word, nearest ? "; did you mean \"" : "",
	                nearest ? nearest : "", nearest ? "\"?" : "", g ? g->name : "", g ? " " : "");
}

static enum ctl_exit unknown_option(const struct ctl *c, const char *word)
{
	const char *nearest  = NULL;
	size_t      distance = NEAR_ENOUGH;

	for (const struct ctl_option *o = c->command ? c->command->options : NULL; o && o->name; o++)
		consider(&nearest, &distance, word + strspn(word, "-"), o->name);
	for (const struct ctl_option *o = ctl_globals; o->name; o++)
		consider(&nearest, &distance, word + strspn(word, "-"), o->name);
	if (strncmp(word, "--token", 7) == 0 && (word[7] == '\0' || word[7] == '='))
		return ctl_fail(c, CTL_USAGE, "usage",
		                "a token on the command line can be read by everybody on this machine (ps): put it "
		                "into a file "
		                "for --token-file, or into COOPCTL_TOKEN");
	return ctl_fail(c, CTL_USAGE, "usage", "there is no option %.*s%s%s%s; coopctl %s%s%s --help lists them",
	                (int)strcspn(word, "="), word, nearest ? "; did you mean --" : "", nearest ? nearest : "",
	                nearest ? "?" : "", c->group ? c->group->name : "",
	                c->group && has_second_word(c->group) ? " " : "", c->command ? c->command->name : "");
}

/* --- Options --- */

/* Whether word stands in the list, which has blanks between its words. */
static bool is_word_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; len > 0 && (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

/* Often a variable of a script that is not set: as the beginning of an id it would mean whatever there is. */
static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

static enum ctl_exit add_value(struct ctl *c, const struct ctl_option *option, const char *text)
{
	for (size_t i = 0; i < c->value_count; i++)
		if (c->values[i].option == option && option->value && !option->many)
			return ctl_fail(c, CTL_USAGE, "usage", "--%s is given twice", option->name);
	if (option->value && is_blank(text) && strcmp(option->value, "TEXT") != 0)
		return ctl_fail(c, CTL_USAGE, "usage", "--%s is empty: --%s %s", option->name, option->name,
		                option->value);
	if (option->words && !is_word_of(option->words, text))
		return ctl_fail(c, CTL_USAGE, "usage", "--%s cannot be \"%s\"; it is one of: %s", option->name, text,
		                option->words);
	if (!value_is(option->kind, text))
		return ctl_fail(c, CTL_USAGE, "usage", "--%s cannot be \"%s\"; it takes %s", option->name, text,
		                value_wants(option->kind));
	if (c->value_count == CTL_VALUES_MAX)
		return ctl_fail(c, CTL_USAGE, "usage", "there are more than %d options", CTL_VALUES_MAX);
	c->values[c->value_count++] = (struct ctl_value){ option, text };
	return CTL_OK;
}

/* argv[*at] is an option, "--name", "--name=value", "-x" or "-xvalue"; moves *at over a value that stands behind it. */
static enum ctl_exit read_option(struct ctl *c, int *at, int argc, const char *const *argv)
{
	const char              *word   = argv[*at];
	bool                     is_one = word[1] != '-';
	const char              *name   = word + (is_one ? 1 : 2);
	size_t                   len    = is_one ? 1 : strcspn(name, "=");
	const struct ctl_option *option = option_find(c, name, len);
	const char              *text   = name + len;

	if (!option || (!is_one && len == 1))
		return unknown_option(c, word);
	if (!option->value) {
		if (*text)
			return ctl_fail(c, CTL_USAGE, "usage", "--%s takes no value", option->name);
		return add_value(c, option, "");
	}
	if (*text == '=')
		text++;
	else if (*text == '\0' && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
		text = argv[++*at];
	else if (*text == '\0')
		return ctl_fail(c, CTL_USAGE, "usage", "--%s needs a value: --%s %s", option->name, option->name,
		                option->value);
	return add_value(c, option, text);
}

/* --- Arguments --- */

bool ctl_args_next(const char **at, struct ctl_arg_word *word)
{
	const char *from = *at + strspn(*at, " ");
	size_t      len  = strcspn(from, " ");
	size_t      n    = 0;

	if (len == 0)
		return false;
	*at            = from + len;
	word->optional = *from == '[';
	word->repeated = memmem(from, len, "...", 3) != NULL;
	for (size_t i = 0; i < len && n + 1 < sizeof(word->name); i++)
		if (from[i] != '[' && from[i] != ']' && from[i] != '.')
			word->name[n++] = from[i];
	word->name[n] = '\0';
	return true;
}

static enum ctl_exit check_args(const struct ctl *c)
{
	const char         *at   = c->command->args;
	size_t              seen = 0;
	struct ctl_arg_word word = { .repeated = false };
	const char         *gap  = has_second_word(c->group) ? " " : "";

	while (ctl_args_next(&at, &word)) {
		if (seen++ >= c->arg_count && !word.optional)
			return ctl_fail(c, CTL_USAGE, "usage", "%s is missing: coopctl %s%s%s %s", word.name,
			                c->group->name, gap, c->command->name, c->command->args);
		if (seen <= c->arg_count && is_blank(c->args[seen - 1]))
			return ctl_fail(c, CTL_USAGE, "usage", "%s is empty: coopctl %s%s%s %s", word.name,
			                c->group->name, gap, c->command->name, c->command->args);
	}
	if (c->arg_count > seen && !word.repeated)
		return ctl_fail(c, CTL_USAGE, "usage", "\"%s\" is one word too many: coopctl %s%s%s%s%s", c->args[seen],
		                c->group->name, gap, c->command->name, *c->command->args ? " " : "", c->command->args);
	return CTL_OK;
}

/* --- All of it --- */

/* The first word that is no option, or the value of one, before the command is known; argc: there is none. */
static int first_word(int from, int argc, const char *const *argv)
{
	for (int i = from; i < argc; i++) {
		const char              *name   = argv[i] + strspn(argv[i], "-");
		const struct ctl_option *global = option_in(ctl_globals, name, strcspn(name, "="));

		if (argv[i][0] != '-')
			return i;
		if (strcmp(argv[i], "--") == 0)
			return argc;
		if (global && global->value && !strchr(name, '='))
			i++;
	}
	return argc;
}

/* Which command it is; *words: the argv positions of its one or two words, argc for one that is not there. */
static enum ctl_exit read_command(struct ctl *c, int words[2], int argc, const char *const *argv)
{
	words[0] = first_word(1, argc, argv);
	words[1] = argc;
	if (words[0] == argc)
		return CTL_OK;
	c->group = ctl_group_find(argv[words[0]]);
	if (!c->group)
		return unknown_command(c, NULL, argv[words[0]]);
	c->command = &c->group->commands[0];
	if (!has_second_word(c->group))
		return CTL_OK;

	int second = first_word(words[0] + 1, argc, argv);

	/* What stands behind an option of the first command may be its value: only a word at once behind counts. */
	if (second == argc || (second != words[0] + 1 && !ctl_command_find(c->group, argv[second])))
		return CTL_OK;
	c->command = ctl_command_find(c->group, argv[second]);
	if (!c->command)
		return unknown_command(c, c->group, argv[second]);
	words[1] = second;
	return CTL_OK;
}

static enum ctl_exit read_rest(struct ctl *c, const int words[2], int argc, const char *const *argv)
{
	bool          only_args = false;
	enum ctl_exit e         = CTL_OK;

	for (int i = 1; e == CTL_OK && i < argc; i++) {
		if (i == words[0] || i == words[1])
			continue;
		if (!only_args && strcmp(argv[i], "--") == 0)
			only_args = true;
		else if (!only_args && argv[i][0] == '-' && argv[i][1] != '\0')
			e = read_option(c, &i, argc, argv);
		else if (c->arg_count == CTL_ARGS_MAX)
			e = ctl_fail(c, CTL_USAGE, "usage", "there are more than %d words", CTL_ARGS_MAX);
		else
			c->args[c->arg_count++] = argv[i];
	}
	return e;
}

static size_t terminal_columns(void)
{
	const char    *text = getenv("COLUMNS");
	int64_t        n    = 0;
	struct winsize size = { 0 };

	if (text && text_to_int(&n, text, 1, 10000) == ERR_OK)
		return (size_t)n;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

enum ctl_exit ctl_parse(struct ctl *c, enum ctl_instead *instead, int argc, const char *const *argv)
{
	int words[2];

	*instead = CTL_RUN;
	/* Before anything else, so that the very first mistake is said in the right form. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		c->json = c->json || strcmp(argv[i], "--json") == 0;

	enum ctl_exit e = read_command(c, words, argc, argv);

	if (e == CTL_OK)
		e = read_rest(c, words, argc, argv);
	if (e != CTL_OK)
		return e;

	const char *no_color = getenv("NO_COLOR");
	const char *term     = getenv("TERM");

	c->yes     = ctl_given(c, "yes");
	c->dry_run = ctl_given(c, "dry-run");
	c->columns = terminal_columns();
	c->color   = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !ctl_given(c, "no-color") &&
	           !(term && strcmp(term, "dumb") == 0);
	if (ctl_given(c, "man"))
		*instead = CTL_MAN;
	else if (ctl_given(c, "version"))
		*instead = CTL_VERSION;
	else if (ctl_given(c, "help"))
		*instead = CTL_HELP;
	if (*instead == CTL_HELP && words[1] == argc && c->group)
		c->command = NULL; /* of the whole group */
	if (*instead != CTL_RUN)
		return CTL_OK;
	if (!c->command)
		return ctl_fail(c, CTL_USAGE, "usage", "what shall be done? coopctl --help lists the commands");
	return check_args(c);
}

/* --- Where --- */

static enum ctl_exit take_token(struct ctl *c, const char *text, const char *from)
{
	size_t len = strlen(text);

	text_trim(&text, &len);
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len != TOKEN_DIGITS || strspn(text, "0123456789abcdef") < TOKEN_DIGITS)
		return ctl_fail(c, CTL_USAGE, "usage", "%s holds no token: that is 64 lower case hex digits", from);
	memcpy(c->where.token, text, TOKEN_DIGITS);
	c->where.token[TOKEN_DIGITS] = '\0';
	return CTL_OK;
}

static enum ctl_exit look_up_token(struct ctl *c)
{
	const char           *path = ctl_value(c, "token-file");
	const char           *env  = getenv("COOPCTL_TOKEN");
	AUTO(auto_free) char *text = NULL;
	size_t                len  = 0;

	if (!path)
		return env && *env ? take_token(c, env, "COOPCTL_TOKEN") : CTL_OK;
	if (file_read(&text, &len, path, TOKEN_FILE_BYTES_MAX) != ERR_OK)
		return ctl_fail(c, CTL_USAGE, "usage", "the token file \"%s\" cannot be read", path);
	return take_token(c, text, path);
}

static enum ctl_exit take_url(struct ctl *c, const char *url)
{
	size_t len = strlen(url);

	while (len > 0 && url[len - 1] == '/')
		len--;
	if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || strpbrk(url, "?#@ ") ||
	    len >= sizeof(c->url))
		return ctl_fail(c, CTL_USAGE, "usage", "\"%s\" is no URL of a server: http://127.0.0.1:10002", url);
	memcpy(c->url, url, len);
	c->url[len]  = '\0';
	c->where.url = c->url;
	return CTL_OK;
}

static enum ctl_exit take_socket(struct ctl *c, const char *path)
{
	if (!*path || !text_copy(c->socket, sizeof(c->socket), path))
		return ctl_fail(c, CTL_USAGE, "usage", "\"%s\" is no path of a socket", path);
	c->where.socket = c->socket;
	return CTL_OK;
}

enum ctl_exit ctl_look_up_where(struct ctl *c)
{
	const char   *url = ctl_value(c, "url"), *socket = ctl_value(c, "socket");
	const char   *env_url = getenv("COOPCTL_URL"), *env_socket = getenv("COOPCTL_SOCKET");
	enum ctl_exit e = look_up_token(c);

	if (e != CTL_OK)
		return e;
	if (url && socket)
		return ctl_fail(c, CTL_USAGE, "usage", "--url and --socket exclude each other");
	if (url)
		return take_url(c, url);
	if (socket)
		return take_socket(c, socket);
	if (env_url && *env_url)
		return take_url(c, env_url);
	if (env_socket && *env_socket)
		return take_socket(c, env_socket);
	return take_socket(c, access(SYSTEM_SOCKET, F_OK) == 0 ? SYSTEM_SOCKET : LOCAL_SOCKET);
}
