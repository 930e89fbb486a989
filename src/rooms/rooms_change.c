/*
 * A change has two owners, the HTTP thread that waits for it and the loop; the last one frees it, so that neither depends on the
 * other's patience.
 */
#include "rooms/rooms_change.h"

#include "base/auto.h"
#include "base/list.h"
#include "os/log.h"
#include "rooms/rooms_inside.h"
#include "store/board.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define WAIT_S       5
#define WAIT_BOARD_S 30 /* where it is about a whole board */

/* In one turn of the loop: both are about half a millisecond. */
#define LOOK_ROWS 256
#define PUT_ROWS  128

enum step { STEP_LOOK, STEP_MAKE };

struct work {
	struct rooms       *rooms;
	struct rooms_change change;
	atomic_uint         users;
	pthread_mutex_t     lock; /* of the next three */
	pthread_cond_t      answered;
	bool                is_done;
	enum err            result;

	/* The loop's; what run_change reads does not change while it may run. */
	struct list             in; /* rooms.changes */
	struct loop_post        post;
	struct rooms_keep_guest guest;
	bool                    is_visiting;
	enum step               step;
	struct rooms_board     *board;
	size_t                  at;                   /* of rows */
	uint32_t                new_rows;             /* that the board did not have */
	uint32_t                reserved;             /* of these, for those not put yet */
	uint64_t                seq_before, seq_last; /* those of the rows that are put are between */
};

static void drop_work(struct work *w)
{
	if (atomic_fetch_sub(&w->users, 1) > 1)
		return;
	free(w->change.rows);
	pthread_cond_destroy(&w->answered);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void answer(struct work *w, enum err result)
{
	pthread_mutex_lock(&w->lock);
	if (!w->is_done)
		w->result = result;
	w->is_done = true;
	pthread_cond_signal(&w->answered);
	pthread_mutex_unlock(&w->lock);
}

/* --- On the store thread --- */

static enum err put_rows(struct db *db, const struct work *w)
{
	const struct rooms_change *c = &w->change;
	enum err                   e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < c->row_count; i++) {
		const struct rooms_csv_row *from = &c->rows[i];
		struct board_row            row  = { .number      = c->number,
			                             .score       = from->score,
			                             .comment_len = from->comment_len,
			                             .recorded_ms = (int64_t)from->recorded_s * 1000,
			                             .seq         = w->seq_before + 1 + i };

		if (from->is_same)
			continue;
		memcpy(row.title, c->title, sizeof(row.title));
		memcpy(row.name, from->name, sizeof(row.name));
		rooms_fold(row.folded, from->name);
		memcpy(row.comment, from->comment, from->comment_len);
		e = board_put(db, &row);
	}
	return e;
}

static enum err run_change(struct rooms_keep_guest *g, struct db *db)
{
	const struct work         *w = CONTAINER(g, struct work, guest);
	const struct rooms_change *c = &w->change;
	uint8_t                    folded[ROOMS_NAME_BYTES];
	/* Its first score may still wait, and perhaps go with this change: its order is kept all the same. */
	enum err e = board_make(db, c->title, c->number, rooms_board_order(w->board));

	if (e != ERR_OK)
		return e;
	if (c->what == ROOMS_CHANGE_IMPORT)
		return put_rows(db, w);
	if (c->what == ROOMS_CHANGE_RESET)
		return board_clear(db, c->title, c->number);
	rooms_fold(folded, c->name);
	return board_drop(db, c->title, c->number, folded);
}

/* --- On the loop: one after the other --- */

static struct work *first_of(struct rooms *r)
{
	return list_is_empty(&r->changes) ? NULL : CONTAINER(r->changes.next, struct work, in);
}

static void end(struct work *w, enum err result)
{
	struct rooms *r = w->rooms;
	struct work  *next;

	if (w->board)
		rooms_board_reserve(r->boards, w->board, 0);
	if (w->is_visiting)
		rooms_keep_visit_over(r->keep);
	list_remove(&w->in);
	rooms_publish(r);
	answer(w, result);
	drop_work(w);
	next = first_of(r);
	if (next)
		loop_post(r->loop, &next->post);
}

/* --- Looking at it --- */

static bool is_same_row(const struct rooms_row *have, const struct rooms_csv_row *want)
{
	return have->score == want->score && have->recorded_s == want->recorded_s &&
	       memcmp(have->name, want->name, ROOMS_NAME_BYTES) == 0 && have->comment_len == want->comment_len &&
	       memcmp(have->comment, want->comment, want->comment_len) == 0;
}

