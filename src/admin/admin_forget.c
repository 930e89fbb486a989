/*
 * POST /admin/v1/players/{id}/forget: src/admin/PROTOCOL.md.
 *
 *	HTTP thread		loop				store thread
 *	look: may it be? <--------------------------------------- (a reader's connection)
 *	begin ----------------> code held, connections end
 *	ask ----------------------------------------------------> all rows go, durably
 *	finish ---------------> the table of codes follows
 *	names, events, copies
 *
 * When the store takes too long nobody waits for its answer any more; the loop is then told of it all the same.
 */
#include "admin/admin_forget.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/hex.h"
#include "os/clock.h"
#include "store/ask.h"
#include "store/forget.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX  16
#define NAME_BYTES 16
#define SHARED_MAX 50 /* that are named */

/* On the heap: the store's while it works on it, and the loop's when it comes late. */
struct forgetting {
	struct job                 job;
	struct loop_post           post;
	struct loop               *loop;
	const struct admin_forget *part;
	struct forget              f;
	struct ban                 player;
	bool                       is_held, dry_run; /* held: begin was ERR_OK */
	enum err                   result;
	size_t                     ends; /* connections */
	struct forget_shared       shared[SHARED_MAX];
	size_t                     shared_count;
};

/* --- On the loop --- */

static void on_begin(void *arg)
{
	struct forgetting *g = arg;

	g->result = g->dry_run ? ERR_OK : g->part->begin(g->part->arg, g->f.id);
	if (g->result == ERR_BUSY)
		return;
	g->is_held = g->result == ERR_OK && !g->dry_run;
	g->result  = ERR_OK;
	g->ends    = g->part->end(g->part->arg, &g->player, !g->dry_run);
}

static void on_finish(void *arg)
{
	struct forgetting *g = arg;

	if (g->is_held)
		g->part->finish(g->part->arg, g->f.id, g->result);
}

static void finish_late(struct loop_post *p)
{
	struct forgetting *g = CONTAINER(p, struct forgetting, post);

	on_finish(g);
	free(g);
}

/* --- In the store --- */

static enum err run(struct job *job, struct db *db)
{
	return forget_player(&CONTAINER(job, struct forgetting, job)->f, db);
}

/* Store thread, when nobody waits any more. */
static void let_go(struct job *job, enum err result)
{
	struct forgetting *g = CONTAINER(job, struct forgetting, job);

	g->result   = result;
	g->post.run = finish_late;
	loop_post(g->loop, &g->post);
}

static enum err look(struct db *db, void *arg)
{
	struct forgetting *g = arg;
	struct forget      f = g->f;
	enum err           e;

	f.dry_run = true;
	e         = forget_player(&f, db);
	f.dry_run = g->f.dry_run;
	g->f      = f;
	if (e != ERR_CONFLICT)
		return e;
	e = forget_shared(g->shared, &g->shared_count, SHARED_MAX, db, f.id);
	/* Whoever only looks is to see what there is to decide. */
	return e == ERR_OK && !f.dry_run ? ERR_CONFLICT : e;
}

/* --- What was asked for --- */

struct names {
	uint8_t name[NAMES_MAX][NAME_BYTES];
	size_t  count;
};

static enum err read_names(struct names *n, struct api_call *c)
{
	enum err e = json_get_array(&n->count, c->body, "names");

	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	if (e != ERR_OK || n->count > NAMES_MAX)
		return api_problem(c, ERR_INVALID, "names is a list of at most %d names on boards", NAMES_MAX);
	for (size_t i = 0; i < n->count; i++) {
		const char *text;
		size_t      len = 0;

		e = json_get_array_text(&text, c->body, "names", i);
		if (e == ERR_OK)
			e = api_key(n->name[i], NAME_BYTES, &len, text);
		if (e != ERR_OK || len == 0)
			return api_problem(c, ERR_INVALID,
			                   "a name on boards has 1 to 16 bytes; as a path has it, with ~ and hex "
			                   "digits");
	}
	return ERR_OK;
}

static enum err read_heir(struct forget *f, struct api_call *c)
{
	f->has_heir = json_kind(c->body, "transfer_to") != JSON_IS_MISSING &&
	              json_kind(c->body, "transfer_to") != JSON_IS_NULL;
	enum err e = f->has_heir ? api_body_id(f->heir, c, "transfer_to") : ERR_OK;
	if (e == ERR_OK)
		e = api_body_bool(&f->deletes, c, "delete", false);
	if (e == ERR_OK && f->has_heir && f->deletes)
		return api_problem(c, ERR_INVALID, "transfer_to and delete exclude each other");
	return e;
}

