/*
 * A changed row is copied when it changes, so that the store thread never looks at the boards.
 *
 *	recorded -> waiting, oldest first, each row once -> job: the oldest of them -> on disk, as many as JOB_MS allows
 *	                                                     \__ failed: the same rows again, limits.rooms_keep_ms later
 *
 * One job is under way at a time, and what changes meanwhile waits anew, also when it is a row of that job: the later one is
 * written later. The job is not lazy, because nobody else may come to ride with: what waits is given to the store
 * limits.rooms_keep_ms after it came, or as soon as there is enough for a whole job.
 *
 * An operator's change (a guest) is a job of its own, before which no other one is under way, and behind which none is begun until
 * the boards show it: whatever waits then is newer, or is made to follow.
 */
#include "rooms/rooms_keep.h"

#include "base/auto.h"
#include "base/list.h"
#include "base/metric.h"
#include "base/pool.h"
#include "base/tree.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/board.h"
#include "store/db.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Whoever else wants something of the store waits no longer for a job; and the loop not at all for one to be put together. */
#define JOB_MS   50
#define JOB_ROWS 4096

/* A score may change a row and drop another. */
#define ROWS_OF_A_SCORE 2

static_assert(BOARD_TITLE_BYTES == ROOMS_TITLE_BYTES && BOARD_NAME_BYTES == ROOMS_NAME_BYTES &&
                      BOARD_COMMENT_BYTES == ROOMS_COMMENT_MAX,
              "one form of titles, names and comments");

struct change {
	struct list      in;     /* of what waits, or of a job */
	struct tree_node by_row; /* of what waits */
	int64_t          since_ms;
	struct board_row row;
	uint8_t          order; /* of its board */
	bool             is_dropped;
};

struct keep_job {
	struct job         job;
	struct loop_post   post;
	struct rooms_keep *keep;
	struct list        rows;
	size_t             count;
	size_t             written;  /* of these, from the first on */
	size_t             left_out; /* of those: rows that cannot be kept */
};

struct rooms_keep {
	struct loop             *loop;
	struct store            *store;
	const struct limits     *limits;
	struct pool              changes; /* waiting and under way */
	struct list              waiting; /* oldest first */
	struct tree              by_row;  /* the same */
	struct timer             timer;
	struct job_port          port;
	struct keep_job          job, last; /* last: what waits at the end */
	struct job_port          guest_port;
	struct rooms_keep_guest *guest;    /* NULL: nobody visits */
	enum err                 late_for; /* why the last try failed */
	bool                     is_under_way;
	bool                     is_late;    /* the last try failed, or the store was too busy for it */
	bool                     is_failing; /* it failed */
	bool                     has_failed; /* the store, for good */
	bool                     has_lost;
	bool                     is_stopping;
};

static int compare_rows(const struct tree_node *na, const struct tree_node *nb)
{
	const struct board_row *a     = &CONST_CONTAINER(na, struct change, by_row)->row;
	const struct board_row *b     = &CONST_CONTAINER(nb, struct change, by_row)->row;
	int                     names = memcmp(a->folded, b->folded, sizeof(a->folded));

	if (names)
		return names;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return memcmp(a->title, b->title, sizeof(a->title));
}

/* Writing: on the store thread */

/* A board is made with its first row; also when somebody took it out of the table. */
static enum err put_row(struct db *db, const struct change *c)
{
	enum err e = board_put(db, &c->row);

	if (e != ERR_NOT_FOUND)
		return e;
	e = board_make(db, c->row.title, c->row.number, c->order);
	return e == ERR_OK ? board_put(db, &c->row) : e;
}

static enum err write_row(struct keep_job *j, struct db *db, const struct change *c)
{
	enum err e = c->is_dropped ? board_drop(db, c->row.title, c->row.number, c->row.folded) : put_row(db, c);

	/* One that breaks a rule of the table must not keep all others from the disk. */
	if (e == ERR_INTERNAL && db_in_transaction(db)) {
		j->left_out++;
		e = ERR_OK;
	}
	return e;
}

