/*
 * One pass over the text. A word is collected, then looked at: separators end the statement that was being collected,
 * `at` and `by` at its beginning take the words that belong to them.
 */
#include "scenario/script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char        *at;
	int                line;
	struct script     *script;
	struct script_step step;  /* being collected */
	bool               timed; /* when, time and not before are those of the step being collected */
	char              *why;
	size_t             why_cap;
};

static bool complain(struct parser *p, const char *what, const char *word)
{
	snprintf(p->why, p->why_cap, "line %d: %s%s%s", p->line, what, *word ? ": " : "", word);
	return false;
}

bool script_time(int64_t *out_ms, const char *word)
{
	static const struct {
		const char *name;
		int64_t     ms;
	} units[]     = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
	int64_t total = 0;

	if (!*word)
		return false;
	while (*word) {
		size_t digits = strspn(word, "0123456789");
		size_t i      = 0;
		long   number = atol(word);

		word += digits;
		while (i < 5 && strncmp(word, units[i].name, strlen(units[i].name)) != 0)
			i++;
		if (digits == 0 || digits > 9 || i == 5)
			return false;
		total += number * units[i].ms;
		word += strlen(units[i].name);
	}
	*out_ms = total;
	return true;
}

/* Takes the next word of this line; an empty one at its end. */
static bool next_word(struct parser *p, char word[SCRIPT_WORD_BYTES])
{
	size_t len = 0;
	bool   quoted;

	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
	if (*p->at == '#')
		p->at += strcspn(p->at, "\n");
	quoted = *p->at == '"';
	while (*p->at && *p->at != '\n' && len < SCRIPT_WORD_BYTES - 1) {
		char c = *p->at;

		if (!quoted && (isspace((unsigned char)c) || (len > 0 && strchr(";,", c))))
			break;
		p->at++;
		if (quoted && len > 0 && c == '"') {
			quoted = false;
			break;
		}
		word[len++] = c;
		if (len == 1 && strchr(";,", c))
			break;
	}
	word[len] = '\0';
	if (quoted)
		return complain(p, "a text without its second quote", word);
	if (len == SCRIPT_WORD_BYTES - 1)
		return complain(p, "too long a word", word);
	return true;
}

static bool next_time(struct parser *p, int64_t *out_ms)
{
	char word[SCRIPT_WORD_BYTES];

	if (!next_word(p, word))
		return false;
	return script_time(out_ms, word) || complain(p, "no time", word);
}

/* Behind "at" or "by". */
static bool take_when(struct parser *p, enum script_when when)
{
	char        word[SCRIPT_WORD_BYTES];
	const char *before;

	if (p->timed)
		return complain(p, "two times for one statement", "");
	p->timed              = true;
	p->step.when          = when;
	p->step.not_before_ms = 0;
	if (!next_time(p, &p->step.time_ms))
		return false;
	before = p->at;
	if (when != SCRIPT_BY || !next_word(p, word))
		return when != SCRIPT_BY;
	if (strcmp(word, "not") != 0) {
		p->at = before;
		return true;
	}
	if (!next_word(p, word))
		return false;
	return strcmp(word, "before") == 0 ? next_time(p, &p->step.not_before_ms) : complain(p, "not what", word);
}

/* The collected statement becomes a step. keep_actor: the next one begins with the same actor. */
static bool end_statement(struct parser *p, bool keep_actor)
{
	struct script_step *steps;

	if (p->step.word_count < 2)
		return complain(p, "an actor and a verb are wanted", p->step.word_count ? p->step.words[0] : "");
	steps = realloc(p->script->steps, (p->script->count + 1) * sizeof(*steps));
	if (!steps)
		return complain(p, "no memory", "");
	p->script->steps                     = steps;
	p->script->steps[p->script->count++] = p->step;
	p->step.word_count                   = keep_actor ? 1 : 0;
	p->step.when                         = SCRIPT_NOW;
	p->step.not_before_ms                = 0;
	p->timed                             = false;
	return true;
}

static bool take_word(struct parser *p, const char *word)
{
	struct script_step *s = &p->step;
	char                then[SCRIPT_WORD_BYTES];

	if (strcmp(word, ";") == 0)
		return end_statement(p, false);
	if (strcmp(word, ",") == 0) {
		if (!next_word(p, then))
			return false;
		return strcmp(then, "then") == 0 ? end_statement(p, true) : complain(p, "a comma without then", then);
	}
	if (s->word_count == 0 && strcmp(word, "at") == 0)
		return take_when(p, SCRIPT_AT);
	if (s->word_count == 0 && strcmp(word, "by") == 0)
		return take_when(p, SCRIPT_BY);
	if (s->word_count == SCRIPT_WORDS_MAX)
		return complain(p, "too many words", word);
	if (s->word_count == 0)
		s->line = p->line;
	strcpy(s->words[s->word_count++], word);
	return true;
}

static bool parse_line(struct parser *p)
{
	char word[SCRIPT_WORD_BYTES];

	for (;;) {
		if (!next_word(p, word))
			return false;
		if (!*word)
			return p->step.word_count == 0 || end_statement(p, false);
		if (!take_word(p, word))
			return false;
	}
}

bool script_parse(struct script *out, const char *text, char *why, size_t why_cap)
{
	struct parser p = { .at = text, .script = out, .why = why, .why_cap = why_cap };

	*out = (struct script){ 0 };
	do {
		p.line++;
		if (!parse_line(&p)) {
			script_free(out);
			return false;
		}
	} while (*p.at++);
	if (!p.timed)
		return true;
	script_free(out);
	return complain(&p, "a time without a statement", "");
}

void script_free(struct script *s)
{
	free(s->steps);
	*s = (struct script){ 0 };
}
