/*
 * Codes, for operators: freed, or given.
 *
 *	HTTP thread		loop			store thread
 *	the player's key digest <---------------------- (a reader's connection)
 *	claim -----------------> entry is marked
 *	ask ------------------------------------------> the row changes, durably
 *	finish ----------------> the live table follows; a game under the old code ends
 *
 * When the store takes too long nobody waits for its answer any more; the loop is then told of it all the same, so that the
 * table and the rows agree in the end.
 */
#include "tunnel/tunnel_inside.h"

#include "base/auto.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/ask.h"
#include "store/player.h"

#include <stdlib.h>
#include <string.h>

/* On the heap: the store's while it works on it, and the loop's when it comes late. */
struct change {
	struct job         job;
	struct loop_post   post;
	struct loop       *loop;
	struct tunnel     *tunnel;
	bool               frees, dry_run;
	uint8_t            digest[CODE_DIGEST_BYTES]; /* the id alone when it frees */
	struct tunnel_give give;
	enum err           result;
};

/* --- On the loop --- */

static void on_claim(void *arg)
{
	struct change       *ch = arg;
	struct tunnel_state *s  = tunnel_state_of(ch->tunnel);

	if (ch->frees && ch->dry_run)
		ch->result = tunnel_may_free_code(s, ch->digest, &ch->give.from);
	else if (ch->frees)
		ch->result = tunnel_on_free_code(s, ch->digest, &ch->give.from);
	else if (ch->dry_run)
		ch->result = tunnel_may_give_code(s, &ch->give);
	else
		ch->result = tunnel_on_give_code(s, &ch->give);
}

static void on_finish(void *arg)
{
	struct change       *ch     = arg;
	struct tunnel_state *s      = tunnel_state_of(ch->tunnel);
	struct tunnel_acts  *acts   = tunnel_acts_of(ch->tunnel);
	int64_t              now_ms = tunnel_now_ms(ch->tunnel), wall_ms = clock_wall_ms();

	if (ch->frees)
		tunnel_on_code_freed(s, ch->digest, ch->result, now_ms, wall_ms, acts);
	else
		ch->result = tunnel_on_code_given(s, &ch->give, ch->result, now_ms, wall_ms, acts);
	tunnel_do_acts(ch->tunnel);
}

static void finish_late(struct loop_post *p)
{
	struct change *ch = CONTAINER(p, struct change, post);

	on_finish(ch);
	free(ch);
}

/* --- In the store --- */

static enum err run_change(struct job *job, struct db *db)
{
	struct change    *ch  = CONTAINER(job, struct change, job);
	struct player_row row = { .code = ch->give.to, .used_ms = clock_wall_ms() };

	memcpy(row.digest, ch->digest, sizeof(row.digest));
	if (ch->frees)
		return player_remove_code(db, ch->digest);
	/* One without a code is one whose code is missing. */
	return ch->give.from != 0 ? player_change_code(db, &row, ch->give.from) : player_touch(db, &row);
}

/* Store thread, when nobody waits any more. */
static void let_go(struct job *job, enum err result)
{
	struct change *ch = CONTAINER(job, struct change, job);

	ch->result   = result;
	ch->post.run = finish_late;
	loop_post(ch->loop, &ch->post);
}

struct player_ask {
	uint8_t *digest; /* its id stands there */
};

static enum err read_player(struct db *db, void *arg)
{
	const struct player_ask *a = arg;

	return player_digest(a->digest, db, a->digest);
}

/* --- The HTTP thread --- */

/* Takes *ch when the store is late. */
static enum err make_durable(struct api_call *c, struct change **ch)
{
	bool     gone = false;
	enum err e;

	/* In the queue of the tunnel: what it has asked of this row before comes before. */
	(*ch)->job = (struct job){ .surface = SURFACE_TUNNEL, .run = run_change };
	e          = store_ask(api_store(c->api), &(*ch)->job, &gone, let_go);
	if (gone) {
		*ch = NULL;
		return e;
	}
	(*ch)->result = e;
	e             = api_on_loop(c, on_finish, *ch);
	return e == ERR_OK ? (*ch)->result : e;
}

static enum err apply(struct api_call *c, struct change **ch)
{
	bool     is_same;
	enum err e = api_on_loop(c, on_claim, *ch);

	if (e == ERR_OK)
		e = (*ch)->result;
	is_same = !(*ch)->frees && (*ch)->give.to != 0 && (*ch)->give.to == (*ch)->give.from;
	return e != ERR_OK || c->dry_run || is_same ? e : make_durable(c, ch);
}

static struct change *new_change(struct api_call *c, struct tunnel *t)
{
	struct change *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->loop        = api_loop(c->api);
	ch->tunnel      = t;
	ch->dry_run     = c->dry_run;
	ch->give.digest = ch->digest;
	ch->give.random = (uint32_t)random_u64();
	return ch;
}

static enum err explain(struct api_call *c, enum err e)
{
	switch (e) {
	case ERR_NOT_FOUND:
		return api_problem(c, e, "there is no such player, or no code of his");
	case ERR_EXISTS:
		return api_problem(c, e, "another player has this code; free it first, or give another one");
	case ERR_BUSY:
		return api_problem(c, e,
		                   "his code is being changed, or the store is busy; look at it in a few seconds");
	case ERR_NO_ROOM:
		return api_problem(c, e, "no code is free; free some, or wait until unused ones expire");
	default:
		return e;
	}
}

enum err tunnel_admin_free_code(struct api_call *c, void *part)
{
	AUTO(auto_free) void *owned = NULL;
	struct change        *ch    = new_change(c, part);
	enum err              e     = ch ? api_path_id(ch->digest, c, 0) : ERR_NOMEM;
	struct json          *j;

	if (e == ERR_OK) {
		ch->frees = true;
		e         = apply(c, &ch);
	}
	owned = ch;
	if (e != ERR_OK || !ch) /* on ERR_OK it is still ours */
		return explain(c, e);
	j = api_done();
	if (j)
		json_put_int(j, "old_code", ch->give.from);
	return api_answer(c, 200, j);
}

static void put_code(struct json *j, const char *name, uint32_t code)
{
	if (code != 0)
		json_put_int(j, name, code);
	else
		json_put_null(j, name);
}

/* Who is asked for, and which code he is to get. */
static enum err read_give(struct api_call *c, struct change *ch)
{
	static const char *const known[] = { "code", NULL };
	struct player_ask        ask     = { .digest = ch->digest };
	int64_t                  wanted  = 0;
	enum err                 e       = api_body_only(c, known);

	if (e == ERR_OK)
		e = api_body_int(&wanted, c, "code", TUNNEL_CODE_MIN, TUNNEL_CODE_MAX, 0);
	ch->give.wanted = (uint32_t)wanted;
	if (e == ERR_OK)
		e = api_path_id(ch->digest, c, 0);
	return e == ERR_OK ? api_read(c, read_player, &ask) : e;
}

enum err tunnel_admin_set_code(struct api_call *c, void *part)
{
	AUTO(auto_free) void *owned = NULL;
	struct change        *ch    = new_change(c, part);
	enum err              e     = ch ? read_give(c, ch) : ERR_NOMEM;
	struct json          *j;

	if (e == ERR_OK)
		e = apply(c, &ch);
	owned = ch;
	if (e != ERR_OK || !ch)
		return c->problem[0] ? e : explain(c, e);
	j = api_done();
	if (j) {
		put_code(j, "code", ch->give.to);
		put_code(j, "old_code", ch->give.from);
	}
	return api_answer(c, 200, j);
}
