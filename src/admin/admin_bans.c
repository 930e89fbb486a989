/*
 * Bans: src/admin/PROTOCOL.md.
 *
 * A new one is written first, and holds from the moment it stands in net/ban's table, which is while its job runs: whoever
 * comes later is refused. Then those who are there are ended.
 */
#include "admin/admin_serve.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/text.h"
#include "conf/conf_lock.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/ban.h"
#include "store/upkeep.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define EXPIRES_S_MAX INT64_C(315360000) /* ten years */
#define REASON_CHARS  200
#define WIDE_IPV4     16 /* a prefix that is shorter is wide */
#define WIDE_IPV6     32

static_assert(BAN_ROW_VALUE_BYTES == BAN_VALUE_BYTES, "one form of values");

/* --- What is shown --- */

static struct json *show(const struct ban_row *row)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	if (row->id > 0)
		json_put_int(j, "id", row->id);
	else
		json_put_null(j, "id"); /* of a try */
	json_put_text(j, "kind", ban_kind_name((enum ban_kind)row->kind));
	json_put_text(j, "value", row->value);
	api_put_text(j, "reason", row->reason, strlen(row->reason), REASON_CHARS);
	api_put_time(j, "made_at", row->made_ms);
	api_put_text(j, "by", row->made_by, strlen(row->made_by), AUDIT_WHO_BYTES);
	api_put_time(j, "until_at", row->until_ms);
	json_put_int(j, "hits", ban_hits(row->id));
	return j;
}

struct listing {
	struct api_page   page;
	struct ban_filter filter;
	bool              is_full;
};

static enum err show_row(const struct ban_row *row, void *arg)
{
	struct listing *l = arg;

	if (l->is_full || !api_page_room_int(&l->page, row->id))
		l->is_full = true;
	else
		api_page_add(&l->page, show(row));
	return ERR_OK;
}

static enum err read_page(struct db *db, void *arg)
{
	struct listing *l = arg;

	return ban_row_each(db, &l->filter, show_row, l);
}

static enum err on_list(struct api_call *c, void *part)
{
	struct listing l = { .filter = { .kind = -1, .now_ms = clock_wall_ms() } };
	char           kind[API_QUERY_BYTES], text[API_QUERY_BYTES];
	enum ban_kind  wanted;
	enum err       e = api_query_text(kind, c, "kind");

	(void)part;
	if (e == ERR_OK)
		e = api_query_text(text, c, "q");
	if (e != ERR_OK)
		return e;
	if (kind[0] && !ban_kind_of(&wanted, kind))
		return api_problem(c, ERR_INVALID, "kind is address, player, identity or name");
	if (kind[0])
		l.filter.kind = (int)wanted;
	l.filter.text = text;
	e             = api_page_begin(&l.page, c);
	if (e != ERR_OK)
		return e;
	l.filter.after = api_page_after_int(&l.page, 0);
	l.filter.rows  = l.page.limit + 1;
	return api_page_end(&l.page, api_read(c, read_page, &l));
}

/*
 * The target also stands in the log, so an address is left out; a network that says no more than what other lines say of
 * addresses stays. What exactly it was stands in the trail's detail of the one that was added, under the same id.
 */
static void name_target(struct api_call *c, const struct ban *b)
{
	bool is_narrow = b->kind == BAN_ADDRESS && b->net.prefix > (b->net.base.family == ADDR_IPV4 ? 24 : 48);
	char what[2 * BAN_VALUE_BYTES];

	text_format(what, sizeof(what), "%s%s%s", ban_kind_name(b->kind), is_narrow ? "" : "/",
	            is_narrow ? "" : b->value);
	if (b->id > 0)
		api_target(c, "bans/%" PRId64 "/%s", b->id, what);
	else
		api_target(c, "bans/%s", what);
}

/* --- A new one --- */

/* What comes back from the store is the job's copy: it holds no pointers. */
struct adding {
	struct ban     ban;
	struct ban_row row;
	int64_t        max;
	bool           is_in; /* net/ban has it */
};

static enum err invalid_value(struct api_call *c, enum ban_kind kind)
{
	static const char *const forms[BAN_KINDS] = {
		[BAN_ADDRESS]  = "value is an address, or a network like 192.0.2.0/24 or 2001:db8::/48",
		[BAN_PLAYER]   = "value is a player's id, 16 hex digits",
		[BAN_IDENTITY] = "value is an identity, 64 hex digits",
		[BAN_NAME] =
			"value is an online id of at most 16 bytes, or a title of at most 12, a slash and an online id",
	};

