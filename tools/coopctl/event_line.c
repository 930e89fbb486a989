#include "coopctl/event_line.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

#define DATE_CHARS 10

static const char *text_of(const json_t *message, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(message, name));

	return text ? text : otherwise;
}

static bool is_said_already(const char *name)
{
	static const char *const names[] = { "op", "seq", "at", "kind" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

void event_print(const struct ctl *c, FILE *out, const json_t *message)
{
	AUTO(auto_free) char *when = print_escape(text_of(message, "at", "-"));
	AUTO(auto_free) char *what = print_escape(text_of(message, "kind", text_of(message, "op", "-")));
	const char           *name;
	const json_t         *value;

	if (strlen(when) > DATE_CHARS && when[DATE_CHARS] == 'T')
		when[DATE_CHARS] = ' ';
	when[strcspn(when, "Z")] = '\0';
	fprintf(out, "%s%s%s  %s%s%s", print_color(c, PRINT_DIM), when, print_color(c, PRINT_PLAIN),
	        print_color(c, PRINT_BOLD), what, print_color(c, PRINT_PLAIN));
	/* The walk itself takes a json_t that could be changed. */
	json_object_foreach((json_t *)(uintptr_t)message, name, value)
	{
		if (json_is_null(value) || is_said_already(name))
			continue;

		AUTO(auto_free) char *safe = print_escape(name);
		AUTO(auto_free) char *text = print_value(c, value, PRINT_TEXT);

		fprintf(out, "  %s %s", safe, text);
	}
	fputc('\n', out);
}
