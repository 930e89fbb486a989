/*
 * Tokens, one-time links, who am I: src/admin/PROTOCOL.md.
 */
#include "admin/admin_serve.h"

#include "api/api_token.h"
#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "os/clock.h"

#include <string.h>

#define NAME_CHARS   64
#define TOKEN_S      (INT64_C(90) * 86400)
#define TOKEN_S_MAX  (INT64_C(3650) * 86400)
#define LOGIN_MS     (INT64_C(12) * 3600000)
#define LOGIN_NAME   "one-time link"
#define SECRET_BYTES 80 /* more than one has, so that one that is too long is wrong and not malformed */

static void put_row(struct json *j, const struct token_row *row)
{
	if (row->id)
		json_put_int(j, "id", row->id);
	else
		json_put_null(j, "id"); /* of a dry run */
	api_put_text(j, "name", row->name, strlen(row->name), NAME_CHARS);
	json_put_text(j, "role", api_role_name((enum api_role)row->role));
	api_put_time(j, "made_at", row->made_ms);
	api_put_text(j, "made_by", row->made_by, strlen(row->made_by), sizeof(row->made_by));
	api_put_time(j, "expires_at", row->expires_ms);
}

/* Shown this once; "" in a dry run. */
static void put_secret(struct json *j, const char *name, const char *secret)
{
	if (*secret)
		json_put_text(j, name, secret);
	else
		json_put_null(j, name);
}

static enum err read_role(int64_t *out, struct api_call *c, enum api_role otherwise)
{
	char     text[20];
	enum err e = api_body_text(text, sizeof(text), c, "role");

	*out = otherwise;
	if (e != ERR_OK || (!*text && otherwise != API_ANYBODY))
		return e;
	for (enum api_role r = API_VIEWER; r <= API_OPERATOR; r++) {
		if (strcmp(text, api_role_name(r)) == 0) {
			*out = r;
			return ERR_OK;
		}
	}
	return api_problem(c, ERR_INVALID, "role is viewer or operator");
}

/* --- List --- */

static enum err add_row(const struct token_row *row, void *arg)
{
	struct api_page *p = arg;
	struct json     *j;

	if (!api_page_room_int(p, row->id))
		return ERR_OK;
	j = json_object_new();
	if (j) {
		put_row(j, row);
		api_put_time(j, "used_at", row->used_ms);
		api_put_time(j, "revoked_at", row->revoked_ms);
	}
	api_page_add(p, j);
	return ERR_OK;
}

static enum err read_rows(struct db *db, void *arg)
{
	struct api_page *p = arg;

	return token_each(db, api_page_after_int(p, 0), p->limit + 1, add_row, p);
}

static enum err on_list(struct api_call *c, void *part)
{
	struct api_page p;
	enum err        e = api_page_begin(&p, c);

	(void)part;
	return e == ERR_OK ? api_page_end(&p, api_read(c, read_rows, &p)) : e;
}

/* --- Add and revoke --- */

static enum err read_wish(struct token_row *row, struct api_call *c)
{
	static const char *const known[] = { "name", "role", "expires_s", NULL };
	int64_t                  expires_s;
	enum err                 e = api_body_only(c, known);

	*row = (struct token_row){ 0 };
	if (e == ERR_OK)
		e = api_body_text(row->name, sizeof(row->name), c, "name");
	if (e == ERR_OK && !*row->name)
		e = api_problem(c, ERR_INVALID, "name says whose token it is, and must not be empty");
	if (e == ERR_OK)
		e = read_role(&row->role, c, API_ANYBODY);
	if (e == ERR_OK)
		e = api_body_int(&expires_s, c, "expires_s", 0, TOKEN_S_MAX, TOKEN_S);
	if (e == ERR_OK && expires_s > 0)
		row->expires_ms = clock_wall_ms() + expires_s * 1000;
	text_copy(row->made_by, sizeof(row->made_by), c->who->who);
	return e;
}

static enum err on_add(struct api_call *c, void *part)
{
	struct token_row row;
	struct json     *j;
	char             token[API_TOKEN_DIGITS + 1];
	enum err         e = read_wish(&row, c);

	(void)part;
	if (e == ERR_OK)
		e = api_token_make(token, &row, c);
	if (e != ERR_OK)
		return e;
	api_target(c, "tokens/%lld", (long long)row.id);
	j = api_done();
	if (j) {
		put_row(j, &row);
		put_secret(j, "token", token);
	}
	wipe_secret(token, sizeof(token));
	return api_answer(c, 201, j);
}

struct wanted {
	int64_t id;
	bool    is_there;
};

static enum err is_it(const struct token_row *row, void *arg)
{
	struct wanted *w = arg;

	w->is_there = row->id == w->id;
	return ERR_OK;
}

static enum err look(struct db *db, void *arg)
{
	struct wanted *w = arg;

	return token_each(db, w->id - 1, 1, is_it, w);
}

static enum err revoke(struct api_call *c, int64_t id)
{
	struct wanted w = { .id = id };
	enum err      e;

	if (!c->dry_run)
		return api_token_revoke(c, id);
	e = api_read(c, look, &w);
	return e == ERR_OK && !w.is_there ? ERR_NOT_FOUND : e;
}

static enum err on_revoke(struct api_call *c, void *part)
{
	int64_t  id;
	enum err e = api_path_int(&id, c, 0, 1, INT64_MAX);

	(void)part;
	if (e == ERR_OK)
		e = revoke(c, id);
	return e == ERR_OK ? api_answer(c, 200, api_done()) : e;
}

