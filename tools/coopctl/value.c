#include "coopctl/value.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/print.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_S (24 * 3600)

struct unit {
	const char *name;
	int64_t     factor;
};

/* A number with a unit behind it. */
static bool read_unit(int64_t *out, const char *text, const struct unit *units, size_t count)
{
	size_t digits = strspn(text, "0123456789");
	char   number[20];

	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (size_t i = 0; i < count; i++) {
		int64_t n;

		if (!text_same_nocase(text + digits, units[i].name))
			continue;
		if (text_to_int(&n, number, 0, INT64_MAX / units[i].factor) != ERR_OK)
			return false;
		*out = n * units[i].factor;
		return true;
	}
	return false;
}

bool value_seconds(int64_t *out, const char *text)
{
	static const struct unit units[] = { { "", 1 },     { "s", 1 },     { "m", 60 },
		                             { "h", 3600 }, { "d", DAY_S }, { "w", 7 * DAY_S } };

	return read_unit(out, text, units, COUNT_OF(units));
}

bool value_bytes(int64_t *out, const char *text)
{
	enum { K = 1024, M = 1024 * K, G = 1024 * M };
	static const struct unit units[] = { { "", 1 },   { "K", K },  { "M", M },   { "G", G },   { "KB", K },
		                             { "MB", M }, { "GB", G }, { "KiB", K }, { "MiB", M }, { "GiB", G } };

	return read_unit(out, text, units, COUNT_OF(units));
}

bool value_days(int64_t *out, const char *text)
{
	int64_t s;

	if (value_number(out, text))
		return true;
	if (!value_seconds(&s, text) || s % DAY_S != 0)
		return false;
	*out = s / DAY_S;
	return true;
}

bool value_number(int64_t *out, const char *text)
{
	return text_to_int(out, text, 0, INT64_MAX) == ERR_OK;
}

bool value_is_hex(const char *text, size_t digits)
{
	return strlen(text) == digits && strspn(text, "0123456789abcdefABCDEF") == digits;
}

bool value_time_ms(int64_t *out, const char *rfc3339)
{
	struct tm tm     = { .tm_isdst = 0 };
	int64_t   ms     = 0;
	int       digits = 0;
	char     *end    = strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!end)
		return false;
	if (*end == '.') {
		for (end++; isdigit((unsigned char)*end); end++)
			if (digits++ < 3)
				ms = ms * 10 + (*end - '0');
		for (; digits < 3; digits++)
			ms *= 10;
	}
	if (strcmp(end, "Z") != 0)
		return false;
	*out = (int64_t)timegm(&tm) * 1000 + ms;
	return true;
}

void value_time_text(char out[VALUE_TIME_BYTES], int64_t wall_ms)
{
	time_t    s  = (time_t)(wall_ms / 1000);
	struct tm tm = { .tm_isdst = 0 };

	gmtime_r(&s, &tm);
	if (strftime(out, VALUE_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		text_copy(out, VALUE_TIME_BYTES, "?");
}

bool value_moment(char out[VALUE_TIME_BYTES], const char *text)
{
	char    with_time[VALUE_TIME_BYTES];
	int64_t s, ms;

	if (value_seconds(&s, text)) {
		if (s > print_now_ms() / 1000)
			return false;
		value_time_text(out, print_now_ms() - s * 1000);
		return true;
	}
	/* A date alone is its first moment. */
	if (!text_format(with_time, sizeof(with_time), "%s%s", text, strchr(text, 'T') ? "" : "T00:00:00Z") ||
	    !value_time_ms(&ms, with_time))
		return false;
	value_time_text(out, ms);
	return true;
}

/* How the kinds that are numbers are read. */
static const struct kind {
	bool (*read)(int64_t *out, const char *text);
	const char *wants;
} kinds[] = {
	[CTL_TEXT]    = { NULL, "text" },
	[CTL_NUMBER]  = { value_number, "a whole number" },
	[CTL_BYTES]   = { value_bytes, "a size: 64M, 512K, 1G, or bytes" },
	[CTL_SECONDS] = { value_seconds, "a time: 90s, 30m, 2h, 7d, 2w" },
	[CTL_DAYS]    = { value_days, "a number of days" },
	[CTL_MOMENT]  = { NULL, "a moment: 2026-12-01, 2026-12-01T09:30:00Z, or so long ago: 2h" },
};

bool value_is(enum ctl_kind kind, const char *text)
{
	char    moment[VALUE_TIME_BYTES];
	int64_t n;

	if (kind == CTL_MOMENT)
		return value_moment(moment, text);
	return !kinds[kind].read || kinds[kind].read(&n, text);
}

const char *value_wants(enum ctl_kind kind)
{
	return kinds[kind].wants;
}

bool value_of(int64_t *out, const struct ctl *c, const char *option)
{
	for (size_t i = 0; i < c->value_count; i++) {
		const struct ctl_option *o = c->values[i].option;

		if (strcmp(o->name, option) == 0)
			return kinds[o->kind].read && kinds[o->kind].read(out, c->values[i].text);
	}
	return false;
}
