/*
 * One kind per type word: how its text is checked and kept, how it is written, what it is called. Lists are checked
 * word by word in conf_word.c.
 */
#include "conf/conf_value.h"

#include "base/auto.h"
#include "base/text.h"
#include "conf/conf_word.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef bool parse_fn(void *field, const struct conf_row *row, const char *text, struct conf_why *why);

static bool no_memory(struct conf_why *why)
{
	(void)text_copy(why->text, sizeof(why->text), "cannot be kept: out of memory");
	return false;
}

/* text: TEXT, WORD, HOST, HEADER, PATH */

static bool keep_text(void *field, const char *text, struct conf_why *why)
{
	char **kept = field;
	char  *copy = strdup(text);

	if (!copy)
		return no_memory(why);
	free(*kept);
	*kept = copy;
	return true;
}

static bool parse_text(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	/* A secret is never printed, so it need not survive being read again. */
	if (!(row->flags & SECRET) && conf_word_has_comment(text))
		return conf_refuse(why, row, text,
		                   "has a # or ; at its start or after a blank, which begins a comment");
	/* It goes into JSON; a path has the bytes that the file system has. */
	if (row->type == CONF_TYPE_TEXT && !(row->flags & SECRET) && !conf_word_is_utf8(text))
		return conf_refuse(why, row, text, "is not valid UTF-8");
	return keep_text(field, text, why);
}

static bool parse_word(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	return (!*text || conf_word_plain(row, text, why)) && keep_text(field, text, why);
}

static bool parse_host(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	return (!*text || conf_word_host(row, text, why)) && keep_text(field, text, why);
}

static bool parse_header(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	return conf_word_header(row, text, why) && keep_text(field, text, why);
}

static void print_text(FILE *out, const void *field)
{
	fputs(*(char *const *)field, out);
}

static void fini_text(void *field)
{
	char **kept = field;

	free(*kept);
	*kept = NULL;
}

/* flags and choices: FLAG, LEVEL, FORMAT, SCALE */

static const char *const yes_words[] = { "yes", "true", "on", "1", NULL };
static const char *const no_words[]  = { "no", "false", "off", "0", NULL };

static const char *const level_words[] = {
	[CONF_LEVEL_error] = "error",
	[CONF_LEVEL_warn]  = "warn",
	[CONF_LEVEL_info]  = "info",
	[CONF_LEVEL_debug] = "debug",
	NULL,
};
static const char *const format_words[] = { [CONF_FORMAT_text] = "text", [CONF_FORMAT_json] = "json", NULL };
static const char *const scale_words[]  = { [CONF_SCALE_cut] = "cut", [CONF_SCALE_full] = "full", NULL };

/* The word's place in the list, -1 when it is not there. */
static int find_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (text_same_nocase(words[i], text))
			return i;
	return -1;
}

static int choose(const struct conf_row *row, const char *const *words, const char *text, struct conf_why *why)
{
	char allowed[64] = "";
	int  choice      = find_word(words, text);

	if (choice >= 0)
		return choice;
	for (int i = 0; words[i]; i++) {
		size_t len = strlen(allowed);
		(void)text_format(allowed + len, sizeof(allowed) - len, "%s%s", i ? ", " : "", words[i]);
	}
	(void)conf_refuse(why, row, text, "is none of: %s", allowed);
	return -1;
}

static bool parse_flag(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	bool yes = find_word(yes_words, text) >= 0;

	if (!yes && find_word(no_words, text) < 0)
		return conf_refuse(why, row, text, "is neither yes (true, on, 1) nor no (false, off, 0)");
	*(bool *)field = yes;
	return true;
}

static void print_flag(FILE *out, const void *field)
{
	fputs(*(const bool *)field ? "yes" : "no", out);
}

#define CHOICE_KIND(name, words, type)                                                                            \
	static bool parse_##name(void *field, const struct conf_row *row, const char *text, struct conf_why *why) \
	{                                                                                                         \
		int choice = choose(row, words, text, why);                                                       \
                                                                                                                  \
		if (choice < 0)                                                                                   \
			return false;                                                                             \
		*(type *)field = (type)choice;                                                                    \
		return true;                                                                                      \
	}                                                                                                         \
                                                                                                                  \
	static void print_##name(FILE *out, const void *field)                                                    \
	{                                                                                                         \
		fputs(words[*(const type *)field], out);                                                          \
	}

CHOICE_KIND(level, level_words, enum conf_level)
CHOICE_KIND(format, format_words, enum conf_format)
CHOICE_KIND(scale, scale_words, enum conf_scale)

/* lists: LISTEN, NETWORKS, ORIGINS, LIST */

static void fini_list(void *field)
{
	struct conf_list *list = field;

	for (size_t i = 0; i < list->count; i++)
		free(list->words[i]);
	free(list->words);
	*list = (struct conf_list){ 0 };
}

