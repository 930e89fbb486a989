/*
 * Boards and scores, for operators.
 *
 * A page of rows is copied from the boards at one moment, so that its ranks are those of that moment. A whole board, for CSV, is
 * copied in the order of names, a helping a turn: that way a player who gets better meanwhile is neither missed nor there twice.
 */
#include "base/auto.h"
#include "rooms/rooms_admin.h"
#include "rooms/rooms_change.h"
#include "rooms/rooms_inside.h"

#include <ctype.h>
#include <string.h>

/* In one turn of the loop: a few tenths of a millisecond. */
#define BOARDS_HELPING 256
#define ROWS_HELPING   1024

struct board_path {
	uint8_t  title[ROOMS_TITLE_BYTES];
	uint32_t number;
};

static enum err read_path(struct board_path *b, const struct api_call *c)
{
	size_t   len;
	int64_t  number = 0;
	enum err e;

	memset(b, 0, sizeof(*b));
	e = api_path_key(b->title, sizeof(b->title), &len, c, 0);
	if (e == ERR_OK)
		e = api_path_int(&number, c, 1, 0, UINT32_MAX);
	b->number = (uint32_t)number;
	return e;
}

/* --- The list of boards --- */

struct shown_board {
	uint8_t  title[ROOMS_TITLE_BYTES];
	uint32_t number, rows;
	uint8_t  order;
	uint8_t  leader[ROOMS_NAME_BYTES];
	int64_t  best;
};

#define BOARD_KEY_BYTES (ROOMS_TITLE_BYTES + 4)

struct boards_ask {
	struct rooms      *rooms;
	uint8_t            title[ROOMS_TITLE_BYTES]; /* from here on */
	uint64_t           number;
	struct shown_board out[BOARDS_HELPING];
	uint32_t           count;
};

static void copy_board(void *arg, const struct rooms_board *board, const struct rooms_row *leader)
{
	struct boards_ask  *a  = arg;
	struct shown_board *to = &a->out[a->count++];

	*to = (struct shown_board){ .number = rooms_board_number(board),
		                    .rows   = rooms_board_rows(board),
		                    .order  = rooms_board_order(board),
		                    .best   = leader->score };
	memcpy(to->title, rooms_board_title(board), sizeof(to->title));
	if (to->rows > 0)
		memcpy(to->leader, leader->name, sizeof(to->leader));
}

static void list_boards(void *arg)
{
	struct boards_ask *a = arg;

	a->count = 0;
	rooms_boards_walk(a->rooms->boards, a->title, a->number, BOARDS_HELPING, copy_board, a);
}

static struct json *board_json(const struct shown_board *b)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	rooms_put_title(j, b->title);
	json_put_int(j, "board", b->number);
	json_put_text(j, "order", b->order ? "lower" : "higher");
	json_put_int(j, "rows", b->rows);
	if (b->rows > 0) {
		rooms_put_name(j, "leader", b->leader);
		json_put_int(j, "best", b->best);
	} else {
		json_put_null(j, "leader");
		json_put_null(j, "best");
	}
	return j;
}

/* False: the page is full, or over. */
static bool add_board(struct api_page *p, const struct rooms_title_filter *f, const struct shown_board *b)
{
	uint8_t   key[BOARD_KEY_BYTES];
	struct wr w = wr_over(key, sizeof(key));

	if (!rooms_title_filter_takes(f, b->title))
		return false;
	wr_bytes(&w, b->title, sizeof(b->title));
	wr_be(&w, b->number, 4);
	if (!api_page_room(p, key, sizeof(key)))
		return false;
	api_page_add(p, board_json(b));
	return true;
}

/* The list goes on behind the last one of the page before. */
static void begin_behind(struct boards_ask *a, const struct rooms_title_filter *f, const struct api_page *p)
{
	struct rd r = rd_over(p->after, p->after_len);

	if (p->has_after && p->after_len == BOARD_KEY_BYTES) {
		memcpy(a->title, rd_bytes(&r, sizeof(a->title)), sizeof(a->title));
		a->number = rd_be(&r, 4) + 1;
	} else if (f->has) {
		memcpy(a->title, f->title, sizeof(a->title));
	}
}

static enum err add_boards(struct api_page *p, struct api_call *c, struct boards_ask *a,
                           const struct rooms_title_filter *f)
{
	for (;;) {
		enum err e = api_on_loop(c, list_boards, a);

		if (e != ERR_OK)
			return e;
		for (uint32_t i = 0; i < a->count; i++) {
			if (!add_board(p, f, &a->out[i]))
				return ERR_OK;
		}
		if (a->count < BOARDS_HELPING)
			return ERR_OK;
		memcpy(a->title, a->out[a->count - 1].title, sizeof(a->title));
		a->number = (uint64_t)a->out[a->count - 1].number + 1;
	}
}

enum err rooms_admin_boards(struct api_call *c, void *part)
{
	AUTO(auto_free) struct boards_ask *a = calloc(1, sizeof(*a));
	struct rooms_title_filter          f;
	struct api_page                    p;
	enum err                           e = a ? rooms_title_filter_read(&f, c) : ERR_NOMEM;