/* At least one row, and no further one after until_ms. */
static enum err write_rows(struct keep_job *j, struct db *db, int64_t until_ms)
{
	j->written = j->left_out = 0;
	for (struct list *at = j->rows.next; at != &j->rows; at = at->next) {
		enum err e = write_row(j, db, CONTAINER(at, struct change, in));

		if (e != ERR_OK)
			return e;
		j->written++;
		if (clock_mono_ms() >= until_ms)
			break;
	}
	return ERR_OK;
}

static enum err run_job(struct job *job, struct db *db)
{
	return write_rows(CONTAINER(job, struct keep_job, job), db, clock_mono_ms() + JOB_MS);
}

/* There is no later: what is under way, and may fail, is written once more. */
static enum err run_last(struct job *job, struct db *db)
{
	struct keep_job *last = CONTAINER(job, struct keep_job, job);
	enum err         e    = write_rows(&last->keep->job, db, INT64_MAX);

	return e == ERR_OK ? write_rows(last, db, INT64_MAX) : e;
}

static void run_post(struct loop_post *p)
{
	struct keep_job *j = CONTAINER(p, struct keep_job, post);

	j->job.done(&j->job, j->job.result);
}

static void deliver(struct job *first, void *arg)
{
	struct rooms_keep *k = arg;

	for (struct job *next, *j = first; j; j = next) {
		next = j->next; /* j is the loop's from here on */
		loop_post(k->loop, &CONTAINER(j, struct keep_job, job)->post);
	}
}

/* Handing over */

static void note_count(const struct rooms_keep *k)
{
	metric_set(M_ROOMS_SCORES_WAITING, (int64_t)k->changes.used);
}

/* Said once, until it has ended. */
static void note_late(struct rooms_keep *k, enum err why)
{
	if (!k->is_late)
		log_warn("rooms", 0, "keeps-late", "rows=%zu error=%s", k->changes.used, err_name(why));
	k->is_late  = true;
	k->late_for = why;
}

static void take(struct rooms_keep *k, struct keep_job *j, size_t rows_max)
{
	struct list *l;

	while (j->count < rows_max && (l = list_take_first(&k->waiting))) {
		tree_remove(&k->by_row, &CONTAINER(l, struct change, in)->by_row);
		list_append(&j->rows, l);
		j->count++;
	}
}

static void set_timer(struct rooms_keep *k)
{
	int64_t since_ms = loop_now_ms(k->loop);

	/* What failed has had its time, and is tried after another. */
	if (!k->is_late && !list_is_empty(&k->waiting))
		since_ms = CONTAINER(k->waiting.next, struct change, in)->since_ms;
	timer_set(k->loop, &k->timer, since_ms + k->limits->rooms_keep_ms);
}

static void submit_rows(struct rooms_keep *k)
{
	enum err e = store_submit(k->store, &k->job.job);

	k->is_under_way = e == ERR_OK;
	k->has_failed   = e == ERR_STORE;
	if (e == ERR_OK)
		return;
	note_late(k, e);
	if (!k->has_failed)
		set_timer(k);
}

/* What waits, or what failed before; at most one job is under way. */
static void hand_over(struct rooms_keep *k)
{
	if (k->is_under_way || k->has_failed || k->is_stopping || k->guest)
		return;
	timer_clear(&k->timer);
	/* What failed is tried as it was: rows that still wait take no more room however often they change. */
	if (!k->is_late)
		take(k, &k->job, JOB_ROWS);
	if (k->job.count > 0)
		submit_rows(k);
}

static void on_timer(struct timer *t, int64_t now_ms)
{
	(void)now_ms;
	hand_over(CONTAINER(t, struct rooms_keep, timer));
}

/* The first rows of the job are done with. */
static void give_rows(struct rooms_keep *k, struct keep_job *j, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pool_give(&k->changes, CONTAINER(list_take_first(&j->rows), struct change, in));
	j->count -= count;
	note_count(k);
}

/* Guests */

static enum err run_guest(struct job *job, struct db *db)
{
	struct rooms_keep_guest *g = CONTAINER(job, struct rooms_keep_guest, job);