static enum err read_all(struct forgetting *g, struct names *names, struct api_call *c)
{
	static const char *const known[] = { "transfer_to", "delete", "names", NULL };
	char                     hex[2 * PLAYER_ID_BYTES + 1];
	enum err                 e = api_path_id(g->f.id, c, 0);

	if (e == ERR_OK)
		e = api_body_only(c, known);
	if (e == ERR_OK)
		e = read_heir(&g->f, c);
	if (e == ERR_OK)
		e = read_names(names, c);
	if (e != ERR_OK)
		return e;
	hex_encode(hex, g->f.id, PLAYER_ID_BYTES);
	return ban_parse(&g->player, BAN_PLAYER, hex);
}

/* --- What is answered --- */

static void add_copy(void *arg, const char *file, int64_t until_ms)
{
	struct json *j = json_object_new();

	if (j) {
		api_put_text(j, "file", file, strlen(file), strlen(file));
		api_put_time(j, "until_at", until_ms);
	}
	json_add_json(arg, j);
}

/* The row of the trail that this call itself has begun names him, too. */
static int64_t own_rows(const struct api_call *c)
{
	return c->dry_run ? 0 : 1;
}

static struct json *new_copies(struct api_call *c, const uint8_t *id, enum err *e)
{
	struct json *list = json_array_new();

	*e = list ? forget_copies(api_store(c->api), api_conf(c->api)->backup_dir, id, add_copy, list) : ERR_NOMEM;
	return list;
}

static struct json *new_shared(const struct forgetting *g)
{
	struct json *list = json_array_new();

	for (size_t i = 0; list && i < g->shared_count; i++) {
		struct json *j = json_object_new();
		char         hex[2 * CAMPAIGN_ID_BYTES + 1];

		hex_encode(hex, g->shared[i].id, CAMPAIGN_ID_BYTES);
		if (j) {
			json_put_text(j, "id", hex);
			json_put_int(j, "members", g->shared[i].members);
		}
		json_add_json(list, j);
	}
	return list;
}

static enum err answer(struct api_call *c, const struct forgetting *g, int64_t scores, struct json *copies,
                       bool complete)
{
	struct json *j = api_done();

	if (!j) {
		json_free(copies);
		return ERR_NOMEM;
	}
	if (g->f.code != 0)
		json_put_int(j, "code", g->f.code);
	else
		json_put_null(j, "code");
	json_put_int(j, "connections", (int64_t)g->ends);
	json_put_int(j, "deleted", g->f.deleted);
	json_put_int(j, "transferred", g->f.given);
	json_put_int(j, "undecided", g->f.undecided);
	json_put_json(j, "undecided_list", new_shared(g));
	json_put_int(j, "trash", g->f.trash);
	json_put_int(j, "memberships", g->f.memberships);
	json_put_int(j, "checkpoints", g->f.checkpoints);
	json_put_int(j, "scores", scores);
	json_put_int(j, "audit", g->f.audit - own_rows(c));
	json_put_bool(j, "banned", g->f.is_banned);
	json_put_json(j, "copies", copies);
	json_put_bool(j, "copies_complete", complete);
	return api_answer(c, 200, j);
}

/* The ids of his campaigns with other members, as far as they fit. */
static void name_shared(char *out, size_t cap, const struct forgetting *g)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; g && i < g->shared_count && at + 2 * CAMPAIGN_ID_BYTES + 2 < cap; i++) {
		out[at++] = ' ';
		hex_encode(out + at, g->shared[i].id, CAMPAIGN_ID_BYTES);
		at += 2 * CAMPAIGN_ID_BYTES;
	}
}

static enum err explain_conflict(struct api_call *c, const struct forgetting *g)
{
	char ids[API_PROBLEM_BYTES / 2];

	name_shared(ids, sizeof(ids), g);
	return api_problem(c, ERR_CONFLICT,
	                   "he owns campaigns that have other members: say transfer_to with the id of who gets them, "
	                   "or "
	                   "delete%s%s",
	                   ids[0] ? "; they are:" : "", ids);
}

static enum err explain(struct api_call *c, const struct forgetting *g, enum err e)
{
	switch (e) {
	case ERR_CONFLICT:
		return explain_conflict(c, g);
	case ERR_INVALID:
		return api_problem(c, e,
		                   "transfer_to is another player, of whom something is known: who has hosted a game "
		                   "or "
		                   "stored a checkpoint");
	case ERR_BUSY:
		return api_problem(c, e,
		                   "his code is being changed, or the store is busy; look again in a few seconds "
		                   "whether "
		                   "he is known");
	default:
		return e;
	}
}

/* --- Doing it --- */

/* Takes *g when the store is late. */
static enum err make_durable(struct api_call *c, struct forgetting **g)
{
	bool     gone = false;
	enum err e;