static bool append_word(struct conf_list *list, const char *word, size_t len, struct conf_why *why)
{
	char **more = realloc(list->words, (list->count + 1) * sizeof(*more));

	if (!more)
		return no_memory(why);
	list->words       = more;
	more[list->count] = strndup(word, len);
	if (!more[list->count])
		return no_memory(why);
	list->count++;
	return true;
}

static bool has_word(const struct conf_list *list, const char *word)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->words[i], word) == 0)
			return true;
	return false;
}

static bool parse_list(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	static const char                blanks[] = " \t";
	AUTO(fini_list) struct conf_list list     = { 0 };

	for (const char *at = text + strspn(text, blanks); *at; at += strspn(at, blanks)) {
		size_t len = strcspn(at, blanks);

		if (!append_word(&list, at, len, why))
			return false;
		at += len;
	}
	for (size_t i = 0; i < list.count; i++) {
		const struct conf_list before = { list.words, i };

		if (!conf_word_check(row, list.words[i], why))
			return false;
		if (has_word(&before, list.words[i]))
			return conf_refuse(why, row, list.words[i], "stands there twice");
	}
	fini_list(field);
	*(struct conf_list *)field = list;
	list                       = (struct conf_list){ 0 };
	return true;
}

static void print_list(FILE *out, const void *field)
{
	const struct conf_list *list = field;

	for (size_t i = 0; i < list->count; i++)
		fprintf(out, "%s%s", i ? " " : "", list->words[i]);
}

/* "none" is kept as a list without words, so that nobody else need know the word. */
static bool parse_networks(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	return parse_list(field, row, strcmp(text, "none") == 0 ? "" : text, why);
}

static void print_networks(FILE *out, const void *field)
{
	if (((const struct conf_list *)field)->count == 0)
		fputs("none", out);
	else
		print_list(out, field);
}

/* limits */

struct suffix {
	const char *name;
	int64_t     factor;
};

