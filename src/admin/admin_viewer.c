/*
 * One viewer. What it is sent leaves at the end of the turn; what has not left by then waits, and what that is too much for is
 * lost for this one alone.
 */
#include "admin/admin_viewer.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"
#include "net/addr.h"
#include "os/clock.h"
#include "os/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEGIN_MS      250   /* from hello to the first event, for a filter and since to come first */
#define SOCKET_BYTES  32768 /* more of what waits, waits here, where it is counted */
#define MESSAGE_BYTES 256   /* of what the server says besides events and figures */

/* --- Saying something --- */

static void say(struct viewer *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct viewer *v, const char *format, ...)
{
	char    text[MESSAGE_BYTES];
	va_list args;

	va_start(args, format);
	text_formatv(text, sizeof(text), format, args);
	va_end(args);
	ws_send_text(v->ws, text, strlen(text));
}

void admin_viewer_close(struct viewer *v, enum admin_close status, enum metric why)
{
	if (v->is_closing)
		return;
	v->is_closing = true;
	metric_inc(why);
	/* Strangers could fill the log. */
	if (v->is_watching)
		log_info("admin", ws_conn_id(v->ws), "closes-viewer", "who=\"%s\" status=%d", v->who.who, (int)status);
	else
		log_debug("admin", ws_conn_id(v->ws), "refuses-viewer", "status=%d", (int)status);
	ws_close_status(v->ws, (uint16_t)status);
}

static bool has_room(const struct viewer *v, size_t len)
{
	return ws_conn_queued(v->ws) + len <= v->all->waiting_max;
}

static void on_drained(void *data, int64_t now_ms);

static void wait_for_room(struct viewer *v)
{
	ws_when_drained(v->ws, on_drained);
}

static void tell_lost(struct viewer *v)
{
	if (v->lost_events == 0 && v->lost_sets == 0)
		return;
	say(v, "{\"op\":\"lost\",\"events\":%" PRId64 ",\"figures\":%" PRId64 "}", v->lost_events, v->lost_sets);
	v->lost_events = v->lost_sets = 0;
}

static void lose_events(struct viewer *v, int64_t count)
{
	v->lost_events += count;
	metric_add(M_ADMIN_EVENTS_LOST, count);
	wait_for_room(v);
}

/* --- Events --- */

/* One that is there. False: it has to wait. */
static bool take_event(struct viewer *v, const char *line, size_t len, enum event_kind kind)
{
	if (!v->kinds[kind])
		return true;
	if (has_room(v, len)) {
		tell_lost(v);
		ws_send_text(v->ws, line, len);
		return true;
	}
	if (v->catches_up) {
		wait_for_room(v);
		return false;
	}
	lose_events(v, 1);
	return true;
}

void admin_viewer_pump(struct viewer *v)
{
	char            line[EVENT_LINE_BYTES + EVENT_HEAD_BYTES];
	size_t          len;
	enum event_kind kind;
	uint64_t        oldest;

	while (v->has_begun && !v->is_closing) {
		switch (event_read(line, &len, &kind, &oldest, v->next)) {
		case ERR_OK:
			if (!take_event(v, line, len, kind))
				return;
			v->next++;
			break;
		case ERR_GONE:
			lose_events(v, (int64_t)(oldest - v->next));
			v->next = oldest;
			break;
		case ERR_NOMEM:
			lose_events(v, 1);
			v->next++;
			break;
		default:
			v->catches_up = false;
			return;
		}
	}
}

/* --- Figures --- */

static void send_set(struct viewer *v)
{
	v->set_waits = false;
	ws_send_text(v->ws, v->all->set, v->all->set_len);
}

void admin_viewer_on_set(struct viewer *v)
{
	if (!v->wants_figures || v->is_closing)
		return;
	if (ws_conn_queued(v->ws) > 0)
		ws_flush(v->ws);
	if (ws_conn_queued(v->ws) == 0) {
		send_set(v);
		return;
	}
	/* The set before has not been sent either: there is only the newest. */
	if (v->set_waits) {
		v->lost_sets++;
		metric_inc(M_ADMIN_FIGURES_LOST);
	}
	v->set_waits = true;
	wait_for_room(v);
}

static void on_drained(void *data, int64_t now_ms)
{
	struct viewer *v = data;

	(void)now_ms;
	if (v->is_closing)
		return;
	tell_lost(v);
	if (v->set_waits && v->wants_figures)
		send_set(v);
	admin_viewer_pump(v);
}

/* --- Coming --- */

