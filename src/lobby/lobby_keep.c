/*
 * Three kinds of jobs: an announce and a leave, which somebody waits for, and one for all that may be written later.
 *
 *	nothing --touch, forget--> UNDER WAY --run: copies what is dirty, takes what is to be forgotten--> written --done--> nothing
 *
 * What is touched behind the copying begins the next one. When it fails, all that it took is dirty and to be forgotten as
 * before, and the next touch or sweep tries again: a disk that is full is not asked more often than hosts beat.
 *
 * A leave that failed, and an announce that nobody was told of, are forgotten by that one job, too: it is the one that does
 * not give up.
 */
#include "lobby/lobby_keep.h"

#include "base/auto.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/ask.h"
#include "store/lobby.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(LOBBY_ROW_ID_BYTES == LOBBY_ID_BYTES && LOBBY_ROW_ADDR_BYTES == LOBBY_ADDR_BYTES, "one form of ids");

/* What of a lobby changes while it lives. */
struct change {
	uint8_t            id[LOBBY_ID_BYTES];
	int                players;
	bool               listed;
	struct lobby_links links;
	int64_t            beat_ms; /* wall */
};

struct ids {
	uint8_t (*ids)[LOBBY_ID_BYTES];
	size_t count, cap;
};

struct lobby_keep {
	struct store       *store;
	struct lobby_state *state;
	pthread_mutex_t    *lock; /* of the lobbies */

	struct job job; /* the one that is lazy */

	pthread_mutex_t own; /* guards the next four; may be taken inside lock, never the other way round */
	struct ids      to_forget;
	bool            under_way;
	bool            again;   /* something came after the job had copied */
	bool            is_late; /* something waits that no job is under way for */

	/* The job's, while it is under way. */
	struct change *changes;
	size_t         change_count, change_cap;
	struct ids     forgotten;
	bool           has_left;   /* some for which there was no memory */
	bool           is_failing; /* so that it is said once */
};

/* Room for one more of so many bytes each; ERR_NOMEM: nothing changed. */
static enum err make_room(void **array, size_t *cap, size_t count, size_t each)
{
	size_t more = *cap ? 2 * *cap : 16;

	if (count < *cap)
		return ERR_OK;
	void *grown = realloc(*array, more * each);
	if (!grown)
		return ERR_NOMEM;
	*array = grown;
	*cap   = more;
	return ERR_OK;
}

/* Lost when there is no memory: the next start finds it silent, and drops it. */
static void ids_add(struct ids *ids, const uint8_t id[LOBBY_ID_BYTES])
{
	void *array = ids->ids;

	if (make_room(&array, &ids->cap, ids->count, sizeof(*ids->ids)) != ERR_OK) {
		log_error("lobby", 0, "forgets", "error=%s", err_name(ERR_NOMEM));
		return;
	}
	ids->ids = array;
	memcpy(ids->ids[ids->count++], id, LOBBY_ID_BYTES);
}

/* What is written later */

static void begin(struct lobby_keep *k)
{
	pthread_mutex_lock(&k->own);
	bool busy    = k->under_way;
	k->again     = busy;
	k->under_way = true;
	k->is_late   = k->is_late && busy;
	pthread_mutex_unlock(&k->own);
	if (busy)
		return;

	enum err e = store_submit(k->store, &k->job);
	if (e == ERR_OK)
		return;
	log_debug("lobby", 0, "keeps", "error=%s", err_name(e));
	pthread_mutex_lock(&k->own);
	k->under_way = false;
	k->is_late   = true;
	pthread_mutex_unlock(&k->own);
}

void lobby_keep_retry(struct lobby_keep *k)
{
	pthread_mutex_lock(&k->own);
	bool waits = k->is_late && !k->under_way;
	pthread_mutex_unlock(&k->own);
	if (waits)
		begin(k);
}

void lobby_keep_touch(struct lobby_keep *k, struct lobby *l)
{
	l->is_dirty = true;
	begin(k);
}

void lobby_keep_forget(struct lobby_keep *k, const uint8_t id[LOBBY_ID_BYTES])
{
	pthread_mutex_lock(&k->own);
	ids_add(&k->to_forget, id);
	pthread_mutex_unlock(&k->own);
	begin(k);
}

