/*
 * Bodies of requests: asked about at the head, handed on as they come, ended or aborted exactly once.
 *
 * The library takes no answer while a body comes. So when a part has enough of one, the rest is read and dropped, up to
 * a bound, and the answer is kept for the end.
 *
 * The library reads small pieces (http.c says why). Parts write each to a file, so while more of them wait in the
 * kernel, they are collected into larger ones; nothing is held back from a part that could have it.
 */
#include "net/http_request.h"

#include "os/priority.h"

#include <stdlib.h>
#include <string.h>

#define DROP_BYTES_MAX ((size_t)16 * 1024 * 1024) /* a whole checkpoint: a full disk must be told, not guessed */

#define STAGE_BYTES ((size_t)64 * 1024)

static void give_transfer(struct http_request *rq)
{
	http_transfer_give(&rq->transfer, &rq->server->transfers);
}

enum MHD_Result http_body_begin(struct http_request *rq, int64_t length)
{
	struct http_server *s  = rq->server;
	struct http_upload *up = &rq->upload;
	struct http_answer  a  = { 0 };
	enum err            e  = http_transfer_take(&rq->transfer, &s->transfers, &rq->client, http_is_exempt(rq));

	if (e != ERR_OK)
		return http_send_error(rq, e);
	priority_give_way();
	if (!http_table_move(&s->table, &rq->slot, HTTP_WORKING))
		return MHD_NO;
	*up = (struct http_upload){ .length = length };
	e   = rq->route->body->begin(&up->sink, &a, rq, length, rq->part);
	if (e != ERR_OK || a.status) {
		give_transfer(rq);
		return http_send(rq, &a, e);
	}
	up->is_open = true;
	up->stage   = malloc(STAGE_BYTES); /* it goes without, too */
	return http_table_begin_transfer(&s->table, &rq->slot, false) ? MHD_YES : MHD_NO;
}

/* Whether so little is left that it can be read for the sake of the answer. */
static bool may_drop_rest(const struct http_upload *up)
{
	if (up->length >= 0)
		return (uint64_t)up->length - up->seen <= DROP_BYTES_MAX;
	return up->dropped <= DROP_BYTES_MAX;
}

/* The part wants no more of it. What it held is let go at once; the answer waits for the end of the body. */
static enum MHD_Result refuse(struct http_request *rq, enum err e)
{
	struct http_upload *up = &rq->upload;

	up->is_open    = false;
	up->is_refused = true;
	rq->route->body->abort(&up->refusal, rq, up->sink, e);
	if (!up->refusal.status && http_answer_refusal(&up->refusal, rq, e) != ERR_OK)
		return MHD_NO;
	return may_drop_rest(up) ? MHD_YES : MHD_NO;
}

/* What is staged goes to the part. */
static enum err hand_on(struct http_request *rq)
{
	struct http_upload *up  = &rq->upload;
	size_t              len = up->staged;

	up->staged = 0;
	return len > 0 ? rq->route->body->data(up->sink, up->stage, len) : ERR_OK;
}

static enum err take(struct http_request *rq, const uint8_t *bytes, size_t len)
{
	struct http_upload *up = &rq->upload;

	if (!up->stage)
		return rq->route->body->data(up->sink, bytes, len);
	while (len > 0) {
		size_t room = STAGE_BYTES - up->staged, some = len < room ? len : room;

		memcpy(up->stage + up->staged, bytes, some);
		up->staged += some;
		bytes += some;
		len -= some;

		enum err e = up->staged == STAGE_BYTES ? hand_on(rq) : ERR_OK;

		if (e != ERR_OK)
			return e;
	}
	return http_request_has_unread(rq) ? ERR_OK : hand_on(rq);
}

enum MHD_Result http_body_data(struct http_request *rq, const void *bytes, size_t len)
{
	struct http_table  *t  = &rq->server->table;
	struct http_upload *up = &rq->upload;
	enum err            e  = ERR_OK;

	http_table_hold(t, &rq->slot);
	up->seen += len;
	if (up->is_open)
		e = take(rq, bytes, len);
	else
		up->dropped += len;
	http_table_pass(t, &rq->slot, len);
	if (e != ERR_OK)
		return refuse(rq, e);
	return up->is_open || may_drop_rest(up) ? MHD_YES : MHD_NO;
}

enum MHD_Result http_body_finish(struct http_request *rq)
{
	struct http_upload *up = &rq->upload;
	struct http_answer  a  = { 0 };
	enum err            e  = ERR_OK;

	if (!http_table_move(&rq->server->table, &rq->slot, HTTP_WORKING))
		return MHD_NO;
	e = up->is_open ? hand_on(rq) : ERR_OK;
	if (e != ERR_OK && refuse(rq, e) != MHD_YES)
		return MHD_NO;
	e = ERR_OK;
	if (up->is_refused) {
		a           = up->refusal;
		up->refusal = (struct http_answer){ 0 };
	} else {
		up->is_open = false;
		e           = rq->route->body->end(&a, rq, up->sink, rq->part);
	}
	give_transfer(rq);
	return http_send(rq, &a, e);
}

void http_body_close(struct http_request *rq)
{
	struct http_upload *up = &rq->upload;

	if (up->is_open) {
		up->is_open = false;
		rq->route->body->abort(NULL, rq, up->sink,
		                       http_table_is_slow(&rq->server->table, &rq->slot) ? ERR_SLOW : ERR_CLOSED);
	}
	if (!up->refusal.is_static)
		free(up->refusal.body);
	http_shared_drop(up->refusal.shared);
	free(up->stage);
	*up = (struct http_upload){ 0 };
	give_transfer(rq);
}
