/*
 * When a host gets a TURN credential with his beat.
 */
#include "lobby/lobby_state.h"

#include "base/text.h"

#include <string.h>

/* Whether credentials of this generation are taken by the TURN server. */
static bool is_secret_good(unsigned made_with, unsigned now, bool is_old_good)
{
	return made_with == now || (is_old_good && made_with + 1 == now);
}

static bool is_user(const struct lobby *l, const struct lobby_beat *b)
{
	return b->turn_user_len == text_length(l->turn_user) &&
	       memcmp(b->turn_user, l->turn_user, b->turn_user_len) == 0;
}

enum lobby_turn lobby_renewal(int64_t *left_s, const struct lobby *l, const struct lobby_beat *b, bool has_turn,
                              unsigned secret, bool is_old_good, int64_t life_s, int64_t now_ms, int64_t wall_ms)
{
	int64_t left_ms = l->turn_until_ms - wall_ms;

	if (!has_turn || l->is_direct || !b->turn_user || b->turn_user_len == 0)
		return LOBBY_TURN_NONE;
	if (l->turn_ms == 0 || !is_secret_good(l->turn_secret, secret, is_old_good) ||
	    now_ms - l->turn_ms >= life_s * 1000 / 2)
		return LOBBY_TURN_MINT;
	if (is_user(l, b))
		return LOBBY_TURN_NONE;
	/* Only a clock that was set can have ended it before half its life. */
	if (left_ms < 1000)
		return LOBBY_TURN_MINT;
	*left_s = left_ms / 1000;
	return LOBBY_TURN_REPEAT;
}

void lobby_minted(struct lobby *l, const char *user, unsigned secret, int64_t until_ms, int64_t now_ms)
{
	text_copy(l->turn_user, sizeof(l->turn_user), user);
	l->turn_secret   = secret;
	l->turn_until_ms = until_ms;
	/* 0 is none. */
	l->turn_ms = now_ms ? now_ms : -1;
}