/* False when there is no memory for it. With the lobbies' lock. */
static bool copy_change(struct lobby_keep *k, const struct lobby *l, int64_t ahead_ms)
{
	void    *array = k->changes;
	enum err room  = make_room(&array, &k->change_cap, k->change_count, sizeof(*k->changes));

	k->changes = array;
	if (room != ERR_OK)
		return false;

	struct change *c = &k->changes[k->change_count++];
	memcpy(c->id, l->id, sizeof(c->id));
	c->players = l->players;
	c->listed  = l->listed;
	c->links   = l->links;
	c->beat_ms = l->beat_ms + ahead_ms;
	return true;
}

/* All that is to be written now; what changes from here on is the next job's. */
static void copy_changes(struct lobby_keep *k)
{
	/* By how much the wall clock is ahead of the monotonic one. */
	int64_t ahead_ms = clock_wall_ms() - clock_mono_ms();

	k->change_count = 0;
	k->has_left     = false;
	pthread_mutex_lock(k->lock);
	pthread_mutex_lock(&k->own);
	struct ids empty   = k->forgotten;
	k->forgotten       = k->to_forget;
	k->to_forget       = empty;
	k->to_forget.count = 0;
	k->again           = false;
	pthread_mutex_unlock(&k->own);
	for (struct list *at = k->state->by_beat.next; at != &k->state->by_beat; at = at->next) {
		struct lobby *l = CONTAINER(at, struct lobby, by_beat);

		if (l->is_dirty && !l->is_pending)
			l->is_dirty = !copy_change(k, l, ahead_ms);
		k->has_left |= l->is_dirty && !l->is_pending;
	}
	pthread_mutex_unlock(k->lock);
}

static enum err write_change(struct db *db, const struct change *c)
{
	struct lobby_keep_row row = {
		.players = c->players,
		.listed  = c->listed,
		.relayed = c->links.relayed,
		.direct  = c->links.direct,
		.lan     = c->links.lan,
		.beat_ms = c->beat_ms,
	};

	memcpy(row.id, c->id, sizeof(row.id));
	return lobby_update(db, &row);
}

static enum err run_changes(struct job *job, struct db *db)
{
	struct lobby_keep *k = CONTAINER(job, struct lobby_keep, job);
	enum err           e = ERR_OK;

	copy_changes(k);
	for (size_t i = 0; i < k->forgotten.count && e == ERR_OK; i++)
		e = lobby_delete(db, k->forgotten.ids[i]);
	for (size_t i = 0; i < k->change_count && e == ERR_OK; i++)
		e = write_change(db, &k->changes[i]);
	return e;
}

static void take_back(struct lobby_keep *k)
{
	pthread_mutex_lock(k->lock);
	for (size_t i = 0; i < k->change_count; i++) {
		struct lobby *l = lobby_of_id(k->state, k->changes[i].id);

		if (l)
			l->is_dirty = true;
	}
	pthread_mutex_unlock(k->lock);
	pthread_mutex_lock(&k->own);
	for (size_t i = 0; i < k->forgotten.count; i++)
		ids_add(&k->to_forget, k->forgotten.ids[i]);
	pthread_mutex_unlock(&k->own);
}

/* Store thread. */
static void done_changes(struct job *job, enum err result)
{
	struct lobby_keep *k = CONTAINER(job, struct lobby_keep, job);

	if (result != ERR_OK) {
		take_back(k);
		if (!k->is_failing)
			log_warn("lobby", 0, "keeps-late", "changes=%zu error=%s", k->change_count, err_name(result));
	}
	k->is_failing      = result != ERR_OK;
	k->change_count    = 0;
	k->forgotten.count = 0;
	pthread_mutex_lock(&k->own);
	bool again   = k->again && result == ERR_OK;
	k->under_way = false;
	k->is_late   = result != ERR_OK || k->has_left;
	pthread_mutex_unlock(&k->own);
	if (again)
		begin(k);
}

struct lobby_keep *lobby_keep_new(struct store *store, struct lobby_state *state, pthread_mutex_t *lock)
{
	struct lobby_keep *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->store = store;
	k->state = state;
	k->lock  = lock;
	k->job   = (struct job){ .surface = SURFACE_LOBBY, .lazy = true, .run = run_changes, .done = done_changes };
	pthread_mutex_init(&k->own, NULL);
	return k;
}

