/*
 * The head, up to the savegame's length, is kept as it comes; of the savegame only the number of bytes counts. Each rule
 * is looked at as soon as the bytes it is about are there, so the verdict is the same however they were cut.
 */
#include "cloud/container_wire.h"

#include "base/auto.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/text.h"

#include <string.h>

#define MAGIC       "CCSV"
#define MAGIC_BYTES 4
#define TEXT_AT     12
#define SHOWN_CHARS 64
#define PLAYER_ID   "id:"

void container_init(struct container *c, uint64_t total)
{
	/* Not the head: most of it is never used. */
	c->total    = total;
	c->seen     = 0;
	c->is_bad   = false;
	c->text_len = c->save_len = 0;
	c->head_len               = 0;
}

/* How long the head is, as far as that can be told. */
static size_t head_need(const struct container *c)
{
	return c->head_len < TEXT_AT ? TEXT_AT : TEXT_AT + c->text_len + 4;
}

static bool has_head(const struct container *c)
{
	return c->head_len >= TEXT_AT && c->head_len == head_need(c);
}

static uint64_t whole(const struct container *c)
{
	return TEXT_AT + (uint64_t)c->text_len + 4 + c->save_len;
}

/* The bytes in front of the text are there. */
static void on_front(struct container *c)
{
	struct rd r = rd_over(c->head + 8, 4);

	c->text_len = rd_u32(&r);
	if (c->text_len > CONTAINER_TEXT_MAX || (c->total && TEXT_AT + (uint64_t)c->text_len + 4 > c->total))
		c->is_bad = true;
}

static void on_head(struct container *c)
{
	struct rd r = rd_over(c->head + TEXT_AT + c->text_len, 4);

	c->save_len = rd_u32(&r);
	if (c->total && whole(c) != c->total)
		c->is_bad = true;
}

/* Takes what belongs to the head; returns how many bytes that were. */
static size_t add_head(struct container *c, const uint8_t *bytes, size_t len)
{
	size_t used = 0;

	while (used < len && !c->is_bad && !has_head(c)) {
		size_t take = head_need(c) - c->head_len;

		if (take > len - used)
			take = len - used;
		memcpy(c->head + c->head_len, bytes + used, take);
		c->head_len += take;
		used += take;
		if (memcmp(c->head, MAGIC, c->head_len < MAGIC_BYTES ? c->head_len : MAGIC_BYTES) != 0)
			c->is_bad = true;
		else if (c->head_len == TEXT_AT)
			on_front(c);
		else if (has_head(c))
			on_head(c);
	}
	return used;
}

enum err container_add(struct container *c, const void *bytes, size_t len)
{
	if (len > 0 && !c->is_bad && !has_head(c))
		add_head(c, bytes, len);
	c->seen += len;
	if ((c->total && c->seen > c->total) || (has_head(c) && c->seen > whole(c)))
		c->is_bad = true;
	return c->is_bad ? ERR_CONTENT : ERR_OK;
}

/* The text */

struct span {
	const uint8_t *at;
	size_t         len;
};

static bool is_word(struct span s, const char *word)
{
	return s.len == text_length(word) && memcmp(s.at, word, s.len) == 0;
}

/* Takes what is in front of the first such byte, and moves *rest behind it. False: there is none; all was taken. */
static bool cut(struct span *out, struct span *rest, uint8_t at)
{
	const uint8_t *found = rest->len ? memchr(rest->at, at, rest->len) : NULL;

	*out = *rest;
	if (!found) {
		rest->len = 0;
		return false;
	}
	out->len = (size_t)(found - rest->at);
	rest->at += out->len + 1;
	rest->len -= out->len + 1;
	return true;
}

static bool read_id(uint8_t out[CONTAINER_ID_BYTES], struct span value)
{
	return hex_decode(out, CONTAINER_ID_BYTES, (const char *)value.at, value.len) == ERR_OK;
}

/* More than fits is as far ahead as can be, not unknown: what is ahead is shown as the time of storing. */
static int64_t read_stamp(struct span value)
{
	int64_t stamp = 0;

	for (size_t i = 0; i < value.len; i++) {
		int digit = value.at[i] - '0';

		if (digit < 0 || digit > 9)
			return 0;
		stamp = stamp > (INT64_MAX - digit) / 10 ? INT64_MAX : stamp * 10 + digit;
	}
	return stamp;
}

static void add_member(struct container_text *t, struct span value)
{
	struct span who;
	uint8_t     id[CONTAINER_ID_BYTES];
	size_t      prefix = text_length(PLAYER_ID);

	cut(&who, &value, '\t');
	if (who.len < prefix || memcmp(who.at, PLAYER_ID, prefix) != 0)
		return;
	if (!read_id(id, (struct span){ who.at + prefix, who.len - prefix }))
		return;
	for (size_t i = 0; i < t->member_count; i++)
		if (memcmp(t->members[i], id, sizeof(id)) == 0)
			return;
	if (t->member_count < CONTAINER_MEMBERS_MAX)
		memcpy(t->members[t->member_count++], id, sizeof(id));
}

/* Keys whose value is shown, and where it goes. */
static const struct shown {
	const char *key;
	size_t      offset;
} shown[] = {
	{ "name", offsetof(struct container_text, name) },
	{ "level", offsetof(struct container_text, level) },
	{ "checkpoint", offsetof(struct container_text, checkpoint) },
	{ "hostname", offsetof(struct container_text, hostname) },
};

static void on_line(struct container_text *t, struct span line)
{
	struct span key;

	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	if (!cut(&key, &line, '='))
		return;
	for (size_t i = 0; i < COUNT_OF(shown); i++)
		if (is_word(key, shown[i].key))
			text_clean((char *)t + shown[i].offset, CONTAINER_SHOWN, line.at, line.len, SHOWN_CHARS);
	if (is_word(key, "campaign"))
		t->has_campaign = read_id(t->campaign, line);
	else if (is_word(key, "stamp"))
		t->stamp = read_stamp(line);
	else if (is_word(key, "player"))
		add_member(t, line);
}

void container_parse_text(struct container_text *out, const uint8_t *text, size_t len)
{
	struct span rest = { text, len }, line;

	memset(out, 0, sizeof(*out));
	while (rest.len > 0) {
		cut(&line, &rest, '\n');
		on_line(out, line);
	}
}

const uint8_t *container_text_bytes(size_t *len, const struct container *c)
{
	*len = c->text_len;
	return has_head(c) ? c->head + TEXT_AT : NULL;
}

enum err container_end(struct container_text *out, const struct container *c)
{
	if (c->is_bad || !has_head(c) || c->seen != whole(c) || (c->total && c->seen != c->total))
		return ERR_CONTENT;
	container_parse_text(out, c->head + TEXT_AT, c->text_len);
	return ERR_OK;
}
