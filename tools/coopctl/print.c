/* Pieces of text: escaped, measured, cut; times and sizes; JSON. Tables are in table.c. */
#include "coopctl/print.h"

#include "base/auto.h"
#include "base/clean.h"
#include "base/text.h"
#include "coopctl/value.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#define MINUTE_S INT64_C(60)
#define HOUR_S   (60 * MINUTE_S)
#define DAY_S    (24 * HOUR_S)

static FILE *text_open(char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);

	if (!out)
		abort();
	return out;
}

/* --- Peers' text --- */

/* One that moves the cursor, turns the direction of writing, or cannot be seen. */
static bool is_hidden(const char *at, size_t n)
{
	char cleaned[CLEAN_BYTES(1)];

	clean_text(cleaned, 1, at, n, CLEAN_BAD_IS_REMOVED);
	return cleaned[0] == '\0';
}

char *print_escape(const char *text)
{
	char  *escaped = NULL;
	size_t len = 0, left = strlen(text);
	FILE  *out = text_open(&escaped, &len);

	while (left > 0) {
		uint32_t code = 0;
		size_t   n    = text_char(&code, text, left);

		if (n == 0)
			fprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
		else if (!is_hidden(text, n))
			fwrite(text, 1, n, out);
		else if (code < 0x80)
			fprintf(out, "\\x%02x", (unsigned)code);
		else
			fprintf(out, "\\u{%x}", (unsigned)code);
		text += n ? n : 1;
		left -= n ? n : 1;
	}
	fclose(out);
	return escaped;
}

static size_t char_width(const char *at, size_t left, size_t *n)
{
	uint32_t code  = 0;
	int      width = 0;

	*n    = text_char(&code, at, left);
	width = *n ? wcwidth((wchar_t)code) : 1;
	*n    = *n ? *n : 1;
	return width < 0 ? 1 : (size_t)width;
}

size_t print_width(const char *escaped)
{
	size_t width = 0, n = 0, left = strlen(escaped);

	for (; left > 0; escaped += n, left -= n)
		width += char_width(escaped, left, &n);
	return width;
}

char *print_cut(const char *escaped, size_t columns)
{
	size_t used = 0, width = 0, n = 0, len = strlen(escaped);
	char  *cut = NULL;

	if (print_width(escaped) <= columns)
		return strdup(escaped);
	while (used < len) {
		size_t w = char_width(escaped + used, len - used, &n);

		if (width + w + 1 > columns)
			break;
		width += w;
		used += n;
	}
	if (asprintf(&cut, "%.*s%s", (int)used, escaped, columns > 0 ? "…" : "") < 0)
		abort();
	return cut;
}

/* --- Times and sizes --- */