void lobby_keep_free(struct lobby_keep *k)
{
	if (!k)
		return;
	assert(!k->under_way);
	pthread_mutex_destroy(&k->own);
	free(k->changes);
	free(k->forgotten.ids);
	free(k->to_forget.ids);
	free(k);
}

/* What somebody waits for */

struct row_job {
	struct job            job;
	struct lobby_keep    *keep;
	struct lobby_keep_row row;
	int64_t               at_ms; /* wall */
};

static enum err run_put(struct job *job, struct db *db)
{
	const struct row_job *j = CONTAINER(job, struct row_job, job);
	enum err              e = lobby_put(db, &j->row);

	return e != ERR_OK ? e
	                   : lobby_note_create(db, j->row.addr, j->row.has_wide ? j->row.addr_wide : NULL, j->at_ms,
	                                       j->at_ms - LOBBY_WINDOW_MS);
}

static enum err run_remove(struct job *job, struct db *db)
{
	return lobby_delete(db, CONTAINER(job, struct row_job, job)->row.id);
}

/* The one who left was told that it failed, and the lobby has been forgotten since. */
static void let_go_remove(struct job *job, enum err result)
{
	(void)result;
	free(CONTAINER(job, struct row_job, job));
}

/* Nobody was told that his lobby is there. */
static void let_go_put(struct job *job, enum err result)
{
	struct row_job *j = CONTAINER(job, struct row_job, job);

	if (result == ERR_OK)
		lobby_keep_forget(j->keep, j->row.id);
	free(j);
}

static enum err ask(struct lobby_keep *k, struct row_job *j, enum err (*run)(struct job *job, struct db *db),
                    void (*gone)(struct job *job, enum err result))
{
	bool is_gone = false;

	if (!j)
		return ERR_NOMEM;
	j->keep    = k;
	j->job     = (struct job){ .surface = SURFACE_LOBBY, .run = run };
	enum err e = store_ask(k->store, &j->job, &is_gone, gone);
	if (!is_gone)
		free(j);
	return e;
}

static struct lobby_keep_row row_of(const struct lobby *l, int64_t now_ms, int64_t wall_ms)
{
	struct lobby_keep_row row = {
		.has_wide    = l->has_wide,
		.proto       = l->proto,
		.players     = l->players,
		.players_max = l->players_max,
		.locked      = l->locked,
		.listed      = l->listed,
		.is_direct   = l->is_direct,
		.is_proved   = l->is_proved,
		.relayed     = l->links.relayed,
		.direct      = l->links.direct,
		.lan         = l->links.lan,
		.claim_key   = l->claim.key,
		.beat_ms     = wall_ms - (now_ms - l->beat_ms),
		.made_ms     = l->made_ms,
	};

	memcpy(row.id, l->id, sizeof(row.id));
	memcpy(row.session, l->session, sizeof(row.session));
	memcpy(row.token, l->token, sizeof(row.token));
	memcpy(row.key, l->key, sizeof(row.key));
	memcpy(row.addr, l->addr, sizeof(row.addr));
	memcpy(row.addr_wide, l->addr_wide, sizeof(row.addr_wide));
	(void)text_copy(row.name, sizeof(row.name), l->name);
	(void)text_copy(row.world, sizeof(row.world), l->world);
	(void)text_copy(row.version, sizeof(row.version), l->version);
	(void)text_copy(row.game, sizeof(row.game), l->game);
	(void)text_copy(row.direct_addr, sizeof(row.direct_addr), l->direct_addr);
	(void)text_copy(row.claim_sha, sizeof(row.claim_sha), l->claim.sha);
	(void)text_copy(row.claim_sig, sizeof(row.claim_sig), l->claim.sig);
	return row;
}

enum err lobby_keep_put(struct lobby_keep *k, const struct lobby *l, int64_t now_ms, int64_t wall_ms)
{
	struct row_job *j = calloc(1, sizeof(*j));

	if (j) {
		j->row   = row_of(l, now_ms, wall_ms);
		j->at_ms = wall_ms;
	}
	return ask(k, j, run_put, let_go_put);
}

enum err lobby_keep_remove(struct lobby_keep *k, const uint8_t id[LOBBY_ID_BYTES])
{
	struct row_job *j = calloc(1, sizeof(*j));

	if (j)
		memcpy(j->row.id, id, sizeof(j->row.id));