static void look_at_row(struct work *w, struct rooms_csv_row *want)
{
	struct rooms_row have;

	if (!rooms_board_get(&have, w->board, want->name)) {
		want->is_new = true;
		w->new_rows++;
	} else if (is_same_row(&have, want)) {
		want->is_same = true;
		w->change.skipped++;
	}
}

/* How many rows more the limits leave place for. */
static size_t places(const struct work *w)
{
	const struct limits *l      = &w->rooms->conf->limits;
	int64_t              here   = l->rooms_rows_per_board - rooms_board_rows(w->board);
	int64_t              in_all = l->rooms_rows - (int64_t)rooms_boards_rows(w->rooms->boards);
	int64_t              least  = here < in_all ? here : in_all;

	return least > 0 ? (size_t)least : 0;
}

/* ERR_BUSY: there is more of it to look at. */
static enum err look(struct work *w)
{
	struct rooms_change *c = &w->change;
	struct rooms_row     row;

	w->board = rooms_board_find(w->rooms->boards, c->title, c->number);
	if (!w->board)
		return ERR_NOT_FOUND;
	if (c->what == ROOMS_CHANGE_RESET)
		c->changed = rooms_board_rows(w->board);
	if (c->what == ROOMS_CHANGE_REMOVE) {
		c->changed = 1;
		return rooms_board_get(&row, w->board, c->name) ? ERR_OK : ERR_NOT_FOUND;
	}
	if (c->what != ROOMS_CHANGE_IMPORT)
		return ERR_OK;
	for (size_t until = w->at + LOOK_ROWS; w->at < c->row_count && w->at < until; w->at++)
		look_at_row(w, &c->rows[w->at]);
	if (w->at < c->row_count)
		return ERR_BUSY;
	c->changed   = c->row_count - c->skipped;
	c->full_line = 0;
	if (w->new_rows <= places(w))
		return ERR_OK;
	/* Which row that is, is found where it does not matter how long it takes. */
	c->full_line = (uint32_t)places(w) + 1;
	return ERR_INVALID;
}

static void begin_to_write(struct work *w)
{
	struct rooms_change *c = &w->change;

	w->reserved = w->new_rows;
	rooms_board_reserve(w->rooms->boards, w->board, w->reserved);
	w->seq_before = rooms_boards_take_seqs(w->rooms->boards, c->row_count);
	w->seq_last   = w->seq_before + c->row_count;
	w->step       = STEP_MAKE;
	w->at         = 0;
	if (c->what == ROOMS_CHANGE_RESET)
		c->changed = 0; /* counted as they go */
	w->is_visiting = true;
	rooms_keep_visit(w->rooms->keep, &w->guest);
}

/* --- Making it so --- */

static void follow(void *arg, const uint8_t name[ROOMS_NAME_BYTES])
{
	struct work *w = arg;

	rooms_keep_follow(w->rooms->keep, w->board, name);
	w->change.changed++;
}

/* Somebody has recorded a score in its place since it was written. */
static void remove_row(struct work *w)
{
	struct rooms_row row;

	if (!rooms_board_get(&row, w->board, w->change.name) || row.seq > w->seq_last)
		return;
	rooms_board_remove(w->rooms->boards, w->board, w->change.name);
	rooms_keep_follow(w->rooms->keep, w->board, w->change.name);
}

/* A row that the board had, and that somebody's better score has pushed out since, has none reserved. */
static bool has_place(struct work *w, const struct rooms_csv_row *row)
{
	if (row->is_new && w->reserved > 0) {
		rooms_board_reserve(w->rooms->boards, w->board, --w->reserved);
		return true;
	}
	return !rooms_board_is_full(w->rooms->boards, w->board) && !rooms_boards_are_full(w->rooms->boards);
}

static void leave_out(struct work *w)
{
	w->change.changed--;
	w->change.skipped++;
}

static void put_row(struct work *w, const struct rooms_csv_row *from, uint64_t seq)
{
	struct rooms_row row = { from->name, from->score, from->recorded_s, seq, from->comment, from->comment_len };
	struct rooms_row have;
	bool             is_there = rooms_board_get(&have, w->board, from->name);

	if (is_there && have.seq > w->seq_last && !rooms_board_is_better(w->board, row.score, have.score)) {
		leave_out(w);
		return;
	}
	if (!is_there && !has_place(w, from)) {
		leave_out(w);
		rooms_keep_rewrite(w->rooms->keep, w->board, from->name);
		return;
	}
	if (rooms_board_put(w->rooms->boards, w->board, &row) != ROOMS_FINE)
		log_error("rooms", 0, "imports", "error=%s note=\"the row is there after a restart\"",
		          err_name(ERR_NOMEM));
	rooms_keep_follow(w->rooms->keep, w->board, from->name);
}

