#include "admin/admin_banned.h"

enum err is_banned(bool *out, struct db *db, const uint8_t player[8], int64_t wall_ms)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_BAN_FIND);

	q_blob(&q, ":player", player, 8);
	q_int(&q, ":now_ms", wall_ms);
	enum err e = q_row(&q);
	*out       = e == ERR_OK;
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