	return g->run(g, db);
}

static void done_guest(struct job *job, enum err result)
{
	struct rooms_keep_guest *g = CONTAINER(job, struct rooms_keep_guest, job);

	g->done(g, result);
}

static void run_guest_post(struct loop_post *post)
{
	struct job *job = &CONTAINER(post, struct rooms_keep_guest, post)->job;

	job->done(job, job->result);
}

static void deliver_guest(struct job *first, void *arg)
{
	struct rooms_keep *k = arg;

	for (struct job *next, *j = first; j; j = next) {
		next = j->next;
		loop_post(k->loop, &CONTAINER(j, struct rooms_keep_guest, job)->post);
	}
}

/* Rows that could not be written, and are still to be, would be written behind the guest's. */
static enum err can_visit(const struct rooms_keep *k)
{
	if (k->is_stopping)
		return ERR_DRAINING;
	if (k->has_failed)
		return ERR_STORE;
	return k->job.count > 0 && k->is_late ? k->late_for : ERR_OK;
}

/* No job is under way. Rows for which the last one had no time go first. */
static void submit_guest(struct rooms_keep *k)
{
	struct rooms_keep_guest *g = k->guest;
	enum err                 e;

	if (k->job.count > 0 && !k->is_late)
		submit_rows(k);
	if (k->is_under_way)
		return;
	e = can_visit(k);
	if (e == ERR_OK)
		e = store_submit(k->store, &g->job);
	g->is_submitted = e == ERR_OK;
	if (e != ERR_OK)
		g->done(g, e);
}

void rooms_keep_visit(struct rooms_keep *k, struct rooms_keep_guest *g)
{
	assert(!k->guest);
	g->keep         = k;
	g->is_submitted = false;
	g->post.run     = run_guest_post;
	g->job = (struct job){ .port = &k->guest_port, .surface = SURFACE_ROOMS, .run = run_guest, .done = done_guest };
	k->guest = g;
	if (!k->is_under_way)
		submit_guest(k);
}

void rooms_keep_visit_over(struct rooms_keep *k)
{
	k->guest = NULL;
	if (k->changes.used > 0 && !k->is_under_way)
		hand_over(k);
}

static void note_result(struct rooms_keep *k, const struct keep_job *j, enum err result)
{
	k->is_failing = result != ERR_OK;
	if (result != ERR_OK) {
		note_late(k, result);
		return;
	}
	if (k->is_late)
		log_info("rooms", 0, "keeps-again", "rows=%zu", j->written);
	if (j->left_out > 0)
		log_error("rooms", 0, "leaves-out", "rows=%zu note=\"see the lines above\"", j->left_out);
	k->is_late = false;
}

static void done_job(struct job *job, enum err result)
{
	struct keep_job   *j = CONTAINER(job, struct keep_job, job);
	struct rooms_keep *k = j->keep;

	k->is_under_way = false;
	if (k->is_stopping)
		return; /* its rows are the last job's, too */
	note_result(k, j, result);
	if (result == ERR_OK)
		give_rows(k, j, j->written);
	if (k->guest)
		submit_guest(k);
	else if (result == ERR_OK && (j->count > 0 || tree_count(&k->by_row) >= JOB_ROWS))
		hand_over(k);
	else if (k->changes.used > 0)
		set_timer(k);
}

static void note_lost(struct rooms_keep *k, size_t rows, enum err why)
{
	k->has_lost = true;
	log_error("rooms", 0, "loses", "rows=%zu error=%s", rows, err_name(why));
}

static void done_last(struct job *job, enum err result)
{
	struct rooms_keep *k        = CONTAINER(job, struct keep_job, job)->keep;
	size_t             left_out = k->job.left_out + k->last.left_out;

	if (result != ERR_OK)
		note_lost(k, k->changes.used, result);
	else if (left_out > 0)
		note_lost(k, left_out, ERR_INTERNAL);
	give_rows(k, &k->job, k->job.count);
	give_rows(k, &k->last, k->last.count);
}