/* False: there is more of it. */
static bool make(struct work *w)
{
	struct rooms_change *c = &w->change;

	if (c->what == ROOMS_CHANGE_REMOVE)
		remove_row(w);
	if (c->what == ROOMS_CHANGE_RESET)
		return rooms_board_clear(w->rooms->boards, w->board, w->seq_last, follow, w) == 0;
	for (size_t until = w->at + PUT_ROWS; w->at < c->row_count && w->at < until; w->at++) {
		if (!c->rows[w->at].is_same)
			put_row(w, &c->rows[w->at], w->seq_before + 1 + w->at);
	}
	return w->at == c->row_count;
}

/* --- From turn to turn --- */

static void on_written(struct rooms_keep_guest *g, enum err result)
{
	struct work *w = CONTAINER(g, struct work, guest);

	if (result != ERR_OK || w->rooms->is_stopping)
		end(w, result != ERR_OK ? result : ERR_DRAINING);
	else
		loop_post(w->rooms->loop, &w->post);
}

static void on_turn(struct loop_post *post)
{
	struct work  *w = CONTAINER(post, struct work, post);
	struct rooms *r = w->rooms;
	enum err      e = r->is_stopping ? ERR_DRAINING : ERR_OK;

	if (e == ERR_OK && w->step == STEP_MAKE) {
		if (make(w))
			end(w, ERR_OK);
		else
			loop_post(r->loop, post);
		return;
	}
	if (e == ERR_OK)
		e = look(w);
	if (e == ERR_BUSY)
		loop_post(r->loop, post);
	else if (e != ERR_OK || w->change.is_dry_run)
		end(w, e);
	else
		begin_to_write(w);
}

static void start(void *arg)
{
	struct work  *w = arg;
	struct rooms *r = w->rooms;

	if (r->is_stopping) {
		answer(w, ERR_DRAINING);
		drop_work(w);
		return;
	}
	list_append(&r->changes, &w->in);
	if (first_of(r) == w)
		loop_post(r->loop, &w->post);
}

/* The first one has something under way, which ends it. */
void rooms_changes_stop(struct rooms *r)
{
	struct work *first = first_of(r);

	if (!first)
		return;
	answer(first, ERR_DRAINING);
	while (first->in.next != &r->changes) {
		struct work *w = CONTAINER(first->in.next, struct work, in);

		list_remove(&w->in);
		answer(w, ERR_DRAINING);
		drop_work(w);
	}
}

/* --- On an HTTP thread --- */

static struct work *new_work(struct rooms *r, const struct rooms_change *change)
{
	struct work       *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w)
		return NULL;
	w->rooms      = r;
	w->change     = *change;
	w->post.run   = on_turn;
	w->guest.run  = run_change;
	w->guest.done = on_written;
	list_init(&w->in);
	atomic_init(&w->users, 2);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->answered, &attr);
	pthread_condattr_destroy(&attr);
	return w;
}

static enum err await(struct work *w)
{
	struct timespec until;
	int             late = 0;
	enum err        e;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += w->change.what == ROOMS_CHANGE_REMOVE ? WAIT_S : WAIT_BOARD_S;
	pthread_mutex_lock(&w->lock);
	while (!w->is_done && late == 0)
		late = pthread_cond_timedwait(&w->answered, &w->lock, &until);
	e = w->is_done ? w->result : ERR_BUSY;
	pthread_mutex_unlock(&w->lock);
	return e;
}

/* The line of the n-th row, from 1, that is a new one. */
static uint32_t line_of_new(const struct rooms_change *c, uint32_t n)
{
	for (size_t i = 0; i < c->row_count; i++) {
		if (c->rows[i].is_new && --n == 0)
			return c->rows[i].line;
	}
	return 0;
}

enum err rooms_change_do(struct api_call *c, struct rooms *r, struct rooms_change *change)
{
	struct work *w = new_work(r, change);
	enum err     e;

	if (!w) {
		free(TAKE(change->rows));
		return ERR_NOMEM;
	}
	change->rows = NULL;
	e            = api_on_loop(c, start, w);
	if (e != ERR_OK)
		drop_work(w); /* the loop does not know it */
	else
		e = await(w);
	if (e == ERR_OK || e == ERR_INVALID) {
		change->changed   = w->change.changed;
		change->skipped   = w->change.skipped;
		change->full_line = e == ERR_INVALID ? line_of_new(&w->change, w->change.full_line) : 0;
	}
	drop_work(w);
	return e == ERR_BUSY ? api_problem(c, e, "the boards are busy; look again in a while whether it has happened")
	                     : e;
}
