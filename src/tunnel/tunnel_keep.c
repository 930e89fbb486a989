/*
 * One struct per job: the rows it writes, copied when it is made, and the way back to the loop.
 */
#include "tunnel/tunnel_keep.h"

#include "base/auto.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/game.h"
#include "store/player.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(PLAYER_ADDR_BYTES == TUNNEL_ADDR_BYTES, "one form of hashed address");
static_assert(GAME_TOKEN_BYTES == TUNNEL_TOKEN_DIGEST_BYTES, "one form of token digest");
static_assert(PLAYER_DIGEST_BYTES == CODE_DIGEST_BYTES, "one form of key digest");

struct tunnel_keep {
	struct store              *store;
	struct loop               *loop;
	const struct limits       *limits;
	struct tunnel_keep_answers answers;
	struct job_port            port;
};

struct keep_job {
	struct job          job;
	struct loop_post    post;
	struct tunnel_keep *keep;
	struct player_row   player;
	uint8_t             addr[PLAYER_ADDR_BYTES];
	int64_t             asked_ms;
	uint32_t            from;  /* the code he had */
	void               *asker; /* of a new one */
	struct game_row     game;
	struct friend_row friend;
	struct player_sweep sweep;
	uint8_t            *removed;
	size_t              removed_count;
};

static void run_post(struct loop_post *p)
{
	struct keep_job *j = CONTAINER(p, struct keep_job, post);

	j->job.done(&j->job, j->job.result);
}

/* Store thread. */
static void deliver(struct job *first, void *arg)
{
	struct tunnel_keep *k = arg;

	for (struct job *next, *j = first; j; j = next) {
		next = j->next; /* j is the loop's from here on */
		loop_post(k->loop, &CONTAINER(j, struct keep_job, job)->post);
	}
}

struct tunnel_keep *tunnel_keep_new(struct store *store, struct loop *loop, const struct limits *limits,
                                    const struct tunnel_keep_answers *answers)
{
	struct tunnel_keep *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->store   = store;
	k->loop    = loop;
	k->limits  = limits;
	k->answers = *answers;
	k->port    = (struct job_port){ .deliver = deliver, .arg = k };
	return k;
}

void tunnel_keep_free(struct tunnel_keep *k)
{
	free(k);
}

typedef enum err (*run_fn)(struct job *job, struct db *db);
typedef void (*done_fn)(struct job *job, enum err result);

static struct keep_job *new_job(struct tunnel_keep *k, enum store_surface surface, run_fn run, done_fn done)
{
	struct keep_job *j = calloc(1, sizeof(*j));

	if (!j) {
		log_error("tunnel", 0, "keeps", "error=%s", err_name(ERR_NOMEM));
		return NULL;
	}
	j->keep     = k;
	j->post.run = run_post;
	j->job      = (struct job){ .port = &k->port, .surface = surface, .run = run, .done = done };
	return j;
}

/* A refusal comes back like any other answer: later, from the loop. */
static void submit(struct keep_job *j)
{
	enum err e = store_submit(j->keep->store, &j->job);

	/* The store's own: it may have run already, and failed, so its result is not to be touched. */
	if (e == ERR_OK)
		return;
	j->job.result = e;
	loop_post(j->keep->loop, &j->post);
}

static void submit_lazy(struct keep_job *j)
{
	j->job.lazy = true;
	submit(j);
}

static void done_quietly(struct job *job, enum err result)
{
	if (result != ERR_OK)
		log_debug("tunnel", 0, "keeps", "error=%s", err_name(result));
	free(CONTAINER(job, struct keep_job, job));
}

/* Players */

static struct player_row player_row_of(const struct code_entry *e)
{
	struct player_row row = { .code = e->code, .used_ms = clock_wall_ms(), .joined = e->joined };

	memcpy(row.digest, e->digest, sizeof(row.digest));
	return row;
}

static enum err run_player(struct job *job, struct db *db)
{
	struct keep_job *j = CONTAINER(job, struct keep_job, job);

	return player_add(db, &j->player, j->addr);
}

static void done_player(struct job *job, enum err result)
{
	struct keep_job          *j = CONTAINER(job, struct keep_job, job);
	struct tunnel_kept_player p = { .id = j->player.digest, .addr = j->addr, .asked_ms = j->asked_ms };

	j->keep->answers.player(j->keep->answers.arg, &p, result);
	free(j);
}

