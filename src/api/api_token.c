/*
 * Tokens in memory. Every check looks at all of them, so that its time tells nothing about any.
 */
#include "api/api_token.h"

#include "api/api_inside.h"
#include "base/auto.h"
#include "base/event.h"
#include "base/hex.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/upkeep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_EVERY_MS 60000 /* of a token's use */
#define DAY_MS        INT64_C(86400000)

void api_tokens_init(struct api_tokens *t)
{
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->changing, NULL);
}

void api_tokens_fini(struct api_tokens *t)
{
	free(t->good);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->changing);
}

void api_on_revoke(struct api *a, void (*revoked)(void *arg, int64_t token), void *arg)
{
	struct api_tokens *t = &a->tokens;

	assert(t->watcher_count < API_WATCHERS_MAX);
	t->watchers[t->watcher_count++] = (struct api_watcher){ .revoked = revoked, .arg = arg };
}

/* --- The digits --- */

static bool is_lower_hex(const char *text)
{
	return strspn(text, "0123456789abcdef") == API_TOKEN_DIGITS && text[API_TOKEN_DIGITS] == '\0';
}

/* False: these are no digits of a token. */
static bool digest_of(uint8_t out[TOKEN_DIGEST_BYTES], const char *digits)
{
	uint8_t bytes[API_TOKEN_BYTES];
	bool    is_one = is_lower_hex(digits) && hex_decode(bytes, sizeof(bytes), digits, API_TOKEN_DIGITS) == ERR_OK;

	if (is_one)
		hash_sha256(out, bytes, sizeof(bytes));
	wipe_secret(bytes, sizeof(bytes));
	return is_one;
}

static void make_digits(char out[API_TOKEN_DIGITS + 1], uint8_t digest[TOKEN_DIGEST_BYTES])
{
	uint8_t bytes[API_TOKEN_BYTES];

	random_bytes(bytes, sizeof(bytes));
	hash_sha256(digest, bytes, sizeof(bytes));
	hex_encode(out, bytes, sizeof(bytes));
	wipe_secret(bytes, sizeof(bytes));
}

/* --- The table; with its lock held --- */

static bool has_expired(const struct api_good *g, int64_t wall_ms)
{
	return g->row.expires_ms != 0 && g->row.expires_ms <= wall_ms;
}

static struct api_good *find_good(struct api_tokens *t, const uint8_t digest[TOKEN_DIGEST_BYTES])
{
	struct api_good *found = NULL;

	for (size_t i = 0; i < t->count; i++) {
		if (equal_secret(t->good[i].row.digest, digest, TOKEN_DIGEST_BYTES))
			found = &t->good[i];
	}
	return found;
}

static enum err add_good(struct api_tokens *t, const struct token_row *row)
{
	if (t->count == t->cap) {
		size_t           cap  = t->cap ? 2 * t->cap : 16;
		struct api_good *good = realloc(t->good, cap * sizeof(*good));

		if (!good)
			return ERR_NOMEM;
		t->good = good;
		t->cap  = cap;
	}
	t->good[t->count++] = (struct api_good){ .row = *row };
	return ERR_OK;
}

static void drop_expired(struct api_tokens *t, int64_t wall_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (!has_expired(&t->good[i], wall_ms))
			t->good[kept++] = t->good[i];
	}
	t->count = kept;
}

/* False: it was not there. */
static bool drop(struct api_tokens *t, int64_t id)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->good[i].row.id != id)
			continue;
		t->good[i] = t->good[--t->count];
		return true;
	}
	return false;
}

/* --- At the start --- */

struct load {
	struct api_tokens *tokens;
	int64_t            wall_ms;
};

static enum err load_row(const struct token_row *row, void *arg)
{
	struct load *l = arg;

	if (row->revoked_ms != 0 || (row->expires_ms != 0 && row->expires_ms <= l->wall_ms))
		return ERR_OK;
	return add_good(l->tokens, row);
}

enum err api_tokens_load(struct api *a, struct db *db)
{
	struct load l = { .tokens = &a->tokens, .wall_ms = clock_wall_ms() };

