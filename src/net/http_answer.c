/*
 * Answers: made by parts, or of errors, and handed to the library, whole or as a stream.
 */
#include "net/http_range.h"
#include "net/http_request.h"
#include "net/http_shared.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/text.h"
#include "os/log.h"
#include "os/priority.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a stream is read by, and so what a download holds. A little less than 64 KiB, which with their heads fill one
 * segment of the loopback or of a card that splits them itself: full 64 KiB leave as a large segment and a tiny one, at
 * nearly twice the cost.
 */
#define TRANSFERS_RETRY_S 30
#define BLOCK_BYTES       ((size_t)65400)

/* --- Making them --- */

enum err http_answer_json(struct http_answer *a, int status, const struct json *body)
{
	a->body = body ? json_text(body) : NULL;
	if (!a->body)
		return ERR_NOMEM;
	a->body_len = strlen(a->body);
	a->status   = status;
	a->type     = "application/json";
	a->no_store = true;
	return ERR_OK;
}

enum err http_answer_error(struct http_answer *a, int status, const char *text)
{
	AUTO(json_freep) struct json *j = json_object_new();

	*a = (struct http_answer){ 0 };
	if (!j)
		return ERR_NOMEM;
	json_put_text(j, "error", text);
	return http_answer_json(a, status, j);
}

enum err http_answer_refusal(struct http_answer *a, struct http_request *rq, enum err e)
{
	http_error_form form = rq->route ? rq->route->errors : rq->server->cfg.errors;
	enum err        made = form ? form(a, rq, e) : http_answer_error(a, err_http(e), err_people(e));

	if (made == ERR_OK && e == ERR_TRANSFERS)
		http_answer_field(a, "Retry-After", "%d", TRANSFERS_RETRY_S);
	return made;
}

static bool has_controls(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	}
	return false;
}

void http_answer_field(struct http_answer *a, const char *name, const char *format, ...)
{
	va_list args;
	bool    fits;

	assert(a->field_count < HTTP_FIELDS_MAX);
	va_start(args, format);
	fits = text_formatv(a->fields[a->field_count].value, HTTP_FIELD_BYTES_MAX, format, args);
	va_end(args);
	assert(fits && !has_controls(a->fields[a->field_count].value));
	(void)fits;
	a->fields[a->field_count++].name = name;
}

void http_answer_stream(struct http_answer *a, const struct http_stream *stream)
{
	a->own_stream = *stream;
	a->stream     = &a->own_stream;
}

/* --- Ranges --- */

/* The one Range that counts; NULL: the whole is wanted, or another version of it. */
static const char *wanted_range(const struct http_request *rq, const char *etag)
{
	const char *version = http_header(rq, "If-Range");

	if (strcmp(rq->method, "GET") != 0)
		return NULL;
	if (http_has_header(rq, "If-Range") && (!version || strcmp(version, etag) != 0))
		return NULL;
	return http_header(rq, "Range");
}

void http_answer_range(struct http_answer *a, const struct http_request *rq, const char *etag)
{
	const char *range = wanted_range(rq, etag);
	uint64_t    first, count, total;

	if (a->status != MHD_HTTP_OK || !a->stream)
		return;
	total = a->stream->bytes;
	http_answer_field(a, "Accept-Ranges", "bytes");
	switch (range ? http_range_parse(&first, &count, range, total) : HTTP_RANGE_NONE) {
	case HTTP_RANGE_PART:
		a->status     = MHD_HTTP_PARTIAL_CONTENT;
		a->part_first = first;
		a->part_bytes = count;
		http_answer_field(a, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first,
		                  first + count - 1, total);
		break;
	case HTTP_RANGE_BEYOND:
		a->status = MHD_HTTP_RANGE_NOT_SATISFIABLE; /* and the rest when it is sent */
		break;
	case HTTP_RANGE_NONE:
		break;
	}
}

/* --- Streams --- */

/* A stream on its way; the library's, until it frees it. */
struct sender {
	struct http_request *rq;
	struct http_stream   stream;
	uint64_t             first, bytes;
};

static void drop_stream(const struct http_stream *s)
{
	if (s->free)
		s->free(s->arg);
}

static void free_sender(void *arg)
{
	struct sender *s = arg;

	drop_stream(&s->stream);
	free(s);
}

