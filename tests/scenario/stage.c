#include "scenario/stage.h"

#include "support/dial.h"

#include <criterion/criterion.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int64_t stage_now_ms(const struct stage *s)
{
	return s->server->clock->both_ms + real_now_ms() - s->real_start_ms;
}

void stage_note(struct stage *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(s->talk, "%10.3f s  ", (double)stage_now_ms(s) / 1000);
	vfprintf(s->talk, format, args);
	fputc('\n', s->talk);
	va_end(args);
}

void stage_fail(struct stage *s, const char *format, ...)
{
	char    what[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fflush(s->talk);
	fprintf(stderr, "--- what was said in %s ---\n%s--- end ---\n", s->file, s->talk_text);
	if (s->server->pid && !server_is_running(s->server))
		fprintf(stderr, "the server has died\n");
	cr_assert_fail("%s:%d: %s %s ...: %s", s->file, s->step->line, s->step->words[0], s->step->words[1], what);
	abort();
}

struct actor *stage_actor(struct stage *s, const char *name)
{
	struct actor *a = s->actors;

	while (a < s->actors + s->actor_count && strcmp(a->name, name) != 0)
		a++;
	if (a < s->actors + s->actor_count)
		return a;
	if (s->actor_count == STAGE_ACTORS_MAX)
		stage_fail(s, "too many actors");
	s->actor_count++;
	strcpy(a->name, name);
	return a;
}

const char *stage_value(struct stage *s, const char *word)
{
	if (word[0] != '$')
		return word;
	for (size_t i = 0; i < s->variable_count; i++)
		if (strcmp(s->variables[i].name, word) == 0)
			return s->variables[i].value;
	stage_fail(s, "%s was never kept", word);
}

void stage_keep(struct stage *s, const char *name, const char *value)
{
	struct stage_variable *v = s->variables;

	if (name[0] != '$')
		stage_fail(s, "a name to keep something under begins with $: %s", name);
	while (v < s->variables + s->variable_count && strcmp(v->name, name) != 0)
		v++;
	if (v == s->variables + STAGE_VARIABLES_MAX)
		stage_fail(s, "too many names");
	if (v == s->variables + s->variable_count)
		s->variable_count++;
	strcpy(v->name, name);
	snprintf(v->value, sizeof(v->value), "%s", value);
}

const char *stage_word(struct stage *s, int i)
{
	if (i >= s->step->word_count)
		stage_fail(s, "something is missing at its end");
	return s->step->words[i];
}

const char *stage_text(struct stage *s, int i)
{
	const char *word = stage_word(s, i);

	if (word[0] != '"')
		stage_fail(s, "a text in double quotes is wanted: %s", word);
	return word + 1;
}

unsigned stage_number(struct stage *s, const char *word)
{
	const char   *value = stage_value(s, word);
	char         *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*end || end == value || n > UINT32_MAX)
		stage_fail(s, "no number: %s", word);
	return (unsigned)n;
}

const char *stage_option(struct stage *s, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (int i = 2; i < s->step->word_count; i++)
		if (strncmp(s->step->words[i], name, len) == 0 && s->step->words[i][len] == '=')
			return stage_value(s, s->step->words[i] + len + 1);
	return otherwise;
}