	return token_each(db, 0, INT64_MAX, load_row, &l);
}

/* --- Use --- */

struct note {
	struct job job;
	int64_t    id, used_ms;
};

static enum err run_note(struct job *job, struct db *db)
{
	struct note *n = CONTAINER(job, struct note, job);

	return token_used(db, n->id, n->used_ms);
}

static void end_note(struct job *job, enum err result)
{
	(void)result; /* that a token was used is seen a minute later then */
	free(CONTAINER(job, struct note, job));
}

static void note_use(struct api *a, int64_t id, int64_t used_ms)
{
	struct note *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	n->job     = (struct job){ .surface = SURFACE_ADMIN, .lazy = true, .run = run_note, .done = end_note };
	n->id      = id;
	n->used_ms = used_ms;
	if (store_submit(a->store, &n->job) != ERR_OK)
		free(n);
}

enum err api_token_caller(struct api_caller *out, struct api *a, const char *token64)
{
	struct api_tokens *t = &a->tokens;
	uint8_t            digest[TOKEN_DIGEST_BYTES];
	int64_t            wall_ms = clock_wall_ms(), mono_ms = clock_mono_ms();
	bool               must_note = false;
	struct api_good   *g;

	*out = (struct api_caller){ 0 };
	if (!digest_of(digest, token64))
		return ERR_TOKEN;
	pthread_mutex_lock(&t->lock);
	g = find_good(t, digest);
	if (g && !has_expired(g, wall_ms)) {
		out->role       = (enum api_role)g->row.role;
		out->token      = g->row.id;
		out->expires_ms = g->row.expires_ms;
		text_format(out->who, sizeof(out->who), "token %lld (%s)", (long long)g->row.id, g->row.name);
		must_note = !g->is_noted || mono_ms - g->noted_ms >= NOTE_EVERY_MS;
		if (must_note) {
			g->is_noted = true;
			g->noted_ms = mono_ms;
		}
	}
	pthread_mutex_unlock(&t->lock);
	if (must_note)
		note_use(a, out->token, wall_ms);
	return out->token ? ERR_OK : ERR_TOKEN;
}

/* --- Making --- */

struct add {
	struct api_tokens *tokens;
	struct token_row   row;
	int64_t            forget_before_ms;
};

/* A clock that was ahead for a while ends no token for good, neither here nor in the database. */
static enum err forget_old(struct db *db, const struct add *add)
{
	if (upkeep_doubts_clock(db))
		return ERR_OK;
	pthread_mutex_lock(&add->tokens->lock);
	drop_expired(add->tokens, add->row.made_ms);
	pthread_mutex_unlock(&add->tokens->lock);
	return token_thin(db, add->forget_before_ms);
}

static enum err run_add(struct db *db, void *arg)
{
	struct add *add = arg;
	enum err    e   = forget_old(db, add);

	return e == ERR_OK ? token_add(db, &add->row) : e;
}

static int64_t count_good(const struct api_tokens *t, int64_t wall_ms)
{
	int64_t good = 0;

	for (size_t i = 0; i < t->count; i++)
		good += !has_expired(&t->good[i], wall_ms);
	return good;
}

static bool has_room(struct api_tokens *t, int64_t max, int64_t wall_ms)
{
	bool room;

	pthread_mutex_lock(&t->lock);
	room = count_good(t, wall_ms) < max;
	pthread_mutex_unlock(&t->lock);
	return room;
}

static enum err make(char token[API_TOKEN_DIGITS + 1], struct token_row *row, struct api_call *c)
{
	const struct limits *limits = &c->api->conf->limits;
	struct api_tokens   *t      = &c->api->tokens;
	int64_t              now    = clock_wall_ms();
	struct add           add;
	enum err             e;