	if (e == ERR_OK)
		e = api_page_begin(&p, c);
	if (e != ERR_OK)
		return e;
	a->rooms = part;
	begin_behind(a, &f, &p);
	return api_page_end(&p, add_boards(&p, c, a, &f));
}

/* --- Rows --- */

struct rows_ask {
	struct rooms         *rooms;
	struct board_path     board;
	enum err              result;
	bool                  has_after;
	int64_t               after_score; /* of a page */
	uint64_t              after_seq;
	uint8_t               after_name[ROOMS_NAME_BYTES]; /* of a whole board */
	uint32_t              rank;                         /* of the first row */
	uint32_t              rows;                         /* of the board */
	uint8_t               order;
	struct rooms_csv_row *out;
	size_t                count, most; /* most: the place there is */
};

static void copy_row(struct rows_ask *a, const struct rooms_row *row)
{
	struct rooms_csv_row *to = &a->out[a->count++];

	*to = (struct rooms_csv_row){ .score       = row->score,
		                      .recorded_s  = row->recorded_s,
		                      .seq         = row->seq,
		                      .comment_len = (uint8_t)row->comment_len };
	memcpy(to->name, row->name, sizeof(to->name));
	memcpy(to->comment, row->comment, row->comment_len);
}

static void copy_ranked(void *arg, uint32_t rank, const struct rooms_row *row)
{
	(void)rank;
	copy_row(arg, row);
}

static void copy_named(void *arg, const struct rooms_row *row)
{
	copy_row(arg, row);
}

static struct rooms_board *find_board(struct rows_ask *a)
{
	struct rooms_board *board = rooms_board_find(a->rooms->boards, a->board.title, a->board.number);

	a->result = board ? ERR_OK : ERR_NOT_FOUND;
	if (board) {
		a->rows  = rooms_board_rows(board);
		a->order = rooms_board_order(board);
	}
	return board;
}

static void list_rows(void *arg)
{
	struct rows_ask    *a     = arg;
	struct rooms_board *board = find_board(a);

	if (!board)
		return;
	a->rank = a->has_after ? rooms_board_rank_behind(board, a->after_score, a->after_seq) : 1;
	rooms_board_walk(board, a->rank, (uint32_t)a->most, copy_ranked, a);
}

static struct json *row_json(const struct rooms_csv_row *row, uint32_t rank)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "rank", rank);
	rooms_put_name(j, "name", row->name);
	api_put_key(j, "name_key", row->name, rooms_text_len(row->name, sizeof(row->name)));
	json_put_int(j, "score", row->score);
	api_put_text(j, "comment", row->comment, row->comment_len, ROOMS_COMMENT_MAX);
	api_put_time(j, "recorded_at", (int64_t)row->recorded_s * 1000);
	return j;
}

#define ROW_KEY_BYTES 16

static void add_rows(struct api_page *p, const struct rows_ask *a)
{
	for (size_t i = 0; i < a->count; i++) {
		uint8_t   key[ROW_KEY_BYTES];
		struct wr w = wr_over(key, sizeof(key));

		wr_be(&w, (uint64_t)a->out[i].score, 8);
		wr_be(&w, a->out[i].seq, 8);
		if (!api_page_room(p, key, sizeof(key)))
			return;
		api_page_add(p, row_json(&a->out[i], a->rank + (uint32_t)i));
	}
}

enum err rooms_admin_board(struct api_call *c, void *part)
{
	AUTO(auto_free) struct rooms_csv_row *out = NULL;
	struct rows_ask                       a   = { .rooms = part };
	struct api_page                       p;
	struct rd                             r;
	enum err                              e = read_path(&a.board, c);

	if (e == ERR_OK)
		e = api_page_begin(&p, c);
	if (e != ERR_OK)
		return e;
	r             = rd_over(p.after, p.after_len);
	a.has_after   = p.has_after && p.after_len == ROW_KEY_BYTES;
	a.after_score = (int64_t)rd_be(&r, 8);
	a.after_seq   = rd_be(&r, 8);
	a.most        = (size_t)p.limit + 1;
	out           = calloc(a.most, sizeof(*out));
	a.out         = out;
	e             = out ? api_on_loop(c, list_rows, &a) : ERR_NOMEM;
	if (e == ERR_OK)
		e = a.result;
	if (e == ERR_OK)
		add_rows(&p, &a);
	return api_page_end(&p, e);
}

/* --- The whole board --- */

static void list_names(void *arg)
{
	struct rows_ask    *a     = arg;
	struct rooms_board *board = find_board(a);

	/* For those that came since the place was made, it is made anew. */
	if (!board || a->most - a->count < ROWS_HELPING)
		return;
	if (rooms_board_walk_names(board, a->has_after ? a->after_name : NULL, ROWS_HELPING, copy_named, a) > 0) {
		a->has_after = true;
		memcpy(a->after_name, a->out[a->count - 1].name, sizeof(a->after_name));
	}
}

static enum err make_place(struct rows_ask *a)
{
	/* a->rows: of the last look, 0 at first. */
	size_t most = (a->rows > a->most ? a->rows : a->most) + ROWS_HELPING;
	void  *larger;