int64_t print_now_ms(void)
{
	struct timespec now = { 0 };

#ifdef COOP_TEST_CLOCK
	const char *text = getenv("COOPCTL_NOW");
	int64_t     ms;

	if (text && value_time_ms(&ms, text))
		return ms;
#endif
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void print_bytes(char *out, size_t cap, int64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double                   n       = (double)bytes;
	size_t                   unit    = 0;

	/* What would be rounded up to 1024 is one of the next unit. */
	for (; (n >= 1023.95 || n <= -1023.95) && unit + 1 < COUNT_OF(units); unit++)
		n /= 1024;
	text_format(out, cap, unit == 0 ? "%.0f %s" : "%.1f %s", n, units[unit]);
}

void print_duration(char *out, size_t cap, int64_t seconds)
{
	if (seconds < MINUTE_S)
		text_format(out, cap, "%llds", (long long)seconds);
	else if (seconds < HOUR_S)
		text_format(out, cap, "%lldm %llds", (long long)(seconds / MINUTE_S), (long long)(seconds % MINUTE_S));
	else if (seconds < DAY_S)
		text_format(out, cap, "%lldh %lldm", (long long)(seconds / HOUR_S),
		            (long long)(seconds % HOUR_S / MINUTE_S));
	else
		text_format(out, cap, "%lldd %lldh", (long long)(seconds / DAY_S),
		            (long long)(seconds % DAY_S / HOUR_S));
}

/* "5m ago", "in 3d"; false: so far away that the date says more. */
static bool relative(char *out, size_t cap, int64_t seconds)
{
	static const struct {
		int64_t below, unit;
		char    letter;
	} steps[] = {
		{ MINUTE_S, 1, 's' }, { HOUR_S, MINUTE_S, 'm' }, { DAY_S, HOUR_S, 'h' }, { 60 * DAY_S, DAY_S, 'd' }
	};
	int64_t away = seconds < 0 ? -seconds : seconds;

	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (away < steps[i].below)
			return text_format(out, cap, "%s%lld%c%s", seconds > 0 ? "in " : "",
			                   (long long)(away / steps[i].unit), steps[i].letter,
			                   seconds > 0 ? "" : " ago");
	return false;
}

/* An RFC 3339 time; false: it is none. */
static bool time_text(char *out, size_t cap, const char *rfc3339, bool whole)
{
	int64_t ms;
	char    away[32] = "", at[VALUE_TIME_BYTES];

	if (!value_time_ms(&ms, rfc3339))
		return false;

	bool is_near = relative(away, sizeof(away), (ms - print_now_ms()) / 1000);

	value_time_text(at, ms);
	if (!whole && is_near)
		return text_copy(out, cap, away);
	if (!whole)
		return text_format(out, cap, "%.10s", at);
	return text_format(out, cap, "%.10s %.8s UTC%s%s%s", at, at + 11, is_near ? " (" : "", away,
	                   is_near ? ")" : "");
}

/* --- Values --- */

const json_t *print_member(const json_t *object, const char *path)
{
	const char *dot;

	while (object && (dot = strchr(path, '.'))) {
		char name[64];

		if (!text_format(name, sizeof(name), "%.*s", (int)(dot - path), path))
			return NULL;
		object = json_object_get(object, name);
		path   = dot + 1;
	}
	return json_object_get(object, path);
}

/* A number, whichever kind of it; 0 for anything else. */
static int64_t whole(const json_t *value)
{
	return json_is_integer(value) ? json_integer_value(value) : (int64_t)json_number_value(value);
}

static void number_text(char *out, size_t cap, const json_t *value, enum print_format format)
{
	switch (format) {
	case PRINT_BYTES:
		print_bytes(out, cap, whole(value));
		return;
	case PRINT_RATE:
		print_bytes(out, cap, whole(value));
		text_format(out + strlen(out), cap - strlen(out), "/s");
		return;
	case PRINT_SECONDS:
		print_duration(out, cap, whole(value));
		return;
	case PRINT_MS:
		text_format(out, cap, "%lld ms", (long long)whole(value));
		return;
	default:
		if (json_is_integer(value))
			text_format(out, cap, "%lld", (long long)json_integer_value(value));
		else
			text_format(out, cap, "%.2f", json_number_value(value));
	}
}

/* A value that is no array or object; one that lies inside of another is shown as JSON. */
static char *flat(const json_t *value, enum print_format format)
{
	char                  out[128] = "";
	AUTO(auto_free) char *compact  = NULL;

	if (!value || json_is_null(value))
		return strdup("-");
	if (json_is_boolean(value))
		return strdup(json_is_true(value) ? "yes" : format == PRINT_YES ? "" : "no");
	if (json_is_number(value)) {
		number_text(out, sizeof(out), value, format);
		return strdup(out);
	}
	if (!json_is_string(value)) {
		compact = json_dumps(value, JSON_COMPACT);
		return print_escape(compact ? compact : "");
	}
	if ((format == PRINT_AGO || format == PRINT_TIME) &&
	    time_text(out, sizeof(out), json_string_value(value), format == PRINT_TIME))
		return strdup(out);
	return print_escape(json_string_value(value));
}

static void put_piece(FILE *out, const char *name, const json_t *value)
{
	AUTO(auto_free) char *text    = flat(value, PRINT_TEXT);
	AUTO(auto_free) char *escaped = print_escape(name);

	fprintf(out, "%s%s%s%s", ftell(out) > 0 ? ", " : "", escaped, *name ? " " : "", text);
}

char *print_value(const struct ctl *c, const json_t *value, enum print_format format)
{
	char         *text = NULL;
	size_t        len  = 0, i;
	FILE         *out  = NULL;
	const char   *name;
	const json_t *piece;

	(void)c;
	if (!json_is_array(value) && !json_is_object(value))
		return flat(value, format);
	out = text_open(&text, &len);
	json_array_foreach(value, i, piece)
	{
		put_piece(out, "", piece);
	}
	/* The walk itself takes a json_t that could be changed. */
	json_object_foreach((json_t *)(uintptr_t)value, name, piece)
	{
		put_piece(out, name, piece);
	}
	fclose(out);
	return text;
}

/* --- JSON --- */

/* The text with what a terminal would act on as \uXXXX: such characters stand in strings only. */
static void print_safely(FILE *out, const char *text)
{
	size_t left = strlen(text), n = 0;

	for (; left > 0; text += n, left -= n) {
		uint32_t code = 0;

		n = text_char(&code, text, left);
		n = n ? n : 1;
		if (code < 0x7f || !is_hidden(text, n))
			fwrite(text, 1, n, out);
		else if (code < 0x10000)
			fprintf(out, "\\u%04x", (unsigned)code);
		else
			fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
			        (unsigned)(0xdc00 + (code & 0x3ff)));
	}
}

void print_json(FILE *out, const json_t *j)
{
	AUTO(auto_free) char *text = json_dumps(j, JSON_INDENT(2));

	if (!text)
		abort();
	print_safely(out, text);
	fputc('\n', out);
}
