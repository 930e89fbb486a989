/*
 * Rows of lobbies and lobby_creates to structs and back.
 */
#include "store/lobby.h"

#include "store/db.h"

enum err lobby_put(struct db *db, const struct lobby_keep_row *row)
{
	AUTO_QUERY q = db_query(db, Q_LOBBY_PUT);

	q_blob(&q, ":id", row->id, sizeof(row->id));
	q_blob(&q, ":session", row->session, sizeof(row->session));
	q_blob(&q, ":token", row->token, sizeof(row->token));
	q_blob(&q, ":identity", row->key, sizeof(row->key));
	q_blob(&q, ":addr", row->addr, sizeof(row->addr));
	q_blob(&q, ":addr_wide", row->has_wide ? row->addr_wide : NULL, sizeof(row->addr_wide));
	q_text(&q, ":direct_addr", row->direct_addr);
	q_text(&q, ":name", row->name);
	q_text(&q, ":world", row->world);
	q_text(&q, ":version", row->version);
	q_text(&q, ":game", row->game);
	q_int(&q, ":proto", row->proto);
	q_int(&q, ":players", row->players);
	q_int(&q, ":players_max", row->players_max);
	q_int(&q, ":locked", row->locked);
	q_int(&q, ":listed", row->listed);
	q_int(&q, ":proved", row->is_proved);
	q_int(&q, ":relayed", row->relayed);
	q_int(&q, ":direct", row->direct);
	q_int(&q, ":lan", row->lan);
	q_text(&q, ":claim_sha", row->claim_sha);
	q_int(&q, ":claim_key", row->claim_key);
	q_text(&q, ":claim_sig", row->claim_sig);
	q_int(&q, ":made_ms", row->made_ms);
	q_int(&q, ":beat_ms", row->beat_ms);
	return q_done(&q);
}

enum err lobby_update(struct db *db, const struct lobby_keep_row *row)
{
	AUTO_QUERY q = db_query(db, Q_LOBBY_UPDATE);

	q_blob(&q, ":id", row->id, sizeof(row->id));
	q_int(&q, ":players", row->players);
	q_int(&q, ":listed", row->listed);
	q_int(&q, ":relayed", row->relayed);
	q_int(&q, ":direct", row->direct);
	q_int(&q, ":lan", row->lan);
	q_int(&q, ":beat_ms", row->beat_ms);
	return q_done(&q);
}

enum err lobby_delete(struct db *db, const uint8_t id[LOBBY_ROW_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_LOBBY_DELETE);

	q_blob(&q, ":id", id, LOBBY_ROW_ID_BYTES);
	return q_done(&q);
}

enum err lobby_delete_silent(struct db *db, int64_t before_ms)
{
	AUTO_QUERY q = db_query(db, Q_LOBBY_DELETE_SILENT);

	q_int(&q, ":before_ms", before_ms);
	return q_done(&q);
}

/* In the order of the query's columns. */
static void read_row(struct lobby_keep_row *row, const struct statement *q)
{
	q_get_blob(q, 0, row->id, sizeof(row->id));
	q_get_blob(q, 1, row->session, sizeof(row->session));
	q_get_blob(q, 2, row->token, sizeof(row->token));
	q_get_blob(q, 3, row->key, sizeof(row->key));
	q_get_blob(q, 4, row->addr, sizeof(row->addr));
	q_get_blob(q, 5, row->addr_wide, sizeof(row->addr_wide));
	row->has_wide = !q_get_null(q, 5);
	q_get_text(q, 6, row->direct_addr, sizeof(row->direct_addr));
	row->is_direct = row->direct_addr[0] != '\0';
	q_get_text(q, 7, row->name, sizeof(row->name));
	q_get_text(q, 8, row->world, sizeof(row->world));
	q_get_text(q, 9, row->version, sizeof(row->version));
	q_get_text(q, 10, row->game, sizeof(row->game));
	row->proto       = (int)q_get_int(q, 11);
	row->players     = (int)q_get_int(q, 12);
	row->players_max = (int)q_get_int(q, 13);
	row->locked      = q_get_int(q, 14) != 0;
	row->listed      = q_get_int(q, 15) != 0;
	row->is_proved   = q_get_int(q, 16) != 0;
	row->relayed     = (int)q_get_int(q, 17);
	row->direct      = (int)q_get_int(q, 18);
	row->lan         = (int)q_get_int(q, 19);
	q_get_text(q, 20, row->claim_sha, sizeof(row->claim_sha));
	row->claim_key = (int)q_get_int(q, 21);
	q_get_text(q, 22, row->claim_sig, sizeof(row->claim_sig));
	row->made_ms = q_get_int(q, 23);
	row->beat_ms = q_get_int(q, 24);
}

enum err lobby_each(struct db *db, enum err (*each)(const struct lobby_keep_row *row, void *arg), void *arg)
{
	AUTO_QUERY q = db_query(db, Q_LOBBY_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct lobby_keep_row row = { 0 };

		read_row(&row, &q);
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err lobby_forget_creates(struct db *db, int64_t before_ms)
{
	AUTO_QUERY q = db_query(db, Q_LOBBY_CREATE_FORGET);

	q_int(&q, ":before_ms", before_ms);
	return q_done(&q);
}

enum err lobby_note_create(struct db *db, const uint8_t addr[LOBBY_ROW_ADDR_BYTES], const uint8_t *addr_wide,
                           int64_t at_ms, int64_t forget_before_ms)
{
	enum err e = lobby_forget_creates(db, forget_before_ms);
	if (e != ERR_OK)
		return e;

	AUTO_QUERY q = db_query(db, Q_LOBBY_CREATE_ADD);

	q_blob(&q, ":addr", addr, LOBBY_ROW_ADDR_BYTES);
	q_blob(&q, ":addr_wide", addr_wide, LOBBY_ROW_ADDR_BYTES);
	q_int(&q, ":at_ms", at_ms);
	return q_done(&q);
}

enum err lobby_each_create(struct db *db, lobby_create_fn *each, void *arg)
{
	AUTO_QUERY q = db_query(db, Q_LOBBY_CREATE_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		uint8_t addr[LOBBY_ROW_ADDR_BYTES], addr_wide[LOBBY_ROW_ADDR_BYTES];

		q_get_blob(&q, 0, addr, sizeof(addr));
		q_get_blob(&q, 1, addr_wide, sizeof(addr_wide));
		e = each(addr, q_get_null(&q, 1) ? NULL : addr_wide, q_get_int(&q, 2), arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