void rooms_keep_stop(struct rooms_keep *k)
{
	if (k->is_stopping)
		return;
	k->is_stopping = true;
	timer_clear(&k->timer);
	if (k->guest && !k->guest->is_submitted)
		k->guest->done(k->guest, ERR_DRAINING);
	take(k, &k->last, SIZE_MAX);
	if (k->changes.used == 0)
		return;

	enum err e = store_submit(k->store, &k->last.job);
	if (e != ERR_OK)
		note_lost(k, k->changes.used, e);
}

bool rooms_keep_has_lost(const struct rooms_keep *k)
{
	return k->has_lost;
}

/* What has changed */

bool rooms_keep_can(const struct rooms_keep *k)
{
	return !k->has_failed && !k->is_failing && !k->is_stopping &&
	       k->changes.used + ROWS_OF_A_SCORE <= k->changes.max && store_health(k->store) != STORE_FAILING;
}

static struct change *find_change(const struct rooms_keep *k, const struct rooms_board *board,
                                  const uint8_t folded[ROOMS_NAME_BYTES])
{
	struct change     probe = { .row.number = rooms_board_number(board) };
	struct tree_node *n;

	memcpy(probe.row.title, rooms_board_title(board), sizeof(probe.row.title));
	memcpy(probe.row.folded, folded, sizeof(probe.row.folded));
	n = tree_find(&k->by_row, &probe.by_row);
	return n ? CONTAINER(n, struct change, by_row) : NULL;
}

/* The change of this row that waits; a new one when there is none. NULL when out of memory. */
static struct change *change_of(struct rooms_keep *k, const struct rooms_board *board,
                                const uint8_t folded[ROOMS_NAME_BYTES])
{
	struct change *c = find_change(k, board, folded);

	if (c)
		return c;
	c = pool_take(&k->changes);
	if (!c) {
		log_error("rooms", 0, "keeps", "error=%s", err_name(ERR_NOMEM));
		return NULL;
	}
	c->row.number = rooms_board_number(board);
	memcpy(c->row.title, rooms_board_title(board), sizeof(c->row.title));
	memcpy(c->row.folded, folded, sizeof(c->row.folded));
	c->order    = rooms_board_order(board);
	c->since_ms = loop_now_ms(k->loop);
	list_append(&k->waiting, &c->in);
	tree_add(&k->by_row, &c->by_row);
	return c;
}

/* What is to be kept, as the board has it. */
static void copy_row(struct change *c, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES])
{
	struct rooms_row row;

	c->is_dropped = !rooms_board_get(&row, board, name);
	if (c->is_dropped)
		return;
	memcpy(c->row.name, row.name, sizeof(c->row.name));
	memcpy(c->row.comment, row.comment, row.comment_len);
	c->row.comment_len = row.comment_len;
	c->row.score       = row.score;
	c->row.recorded_ms = (int64_t)row.recorded_s * 1000;
	c->row.seq         = row.seq;
}

static void note_row(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES])
{
	uint8_t        folded[ROOMS_NAME_BYTES];
	struct change *c;

	rooms_fold(folded, name);
	c = change_of(k, board, folded);
	if (c)
		copy_row(c, board, name);
}

void rooms_keep_rewrite(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES])
{
	note_row(k, board, name);
	note_count(k);
}

void rooms_keep_follow(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES])
{
	uint8_t        folded[ROOMS_NAME_BYTES];
	struct change *c;

	rooms_fold(folded, name);
	c = find_change(k, board, folded);
	if (c)
		copy_row(c, board, name);
}

static void note_dropped(struct rooms_keep *k, const struct rooms_board *board, const uint8_t folded[ROOMS_NAME_BYTES])
{
	struct change *c = change_of(k, board, folded);

	if (c)
		c->is_dropped = true;
}

