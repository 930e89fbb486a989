/*
 * Bans: games of a host who is banned end, and friends who are lose their places.
 */
#include "tunnel/tunnel_game_state.h"

static bool is_host_meant(const struct tunnel_game *g, const struct tunnel_banned *who)
{
	return who->is_meant(who->arg, g->entry ? g->entry->digest : NULL, g->host);
}

static bool is_friend_meant(const struct tunnel_friend *f, const struct tunnel_banned *who)
{
	return who->is_meant(who->arg, f->game->version == 2 ? f->id : NULL, f->conn);
}

/* One whose address is banned is somebody else's to end, and to count. */
static size_t count_conn(struct tunnel_conn *c, const struct tunnel_banned *who)
{
	return c && !who->is_meant(who->arg, NULL, c);
}

static size_t count_all(const struct tunnel_game *g, const struct tunnel_banned *who)
{
	size_t count = count_conn(g->host, who);

	for (size_t i = 0; i < g->friend_count; i++)
		count += count_conn(g->friends[i]->conn, who);
	return count;
}

size_t tunnel_on_ban(struct tunnel_state *s, struct tunnel_game *g, const struct tunnel_banned *who,
                     struct tunnel_acts *acts)
{
	size_t count = 0;

	if (is_host_meant(g, who)) {
		count = count_all(g, who);
		if (acts)
			tunnel_game_end(s, g, M_TUNNEL_CLOSED_BANNED, acts);
		return count;
	}
	for (size_t i = g->friend_count; i > 0; i--) {
		if (!is_friend_meant(g->friends[i - 1], who))
			continue;
		count += count_conn(g->friends[i - 1]->conn, who);
		if (acts)
			tunnel_game_drop_friend(s, g, i - 1, M_TUNNEL_CLOSED_BANNED, acts);
	}
	return count;
}

size_t tunnel_on_ban_opening(struct code_entry *entry, struct tunnel_acts *acts)
{
	if (!entry->waiting)
		return 0;
	if (acts) {
		tunnel_act_fault(acts, entry->waiting, ERR_BANNED);
		entry->waiting = NULL;
	}
	return 1;
}