static void begin(struct viewer *v)
{
	v->has_begun = true;
	admin_viewer_pump(v);
}

static void on_timer(struct timer *t, int64_t now_ms)
{
	struct viewer *v = CONTAINER(t, struct viewer, timer);

	(void)now_ms;
	if (v->is_watching)
		begin(v);
	else
		admin_viewer_close(v, ADMIN_CLOSE_LATE, M_ADMIN_VIEWERS_LATE);
}

/* seq and started_at: whether there is anything to ask for with since, and whether numbers of before mean anything. */
static void hello(struct viewer *v)
{
	char started[EVENT_TIME_BYTES];

	event_time(started, metric_get(M_START_SECONDS) * 1000);
	say(v, "{\"op\":\"hello\",\"role\":\"%s\",\"version\":\"%s\",\"seq\":%" PRIu64 ",\"started_at\":\"%s\"}",
	    api_role_name(v->who.role), COOPD_VERSION, event_newest(), started);
}

/* It may watch. False: there are enough. */
static bool admit(struct viewer *v)
{
	struct admin_events *a = v->all;

	if (a->watching_count >= a->watching_max) {
		admin_viewer_close(v, ADMIN_CLOSE_FULL, M_ADMIN_VIEWERS_FULL);
		return false;
	}
	v->is_watching = true;
	v->next        = event_newest() + 1;
	v->catches_up  = true;
	list_remove(&v->in);
	list_append(&a->watching, &v->in);
	a->watching_count++;
	metric_set(M_ADMIN_VIEWERS, (int64_t)a->watching_count);
	log_info("admin", ws_conn_id(v->ws), "watches", "who=\"%s\"", v->who.who);
	hello(v);
	timer_set(a->loop, &v->timer, loop_now_ms(a->loop) + BEGIN_MS);
	return true;
}

/* A page opened under this very name, on a port where the operators' page is. */
static bool is_own_page(const struct admin_events *a, const struct ws_caller *who)
{
	char   host[WS_CALLER_BYTES + 8];
	size_t name;

	if (api_origin_is_own(who->origin, who->host))
		return true;
	name = who->host[0] == '[' ? strcspn(who->host, "]") + 1 : strcspn(who->host, ":");
	for (size_t i = 0; i < a->cfg.page_count && name <= strlen(who->host); i++) {
		text_format(host, sizeof(host), "%.*s:%u", (int)name, who->host, (unsigned)a->cfg.pages[i]);
		if (api_origin_is_own(who->origin, host))
			return true;
	}
	return false;
}

static bool is_foreign(const struct admin_events *a, const struct ws_caller *who)
{
	if (!who->is_unix && !api_host_is_ours(a->cfg.conf, who->host))
		return true;
	return who->has_origin && !is_own_page(a, who);
}

/* As for requests: whoever runs the machine needs no token, unless he came through something. */
static bool is_trusted(struct api_caller *out, const struct ws_caller *who)
{
	if (!who->has_uid || who->has_origin || who->is_forwarded || (who->uid != 0 && who->uid != geteuid()))
		return false;
	*out = (struct api_caller){ .role = API_OPERATOR, .is_unix = true };
	if (who->uid == 0)
		text_copy(out->who, sizeof(out->who), "root");
	else
		text_format(out->who, sizeof(out->who), "uid %u", (unsigned)who->uid);
	return true;
}

void *admin_viewer_opened(void *part, struct ws_conn *ws, int64_t now_ms)
{
	struct admin_events    *a   = part;
	const struct ws_caller *who = ws_conn_caller(ws);
	struct viewer          *v   = a->is_stopped ? NULL : calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->all = a;
	v->ws  = ws;
	memset(v->kinds, true, sizeof(v->kinds));
	v->wants_figures = true;
	list_append(&a->waiting, &v->in);
	timer_init(&v->timer, on_timer);
	ws_set_socket(ws, &(struct accept_socket){ .sndbuf_bytes = SOCKET_BYTES });
	if (is_foreign(a, who))
		admin_viewer_close(v, ADMIN_CLOSE_FOREIGN, M_ADMIN_VIEWERS_FOREIGN);
	else if (is_trusted(&v->who, who))
		admit(v);
	else
		timer_set(a->loop, &v->timer, now_ms + a->cfg.conf->limits.admin_auth_ms);
	return v;
}

void admin_viewer_closed(void *data, int64_t now_ms)
{
	struct viewer *v = data;

	(void)now_ms;
	if (v->is_watching)
		metric_set(M_ADMIN_VIEWERS, (int64_t)--v->all->watching_count);
	timer_clear(&v->timer);
	list_remove(&v->in);
	free(v);
}