	if (a->most - a->count >= ROWS_HELPING)
		return ERR_OK;
	larger = realloc(a->out, most * sizeof(*a->out));
	if (!larger)
		return ERR_NOMEM;
	a->out  = larger;
	a->most = most;
	return ERR_OK;
}

/* a->out is for free(), also on errors. */
static enum err copy_all(struct rows_ask *a, struct api_call *c)
{
	for (;;) {
		size_t   before = a->count;
		enum err e      = make_place(a);

		if (e == ERR_OK)
			e = api_on_loop(c, list_names, a);
		if (e == ERR_OK)
			e = a->result;
		if (e != ERR_OK || a->count - before < ROWS_HELPING)
			return e;
	}
}

static int compare_higher(const void *pa, const void *pb)
{
	const struct rooms_csv_row *a = pa, *b = pb;

	return a->score != b->score ? (a->score > b->score ? -1 : 1) : (a->seq > b->seq) - (a->seq < b->seq);
}

static int compare_lower(const void *pa, const void *pb)
{
	const struct rooms_csv_row *a = pa, *b = pb;

	return a->score != b->score ? (a->score < b->score ? -1 : 1) : (a->seq > b->seq) - (a->seq < b->seq);
}

/* A title is any bytes, and this a field of the head. */
static void put_file_name(struct http_answer *answer, const struct board_path *b)
{
	char title[ROOMS_TITLE_BYTES + 1] = { 0 };

	for (size_t i = 0; i < rooms_text_len(b->title, sizeof(b->title)); i++)
		title[i] = b->title[i] < 0x80 && isalnum(b->title[i]) ? (char)b->title[i] : '_';
	http_answer_field(answer, "Content-Disposition", "attachment; filename=\"board-%s-%u.csv\"", title, b->number);
}

enum err rooms_admin_export(struct api_call *c, void *part)
{
	struct rows_ask a = { .rooms = part };
	enum err        e = read_path(&a.board, c);

	if (e == ERR_OK)
		e = copy_all(&a, c);
	AUTO(auto_free) struct rooms_csv_row *rows = a.out;
	if (e != ERR_OK)
		return e;
	qsort(rows, a.count, sizeof(*rows), a.order ? compare_lower : compare_higher);
	c->answer->body = rooms_csv_write(&c->answer->body_len, rows, a.count);
	if (!c->answer->body)
		return ERR_NOMEM;
	c->answer->status   = 200;
	c->answer->type     = "text/csv; charset=utf-8";
	c->answer->no_store = true;
	put_file_name(c->answer, &a.board);
	return ERR_OK;
}

/* --- Changes --- */

static enum err change(struct api_call *c, struct rooms *r, struct rooms_change *ch)
{
	struct board_path b;
	enum err          e = read_path(&b, c);

	if (e != ERR_OK) {
		free(TAKE(ch->rows));
		return e;
	}
	memcpy(ch->title, b.title, sizeof(ch->title));
	ch->number     = b.number;
	ch->is_dry_run = c->dry_run;
	return rooms_change_do(c, r, ch);
}

enum err rooms_admin_remove_score(struct api_call *c, void *part)
{
	struct rooms_change ch = { .what = ROOMS_CHANGE_REMOVE };
	size_t              len;
	enum err            e = api_path_key(ch.name, sizeof(ch.name), &len, c, 2);

	if (e == ERR_OK)
		e = change(c, part, &ch);
	return e == ERR_OK ? api_answer(c, 200, api_done()) : e;
}

enum err rooms_admin_reset(struct api_call *c, void *part)
{
	struct rooms_change ch = { .what = ROOMS_CHANGE_RESET };
	enum err            e  = change(c, part, &ch);
	struct json        *j;

	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j)
		json_put_int(j, "rows", (int64_t)ch.changed);
	return api_answer(c, 200, j);
}

static enum err say_full(struct api_call *c, const struct rooms_change *ch)
{
	return api_problem(c, ERR_INVALID,
	                   "line %u would be a row more than limits.rooms_rows or limits.rooms_rows_per_board allow; "
	                   "nothing was imported",
	                   ch->full_line);
}

enum err rooms_admin_import(struct api_call *c, void *part)
{
	struct rooms          *r  = part;
	struct rooms_change    ch = { .what = ROOMS_CHANGE_IMPORT };
	struct rooms_csv_fault fault;
	struct json           *j;
	enum err               e = rooms_csv_read(&ch.rows, &ch.row_count, &fault, c->text, c->text_len,
	                                          (size_t)r->conf->limits.rooms_rows_per_board);

	if (e == ERR_INVALID)
		return api_problem(c, e, "line %u %s; nothing was imported", fault.line, fault.why);
	if (e != ERR_OK)
		return e;
	e = change(c, r, &ch);
	if (e == ERR_INVALID)
		return say_full(c, &ch);
	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j) {
		json_put_int(j, "imported", (int64_t)ch.changed);
		json_put_int(j, "skipped", (int64_t)ch.skipped);
	}
	return api_answer(c, 200, j);
}
