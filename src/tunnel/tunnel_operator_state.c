/*
 * What operators do to games and codes.
 *
 * While a code is about to be freed its entry is pending, as that of a new player is: whoever opens then waits for the
 * answer of the store, and nothing touches the row that is going.
 */
#include "tunnel/tunnel_game_state.h"

#include <string.h>

/* Games */

enum err tunnel_on_close_game(struct tunnel_state *s, uint32_t code, struct tunnel_acts *acts)
{
	struct tunnel_game *g = tunnel_find_game(s, code);

	if (!g)
		return ERR_NOT_FOUND;
	tunnel_game_end(s, g, M_TUNNEL_CLOSED_OPERATOR, acts);
	return ERR_OK;
}

enum err tunnel_on_kick(struct tunnel_state *s, uint32_t code, uint16_t number, struct tunnel_acts *acts)
{
	struct tunnel_game *g = tunnel_find_game(s, code);

	for (size_t i = 0; g && i < g->friend_count; i++) {
		struct tunnel_friend *f = g->friends[i];

		if (f->number != number || f->pending)
			continue;
		if (f->conn)
			tunnel_act_send(acts, f->conn,
			                (struct tunnel_msg){ .op = TUNNEL_GAME_STATE, .state = TUNNEL_GAME_OVER });
		tunnel_game_drop_friend(s, g, i, M_TUNNEL_CLOSED_OPERATOR, acts);
		return ERR_OK;
	}
	return ERR_NOT_FOUND;
}

/* Giving a code */

/* What stands in the way, without looking at the code that is wanted. */
static enum err may_change(const struct code_entry *e, const uint8_t *digest)
{
	if (e && !code_is_whose(e, digest))
		return ERR_NOT_FOUND;
	return e && (e->pending || e->next_code) ? ERR_BUSY : ERR_OK;
}

enum err tunnel_may_give_code(const struct tunnel_state *s, struct tunnel_give *give)
{
	const struct code_entry *e   = code_find(&s->codes, give->digest);
	enum err                 may = may_change(e, give->digest);

	give->from = e ? e->code : 0;
	give->to   = give->wanted;
	if (may != ERR_OK || (give->wanted && give->wanted == give->from))
		return may;
	if (give->wanted)
		return code_is_taken(&s->codes, give->wanted) ? ERR_EXISTS : ERR_OK;
	return code_free_count(&s->codes) > 0 ? ERR_OK : ERR_NO_ROOM;
}

static enum err give_first(struct tunnel_state *s, struct tunnel_give *give)
{
	struct code_entry *e;
	enum err           made = give->wanted ? code_claim(&e, &s->codes, give->digest, give->wanted)
	                                       : code_draw(&e, &s->codes, give->digest, give->random);

	if (made == ERR_OK)
		give->to = e->code;
	return made;
}

static enum err give_another(struct tunnel_state *s, struct tunnel_give *give, struct code_entry *e)
{
	enum err made =
		give->wanted ? code_retake(&s->codes, e, give->wanted) : code_redraw(&s->codes, e, give->random);

	if (made == ERR_OK)
		give->to = e->next_code;
	return made;
}

enum err tunnel_on_give_code(struct tunnel_state *s, struct tunnel_give *give)
{
	struct code_entry *e   = code_find(&s->codes, give->digest);
	enum err           may = tunnel_may_give_code(s, give);

	if (may != ERR_OK || (give->wanted && give->wanted == give->from))
		return may;
	return e ? give_another(s, give, e) : give_first(s, give);
}

enum err tunnel_on_code_given(struct tunnel_state *s, const struct tunnel_give *give, enum err result, int64_t now_ms,
                              int64_t wall_ms, struct tunnel_acts *acts)
{
	if (give->from != 0)
		return tunnel_on_new_code_kept(s, give->digest, give->to, result, acts);
	tunnel_on_player_kept(s, give->digest, result, now_ms, wall_ms, acts);
	return result;
}

/* Freeing one */

enum err tunnel_may_free_code(const struct tunnel_state *s, const uint8_t *id, uint32_t *code)
{
	const struct code_entry *e = code_find(&s->codes, id);

	if (!e)
		return ERR_NOT_FOUND;
	*code = e->code;
	return e->pending || e->next_code ? ERR_BUSY : ERR_OK;
}

enum err tunnel_on_free_code(struct tunnel_state *s, const uint8_t *id, uint32_t *code)
{
	enum err may = tunnel_may_free_code(s, id, code);

	if (may == ERR_OK)
		code_find(&s->codes, id)->pending = true;
	return may;
}

void tunnel_on_code_freed(struct tunnel_state *s, const uint8_t *id, enum err result, int64_t now_ms, int64_t wall_ms,
                          struct tunnel_acts *acts)
{
	struct code_entry *e = code_find(&s->codes, id);

	/* After a failed commit the row may be gone, but his next game brings it back. */
	if (result != ERR_OK) {
		struct tunnel_conn *waiting = e->waiting;

		e->pending = false;
		e->waiting = NULL;
		if (waiting)
			tunnel_open_known(s, waiting, e, now_ms, wall_ms, acts);
		return;
	}

	struct tunnel_game *g = tunnel_find_game(s, e->code);

	if (g)
		tunnel_game_end(s, g, M_TUNNEL_CLOSED_OPERATOR, acts);
	/* He comes back by himself, as a new player. */
	if (e->waiting)
		tunnel_act_close(acts, e->waiting, M_TUNNEL_CLOSED_OPERATOR);
	code_remove(&s->codes, e, false);
}