bool admin_viewer_make_room(void *part)
{
	struct admin_events *a = part;

	for (struct list *at = a->waiting.next; at != &a->waiting; at = at->next) {
		struct viewer *v = CONTAINER(at, struct viewer, in);

		if (v->is_pushed)
			continue;
		v->is_pushed = v->is_closing = true;
		metric_inc(M_ADMIN_VIEWERS_FULL);
		ws_reset(v->ws);
		return true;
	}
	return false;
}

/* --- What it says --- */

static void refuse(struct viewer *v, const char *code, const char *message)
{
	say(v, "{\"op\":\"error\",\"code\":\"%s\",\"message\":\"%s\"}", code, message);
}

static void on_auth(struct viewer *v, const struct json *j)
{
	const char       *token = "";
	struct api_caller who;

	if (json_get_text(&token, j, "token") != ERR_OK || api_token_caller(&who, v->all->cfg.api, token) != ERR_OK) {
		admin_viewer_close(v, ADMIN_CLOSE_TOKEN, M_ADMIN_VIEWERS_TOKEN);
		return;
	}
	v->who = who;
	if (v->is_watching)
		hello(v);
	else
		admit(v);
}

/* False: a word that means no kind, or none at all. */
static bool read_kinds(bool kinds[EVENT_KINDS], const struct json *j)
{
	size_t      count;
	const char *pattern;
	enum err    e = json_get_array(&count, j, "kinds");

	memset(kinds, e == ERR_NOT_FOUND, EVENT_KINDS * sizeof(*kinds));
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND;
	for (size_t i = 0; i < count; i++) {
		if (json_get_array_text(&pattern, j, "kinds", i) != ERR_OK || !event_is_pattern(pattern))
			return false;
		for (int kind = 0; kind < EVENT_KINDS; kind++)
			kinds[kind] = kinds[kind] || event_matches((enum event_kind)kind, pattern);
	}
	return true;
}

static void on_filter(struct viewer *v, const struct json *j)
{
	static const char *const known[] = { "op", "kinds", "figures", NULL };
	enum json_kind           figures = json_kind(j, "figures");
	bool                     kinds[EVENT_KINDS];

	if (json_odd_member(j, known)) {
		refuse(v, "unknown_member", "a filter has kinds and figures; look for a typing error");
		return;
	}
	if (!read_kinds(kinds, j) || (figures != JSON_IS_MISSING && figures != JSON_IS_BOOL)) {
		refuse(v, "invalid",
		       "kinds is a list of kinds, or of beginnings like game.*, and figures is true or false");
		return;
	}
	memcpy(v->kinds, kinds, sizeof(v->kinds));
	v->wants_figures = figures == JSON_IS_MISSING || json_member_bool(j, "figures");
	v->set_waits     = v->set_waits && v->wants_figures;
}

/* A number that this run has not reached is one of an earlier run: all that is kept is news then. */
static void on_since(struct viewer *v, const struct json *j)
{
	int64_t seq = -1;

	if (json_get_int(&seq, j, "seq") != ERR_OK || seq < 0) {
		refuse(v, "invalid", "seq is the number of the last event that you have");
		return;
	}
	v->next       = (uint64_t)seq > event_newest() ? 1 : (uint64_t)seq + 1;
	v->catches_up = true;
	timer_clear(&v->timer);
	begin(v);
}

static void on_op(struct viewer *v, const struct json *j)
{
	const char *op = "";

	json_get_text(&op, j, "op");
	if (strcmp(op, "auth") == 0)
		on_auth(v, j);
	else if (!v->is_watching)
		admin_viewer_close(v, ADMIN_CLOSE_TOKEN, M_ADMIN_VIEWERS_TOKEN);
	else if (strcmp(op, "filter") == 0)
		on_filter(v, j);
	else if (strcmp(op, "since") == 0)
		on_since(v, j);
	else
		refuse(v, "malformed", "op is auth, filter or since");
}

void admin_viewer_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct viewer                *v = data;
	AUTO(json_freep) struct json *j = NULL;

	(void)now_ms;
	if (v->is_closing)
		return;
	if (json_parse(&j, (const char *)bytes, len) == ERR_OK) {
		on_op(v, j);
	} else if (!v->is_watching) {
		admin_viewer_close(v, ADMIN_CLOSE_TOKEN, M_ADMIN_VIEWERS_TOKEN);
	} else {
		refuse(v, "malformed", "a message is one object of JSON");
	}
}