	return api_problem(c, ERR_INVALID, "%s", forms[kind]);
}

static enum err read_value(struct adding *a, struct api_call *c)
{
	char          name[16], value[256];
	enum ban_kind kind;
	enum err      e = api_body_text(name, sizeof(name), c, "kind");

	if (e != ERR_OK || !ban_kind_of(&kind, name))
		return api_problem(c, ERR_INVALID, "kind is address, player, identity or name");
	e = api_body_text(value, sizeof(value), c, "value");
	if (e != ERR_OK || ban_parse(&a->ban, kind, value) != ERR_OK)
		return invalid_value(c, kind);
	return ERR_OK;
}

static enum err read_ban(struct adding *a, bool *force, struct api_call *c)
{
	static const char *const known[] = { "kind", "value", "reason", "expires_s", "force", NULL };
	int64_t                  expires_s;
	enum err                 e = api_body_only(c, known);

	if (e == ERR_OK)
		e = read_value(a, c);
	if (e == ERR_OK)
		e = api_body_text(a->row.reason, sizeof(a->row.reason), c, "reason");
	if (e == ERR_OK)
		e = api_body_int(&expires_s, c, "expires_s", 0, EXPIRES_S_MAX, 0);
	if (e == ERR_OK)
		e = api_body_bool(force, c, "force", false);
	if (e != ERR_OK)
		return e;
	a->row.kind     = (int)a->ban.kind;
	a->row.made_ms  = clock_wall_ms();
	a->row.until_ms = expires_s > 0 ? a->row.made_ms + expires_s * 1000 : 0;
	a->ban.until_ms = a->row.until_ms;
	a->max          = api_conf(c->api)->limits.admin_bans;
	text_copy(a->row.value, sizeof(a->row.value), a->ban.value);
	text_copy(a->row.made_by, sizeof(a->row.made_by), c->who->who);
	name_target(c, &a->ban);
	return ERR_OK;
}

static bool meets_loopback(const struct addr_net *net)
{
	static const char *const loopback[] = { "127.0.0.0/8", "::1" };
	struct addr_net          own;

	for (size_t i = 0; i < COUNT_OF(loopback); i++) {
		if (addr_net_parse(&own, loopback[i]) == ERR_OK && addr_net_meets(net, &own))
			return true;
	}
	return false;
}

static bool meets_proxy(const struct addr_net *net, const struct conf *conf)
{
	const struct conf_list *words = &conf->http_trusted_proxies;
	struct addr_net         proxy;
	bool                    meets = false;

	conf_hold();
	for (size_t i = 0; i < words->count && !meets; i++)
		meets = addr_net_parse(&proxy, words->words[i]) == ERR_OK && addr_net_meets(net, &proxy);
	conf_let_go();
	return meets;
}

/* Whether it may hit more than the operator means. */
static enum err check_reach(const struct ban *b, struct api_call *c)
{
	const struct addr_net *net = &b->net;

	if (b->kind != BAN_ADDRESS)
		return ERR_OK;
	if (meets_loopback(net))
		return api_problem(c, ERR_FORCE,
		                   "this covers loopback, so whoever comes through a proxy on this machine; send it "
		                   "again with force when that is right");
	if (meets_proxy(net, api_conf(c->api)))
		return api_problem(c, ERR_FORCE,
		                   "this covers one of http.trusted_proxies, and so all who come through it; send it "
		                   "again with force when that is right");
	if (addr_net_contains(net, http_client(c->rq)))
		return api_problem(c, ERR_FORCE,
		                   "this covers the address that you come from; send it again with force when that is "
		                   "right");
	if (net->prefix < (net->base.family == ADDR_IPV4 ? WIDE_IPV4 : WIDE_IPV6))
		return api_problem(c, ERR_FORCE,
		                   "this is wider than /%d and may hit many people; send it again with force when that "
		                   "is right",
		                   net->base.family == ADDR_IPV4 ? WIDE_IPV4 : WIDE_IPV6);
	return ERR_OK;
}

static enum err try_add(struct db *db, void *arg)
{
	const struct adding *a = arg;

	return ban_row_may_add(db, &a->row, a->max);
}

static enum err add(struct db *db, void *arg)
{
	struct adding *a = arg;
	enum err       e = ban_row_add(db, &a->row, a->max);

