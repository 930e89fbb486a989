/*
 * What operators' programs may send: the query as text, as a cursor, and checked against a route; the part of a path as a key,
 * an id and a number; the body as members. The input is three pieces with a line break between: query, part, body.
 *
 * What is decoded is shorter and holds no half character; a key that was read is written the same way again, or in its other
 * form; a page goes on where its cursor says; and whatever is refused has a sentence of valid UTF-8.
 */
#include "api/api_inside.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void insist(bool holds)
{
	if (!holds)
		abort();
}

static void check_problem(const struct api_call *c)
{
	insist(memchr(c->problem, '\0', sizeof(c->problem)) != NULL);
	insist(text_is_utf8(c->problem, strlen(c->problem)));
}

static void try_decode(const char *query)
{
	char   out[64];
	size_t len = 0;

	if (api_decode(out, sizeof(out), &len, query) == ERR_OK)
		insist(len < sizeof(out) && out[len] == '\0' && len <= strlen(query));
}

static void try_query(struct api_call *c)
{
	static const struct api_route route = { .query = "limit cursor q since id", .action = "a.b" };

	if (api_query_check(c, &route) != ERR_OK)
		check_problem(c);
}

static void try_page(struct api_call *c, const char *cursor)
{
	struct api_page p = { .call = c, .limit = 1, .items = json_array_new() };
	int64_t         after;
	enum err        e = api_cursor_read(&p, cursor);

	insist(e == ERR_OK || e == ERR_MALFORMED);
	if (e == ERR_OK) {
		insist(p.after_len < sizeof(p.after) && p.has_after == (*cursor != '\0'));
		after = api_page_after_int(&p, 7);
		insist(api_page_room_int(&p, after));
		if (p.after_len == 8)
			insist(p.last_len == 8 && memcmp(p.last, p.after, 8) == 0);
		api_page_add(&p, json_object_new());
		insist(!api_page_room_int(&p, 8));
	}
	e = api_page_end(&p, e);
	insist((e == ERR_OK) == (c->answer->body != NULL));
	free(c->answer->body);
	*c->answer = (struct http_answer){ 0 };
}

static void try_part(struct api_call *c, struct http_request *rq)
{
	uint8_t      key[64], again[64], id[8];
	size_t       len = 0, again_len = 0;
	int64_t      n;
	struct json *j;
	const char  *text;

	if (api_path_int(&n, c, 0, 1, 99) == ERR_OK)
		insist(n >= 1 && n <= 99);
	if (api_path_id(id, c, 0) == ERR_OK)
		insist(strlen(http_path_part(rq, 0)) == 16);
	if (api_path_key(key, sizeof(key), &len, c, 0) != ERR_OK)
		return;
	insist(len <= sizeof(key));
	j = json_object_new();
	api_put_key(j, "key", key, len);
	if (json_get_text(&text, j, "key") == ERR_OK) {
		/* The longest one, in hex, is longer than a part of a path can be. */
		if (text_copy(rq->parts[0], sizeof(rq->parts[0]), text)) {
			insist(api_path_key(again, sizeof(again), &again_len, c, 0) == ERR_OK);
			insist(again_len == len && memcmp(again, key, len) == 0);
		}
	}
	json_free(j);
}

static void try_body(struct api_call *c, const char *text, size_t len)
{
	static const char *const known[] = { "n", "flag", "text", "id", NULL };
	struct json             *j       = NULL;
	char                     out[10];
	int64_t                  n;
	bool                     flag;
	uint8_t                  id[8];

	if (json_parse(&j, text, len) != ERR_OK)
		return;
	c->body = j;
	(void)api_body_only(c, known);
	check_problem(c);
	if (api_body_int(&n, c, "n", -1, 1, 0) == ERR_OK)
		insist(n >= -1 && n <= 1);
	(void)api_body_bool(&flag, c, "flag", true);
	(void)api_body_id(id, c, "id");
	if (api_body_text(out, sizeof(out), c, "text") == ERR_OK)
		insist(strlen(out) < sizeof(out) && !strpbrk(out, "\n\r\t\x7f"));
	check_problem(c);
	json_free(j);
}

/* The next piece, as a text of its own; *data goes behind it. */
static char *piece(const uint8_t **data, size_t *len)
{
	const uint8_t *end  = *len ? memchr(*data, '\n', *len) : NULL;
	size_t         used = end ? (size_t)(end - *data) : *len;
	char          *text = malloc(used + 1);

	insist(text != NULL);
	if (used > 0)
		memcpy(text, *data, used);
	text[used] = '\0';
	used += end != NULL;
	*data += used;
	*len -= used;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct http_request *rq     = calloc(1, sizeof(*rq));
	struct http_answer   answer = { 0 };
	struct api_caller    who    = { 0 };
	struct api_call      c      = { .rq = rq, .answer = &answer, .who = &who };
	char                *part;

	insist(rq != NULL);
	rq->query = piece(&data, &len);
	part      = piece(&data, &len);
	try_decode(rq->query);
	try_query(&c);
	try_page(&c, rq->query);
	rq->part_count = 1;
	if (*part && text_copy(rq->parts[0], sizeof(rq->parts[0]), part))
		try_part(&c, rq);
	try_body(&c, (const char *)data, len);
	free(part);
	free(rq->query);
	free(rq);
	return 0;
}
