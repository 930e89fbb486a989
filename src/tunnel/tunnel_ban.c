/*
 * A ban, as it hits those who play: by their ids, and games and places of those whose address it is.
 */
#include "base/auto.h"
#include "net/ban.h"
#include "tunnel/tunnel_inside.h"

static bool is_meant(void *arg, const uint8_t *id, struct tunnel_conn *conn)
{
	const struct ban *b = arg;

	if (id && ban_is_player(b, id))
		return true;
	return conn && ban_is_address(b, tunnel_client_of(conn));
}

static size_t ban_games(struct tunnel *t, const struct tunnel_banned *who, bool end)
{
	struct tunnel_state *s     = tunnel_state_of(t);
	struct tunnel_acts  *acts  = tunnel_acts_of(t);
	size_t               count = 0;
	struct list         *next;

	/* What is done for one game can end no other one. */
	for (struct list *at = s->all.next; at != &s->all; at = next) {
		next = at->next;
		count += tunnel_on_ban(s, CONTAINER(at, struct tunnel_game, in), who, end ? acts : NULL);
		tunnel_do_acts(t);
	}
	return count;
}

size_t tunnel_ban(struct tunnel *t, const struct ban *b, bool end)
{
	struct ban           copy = *b;
	struct tunnel_banned who  = { .is_meant = is_meant, .arg = &copy };
	size_t               count;

	if (b->kind != BAN_PLAYER && b->kind != BAN_ADDRESS)
		return 0;
	count = ban_games(t, &who, end);

	struct code_entry *entry = b->kind == BAN_PLAYER ? code_find(&tunnel_state_of(t)->codes, b->player) : NULL;

	if (entry)
		count += tunnel_on_ban_opening(entry, end ? tunnel_acts_of(t) : NULL);
	tunnel_do_acts(t);
	return count;
}
