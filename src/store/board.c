/*
 * Rows of boards and scores to structs and back.
 */
#include "store/board.h"

#include "base/clean.h"
#include "store/db.h"

#include <string.h>

/* Without the NULs at the end, which the database does not keep. */
static size_t length(const uint8_t *bytes, size_t cap)
{
	while (cap > 0 && bytes[cap - 1] == 0)
		cap--;
	return cap;
}

static void bind_padded(struct statement *q, const char *name, const uint8_t *bytes, size_t cap)
{
	q_blob(q, name, bytes, length(bytes, cap));
}

/* As people are shown it; bytes that are no text stay visible as such, so that no two names become one. */
static void bind_text(struct statement *q, const char *name, const uint8_t *bytes, size_t len)
{
	char text[CLEAN_BYTES(BOARD_COMMENT_BYTES)];

	clean_text(text, len, bytes, len, CLEAN_BAD_IS_SHOWN);
	q_text(q, name, text);
}

enum err board_make(struct db *db, const uint8_t title[BOARD_TITLE_BYTES], uint32_t number, uint8_t order)
{
	AUTO_QUERY q = db_query(db, Q_BOARD_MAKE);

	bind_padded(&q, ":title", title, BOARD_TITLE_BYTES);
	q_int(&q, ":number", number);
	q_int(&q, ":lower_is_better", order == 1);
	bind_text(&q, ":title_text", title, length(title, BOARD_TITLE_BYTES));
	return q_done(&q);
}

enum err board_put(struct db *db, const struct board_row *row)
{
	AUTO_QUERY q = db_query(db, Q_BOARD_PUT);

	bind_padded(&q, ":title", row->title, sizeof(row->title));
	q_int(&q, ":number", row->number);
	bind_padded(&q, ":folded", row->folded, sizeof(row->folded));
	bind_padded(&q, ":name", row->name, sizeof(row->name));
	q_int(&q, ":score", row->score);
	q_blob(&q, ":comment", row->comment, row->comment_len);
	q_int(&q, ":recorded_ms", row->recorded_ms);
	q_int(&q, ":seq", (int64_t)row->seq);
	bind_text(&q, ":name_text", row->name, length(row->name, sizeof(row->name)));
	bind_text(&q, ":comment_text", row->comment, row->comment_len);
	return q_done(&q);
}

enum err board_drop(struct db *db, const uint8_t title[BOARD_TITLE_BYTES], uint32_t number,
                    const uint8_t folded[BOARD_NAME_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_BOARD_DROP);

	bind_padded(&q, ":title", title, BOARD_TITLE_BYTES);
	q_int(&q, ":number", number);
	bind_padded(&q, ":folded", folded, BOARD_NAME_BYTES);
	return q_done(&q);
}

enum err board_clear(struct db *db, const uint8_t title[BOARD_TITLE_BYTES], uint32_t number)
{
	AUTO_QUERY q = db_query(db, Q_BOARD_CLEAR);

	bind_padded(&q, ":title", title, BOARD_TITLE_BYTES);
	q_int(&q, ":number", number);
	return q_done(&q);
}

enum err board_each(struct db *db,
                    enum err (*each)(const uint8_t title[BOARD_TITLE_BYTES], uint32_t number, uint8_t order, void *arg),
                    void *arg)
{
	AUTO_QUERY q = db_query(db, Q_BOARD_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		uint8_t title[BOARD_TITLE_BYTES];

		q_get_bytes(&q, 0, title, sizeof(title));
		e = each(title, (uint32_t)q_get_int(&q, 1), (uint8_t)q_get_int(&q, 2), arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* In the order of the query's columns. */
static void read_row(struct board_row *row, const struct statement *q)
{
	q_get_bytes(q, 0, row->title, sizeof(row->title));
	row->number = (uint32_t)q_get_int(q, 1);
	q_get_bytes(q, 2, row->folded, sizeof(row->folded));
	q_get_bytes(q, 3, row->name, sizeof(row->name));
	row->score       = q_get_int(q, 4);
	row->comment_len = q_get_bytes(q, 5, row->comment, sizeof(row->comment));
	row->recorded_ms = q_get_int(q, 6);
	row->seq         = (uint64_t)q_get_int(q, 7);
}

enum err board_each_row(struct db *db, enum err (*each)(const struct board_row *row, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_BOARD_EACH_ROW);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct board_row row;

		read_row(&row, &q);
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
