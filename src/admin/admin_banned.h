/*
 * Whether a player is banned, as the table of bans says now.
 */
#ifndef ADMIN_ADMIN_BANNED_H
#define ADMIN_ADMIN_BANNED_H

#include "base/err.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdint.h>

/* By his id; a ban that is over does not count. Only reads. */
enum err is_banned(bool *out, struct db *db, const uint8_t player[8], int64_t wall_ms);

#endif