	enum err e = ask(k, j, run_remove, let_go_remove);
	if (e != ERR_OK)
		lobby_keep_forget(k, id);
	return e;
}

/* Loading */

struct load {
	struct lobby_state *state;
	struct lobby_guard *guard;
	int64_t             now_ms, wall_ms;
	size_t              lobbies, announces;
};

/* The monotonic time of what happened at at_ms; the future is now. */
static int64_t mono_of(const struct load *l, int64_t at_ms)
{
	return at_ms < l->wall_ms ? l->now_ms - (l->wall_ms - at_ms) : l->now_ms;
}

/* False when it is none that this program could have kept. */
static bool copy_text(char *out, size_t cap, const char *text)
{
	bool fits = text_copy(out, cap, text);

	text_make_utf8(out);
	return fits && strcmp(out, text) == 0;
}

static bool copy_texts(struct lobby *l, const struct lobby_keep_row *row)
{
	return copy_text(l->name, sizeof(l->name), row->name) && copy_text(l->world, sizeof(l->world), row->world) &&
	       copy_text(l->version, sizeof(l->version), row->version) &&
	       copy_text(l->game, sizeof(l->game), row->game) &&
	       copy_text(l->direct_addr, sizeof(l->direct_addr), row->direct_addr) &&
	       copy_text(l->claim.sha, sizeof(l->claim.sha), row->claim_sha) &&
	       copy_text(l->claim.sig, sizeof(l->claim.sig), row->claim_sig);
}

static enum err restore(struct load *load, const struct lobby_keep_row *row, struct lobby *l)
{
	memcpy(l->id, row->id, sizeof(l->id));
	memcpy(l->session, row->session, sizeof(l->session));
	memcpy(l->token, row->token, sizeof(l->token));
	memcpy(l->key, row->key, sizeof(l->key));
	memcpy(l->addr, row->addr, sizeof(l->addr));
	memcpy(l->addr_wide, row->addr_wide, sizeof(l->addr_wide));
	l->has_wide    = row->has_wide;
	l->proto       = row->proto;
	l->players     = row->players;
	l->players_max = row->players_max;
	l->locked      = row->locked;
	l->listed      = row->listed;
	l->is_direct   = row->is_direct;
	l->is_proved   = row->is_proved;
	l->links       = (struct lobby_links){ .relayed = row->relayed, .direct = row->direct, .lan = row->lan };
	l->claim.key   = row->claim_key;
	l->beat_ms     = mono_of(load, row->beat_ms);
	l->made_ms     = row->made_ms;
	return copy_texts(l, row) ? lobby_restore(load->state, l) : ERR_MALFORMED;
}

static enum err load_lobby(const struct lobby_keep_row *row, void *arg)
{
	struct load  *load = arg;
	struct lobby *l    = calloc(1, sizeof(*l));
	enum err      e    = l ? restore(load, row, l) : ERR_NOMEM;

	load->lobbies += e == ERR_OK;
	if (e == ERR_OK)
		return ERR_OK;
	lobby_free(l);
	if (e == ERR_NOMEM)
		return e;
	log_warn("lobby", 0, "leaves-out", "error=%s", err_name(e));
	return ERR_OK;
}

static enum err load_create(const uint8_t addr[LOBBY_ADDR_BYTES], const uint8_t *addr_wide, int64_t at_ms, void *arg)
{
	struct load *load = arg;

	lobby_guard_note(load->guard, addr, addr_wide, mono_of(load, at_ms));
	load->announces++;
	return ERR_OK;
}

enum err lobby_keep_load(struct lobby_keep *k, struct lobby_guard *guard, int64_t now_ms, int64_t wall_ms)
{
	struct load load = { .state = k->state, .guard = guard, .now_ms = now_ms, .wall_ms = wall_ms };
	struct db  *db   = store_db(k->store);
	enum err    e    = lobby_delete_silent(db, wall_ms - k->state->limits->lobby_ttl_ms);

	if (e == ERR_OK)
		e = lobby_forget_creates(db, wall_ms - LOBBY_WINDOW_MS);
	if (e == ERR_OK)
		e = lobby_each(db, load_lobby, &load);
	if (e == ERR_OK)
		e = lobby_each_create(db, load_create, &load);
	if (e == ERR_OK)
		log_info("lobby", 0, "loads", "lobbies=%zu announces=%zu", load.lobbies, load.announces);
	return e;
}
