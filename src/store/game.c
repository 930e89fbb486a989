/*
 * Rows of live_games and live_friends to structs and back.
 */
#include "store/game.h"

#include "store/db.h"

/* The rows of an earlier game under this code are of no use to this one. */
static enum err drop_other(struct db *db, const struct game_row *row)
{
	AUTO_QUERY q = db_query(db, Q_GAME_REPLACE);

	q_int(&q, ":code", row->code);
	q_int(&q, ":version", row->version);
	q_int(&q, ":made_ms", row->made_ms);
	return q_done(&q);
}

enum err game_put(struct db *db, const struct game_row *row)
{
	enum err e = drop_other(db, row);
	if (e != ERR_OK)
		return e;

	AUTO_QUERY q = db_query(db, Q_GAME_PUT);

	q_int(&q, ":code", row->code);
	q_int(&q, ":version", row->version);
	q_blob(&q, ":player", row->version == 2 ? row->player : NULL, PLAYER_ID_BYTES);
	q_blob(&q, ":secret", row->version == 1 ? row->secret : NULL, GAME_SECRET_BYTES);
	q_blob(&q, ":addr", row->addr, PLAYER_ADDR_BYTES);
	q_int(&q, ":next_number", row->next_number);
	q_int(&q, ":made_ms", row->made_ms);
	return q_done(&q);
}

enum err game_remove(struct db *db, uint32_t code)
{
	AUTO_QUERY q = db_query(db, Q_GAME_REMOVE);

	q_int(&q, ":code", code);
	return q_done(&q);
}

enum err friend_put(struct db *db, const struct friend_row *row)
{
	AUTO_QUERY q = db_query(db, Q_FRIEND_PUT);

	q_int(&q, ":code", row->code);
	q_int(&q, ":number", row->number);
	q_blob(&q, ":token", row->token, GAME_TOKEN_BYTES);
	q_blob(&q, ":player", row->player, PLAYER_ID_BYTES);
	q_blob(&q, ":addr", row->addr, PLAYER_ADDR_BYTES);
	q_int(&q, ":joined_ms", row->joined_ms);

	enum err e = q_done(&q);
	if (e == ERR_OK && q_changed(&q) == 0)
		return ERR_NOT_FOUND;
	return e;
}

enum err friend_remove(struct db *db, uint32_t code, uint16_t number)
{
	AUTO_QUERY q = db_query(db, Q_FRIEND_REMOVE);

	q_int(&q, ":code", code);
	q_int(&q, ":number", number);
	return q_done(&q);
}

enum err game_each(struct db *db, enum err (*each)(const struct game_row *row, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_GAME_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct game_row row = {
			.code        = (uint32_t)q_get_int(&q, 0),
			.version     = (uint8_t)q_get_int(&q, 1),
			.next_number = (uint16_t)q_get_int(&q, 5),
			.made_ms     = q_get_int(&q, 6),
		};
		q_get_blob(&q, 2, row.player, sizeof(row.player));
		q_get_blob(&q, 3, row.secret, sizeof(row.secret));
		q_get_blob(&q, 4, row.addr, sizeof(row.addr));
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err friend_each(struct db *db, enum err (*each)(const struct friend_row *row, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_FRIEND_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct friend_row row = {
			.code      = (uint32_t)q_get_int(&q, 0),
			.number    = (uint16_t)q_get_int(&q, 1),
			.joined_ms = q_get_int(&q, 5),
		};
		q_get_blob(&q, 2, row.token, sizeof(row.token));
		q_get_blob(&q, 3, row.player, sizeof(row.player));
		q_get_blob(&q, 4, row.addr, sizeof(row.addr));
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