void rooms_keep_recorded(struct rooms_keep *k, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES],
                         const struct rooms_recorded *what)
{
	if (!what->is_changed || k->is_stopping)
		return;
	note_row(k, board, name);
	if (what->has_dropped)
		note_dropped(k, board, what->dropped);
	note_count(k);
	if (k->is_under_way || k->is_late)
		return; /* what comes after that sees to it */
	if (tree_count(&k->by_row) >= JOB_ROWS)
		hand_over(k);
	else if (k->timer.at_ms == 0)
		set_timer(k);
}

/* Loading */

struct load {
	struct rooms_boards *boards;
	size_t               left_out;
};

static enum err load_code(struct load *l, enum rooms_code code)
{
	if (code == ROOMS_LIMIT)
		return ERR_NOMEM;
	l->left_out += code != ROOMS_FINE;
	return ERR_OK;
}

static enum err load_board(const uint8_t title[BOARD_TITLE_BYTES], uint32_t number, uint8_t order, void *arg)
{
	struct load        *l = arg;
	struct rooms_board *board;

	return load_code(l, rooms_board_load(&board, l->boards, title, number, order));
}

static enum err load_row(const struct board_row *row, void *arg)
{
	struct load        *l     = arg;
	struct rooms_board *board = rooms_board_find(l->boards, row->title, row->number);
	struct rooms_row    kept  = {
		    .name        = row->name,
		    .score       = row->score,
		    .recorded_s  = row->recorded_ms > 0 ? (uint64_t)row->recorded_ms / 1000 : 0,
		    .seq         = row->seq,
		    .comment     = row->comment,
		    .comment_len = row->comment_len,
	};

	return load_code(l, board ? rooms_board_load_row(l->boards, board, &kept) : ROOMS_BAD);
}

static enum err load(struct rooms_keep *k, struct rooms_boards *boards, FILE *report)
{
	struct load l  = { .boards = boards };
	struct db  *db = store_db(k->store);
	enum err    e  = board_each(db, load_board, &l);

	if (e == ERR_OK)
		e = board_each_row(db, load_row, &l);
	if (e != ERR_OK) {
		fprintf(report, "cannot load the leaderboards: %s\n", err_people(e));
		return e;
	}
	if (l.left_out > 0)
		log_warn("rooms", 0, "leaves-out", "rows=%zu", l.left_out);
	log_info("rooms", 0, "loads", "boards=%zu rows=%zu", rooms_boards_count(boards), rooms_boards_rows(boards));
	return ERR_OK;
}

static void init_job(struct rooms_keep *k, struct keep_job *j, enum err (*run)(struct job *job, struct db *db),
                     void (*done)(struct job *job, enum err result))
{
	j->keep     = k;
	j->post.run = run_post;
	j->job      = (struct job){ .port = &k->port, .surface = SURFACE_ROOMS, .run = run, .done = done };
	list_init(&j->rows);
}

enum err rooms_keep_new(struct rooms_keep **out, struct loop *loop, struct store *store, const struct conf *conf,
                        struct rooms_boards *boards, FILE *report)
{
	struct rooms_keep *k = calloc(1, sizeof(*k));

	if (!k) {
		fprintf(report, "cannot load the leaderboards: %s\n", err_people(ERR_NOMEM));
		return ERR_NOMEM;
	}
	k->loop       = loop;
	k->store      = store;
	k->limits     = &conf->limits;
	k->port       = (struct job_port){ .deliver = deliver, .arg = k };
	k->guest_port = (struct job_port){ .deliver = deliver_guest, .arg = k };
	pool_init(&k->changes, sizeof(struct change), (size_t)conf->limits.rooms_keep_rows);
	list_init(&k->waiting);
	tree_init(&k->by_row, compare_rows);
	timer_init(&k->timer, on_timer);
	init_job(k, &k->job, run_job, done_job);
	init_job(k, &k->last, run_last, done_last);

	enum err e = load(k, boards, report);
	if (e != ERR_OK) {
		rooms_keep_free(k);
		return e;
	}
	*out = k;
	return ERR_OK;
}

void rooms_keep_free(struct rooms_keep *k)
{
	if (!k)
		return;
	timer_clear(&k->timer);
	pool_fini(&k->changes);
	free(k);
}
