/*
 * Hosts: a code for a player, a game for a code, and the host's (next) connection.
 */
#include "tunnel/tunnel_game_state.h"

#include <assert.h>
#include <string.h>

static_assert(TUNNEL_GONE_MAX + 2 * TUNNEL_FRIENDS_MAX + 4 < TUNNEL_ACTS_MAX, "a returning host fits");

/* The host is (again) here: what he missed, then who plays. */
static void welcome_host(struct tunnel_game *g, struct tunnel_conn *c, struct tunnel_msg opened, int64_t now_ms,
                         struct tunnel_acts *acts)
{
	if (g->host)
		tunnel_act_close(acts, g->host, M_TUNNEL_CLOSED_REPLACED);
	g->host     = c;
	c->role     = TUNNEL_HOST;
	c->game     = g;
	c->heard_ms = now_ms;

	tunnel_act_send(acts, c, opened);
	for (size_t i = 0; i < g->gone_count; i++)
		tunnel_act_send(acts, c, (struct tunnel_msg){ .op = TUNNEL_FRIEND_GONE, .number = g->gone[i] });
	g->gone_count = 0;
	for (size_t i = 0; i < g->friend_count; i++)
		if (!g->friends[i]->pending)
			tunnel_tell_friend_is(g, g->friends[i], acts);
	for (size_t i = 0; i < g->friend_count; i++)
		tunnel_tell_paths(g, g->friends[i], acts);
}

static bool may_make_game(const struct tunnel_state *s, const struct tunnel_conn *c)
{
	return !s->is_draining && tunnel_games_of_addr(s, c->addr) < s->limits->tunnel_games_per_address;
}

/* Opening, protocol 2 */

void tunnel_open_known(struct tunnel_state *s, struct tunnel_conn *c, struct code_entry *entry, int64_t now_ms,
                       int64_t wall_ms, struct tunnel_acts *acts)
{
	struct tunnel_game *g = tunnel_find_game(s, entry->code);

	if (!g) {
		if (may_make_game(s, c))
			g = tunnel_game_add(s, entry->code, 2, c->addr, now_ms);
		if (!g) {
			tunnel_act_fault(acts, c, ERR_NO_ROOM);
			return;
		}
		g->entry                                     = entry;
		g->made_ms                                   = wall_ms;
		tunnel_act(acts, TUNNEL_ACT_KEEP_GAME)->game = g;
	}

	struct tunnel_msg opened = { .op = TUNNEL_HOST_OPENED, .version = 2, .code = entry->code };

	memcpy(opened.id, entry->digest, sizeof(opened.id));
	c->entry = NULL;
	welcome_host(g, c, opened, now_ms, acts);
}

void tunnel_on_open(struct tunnel_state *s, struct tunnel_conn *c, const struct tunnel_open *open,
                    struct tunnel_acts *acts)
{
	struct code_entry *entry = code_find(&s->codes, open->digest);

	if (!entry) {
		enum err drawn = open->may_be_new && !s->is_draining
		                         ? code_draw(&entry, &s->codes, open->digest, open->random)
		                         : ERR_NO_ROOM;

		if (drawn != ERR_OK) {
			tunnel_act_fault(acts, c, ERR_NO_ROOM);
			return;
		}
		tunnel_act_player(acts, TUNNEL_ACT_KEEP_PLAYER, entry);
	} else if (!code_is_whose_key(entry, open->digest)) {
		/* Another key whose digest begins like a known player's: somebody searched for it. */
		tunnel_act_fault(acts, c, ERR_NO_ROOM);
		return;
	}
	if (entry->pending) {
		if (entry->waiting)
			tunnel_act_close(acts, entry->waiting, M_TUNNEL_CLOSED_REPLACED);
		entry->waiting = c;
		c->role        = TUNNEL_OPENING;
		c->entry       = entry;
		return;
	}
	tunnel_act_player(acts, TUNNEL_ACT_TOUCH_PLAYER, entry);
	tunnel_open_known(s, c, entry, open->now_ms, open->wall_ms, acts);
}

void tunnel_on_player_kept(struct tunnel_state *s, const uint8_t *id, enum err result, int64_t now_ms, int64_t wall_ms,
                           struct tunnel_acts *acts)
{
	struct code_entry *entry = code_find(&s->codes, id);

	if (!entry || !entry->pending)
		return;

	struct tunnel_conn *c = entry->waiting;

