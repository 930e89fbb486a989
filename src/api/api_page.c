/*
 * Lists, a page at a time. A cursor is the key of the last thing shown, in hex.
 */
#include "api/api_inside.h"
#include "base/hex.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err api_cursor_read(struct api_page *p, const char *cursor)
{
	size_t digits = strlen(cursor);

	p->after_len = digits / 2;
	p->has_after = digits > 0;
	if (p->after_len >= sizeof(p->after))
		return ERR_MALFORMED;
	return hex_decode(p->after, p->after_len, cursor, digits);
}

enum err api_page_begin(struct api_page *p, struct api_call *c)
{
	const char *cursor = http_query(c->rq, "cursor");
	enum err    e      = ERR_OK;

	*p = (struct api_page){ .call = c };
	e  = api_query_int(&p->limit, c, "limit", 1, API_LIMIT_MAX, API_LIMIT_DEFAULT);
	if (e != ERR_OK)
		return e;
	if (api_cursor_read(p, cursor ? cursor : "") != ERR_OK)
		return api_problem(c, ERR_MALFORMED, "the cursor is none that this server gave");
	p->items = json_array_new();
	return p->items ? ERR_OK : ERR_NOMEM;
}

bool api_page_room(struct api_page *p, const void *key, size_t len)
{
	assert(len < sizeof(p->last));
	if (p->count == p->limit) {
		p->has_more = true;
		return false;
	}
	memcpy(p->last, key, len);
	p->last_len = len;
	return true;
}

void api_page_add(struct api_page *p, struct json *item)
{
	json_add_json(p->items, item);
	p->count++;
}

enum err api_page_end(struct api_page *p, enum err e)
{
	struct json *j = e == ERR_OK ? json_object_new() : NULL;
	char         cursor[2 * sizeof(p->last) + 1];

	if (!j) {
		json_free(p->items);
		return e == ERR_OK ? ERR_NOMEM : e;
	}
	json_put_json(j, "items", p->items);
	hex_encode(cursor, p->last, p->last_len);
	if (p->has_more)
		json_put_text(j, "next", cursor);
	else
		json_put_null(j, "next");
	return api_answer(p->call, 200, j);
}

/* --- Keys that are numbers --- */

int64_t api_page_after_int(const struct api_page *p, int64_t otherwise)
{
	uint64_t value = 0;

	if (!p->has_after || p->after_len != sizeof(value))
		return otherwise;
	for (size_t i = 0; i < sizeof(value); i++)
		value = value << 8 | p->after[i];
	return (int64_t)value;
}

bool api_page_room_int(struct api_page *p, int64_t key)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((uint64_t)key >> (56 - 8 * i));
	return api_page_room(p, bytes, sizeof(bytes));
}