	/* In the queue of the tunnel: what it has asked of his rows before comes before. */
	(*g)->job = (struct job){ .surface = SURFACE_TUNNEL, .run = run };
	e         = store_ask(api_store(c->api), &(*g)->job, &gone, let_go);
	if (gone) {
		*g = NULL;
		return e;
	}
	(*g)->result  = e;
	enum err told = api_on_loop(c, on_finish, *g);
	return e == ERR_OK ? told : e;
}

static enum err do_it(struct api_call *c, struct forgetting **g)
{
	enum err e = api_on_loop(c, on_begin, *g);

	if (e == ERR_OK)
		e = (*g)->result;
	if (e != ERR_OK)
		return e;
	(*g)->ends += (*g)->part->end_http((*g)->part->arg, &(*g)->player, !c->dry_run);
	return c->dry_run ? ERR_OK : make_durable(c, g);
}

/* Events that are kept name him until newer ones come. */
static void leave_events(const uint8_t *id)
{
	static const uint8_t nobody[PLAYER_ID_BYTES];
	char                 hex[2 * PLAYER_ID_BYTES + 1], zeros[2 * PLAYER_ID_BYTES + 1];

	hex_encode(hex, id, PLAYER_ID_BYTES);
	hex_encode(zeros, nobody, PLAYER_ID_BYTES);
	event_replace(hex, zeros);
}

static enum err forget_names(struct api_call *c, const struct admin_forget *part, const struct names *n, int64_t *rows)
{
	enum err e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < n->count; i++)
		e = part->name(part->arg, c, n->name[i], rows);
	return e;
}

/* The rows of the trail are kept without him, this one too. */
static void hide_target(struct api_call *c)
{
	api_target(c, "players/" FORGET_WORD);
}

static enum err forget(struct api_call *c, struct forgetting **g, const struct names *names)
{
	const struct admin_forget *part = (*g)->part;
	uint8_t                    id[PLAYER_ID_BYTES];
	int64_t                    scores = 0;
	enum err                   e = do_it(c, g), looked = ERR_OK;

	/* Late is not never. */
	if (e == ERR_OK || !*g)
		hide_target(c);
	if (e == ERR_OK)
		e = forget_names(c, part, names, &scores);
	if (e != ERR_OK || !*g)
		return c->problem[0] ? e : explain(c, *g, e);
	memcpy(id, (*g)->f.id, sizeof(id));
	if (!c->dry_run)
		leave_events(id);
	struct json *copies = new_copies(c, id, &looked);
	return answer(c, *g, scores, copies, looked == ERR_OK);
}

struct any_copy {
	bool is_there;
};

static void note_copy(void *arg, const char *file, int64_t until_ms)
{
	struct any_copy *a = arg;

	(void)file;
	(void)until_ms;
	a->is_there = true;
}

/* Nothing is known of him any more, but a copy or a name may be what is asked about. */
static bool is_in_vain(const struct api_call *c, const struct forgetting *g, const struct names *names)
{
	struct any_copy any = { .is_there = false };

	if (g->f.is_known || names->count > 0 || g->f.audit > own_rows(c))
		return false;
	forget_copies(api_store(c->api), api_conf(c->api)->backup_dir, g->f.id, note_copy, &any);
	return !any.is_there;
}

static enum err on_forget(struct api_call *c, void *part)
{
	AUTO(auto_free) struct forgetting *g     = calloc(1, sizeof(*g));
	struct names                       names = { .count = 0 };
	enum err                           e     = g ? read_all(g, &names, c) : ERR_NOMEM;

	if (e != ERR_OK)
		return e;
	g->loop      = api_loop(c->api);
	g->part      = part;
	g->dry_run   = c->dry_run;
	g->f.dry_run = c->dry_run;
	g->f.wall_ms = clock_wall_ms();
	g->f.limits  = &api_conf(c->api)->limits;
	e            = api_read(c, look, g);
	if (e == ERR_OK && is_in_vain(c, g, &names)) {
		hide_target(c);
		return api_problem(c, ERR_NOT_FOUND, "nothing is known of this player, and no copy names him");
	}
	if (e != ERR_OK)
		return explain(c, g, e);
	return forget(c, &g, &names);
}

/* Whose name it was is nobody's business any more. */
static void hide_names(struct json *body)
{
	if (json_kind(body, "names") != JSON_IS_MISSING)
		json_put_null(body, "names");
}

const struct api_route admin_forget_routes[] = {
	{ .method  = "POST",
	  .path    = "/admin/v1/players/{id}/forget",
	  .role    = API_OPERATOR,
	  .action  = "player.forget",
	  .handle  = on_forget,
	  .body    = API_OBJECT,
	  .secrets = hide_names },
	{ 0 },
};
