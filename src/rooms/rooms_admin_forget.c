/*
 * A name goes from all boards. Each row is a change of its own (rooms_change.h), so that boards go on meanwhile; a score that is
 * recorded under the name later stands.
 */
#include "rooms/rooms_change.h"
#include "rooms/rooms_inside.h"

#include <string.h>

#define BOARDS_HELPING 256 /* in one turn of the loop */

struct board_path {
	uint8_t  title[ROOMS_TITLE_BYTES];
	uint32_t number;
};

struct finding {
	struct rooms     *rooms;
	uint8_t           name[ROOMS_NAME_BYTES];
	uint8_t           title[ROOMS_TITLE_BYTES]; /* from here on */
	uint64_t          number;
	size_t            seen, count;
	struct board_path found[BOARDS_HELPING];
};

static void look_at_board(void *arg, const struct rooms_board *board, const struct rooms_row *leader)
{
	struct finding  *f = arg;
	struct rooms_row row;

	(void)leader;
	f->seen++;
	memcpy(f->title, rooms_board_title(board), sizeof(f->title));
	f->number = (uint64_t)rooms_board_number(board) + 1;
	if (!rooms_board_get(&row, board, f->name))
		return;
	memcpy(f->found[f->count].title, f->title, sizeof(f->title));
	f->found[f->count++].number = rooms_board_number(board);
}

static void find_some(void *arg)
{
	struct finding *f = arg;
	uint8_t         title[ROOMS_TITLE_BYTES];

	f->seen = f->count = 0;
	memcpy(title, f->title, sizeof(title));
	rooms_boards_walk(f->rooms->boards, title, f->number, BOARDS_HELPING, look_at_board, f);
}

static enum err remove_from(struct api_call *c, const struct finding *f, const struct board_path *at)
{
	struct rooms_change ch = { .what = ROOMS_CHANGE_REMOVE, .number = at->number, .is_dry_run = c->dry_run };

	memcpy(ch.title, at->title, sizeof(ch.title));
	memcpy(ch.name, f->name, sizeof(ch.name));
	return rooms_change_do(c, f->rooms, &ch);
}

enum err rooms_forget_name(struct api_call *c, struct rooms *r, const uint8_t name[ROOMS_NAME_BYTES], int64_t *rows)
{
	struct finding f = { .rooms = r };
	enum err       e;

	memcpy(f.name, name, sizeof(f.name));
	do {
		e = api_on_loop(c, find_some, &f);
		for (size_t i = 0; e == ERR_OK && i < f.count; i++) {
			e = remove_from(c, &f, &f.found[i]);
			*rows += e == ERR_OK;
			/* It was pushed out meanwhile. */
			e = e == ERR_NOT_FOUND ? ERR_OK : e;
		}
	} while (e == ERR_OK && f.seen == BOARDS_HELPING);
	return e;
}
