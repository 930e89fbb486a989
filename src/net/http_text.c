/*
 * Small bodies: collected in memory while the request is still being read, under its one deadline.
 *
 * What is held for a peer is never more than twice what he sent: a length is only a promise.
 */
#include "net/http_request.h"

#include <stdlib.h>
#include <string.h>

static size_t max_of(const struct http_request *rq)
{
	const struct http_text *text = rq->route->body->text;

	return text->max_of ? text->max_of(rq->part) : text->max;
}

enum MHD_Result http_text_begin(struct http_request *rq, int64_t length)
{
	rq->text = (struct http_collected){ 0 };
	if (length < 0 && !rq->has_body && rq->route->body->text->may_be_absent)
		return MHD_YES;
	if (length >= 0 && (uint64_t)length <= max_of(rq))
		return MHD_YES;
	rq->has_body = true; /* maybe without having said so */
	return http_send_error(rq, ERR_TOO_BIG);
}

/* Room for so many bytes more, and for the NUL behind all. */
static bool make_room(struct http_collected *t, size_t more)
{
	size_t need = t->len + more + 1;
	size_t cap  = need > 2 * t->cap ? need : 2 * t->cap;
	char  *bytes;

	if (need <= t->cap)
		return true;
	bytes = realloc(t->bytes, cap);
	if (!bytes)
		return false;
	t->bytes = bytes;
	t->cap   = cap;
	return true;
}

enum MHD_Result http_text_data(struct http_request *rq, const void *bytes, size_t len)
{
	struct http_collected *t = &rq->text;

	if (len > max_of(rq) - t->len || !make_room(t, len))
		return MHD_NO;
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
	return MHD_YES;
}

enum MHD_Result http_text_finish(struct http_request *rq)
{
	struct http_collected *t       = &rq->text;
	struct http_answer     a       = { 0 };
	char                   none[1] = "";
	enum err               e;

	if (!http_table_move(&rq->server->table, &rq->slot, HTTP_WORKING))
		return MHD_NO;
	rq->is_whole = true;
	if (t->bytes)
		t->bytes[t->len] = '\0';
	e = rq->route->body->text->handle(&a, rq, t->bytes ? t->bytes : none, t->len, rq->part);
	http_text_close(rq);
	return http_send(rq, &a, e);
}

void http_text_close(struct http_request *rq)
{
	free(rq->text.bytes);
	rq->text = (struct http_collected){ 0 };
}
