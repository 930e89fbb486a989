#include "cloud/relay_seen.h"

#include "base/auto.h"
#include "base/map.h"
#include "os/random.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- What a check would have brought in --- */

struct code {
	struct code *next;
	uint8_t      id[PLAYER_ID_BYTES];
	int64_t      code;
};

struct relay_seen {
	struct map   by_id, by_code;
	struct code *first; /* of all, to be freed */
};

struct relay_seen *relay_seen_new(void)
{
	struct relay_seen *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;

	uint64_t seed;

	random_bytes(&seed, sizeof(seed));
	map_init(&s->by_id, PLAYER_ID_BYTES, seed);
	map_init(&s->by_code, sizeof(int64_t), seed);
	return s;
}

void relay_seen_free(struct relay_seen *s)
{
	if (!s)
		return;
	map_fini(&s->by_id);
	map_fini(&s->by_code);
	for (struct code *c = s->first, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(s);
}

static enum err remember(struct relay_seen *s, const struct import_code *c)
{
	struct code *code = calloc(1, sizeof(*code));

	if (!code)
		return ERR_NOMEM;
	memcpy(code->id, c->id, sizeof(code->id));
	code->code = c->code;
	code->next = s->first;
	s->first   = code;
	enum err e = map_put(&s->by_id, code->id, code);
	return e == ERR_OK ? map_put(&s->by_code, &code->code, code) : e;
}

enum err relay_seen_code(struct relay_seen *s, struct import_code *c)
{
	if (c->verdict != IMPORT_NEW)
		return ERR_OK;

	const struct code *his = map_get(&s->by_id, c->id);

	if (his)
		c->verdict = his->code == c->code ? IMPORT_SAME : IMPORT_OTHER_CODE;
	else if (map_get(&s->by_code, &c->code))
		c->verdict = IMPORT_TAKEN;
	return c->verdict == IMPORT_NEW ? remember(s, c) : ERR_OK;
}

/* --- Names that come twice --- */

struct name {
	const char *text;
	size_t      len;
};

struct names {
	struct name *list;
	size_t       count, cap;
};

static enum err add_name(struct names *n, const char *text, size_t len)
{
	if (n->count == n->cap) {
		size_t cap  = n->cap ? 2 * n->cap : 64;
		void  *list = realloc(n->list, cap * sizeof(*n->list));

		if (!list)
			return ERR_NOMEM;
		n->list = list;
		n->cap  = cap;
	}
	n->list[n->count++] = (struct name){ text, len };
	return ERR_OK;
}

/* Where the string that begins behind `at` ends, at its closing mark. */
static const char *string_end(const char *at, const char *end)
{
	for (; at < end && *at != '"'; at++)
		at += *at == '\\' && at + 1 < end;
	return at;
}

static bool is_name(const char *behind, const char *end)
{
	while (behind < end && strchr(" \t\r\n", *behind))
		behind++;
	return behind < end && *behind == ':';
}

/* The members of the outermost object; the text is known to be one. */
static enum err read_names(struct names *n, const char *text, size_t len)
{
	const char *end   = text + len;
	int         depth = 0;
	enum err    e     = ERR_OK;

	for (const char *at = text; at < end && e == ERR_OK; at++) {
		const char *from = at + 1;

		depth += *at == '{' || *at == '[';
		depth -= *at == '}' || *at == ']';
		if (*at != '"')
			continue;
		at = string_end(from, end);
		if (depth == 1 && at < end && is_name(at + 1, end))
			e = add_name(n, from, (size_t)(at - from));
	}
	return e;
}

static int by_text(const void *a, const void *b)
{
	const struct name *one = a, *other = b;

	if (one->len != other->len)
		return one->len < other->len ? -1 : 1;
	return memcmp(one->text, other->text, one->len);
}

enum err relay_twice(const char *text, size_t len, void (*each)(void *arg, const char *name, size_t len), void *arg)
{
	struct names          n    = { .list = NULL };
	enum err              e    = read_names(&n, text, len);
	AUTO(auto_free) void *list = n.list;

	if (e != ERR_OK || !list)
		return e;
	qsort(n.list, n.count, sizeof(*n.list), by_text);
	for (size_t i = 1; i < n.count; i++)
		if (by_text(&n.list[i - 1], &n.list[i]) == 0)
			each(arg, n.list[i].text, n.list[i].len);
	return ERR_OK;
}