enum err tunnel_keep_player(struct tunnel_keep *k, const struct code_entry *e, const uint8_t addr[TUNNEL_ADDR_BYTES],
                            int64_t now_ms)
{
	struct keep_job *j = new_job(k, SURFACE_TUNNEL, run_player, done_player);

	if (!j)
		return ERR_NOMEM;
	j->player   = player_row_of(e);
	j->asked_ms = now_ms;
	memcpy(j->addr, addr, sizeof(j->addr));
	submit(j);
	return ERR_OK;
}

static enum err run_new_code(struct job *job, struct db *db)
{
	struct keep_job *j = CONTAINER(job, struct keep_job, job);

	return player_change_code(db, &j->player, j->from);
}

static void done_new_code(struct job *job, enum err result)
{
	struct keep_job *j = CONTAINER(job, struct keep_job, job);

	j->keep->answers.new_code(j->keep->answers.arg, j->asker, j->player.digest, j->player.code, result);
	free(j);
}

enum err tunnel_keep_new_code(struct tunnel_keep *k, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t from,
                              uint32_t to, void *asker)
{
	struct keep_job *j = new_job(k, SURFACE_TUNNEL, run_new_code, done_new_code);

	if (!j)
		return ERR_NOMEM;
	memcpy(j->player.digest, digest, sizeof(j->player.digest));
	j->player.code    = to;
	j->player.used_ms = clock_wall_ms();
	j->from           = from;
	j->asker          = asker;
	submit(j);
	return ERR_OK;
}

static enum err run_touch(struct job *job, struct db *db)
{
	return player_touch(db, &CONTAINER(job, struct keep_job, job)->player);
}

void tunnel_keep_touch(struct tunnel_keep *k, const struct code_entry *e)
{
	struct keep_job *j = new_job(k, SURFACE_TUNNEL, run_touch, done_quietly);

	if (!j)
		return;
	j->player = player_row_of(e);
	submit_lazy(j);
}

/* Games and friends */

static struct game_row game_row_of(const struct tunnel_game *g)
{
	struct game_row row = {
		.code = g->code, .version = g->version, .next_number = g->next_number, .made_ms = g->made_ms
	};

	if (g->entry)
		memcpy(row.player, g->entry->digest, sizeof(row.player));
	memcpy(row.secret, g->secret, sizeof(row.secret));
	memcpy(row.addr, g->addr, sizeof(row.addr));
	return row;
}

static struct friend_row friend_row_of(const struct tunnel_friend *f)
{
	struct friend_row row = { .code = f->game->code, .number = f->number, .joined_ms = f->joined_ms };

	memcpy(row.token, f->token, sizeof(row.token));
	memcpy(row.player, f->id, sizeof(row.player));
	memcpy(row.addr, f->addr, sizeof(row.addr));
	return row;
}

static enum err run_game(struct job *job, struct db *db)
{
	return game_put(db, &CONTAINER(job, struct keep_job, job)->game);
}

void tunnel_keep_game(struct tunnel_keep *k, const struct tunnel_game *g)
{
	struct keep_job *j = new_job(k, SURFACE_TUNNEL, run_game, done_quietly);

	if (!j)
		return;
	j->game = game_row_of(g);
	submit_lazy(j);
}

static enum err run_friend(struct job *job, struct db *db)
{
	struct keep_job *j   = CONTAINER(job, struct keep_job, job);
	enum err         put = game_put(db, &j->game);

	return put == ERR_OK ? friend_put(db, &j->friend) : put;
}

static void done_friend(struct job *job, enum err result)
{
	struct keep_job *j = CONTAINER(job, struct keep_job, job);

	if (result != ERR_OK)
		log_warn("tunnel", 0, "plays-unkept", "code=%u number=%u error=%s", j->game.code, j->friend.number,
		         err_name(result));
	j->keep->answers.friend(j->keep->answers.arg, j->game.code, j->game.made_ms, j->friend.number);
	free(j);
}

enum err tunnel_keep_friend(struct tunnel_keep *k, const struct tunnel_friend *f)
{
	struct keep_job *j = new_job(k, SURFACE_TUNNEL, run_friend, done_friend);

	if (!j)
		return ERR_NOMEM;
	j->game   = game_row_of(f->game);
	j->friend = friend_row_of(f);
	submit(j);
	return ERR_OK;
}

static enum err run_forget_friend(struct job *job, struct db *db)
{
	struct keep_job *j = CONTAINER(job, struct keep_job, job);

	return friend_remove(db, j->friend.code, j->friend.number);
}