static enum err on_logout(struct api_call *c, void *part)
{
	static const char *const known[] = { NULL };
	enum err                 e       = api_body_only(c, known);

	(void)part;
	if (c->who->token)
		api_target(c, "tokens/%lld", (long long)c->who->token);
	if (e == ERR_OK && c->who->token)
		e = revoke(c, c->who->token);
	return e == ERR_OK ? api_answer(c, 200, api_done()) : e;
}

/* --- Links --- */

static enum err on_link(struct api_call *c, void *part)
{
	static const char *const known[] = { "role", NULL };
	struct api              *a       = part;
	struct api_link          link;
	struct json             *j;
	int64_t                  role, ends_ms = clock_wall_ms() + api_conf(a)->limits.admin_login_ms;
	char                     secret[API_TOKEN_DIGITS + 1] = "";
	enum err                 e                            = api_body_only(c, known);

	if (e == ERR_OK)
		e = read_role(&role, c, API_OPERATOR);
	if (e != ERR_OK)
		return e;
	link = (struct api_link){ .role = (enum api_role)role };
	text_copy(link.made_by, sizeof(link.made_by), c->who->who);
	if (!c->dry_run)
		api_link_make(secret, a, &link);
	j = api_done();
	if (j) {
		put_secret(j, "secret", secret);
		json_put_text(j, "role", api_role_name(link.role));
		api_put_time(j, "expires_at", ends_ms);
	}
	wipe_secret(secret, sizeof(secret));
	return api_answer(c, 200, j);
}

/* Whoever made the link is who asks, as far as the trail knows. */
static enum err admit_link(struct api_caller *who, struct api_call *c, void *part)
{
	static const char *const known[] = { "secret", NULL };
	char                     secret[SECRET_BYTES];
	struct api_link          link;
	enum err                 e = api_body_only(c, known);

	if (e == ERR_OK)
		e = api_body_text(secret, sizeof(secret), c, "secret");
	if (e != ERR_OK)
		return e;
	e = api_link_find(&link, part, secret, false);
	if (e == ERR_OK)
		text_format(who->who, sizeof(who->who), "link of %s", link.made_by);
	else
		metric_inc(M_ADMIN_REFUSED_SECRET);
	wipe_secret(secret, sizeof(secret));
	return e == ERR_OK ? e : api_problem(c, e, "this link was used, or is too old: coopctl web makes a new one");
}

static enum err on_use(struct api_call *c, void *part)
{
	struct token_row row = { .expires_ms = clock_wall_ms() + LOGIN_MS };
	struct api_link  link;
	struct json     *j;
	char             secret[SECRET_BYTES], token[API_TOKEN_DIGITS + 1];
	enum err         e = api_body_text(secret, sizeof(secret), c, "secret");

	if (e == ERR_OK)
		e = api_link_find(&link, part, secret, !c->dry_run);
	wipe_secret(secret, sizeof(secret));
	if (e != ERR_OK)
		return e;
	row.role = link.role;
	text_copy(row.name, sizeof(row.name), LOGIN_NAME);
	text_copy(row.made_by, sizeof(row.made_by), link.made_by);
	e = api_token_make(token, &row, c);
	if (e != ERR_OK)
		return e;
	api_target(c, "tokens/%lld", (long long)row.id);
	j = api_done();
	if (j) {
		put_secret(j, "token", token);
		json_put_text(j, "role", api_role_name(link.role));
		api_put_time(j, "expires_at", row.expires_ms);
	}
	wipe_secret(token, sizeof(token));
	return api_answer(c, 200, j);
}

static void hide_secret(struct json *body)
{
	json_put_text(body, "secret", "...");
}

/* --- Who am I --- */

static enum err on_whoami(struct api_call *c, void *part)
{
	const struct api_caller *who = c->who;
	struct json             *j   = json_object_new();

	(void)part;
	if (j) {
		api_put_text(j, "who", who->who, strlen(who->who), sizeof(who->who));
		json_put_text(j, "role", api_role_name(who->role));
		api_put_time(j, "expires_at", who->expires_ms);
	}
	return api_answer(c, 200, j);
}

const struct api_route admin_token_routes[] = {
	{ .method = "GET",
	  .path   = "/admin/v1/tokens",
	  .role   = API_OPERATOR,
	  .query  = "limit cursor",
	  .handle = on_list },
	{ .method = "POST",
	  .path   = "/admin/v1/tokens",
	  .role   = API_OPERATOR,
	  .action = "token.add",
	  .handle = on_add,
	  .body   = API_OBJECT },
	{ .method = "DELETE",
	  .path   = "/admin/v1/tokens/{id}",
	  .role   = API_OPERATOR,
	  .action = "token.revoke",
	  .handle = on_revoke },
	{ .method = "POST",
	  .path   = "/admin/v1/login",
	  .role   = API_OPERATOR,
	  .action = "login.link",
	  .handle = on_link,
	  .body   = API_OBJECT },
	{ .method  = "POST",
	  .path    = "/admin/v1/login/use",
	  .role    = API_ANYBODY,
	  .action  = "login.use",
	  .handle  = on_use,
	  .body    = API_OBJECT,
	  .secrets = hide_secret,
	  .admit   = admit_link },
	{ .method = "GET", .path = "/admin/v1/whoami", .role = API_VIEWER, .handle = on_whoami },
	{ .method = "POST",
	  .path   = "/admin/v1/logout",
	  .role   = API_VIEWER,
	  .action = "logout",
	  .handle = on_logout,
	  .body   = API_OBJECT },
	{ 0 },
};
