#include "support/pattern.h"

#include <criterion/criterion.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pattern_clear(struct pattern *p)
{
	p->len      = 0;
	p->rest     = false;
	p->overflow = false;
}

static void add(struct pattern *p, uint8_t value, uint8_t mask)
{
	if (p->len == PATTERN_BYTES_MAX) {
		p->overflow = true;
		return;
	}
	p->value[p->len] = value;
	p->mask[p->len]  = mask;
	p->len++;
}

void pattern_add_u8(struct pattern *p, unsigned value)
{
	add(p, (uint8_t)value, 0xff);
}

void pattern_add_u16(struct pattern *p, unsigned value)
{
	pattern_add_u8(p, value & 0xff);
	pattern_add_u8(p, value >> 8 & 0xff);
}

void pattern_add_u32(struct pattern *p, uint32_t value)
{
	pattern_add_u16(p, value & 0xffff);
	pattern_add_u16(p, value >> 16);
}

void pattern_add_bytes(struct pattern *p, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len; i++)
		add(p, bytes[i], 0xff);
}

void pattern_add_any(struct pattern *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		add(p, 0, 0);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Repeats the bytes from `from` on until they stand there `times` times. */
static void repeat(struct pattern *p, size_t from, unsigned long times)
{
	size_t len = p->len - from;

	if (times == 0)
		p->len = from;
	for (unsigned long n = 1; n < times && !p->overflow; n++)
		for (size_t i = 0; i < len; i++)
			add(p, p->value[from + i], p->mask[from + i]);
}

/* Reads one element at *at and moves *at behind it; NULL, or what is wrong. */
static const char *read_element(struct pattern *p, const char **at, size_t *group, bool *in_group)
{
	const char *s = *at;

	if (s[0] == '?' && s[1] == '?') {
		add(p, 0, 0);
		*at = s + 2;
	} else if (s[0] == '\'') {
		for (s++; *s != '\''; s++) {
			if (!*s)
				return "a text without its second quote";
			add(p, (uint8_t)*s, 0xff);
		}
		*at = s + 1;
	} else if (s[0] == '(' && !*in_group) {
		*group    = p->len;
		*in_group = true;
		*at       = s + 1;
	} else if (s[0] == ')' && *in_group && s[1] == 'x' && isdigit((unsigned char)s[2])) {
		char *end;

		repeat(p, *group, strtoul(s + 2, &end, 10));
		*in_group = false;
		*at       = end;
	} else if (digit(s[0]) >= 0 && digit(s[1]) >= 0) {
		add(p, (uint8_t)(digit(s[0]) << 4 | digit(s[1])), 0xff);
		*at = s + 2;
	} else {
		return "neither two hex digits nor ??, *, 'text' or (group)xN";
	}
	return NULL;
}

bool pattern_add_text(struct pattern *p, const char *text, const char **why)
{
	bool   in_group = false;
	size_t group    = 0;

	*why = NULL;
	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (!*text)
			break;
		if (p->rest) {
			*why = "something behind the *";
			return false;
		}
		if (*text == '*' && !in_group) {
			p->rest = true;
			text++;
			continue;
		}
		*why = read_element(p, &text, &group, &in_group);
		if (*why)
			return false;
	}
	if (in_group)
		*why = "a group without its end";
	else if (p->overflow)
		*why = "too long";
	return !*why;
}

void pattern_read(struct pattern *p, const char *text)
{
	const char *why;

	pattern_clear(p);
	if (!pattern_add_text(p, text, &why))
		cr_assert_fail("the test's own pattern \"%s\" is not readable: %s", text, why);
}

bool pattern_matches(const struct pattern *p, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	if (len < p->len || (len > p->len && !p->rest) || p->overflow)
		return false;
	for (size_t i = 0; i < p->len; i++)
		if ((bytes[i] ^ p->value[i]) & p->mask[i])
			return false;
	return true;
}

static const char *show(char *out, size_t cap, const uint8_t *value, const uint8_t *mask, size_t len, bool rest)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < len; i++) {
		const char *blank = i ? " " : "";

		if (at + 8 > cap) {
			snprintf(out + at, cap - at, " ...");
			return out;
		}
		if (mask && !mask[i])
			at += (size_t)snprintf(out + at, cap - at, "%s??", blank);
		else
			at += (size_t)snprintf(out + at, cap - at, "%s%02x", blank, value[i]);
	}
	if (rest)
		snprintf(out + at, cap - at, " *");
	return out;
}

const char *pattern_show(char *out, size_t cap, const struct pattern *p)
{
	return show(out, cap, p->value, p->mask, p->len, p->rest);
}

const char *bytes_show(char *out, size_t cap, const void *data, size_t len)
{
	return show(out, cap, data, NULL, len, false);
}
