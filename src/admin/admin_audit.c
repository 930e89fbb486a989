/*
 * The audit trail, to be read: src/admin/PROTOCOL.md. No route writes it; src/api does.
 */
#include "admin/admin_serve.h"

#include "store/audit.h"

#include <string.h>
#include <time.h>

#define DETAIL_CHARS AUDIT_DETAIL_BYTES

/* What the reader's connection needs, and where its rows go. */
struct wanted {
	struct api_page    *page;
	struct audit_filter filter;
};

static struct json *row_json(const struct audit_row *row)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "id", row->id);
	api_put_time(j, "at", row->at_ms);
	api_put_text(j, "who", row->who, strlen(row->who), sizeof(row->who));
	json_put_text(j, "via", row->is_unix ? "unix" : "tcp");
	json_put_text(j, "address", row->address);
	json_put_text(j, "action", row->action);
	api_put_text(j, "target", row->target, strlen(row->target), sizeof(row->target));
	api_put_text(j, "detail", row->detail, strlen(row->detail), DETAIL_CHARS);
	json_put_text(j, "result", row->result);
	api_put_time(j, "ended_at", row->ended_ms);
	return j;
}

static enum err add_row(const struct audit_row *row, void *arg)
{
	struct api_page *p = arg;

	if (api_page_room_int(p, row->id))
		api_page_add(p, row_json(row));
	return ERR_OK;
}

static enum err read_rows(struct db *db, void *arg)
{
	struct wanted *w = arg;

	return audit_each(db, &w->filter, add_row, w->page);
}

/* Times as answers have them, or a day. *out is 0 when there is none. */
static enum err read_time(int64_t *out, struct api_call *c, const char *name)
{
	char        text[API_QUERY_BYTES];
	struct tm   utc = { 0 };
	const char *end;
	enum err    e = api_query_text(text, c, name);

	*out = 0;
	if (e != ERR_OK || !*text)
		return e;
	end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);
	if (!end) {
		utc = (struct tm){ 0 };
		end = strptime(text, "%Y-%m-%d", &utc);
	}
	if (!end || *end || utc.tm_year < 70 || utc.tm_year > 8099)
		return api_problem(c, ERR_INVALID, "%s is a time like 2026-12-01T09:30:00Z, or a day", name);
	*out = (int64_t)timegm(&utc) * 1000;
	return ERR_OK;
}

static enum err on_list(struct api_call *c, void *part)
{
	char            who[API_QUERY_BYTES], action[API_QUERY_BYTES], target[API_QUERY_BYTES];
	struct api_page p;
	struct wanted   w = { .page = &p, .filter = { .who = who, .action = action, .target = target } };
	enum err        e = api_query_text(who, c, "who");

	(void)part;
	if (e == ERR_OK)
		e = api_query_text(action, c, "action");
	if (e == ERR_OK)
		e = api_query_text(target, c, "target");
	if (e == ERR_OK)
		e = read_time(&w.filter.since_ms, c, "since");
	if (e == ERR_OK)
		e = read_time(&w.filter.until_ms, c, "until");
	if (e == ERR_OK)
		e = api_page_begin(&p, c);
	if (e != ERR_OK)
		return e;
	w.filter.after = api_page_after_int(&p, 0);
	w.filter.rows  = p.limit + 1;
	return api_page_end(&p, api_read(c, read_rows, &w));
}

const struct api_route admin_audit_routes[] = {
	{ .method = "GET",
	  .path   = "/admin/v1/audit",
	  .role   = API_VIEWER,
	  .query  = "limit cursor who action target since until",
	  .handle = on_list },
	{ 0 },
};