void tunnel_keep_forget_friend(struct tunnel_keep *k, uint32_t code, uint16_t number)
{
	struct keep_job *j = new_job(k, SURFACE_TUNNEL, run_forget_friend, done_quietly);

	if (!j)
		return;
	j->friend.code   = code;
	j->friend.number = number;
	submit_lazy(j);
}

static enum err run_forget_game(struct job *job, struct db *db)
{
	return game_remove(db, CONTAINER(job, struct keep_job, job)->game.code);
}

void tunnel_keep_forget_game(struct tunnel_keep *k, uint32_t code)
{
	struct keep_job *j = new_job(k, SURFACE_TUNNEL, run_forget_game, done_quietly);

	if (!j)
		return;
	j->game.code = code;
	submit_lazy(j);
}

/* The sweep */

static enum err run_sweep(struct job *job, struct db *db)
{
	struct keep_job *j = CONTAINER(job, struct keep_job, job);

	return player_sweep(&j->removed, &j->removed_count, db, &j->sweep);
}

static void done_sweep(struct job *job, enum err result)
{
	struct keep_job *j = CONTAINER(job, struct keep_job, job);

	if (result != ERR_OK)
		log_warn("tunnel", 0, "sweeps", "error=%s", err_name(result));
	else if (j->removed_count > 0)
		j->keep->answers.removed(j->keep->answers.arg, j->removed, j->removed_count);
	free(j->removed);
	free(j);
}

void tunnel_keep_sweep(struct tunnel_keep *k, int64_t mono_ms)
{
	struct keep_job *j = new_job(k, SURFACE_UPKEEP, run_sweep, done_sweep);

	if (!j)
		return;
	j->sweep = (struct player_sweep){ .wall_ms       = clock_wall_ms(),
		                          .mono_ms       = mono_ms,
		                          .code_days     = k->limits->tunnel_code_days,
		                          .marked_days   = k->limits->tunnel_code_marked_days,
		                          .spare_percent = k->limits->tunnel_code_spare_percent,
		                          .spare_ms      = k->limits->tunnel_code_spare_ms };
	submit(j);
}

/* Loading */

struct load {
	struct tunnel_state *state;
	int64_t              now_ms;
	size_t               players, games, friends;
};

static void note_left_out(const char *what, uint32_t code, enum err why)
{
	log_warn("tunnel", 0, "leaves-out", "what=%s code=%u error=%s", what, code, err_name(why));
}

static enum err load_player(const struct player_row *row, void *arg)
{
	struct load *l    = arg;
	enum err     load = code_load(&l->state->codes, row->digest, row->code, row->joined);

	if (load == ERR_NOMEM)
		return load;
	if (load != ERR_OK)
		note_left_out("player", row->code, load);
	l->players += load == ERR_OK;
	return ERR_OK;
}

static enum err load_game(const struct game_row *row, void *arg)
{
	struct load            *l    = arg;
	struct tunnel_kept_game kept = { .code        = row->code,
		                         .version     = row->version,
		                         .next_number = row->next_number,
		                         .id          = row->player,
		                         .secret      = row->secret,
		                         .addr        = row->addr,
		                         .made_ms     = row->made_ms };
	enum err                load = tunnel_load_game(l->state, &kept, l->now_ms);

	if (load != ERR_OK)
		note_left_out("game", row->code, load);
	l->games += load == ERR_OK;
	return ERR_OK;
}

static enum err load_friend(const struct friend_row *row, void *arg)
{
	struct load              *l    = arg;
	struct tunnel_kept_friend kept = { .code      = row->code,
		                           .number    = row->number,
		                           .token     = row->token,
		                           .id        = row->player,
		                           .addr      = row->addr,
		                           .joined_ms = row->joined_ms };
	enum err                  load = tunnel_load_friend(l->state, &kept, l->now_ms);

	if (load != ERR_OK)
		note_left_out("friend", row->code, load);
	l->friends += load == ERR_OK;
	return ERR_OK;
}

enum err tunnel_keep_load(struct tunnel_state *s, struct store *store, int64_t now_ms)
{
	struct load l    = { .state = s, .now_ms = now_ms };
	struct db  *db   = store_db(store);
	enum err    load = player_each(db, load_player, &l);

	if (load == ERR_OK)
		load = game_each(db, load_game, &l);
	if (load == ERR_OK)
		load = friend_each(db, load_friend, &l);
	if (load == ERR_OK)
		log_info("tunnel", 0, "loads", "players=%zu games=%zu friends=%zu", l.players, l.games, l.friends);
	return load;
}