	entry->pending = false;
	entry->waiting = NULL;
	if (result != ERR_OK) {
		/* After a failed commit nobody knows whether the row is there: its code is not given to another. One that was
		 * not begun, or found no room, left no row. */
		code_remove(&s->codes, entry, result != ERR_BUSY && result != ERR_SPACE);
		if (c)
			tunnel_act_fault(acts, c, result);
		return;
	}
	if (c)
		tunnel_open_known(s, c, entry, now_ms, wall_ms, acts);
}

/* Another code */

/* The player with this whole digest. */
static struct code_entry *find_player(const struct tunnel_state *s, const uint8_t digest[CODE_DIGEST_BYTES])
{
	struct code_entry *entry = code_find(&s->codes, digest);

	return entry && code_is_whose(entry, digest) ? entry : NULL;
}

enum err tunnel_on_new_code(struct tunnel_state *s, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t random,
                            uint32_t *from, uint32_t *to)
{
	struct code_entry *entry = find_player(s, digest);
	enum err           e     = entry ? code_redraw(&s->codes, entry, random) : ERR_NOT_FOUND;

	if (e != ERR_OK)
		return e;
	*from = entry->code;
	*to   = entry->next_code;
	return ERR_OK;
}

enum err tunnel_on_new_code_kept(struct tunnel_state *s, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t to,
                                 enum err result, struct tunnel_acts *acts)
{
	struct code_entry  *entry = find_player(s, digest);
	struct tunnel_game *g;

	/* A sweep took his code meanwhile, and the new one with it. */
	if (!entry || entry->next_code != to)
		return ERR_NOT_FOUND;
	if (result != ERR_OK) {
		/* As for a first code: after a failed commit nobody knows which of the two the row has. */
		code_redrawn(&s->codes, entry, false,
		             result != ERR_BUSY && result != ERR_SPACE && result != ERR_NOT_FOUND);
		return result;
	}
	g = tunnel_find_game(s, entry->code);
	if (g)
		tunnel_game_end(s, g, M_TUNNEL_CLOSED_ENDED, acts);
	code_redrawn(&s->codes, entry, true, false);
	return ERR_OK;
}

/* Opening, protocol 1 */

const uint8_t *tunnel_v1_secret(const struct tunnel_state *s, uint32_t code)
{
	const struct tunnel_game *g = tunnel_find_game(s, code);

	return g && g->version == 1 ? g->secret : NULL;
}

static uint32_t free_v1_code(const struct tunnel_state *s, uint32_t wanted)
{
	if (wanted >= TUNNEL_CODE_V1_MIN && wanted <= TUNNEL_CODE_V1_MAX && !tunnel_find_game(s, wanted))
		return wanted;
	for (uint32_t code = TUNNEL_CODE_V1_MIN; code <= TUNNEL_CODE_V1_MAX; code++)
		if (!tunnel_find_game(s, code))
			return code;
	return 0;
}

void tunnel_on_open_v1(struct tunnel_state *s, struct tunnel_conn *c, const struct tunnel_open_v1 *open,
                       struct tunnel_acts *acts)
{
	struct tunnel_game *g      = open->matches ? tunnel_find_game(s, open->old_code) : NULL;
	const uint8_t      *secret = open->old_secret;

	/* Unlike protocol 2, a connection that still seems alive is not taken over. */
	if (!g || g->host) {
		uint32_t code = free_v1_code(s, open->old_code);

		g = NULL;
		if (code != 0 && may_make_game(s, c))
			g = tunnel_game_add(s, code, 1, c->addr, open->now_ms);
		if (!g) {
			tunnel_act_fault(acts, c, ERR_NO_ROOM);
			return;
		}
		g->made_ms = open->wall_ms;
		memcpy(g->secret, open->new_digest, sizeof(g->secret));
		tunnel_act(acts, TUNNEL_ACT_KEEP_GAME)->game = g;
		secret                                       = open->new_secret;
	}

	struct tunnel_msg opened = { .op = TUNNEL_HOST_OPENED, .version = 1, .code = g->code };

	memcpy(opened.secret, secret, sizeof(opened.secret));
	welcome_host(g, c, opened, open->now_ms, acts);
}

void tunnel_on_players_removed(struct tunnel_state *s, const uint8_t *digests, size_t count, struct tunnel_acts *acts)
{
	for (size_t i = 0; i < count; i++) {
		struct code_entry *entry = code_find(&s->codes, digests + i * CODE_DIGEST_BYTES);

		if (!entry || entry->pending)
			continue;
		/* Came back while the sweep was under way: his row is written again. */
		if (!tunnel_find_game(s, entry->code))
			code_remove(&s->codes, entry, false);
		else if (acts->count < TUNNEL_ACTS_MAX)
			tunnel_act_player(acts, TUNNEL_ACT_TOUCH_PLAYER, entry);
	}
}