	if (e != ERR_OK)
		return e;
	if (!upkeep_doubts_clock(db))
		ban_sweep(); /* as their rows went */
	a->ban.id = a->row.id;
	e         = ban_add(&a->ban);
	a->is_in  = e == ERR_OK;
	return e;
}

static enum err explain(struct api_call *c, enum err e, int64_t max)
{
	if (e == ERR_EXISTS)
		return api_problem(c, e, "there is a ban of this already; remove it first to change it");
	if (e == ERR_NO_ROOM)
		return api_problem(c, e, "there are %" PRId64 " bans, as many as limits.admin_bans allows; remove some",
		                   max);
	return e;
}

static enum err keep(struct adding *a, struct api_call *c)
{
	enum err e;

	if (c->dry_run)
		return explain(c, api_read(c, try_add, a), a->max);
	e = api_change(c, add, a, sizeof(*a));
	if (e != ERR_OK && e != ERR_BUSY && a->is_in)
		ban_remove(a->ban.id); /* the commit failed */
	return explain(c, e, a->max);
}

struct ending {
	const struct admin_bans *bans;
	const struct ban        *ban;
	bool                     do_end;
	size_t                   count;
};

static void end_on_loop(void *arg)
{
	struct ending *e = arg;

	e->count += e->bans->end(e->bans->arg, e->ban, e->do_end);
}

static enum err say_added(struct api_call *c, const struct adding *a, size_t ends)
{
	struct json *j = show(&a->row);

	if (j)
		json_put_int(j, "ends", (int64_t)ends);
	return api_answer(c, 201, j);
}

static enum err on_add(struct api_call *c, void *part)
{
	struct adding a      = { .max = 0 };
	struct ending ending = { .bans = part, .ban = &a.ban, .do_end = !c->dry_run };
	bool          force;
	enum err      e = read_ban(&a, &force, c);

	if (e == ERR_OK && !force)
		e = check_reach(&a.ban, c);
	if (e == ERR_OK)
		e = keep(&a, c);
	if (e == ERR_OK)
		e = api_on_loop(c, end_on_loop, &ending);
	if (e != ERR_OK)
		return e;
	name_target(c, &a.ban); /* with its id now */
	ending.count += ending.bans->end_http(ending.bans->arg, &a.ban, ending.do_end);
	if (!c->dry_run)
		event_emit(E_BAN_ADDED, event_int("ban", a.row.id), event_word("ban_kind", ban_kind_name(a.ban.kind)),
		           event_word("value", a.ban.value), event_word("by", c->who->who));
	if (!c->dry_run)
		log_info("admin", 0, "bans", "id=%" PRId64 " kind=%s ends=%zu", a.row.id, ban_kind_name(a.ban.kind),
		         ending.count);
	return say_added(c, &a, ending.count);
}

/* --- Removing one --- */

static enum err find(struct db *db, void *arg)
{
	struct ban_row *row = arg;

	return ban_row_find(row, db, row->id);
}

static enum err remove_row(struct db *db, void *arg)
{
	const struct ban_row *row = arg;

	return ban_row_remove(db, row->id);
}

static enum err on_remove(struct api_call *c, void *part)
{
	struct ban_row row = { .id = 0 };
	struct ban     b;
	enum err       e = api_path_int(&row.id, c, 0, 1, INT64_MAX);

	(void)part;
	if (e == ERR_OK)
		e = api_read(c, find, &row);
	if (e != ERR_OK)
		return e;
	if (ban_parse(&b, (enum ban_kind)row.kind, row.value) == ERR_OK) {
		b.id = row.id;
		name_target(c, &b);
	}
	if (!c->dry_run) {
		e = api_change(c, remove_row, &row, sizeof(row));
		if (e != ERR_OK)
			return e;
		ban_remove(row.id);
		event_emit(E_BAN_REMOVED, event_int("ban", row.id), event_word("by", c->who->who));
	}
	return api_answer(c, 200, api_done());
}

const struct api_route admin_ban_routes[] = {
	{ .method = "GET",
	  .path   = "/admin/v1/bans",
	  .role   = API_VIEWER,
	  .query  = "limit cursor kind q",
	  .handle = on_list },
	{ .method = "POST",
	  .path   = "/admin/v1/bans",
	  .role   = API_OPERATOR,
	  .action = "ban.add",
	  .handle = on_add,
	  .body   = API_OBJECT },
	{ .method = "DELETE",
	  .path   = "/admin/v1/bans/{id}",
	  .role   = API_OPERATOR,
	  .action = "ban.remove",
	  .handle = on_remove },
	{ 0 },
};
