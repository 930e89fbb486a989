/*
 * Scores and rankings, over the boards.
 */
#include "rooms/rooms_state.h"

#include "rooms/rooms_state_inside.h"

#include <string.h>

#define LOWER_IS_BETTER 1 /* order of a board; every other one: higher */

/* RECORD_SCORE */

struct worst {
	int64_t score;
};

static void note_score(void *arg, uint32_t rank, const struct rooms_row *row)
{
	struct worst *worst = arg;

	(void)rank;
	worst->score = row->score;
}

/* A full board takes only what is better than its worst. */
static bool has_place(const struct rooms_state *s, const struct rooms_board *board, int64_t score)
{
	uint32_t     rows  = rooms_board_rows(board);
	struct worst worst = { 0 };

	if (!rooms_board_is_full(s->boards, board))
		return !rooms_boards_are_full(s->boards);
	if (rows == 0)
		return false; /* all its places are reserved */
	rooms_board_walk(board, rows, 1, note_score, &worst);
	return rooms_board_order(board) == LOWER_IS_BETTER ? score < worst.score : score > worst.score;
}

/* The board that the score goes to, made when there is none. It is asked for last, and only for a row that will be. */
static enum rooms_code board_for(struct rooms_board **out, struct rooms_state *s, const struct rooms_player *p,
                                 const struct rooms_request *r, int64_t now_ms)
{
	struct rooms_row row;

	*out = rooms_board_find(s->boards, p->title, r->board);
	if (*out && rooms_board_rank_of(&row, *out, p->name) > 0)
		return ROOMS_FINE;
	if (*out)
		return has_place(s, *out, r->score) && rooms_may(s, p, ROOMS_ASK_ROW, now_ms) ? ROOMS_FINE
		                                                                              : ROOMS_LIMIT;
	if (rooms_boards_are_full(s->boards) || rooms_boards_count(s->boards) >= (size_t)s->limits->rooms_boards)
		return ROOMS_LIMIT;
	if (!rooms_may(s, p, ROOMS_ASK_BOARD, now_ms) || !rooms_may(s, p, ROOMS_ASK_ROW, now_ms))
		return ROOMS_LIMIT;
	return rooms_board_make(out, s->boards, p->title, r->board, r->order);
}

enum rooms_code rooms_do_record(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                struct rooms_now now)
{
	struct rooms_board   *board;
	struct rooms_recorded recorded   = { 0 };
	uint64_t              recorded_s = now.wall_ms > 0 ? (uint64_t)now.wall_ms / 1000 : 0;

	if (r->comment.len > ROOMS_COMMENT_MAX)
		return ROOMS_BAD;
	if (!s->host->can_keep(s->host->arg))
		return ROOMS_LIMIT;

	enum rooms_code code = board_for(&board, s, p, r, now.mono_ms);

	if (code != ROOMS_FINE)
		return code;
	code = rooms_board_record(&recorded, s->boards, board, p->name, r->score, r->comment.bytes, r->comment.len,
	                          recorded_s);
	if (code != ROOMS_FINE)
		return code;
	if (recorded.is_changed)
		s->host->recorded(s->host->arg, board, p->name, &recorded);

	struct rooms_letter l = rooms_letter_reply(s, ROOMS_SCORE_RECORDED, r);

	wr_be(&l.w, recorded.rank, 4);
	rooms_letter_send(s, &l, p);
	return ROOMS_FINE;
}

/* Rankings */

static void put_row(void *arg, uint32_t rank, const struct rooms_row *row)
{
	struct wr *w = arg;

	wr_be(w, rank, 4);
	wr_bytes(w, row->name, ROOMS_NAME_BYTES);
	wr_be(w, (uint64_t)row->score, 8);
	rooms_blob_put(w, row->comment, row->comment_len);
	wr_be(w, row->recorded_s, 8);
}

static struct rooms_letter begin_ranking(struct rooms_state *s, const struct rooms_request *r, uint32_t total,
                                         uint32_t count)
{
	struct rooms_letter l = rooms_letter_reply(s, ROOMS_RANKING, r);

	wr_be(&l.w, total, 4);
	wr_be(&l.w, count, 2);
	return l;
}

static uint32_t rows_of(const struct rooms_board *board)
{
	return board ? rooms_board_rows(board) : 0;
}

enum rooms_code rooms_do_ranking(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                 struct rooms_now now)
{
	const struct rooms_board *board = rooms_board_find(s->boards, p->title, r->board);
	uint32_t                  total = rows_of(board), count = 0;

	(void)now;
	if (r->rank_start == 0 || r->count > ROOMS_RANKS_MAX)
		return ROOMS_BAD;
	if (r->rank_start <= total) {
		uint32_t left = total - r->rank_start + 1;

		count = left < r->count ? left : r->count;
	}

	struct rooms_letter l = begin_ranking(s, r, total, count);

	if (count > 0)
		rooms_board_walk(board, r->rank_start, count, put_row, &l.w);
	rooms_letter_send(s, &l, p);
	return ROOMS_FINE;
}

/* A name as it was asked for, up to its NUL. */
static void clean_name(uint8_t out[ROOMS_NAME_BYTES], const uint8_t *name)
{
	memset(out, 0, ROOMS_NAME_BYTES);
	memcpy(out, name, rooms_text_len(name, ROOMS_NAME_BYTES));
}

enum rooms_code rooms_do_ranking_by_id(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                       struct rooms_now now)
{
	const struct rooms_board *board = rooms_board_find(s->boards, p->title, r->board);

	(void)now;
	if (r->count > ROOMS_RANKS_MAX)
		return ROOMS_BAD;

	struct rooms_letter l = begin_ranking(s, r, rows_of(board), r->count);

	for (size_t i = 0; i < r->count; i++) {
		uint8_t          name[ROOMS_NAME_BYTES];
		struct rooms_row row;
		uint32_t         rank;

		clean_name(name, r->names + i * ROOMS_NAME_BYTES);
		rank = board ? rooms_board_rank_of(&row, board, name) : 0;
		if (rank == 0)
			row = (struct rooms_row){ .name = name };
		put_row(&l.w, rank, &row);
	}
	rooms_letter_send(s, &l, p);
	return ROOMS_FINE;
}