static ssize_t read_block(void *arg, uint64_t at, char *out, size_t cap)
{
	struct sender     *s     = arg;
	struct http_slot  *slot  = &s->rq->slot;
	struct http_table *table = &s->rq->server->table;
	uint64_t           left  = s->bytes - at;
	ssize_t            got;

	http_table_hold(table, slot);
	got = s->stream.read(s->stream.arg, s->first + at, out, left < cap ? (size_t)left : cap);
	http_table_pass(table, slot, got > 0 ? (size_t)got : 0);
	return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The stream belongs to the response; on failure it is freed. */
static struct MHD_Response *new_stream(struct http_request *rq, const struct http_answer *a)
{
	struct sender       *s    = malloc(sizeof(*s));
	bool                 part = a->status == MHD_HTTP_PARTIAL_CONTENT;
	struct MHD_Response *r;

	if (!s) {
		drop_stream(a->stream);
		return NULL;
	}
	*s = (struct sender){
		.rq     = rq,
		.stream = *a->stream,
		.first  = part ? a->part_first : 0,
		.bytes  = part ? a->part_bytes : a->stream->bytes,
	};
	r = MHD_create_response_from_callback(s->bytes, BLOCK_BYTES, read_block, s, free_sender);
	if (!r)
		free_sender(s);
	return r;
}

static void drop_shared(void *arg)
{
	http_shared_drop(arg);
}

static struct MHD_Response *new_shared(struct http_shared *s)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer_with_free_callback_cls(s->len, s->bytes, drop_shared, s);

	if (!r)
		http_shared_drop(s);
	return r;
}

static struct MHD_Response *new_buffer(const struct http_answer *a)
{
	enum MHD_ResponseMemoryMode mode = a->is_static ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE;
	struct MHD_Response        *r    = MHD_create_response_from_buffer(a->body_len, a->body, mode);

	if (!r && !a->is_static)
		free(a->body);
	return r;
}

/* What the answer owns is the response's, or gone. */
static struct MHD_Response *new_response(struct http_request *rq, const struct http_answer *a)
{
	if (a->stream)
		return new_stream(rq, a);
	return a->shared ? new_shared(a->shared) : new_buffer(a);
}

/* --- Sending --- */

static void add_field(struct MHD_Response *r, const char *name, const char *value)
{
	if (value)
		MHD_add_response_header(r, name, value);
}

static void add_fields(struct MHD_Response *r, const struct http_request *rq, const struct http_answer *a)
{
	bool closes = a->status >= 400 || !http_request_reads_only(rq) || rq->has_body;

	add_field(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	add_field(r, MHD_HTTP_HEADER_CACHE_CONTROL, a->no_store ? "no-store" : NULL);
	add_field(r, MHD_HTTP_HEADER_CONNECTION, closes ? "close" : NULL);
	add_field(r, MHD_HTTP_HEADER_ALLOW, a->status == MHD_HTTP_METHOD_NOT_ALLOWED ? rq->methods : NULL);
	add_field(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, a->status == MHD_HTTP_UNAUTHORIZED ? "Bearer" : NULL);
	for (size_t i = 0; i < a->field_count; i++)
		add_field(r, a->fields[i].name, a->fields[i].value);
}

/* is_transfer: its bytes take the time they need. */
static enum MHD_Result send_answer(struct http_request *rq, const struct http_answer *a, bool is_transfer)
{
	struct MHD_Response *r      = new_response(rq, a);
	struct http_table   *t      = &rq->server->table;
	enum MHD_Result      queued = MHD_NO;

	if (!r)
		return MHD_NO;
	assert(a->status);
	add_fields(r, rq, a);
	if (is_transfer ? http_table_begin_transfer(t, &rq->slot, true) : http_table_move(t, &rq->slot, HTTP_ANSWERING))
		queued = MHD_queue_response(rq->mhd, (unsigned)a->status, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result send_beyond(struct http_request *rq, uint64_t total)
{
	struct http_answer a = { 0 };

	if (http_answer_refusal(&a, rq, ERR_RANGE) != ERR_OK)
		return MHD_NO;
	http_answer_field(&a, "Content-Range", "bytes */%" PRIu64, total);
	return send_answer(rq, &a, false);
}

static enum MHD_Result send_stream(struct http_request *rq, const struct http_answer *a)
{
	uint64_t total = a->stream->bytes;
	enum err e;

	if (a->status == MHD_HTTP_RANGE_NOT_SATISFIABLE) {
		drop_stream(a->stream);
		return send_beyond(rq, total);
	}
	if (strcmp(rq->method, "HEAD") == 0)
		return send_answer(rq, a, false);
	e = http_transfer_take(&rq->transfer, &rq->server->transfers, &rq->client, http_is_exempt(rq));
	if (e == ERR_OK) {
		priority_give_way();
		return send_answer(rq, a, true);
	}
	drop_stream(a->stream);
	return http_send_error(rq, e);
}

enum MHD_Result http_send_error(struct http_request *rq, enum err e)
{
	struct http_answer a = { 0 };

	if (err_fault(e) == ERR_FAULT_US && !err_is_load(e))
		log_warn("http", rq->slot.id, "fails", "server=%s error=%s", rq->server->cfg.name, err_name(e));
	if (http_answer_refusal(&a, rq, e) != ERR_OK)
		return MHD_NO;
	return send_answer(rq, &a, false);
}

enum MHD_Result http_send(struct http_request *rq, struct http_answer *a, enum err e)
{
	if (e != ERR_OK)
		return http_send_error(rq, e);
	return a->stream ? send_stream(rq, a) : send_answer(rq, a, false);
}