	if (!has_room(t, limits->admin_tokens, now))
		return api_problem(c, ERR_NO_ROOM,
		                   "%lld tokens are good, as many as limits.admin_tokens allows; revoke some",
		                   (long long)limits->admin_tokens);
	row->made_ms = now;
	if (c->dry_run)
		return ERR_OK;
	make_digits(token, row->digest);
	add = (struct add){ .tokens = t, .row = *row, .forget_before_ms = now - limits->admin_audit_days * DAY_MS };
	e   = api_change(c, run_add, &add, sizeof(add));
	if (e != ERR_OK)
		return e;
	*row = add.row;
	pthread_mutex_lock(&t->lock);
	e = add_good(t, row);
	pthread_mutex_unlock(&t->lock);
	return e;
}

/* One change at a time, so that one that is revoked while it is made is not good afterwards. */
/* For events; who uses a link is nobody yet. */
static const char *by(const struct api_call *c)
{
	return c->who->who[0] ? c->who->who : NULL;
}

enum err api_token_make(char token[API_TOKEN_DIGITS + 1], struct token_row *row, struct api_call *c)
{
	enum err e;

	token[0] = '\0';
	pthread_mutex_lock(&c->api->tokens.changing);
	e = make(token, row, c);
	pthread_mutex_unlock(&c->api->tokens.changing);
	if (e == ERR_OK)
		event_emit(E_TOKEN_ADDED, event_int("token", row->id), event_text("name", row->name, strlen(row->name)),
		           event_word("role", api_role_name((enum api_role)row->role)), event_word("by", by(c)));
	return e;
}

/* --- Revoking --- */

struct revoke {
	int64_t id, now_ms;
};

static enum err run_revoke(struct db *db, void *arg)
{
	const struct revoke *r = arg;

	return token_revoke(db, r->id, r->now_ms);
}

static void forget(struct api_tokens *t, int64_t id)
{
	bool was_good;

	pthread_mutex_lock(&t->lock);
	was_good = drop(t, id);
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; was_good && i < t->watcher_count; i++)
		t->watchers[i].revoked(t->watchers[i].arg, id);
}

enum err api_token_revoke(struct api_call *c, int64_t id)
{
	struct api_tokens *t = &c->api->tokens;
	struct revoke      r = { .id = id, .now_ms = clock_wall_ms() };
	enum err           e;

	/* Before anything that may have to wait; and again, when it may just have been made. */
	forget(t, id);
	pthread_mutex_lock(&t->changing);
	forget(t, id);
	e = api_change(c, run_revoke, &r, sizeof(r));
	pthread_mutex_unlock(&t->changing);
	if (e == ERR_OK)
		event_emit(E_TOKEN_REVOKED, event_int("token", id), event_word("by", by(c)));
	return e;
}

/* --- Links --- */

void api_link_make(char secret[API_TOKEN_DIGITS + 1], struct api *a, const struct api_link *link)
{
	struct api_tokens  *t      = &a->tokens;
	int64_t             now    = clock_mono_ms();
	struct api_waiting *oldest = &t->waiting[0];
	struct api_waiting  made   = { .link = *link, .until_ms = now + a->conf->limits.admin_login_ms };

	make_digits(secret, made.digest);
	pthread_mutex_lock(&t->lock);
	for (size_t i = 1; i < COUNT_OF(t->waiting); i++) {
		if (t->waiting[i].until_ms < oldest->until_ms)
			oldest = &t->waiting[i];
	}
	*oldest = made;
	pthread_mutex_unlock(&t->lock);
}

enum err api_link_find(struct api_link *out, struct api *a, const char *secret, bool use)
{
	struct api_tokens *t = &a->tokens;
	uint8_t            digest[TOKEN_DIGEST_BYTES];
	int64_t            now   = clock_mono_ms();
	enum err           found = ERR_TOKEN;

	if (!digest_of(digest, secret))
		return ERR_TOKEN;
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < COUNT_OF(t->waiting); i++) {
		struct api_waiting *w = &t->waiting[i];

		if (!equal_secret(w->digest, digest, sizeof(digest)) || w->until_ms <= now)
			continue;
		*out  = w->link;
		found = ERR_OK;
		if (use)
			*w = (struct api_waiting){ 0 };
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}