static const struct suffix byte_suffixes[] = {
	{ "K", 1 << 10 },
	{ "M", 1 << 20 },
	{ "G", 1 << 30 },
	{ NULL, 0 },
};
static const struct suffix time_suffixes[] = {
	{ "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 60 * 60 * 1000 }, { "d", 24 * 60 * 60 * 1000 },
	{ NULL, 0 },
};
static const struct suffix no_suffixes[] = { { NULL, 0 } };

static const struct suffix *suffixes_of(const struct conf_row *row)
{
	if (strncmp(row->unit, "bytes", 5) == 0)
		return byte_suffixes;
	return strcmp(row->unit, "ms") == 0 ? time_suffixes : no_suffixes;
}

/* Digits, then perhaps a suffix. Beyond 64 bits becomes INT64_MAX, which is over every row's max. */
static bool read_number(int64_t *out, const struct suffix *suffixes, const char *text)
{
	char    digits[32];
	size_t  len    = strspn(text, "0123456789");
	size_t  zeros  = strspn(text, "0");
	int64_t factor = 1;

	if (len == 0)
		return false;
	if (text[len]) {
		while (suffixes->name && !text_same_nocase(suffixes->name, text + len))
			suffixes++;
		if (!suffixes->name)
			return false;
		factor = suffixes->factor;
	}
	*out = INT64_MAX;
	if (len - zeros < sizeof(digits)) {
		(void)text_format(digits, sizeof(digits), "0%.*s", (int)(len - zeros), text + zeros);
		if (text_to_int(out, digits, 0, INT64_MAX) != ERR_OK || __builtin_mul_overflow(*out, factor, out))
			*out = INT64_MAX;
	}
	return true;
}

static bool parse_limit(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	const struct suffix *suffixes = suffixes_of(row);
	const char          *form     = suffixes == byte_suffixes   ? "digits, or digits with K, M or G behind"
	                                : suffixes == time_suffixes ? "digits, or digits with ms, s, m, h or d behind"
	                                                            : "digits";
	int64_t              number;

	if (!read_number(&number, suffixes, text))
		return conf_refuse(why, row, text, "is not a number (%s); allowed are %" PRId64 " to %" PRId64 " %s",
		                   form, row->min, row->max, row->unit);
	if (number < row->min || number > row->max)
		return conf_refuse(why, row, text, "is out of range; allowed are %" PRId64 " to %" PRId64 " %s",
		                   row->min, row->max, row->unit);
	*(int64_t *)field = number;
	return true;
}

static bool parse_count(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	if (text_to_int(field, text, 1, CONF_COUNT_MAX) == ERR_OK)
		return true;
	return conf_refuse(why, row, text, "is not a number from 1 to %d", CONF_COUNT_MAX);
}

static bool parse_number(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	if (text_to_int(field, text, 0, CONF_NUMBER_MAX) == ERR_OK)
		return true;
	return conf_refuse(why, row, text, "is not a number from 0 to %d", CONF_NUMBER_MAX);
}

/* A whole number of one unit; 0 needs none. The longest units first, as they are printed. */
static const struct {
	char    letter;
	int64_t ms;
} units[] = { { 'd', 86400000 }, { 'h', 3600000 }, { 'm', 60000 }, { 's', 1000 } };

static bool parse_duration(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	char    digits[24];
	size_t  len = strlen(text);
	int64_t n;

	if (strcmp(text, "0") == 0) {
		*(int64_t *)field = 0;
		return true;
	}
	for (size_t i = 0; len > 1 && len < sizeof(digits) && i < COUNT_OF(units); i++) {
		if (text[len - 1] != units[i].letter)
			continue;
		(void)text_format(digits, sizeof(digits), "%.*s", (int)(len - 1), text);
		if (text_to_int(&n, digits, 1, CONF_DURATION_MAX / units[i].ms) != ERR_OK)
			break;
		*(int64_t *)field = n * units[i].ms;
		return true;
	}
	return conf_refuse(why, row, text, "is no time; write 0, or a number and s, m, h or d: 6h, at most 365d");
}

static void print_duration(FILE *out, const void *field)
{
	int64_t ms = *(const int64_t *)field;

	for (size_t i = 0; ms > 0 && i < COUNT_OF(units); i++) {
		if (ms % units[i].ms == 0) {
			fprintf(out, "%" PRId64 "%c", ms / units[i].ms, units[i].letter);
			return;
		}
	}
	fputc('0', out);
}

static void print_limit(FILE *out, const void *field)
{
	fprintf(out, "%" PRId64, *(const int64_t *)field);
}

static void fini_nothing(void *field)
{
	(void)field;
}

static const struct kind {
	parse_fn *parse;
	void (*print)(FILE *out, const void *field);
	void (*fini)(void *field);
	const char *form;
} kinds[CONF_TYPES] = {
	[CONF_TYPE_TEXT]     = { parse_text, print_text, fini_text, "text" },
	[CONF_TYPE_WORD]     = { parse_word, print_text, fini_text, "a word of ASCII characters without blanks" },
	[CONF_TYPE_HOST]     = { parse_host, print_text, fini_text, "a host name or numeric address" },
	[CONF_TYPE_HEADER]   = { parse_header, print_text, fini_text, "the name of a header field" },
	[CONF_TYPE_PATH]     = { parse_text, print_text, fini_text, "a path" },
	[CONF_TYPE_FLAG]     = { parse_flag, print_flag, fini_nothing, "yes or no" },
	[CONF_TYPE_COUNT]    = { parse_count, print_limit, fini_nothing, "a number from 1 to 10000" },
	[CONF_TYPE_NUMBER]   = { parse_number, print_limit, fini_nothing, "a number from 0 to 65535" },
	[CONF_TYPE_LEVEL]    = { parse_level, print_level, fini_nothing, "error, warn, info or debug" },
	[CONF_TYPE_FORMAT]   = { parse_format, print_format, fini_nothing, "text or json" },
	[CONF_TYPE_SCALE]    = { parse_scale, print_scale, fini_nothing, "cut or full" },
	[CONF_TYPE_DURATION] = { parse_duration, print_duration, fini_nothing,
	                         "a time such as 90s, 30m, 6h or 7d; or 0" },
	[CONF_TYPE_LISTEN]   = { parse_list, print_list, fini_list, "numeric addresses with port; empty: none" },
	[CONF_TYPE_NETWORKS] = { parse_networks, print_networks, fini_list, "addresses, address/prefix, or none" },
	[CONF_TYPE_ORIGINS]  = { parse_list, print_list, fini_list, "scheme://host or scheme://host:port, each" },
	[CONF_TYPE_LIST]     = { parse_list, print_list, fini_list, "words with blanks between" },
	[CONF_TYPE_LIMIT]    = { parse_limit, print_limit, fini_nothing, "a number" },
};

bool conf_value_parse(void *field, const struct conf_row *row, const char *text, struct conf_why *why)
{
	if (strlen(text) > CONF_VALUE_BYTES_MAX)
		return conf_refuse(why, row, text, "is longer than %d bytes", CONF_VALUE_BYTES_MAX);
	if (conf_word_has_control(text))
		return conf_refuse(why, row, text, "has a control character");
	return kinds[row->type].parse(field, row, text, why);
}

void conf_value_print(FILE *out, const struct conf_row *row, const void *field)
{
	kinds[row->type].print(out, field);
}

void conf_value_show(FILE *out, const struct conf_row *row, const void *field)
{
	if ((row->flags & SECRET) && **(char *const *)field)
		fputs("***", out);
	else
		conf_value_print(out, row, field);
}

char *conf_value_text(const struct conf_row *row, const void *field)
{
	char  *text = NULL;
	size_t len  = 0;
	FILE  *out  = open_memstream(&text, &len);

	if (!out)
		return NULL;
	conf_value_print(out, row, field);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

void conf_value_fini(void *field, const struct conf_row *row)
{
	kinds[row->type].fini(field);
}

void conf_value_describe(FILE *out, const struct conf_row *row)
{
	if (row->type == CONF_TYPE_LIMIT)
		fprintf(out, "%" PRId64 " to %" PRId64 " %s", row->min, row->max, row->unit);
	else
		fputs(kinds[row->type].form, out);
}
