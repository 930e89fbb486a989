/*
 * What the files of the lobbies' state share.
 */
#ifndef LOBBY_LOBBY_INSIDE_STATE_H
#define LOBBY_LOBBY_INSIDE_STATE_H

#include "base/auto.h"
#include "lobby/lobby_state.h"

static inline struct lobby *lobby_of_beat(struct list *at)
{
	return CONTAINER(at, struct lobby, by_beat);
}

/* Into every table, pending or not as it is; or none, with ERR_EXISTS or ERR_NOMEM. */
enum err lobby_add(struct lobby_state *s, struct lobby *l);

/* How many lobbies the address has, m being lobby_state.by_addr or .by_wide. */
int64_t lobby_share(const struct map *m, const uint8_t *addr);

#endif
