/*
 * The whole of the games: set up, looked at every few seconds, loaded after a start. Hosts are in tunnel_open_state.c, friends
 * in tunnel_join_state.c, datagrams in tunnel_route_state.c.
 */
#include "tunnel/tunnel_game_state.h"

#include <assert.h>
#include <string.h>

/* The most actions that one game can ask for in one tick: every friend dropped, and the host lost or the game over. */
#define ACTS_PER_GAME_MAX (4 * TUNNEL_FRIENDS_MAX + 2 * TUNNEL_FRIENDS_MAX + 2)
static_assert(ACTS_PER_GAME_MAX < TUNNEL_ACTS_MAX, "one game fits");

/* Setting up and taking down */

void tunnel_state_init(struct tunnel_state *s, const struct limits *limits, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->limits = limits;
	code_init(&s->codes, seed);
	map_init(&s->by_code, sizeof(uint32_t), seed + 1);
	map_init(&s->by_addr, TUNNEL_ADDR_BYTES, seed + 2);
	pool_init(&s->games, sizeof(struct tunnel_game), (size_t)limits->tunnel_games);
	pool_init(&s->addrs, sizeof(struct tunnel_addr_games), (size_t)limits->tunnel_games);
	pool_init(&s->friends, sizeof(struct tunnel_friend), (size_t)(limits->tunnel_games * limits->tunnel_friends));
	list_init(&s->all);
}

void tunnel_state_fini(struct tunnel_state *s)
{
	code_fini(&s->codes);
	map_fini(&s->by_code);
	map_fini(&s->by_addr);
	pool_fini(&s->games);
	pool_fini(&s->addrs);
	pool_fini(&s->friends);
}

void tunnel_conn_init(struct tunnel_conn *c, const uint8_t addr[TUNNEL_ADDR_BYTES], bool exempt, int64_t now_ms)
{
	*c = (struct tunnel_conn){ .role = TUNNEL_NEW, .exempt = exempt, .heard_ms = now_ms };
	memcpy(c->addr, addr, TUNNEL_ADDR_BYTES);
}

/* Ending */

void tunnel_on_closed(struct tunnel_state *s, struct tunnel_conn *c, int64_t now_ms, struct tunnel_acts *acts)
{
	(void)s;
	switch (c->role) {
	case TUNNEL_HOST:
		tunnel_game_lose_host(c->game, now_ms, acts);
		break;
	case TUNNEL_OPENING:
		c->entry->waiting = NULL;
		break;
	case TUNNEL_JOINING:
	case TUNNEL_FRIEND:
		c->friend->conn    = NULL;
		c->friend->lost_ms = now_ms;
		break;
	case TUNNEL_NEW:
	case TUNNEL_GONE:
		break;
	}
	c->role = TUNNEL_GONE;
}

static void note_gone(struct tunnel_game *g, uint16_t number)
{
	if (g->gone_count < TUNNEL_GONE_MAX)
		g->gone[g->gone_count++] = number;
}

void tunnel_game_drop_friend(struct tunnel_state *s, struct tunnel_game *g, size_t index, enum metric why,
                             struct tunnel_acts *acts)
{
	struct tunnel_friend *f = g->friends[index];

	if (f->conn)
		tunnel_act_close(acts, f->conn, why);
	if (g->host && !f->pending) {
		struct tunnel_act *drop = tunnel_act(acts, TUNNEL_ACT_DROP_TAG);

		drop->conn   = g->host;
		drop->number = f->number;
		tunnel_act_send(acts, g->host, (struct tunnel_msg){ .op = TUNNEL_FRIEND_GONE, .number = f->number });
	} else if (!f->pending) {
		note_gone(g, f->number);
	}

	struct tunnel_act *forget = tunnel_act(acts, TUNNEL_ACT_FORGET_FRIEND);

	forget->code   = g->code;
	forget->number = f->number;

	tunnel_game_keep_counts(g, f);
	g->friend_count--;
	memmove(&g->friends[index], &g->friends[index + 1], (g->friend_count - index) * sizeof(g->friends[0]));
	pool_give(&s->friends, f);
}

static bool is_friend_over(const struct limits *l, const struct tunnel_friend *f, int64_t now_ms)
{
	if (f->conn)
		return !f->pending && now_ms - f->conn->heard_ms >= l->tunnel_friend_silence_ms;
	return now_ms - f->lost_ms >= l->tunnel_grace_ms;
}

static void check_friends(struct tunnel_state *s, struct tunnel_game *g, int64_t now_ms, struct tunnel_acts *acts)
{
	for (size_t i = g->friend_count; i > 0; i--)
		if (is_friend_over(s->limits, g->friends[i - 1], now_ms))
			tunnel_game_drop_friend(s, g, i - 1, M_TUNNEL_CLOSED_SILENT, acts);
}

static bool is_game_over(const struct limits *l, const struct tunnel_game *g, int64_t now_ms)
{
	bool waited_for = false;

	if (g->host)
		return false;
	for (size_t i = 0; g->version == 2 && i < g->friend_count; i++)
		waited_for |= g->friends[i]->conn != NULL;
	return now_ms - g->lost_ms > (waited_for ? l->tunnel_wait_ms : l->tunnel_wait_alone_ms);
}

void tunnel_game_end(struct tunnel_state *s, struct tunnel_game *g, enum metric why, struct tunnel_acts *acts)
{
	if (g->host)
		tunnel_act_close(acts, g->host, why);
	for (size_t i = 0; i < g->friend_count; i++) {
		struct tunnel_friend *f = g->friends[i];

		if (!f->conn)
			continue;
		if (!f->pending)
			tunnel_act_send(acts, f->conn,
			                (struct tunnel_msg){ .op = TUNNEL_GAME_STATE, .state = TUNNEL_GAME_OVER });
		tunnel_act_close(acts, f->conn, why);
	}
	tunnel_act(acts, TUNNEL_ACT_FORGET_GAME)->code = g->code;
	tunnel_game_remove(s, g);
}

static void check_game(struct tunnel_state *s, struct tunnel_game *g, int64_t now_ms, struct tunnel_acts *acts)
{
	tunnel_game_sample(g, now_ms);
	if (g->host && now_ms - g->host->heard_ms >= s->limits->tunnel_host_silence_ms) {
		tunnel_act_close(acts, g->host, M_TUNNEL_CLOSED_SILENT);
		tunnel_game_lose_host(g, now_ms, acts);
	}
	if (g->host && g->host->late_state)
		tunnel_on_game_state(s, g->host, g->host->late_state, now_ms, acts);
	check_friends(s, g, now_ms, acts);
	if (is_game_over(s->limits, g, now_ms))
		tunnel_game_end(s, g, M_TUNNEL_CLOSED_ENDED, acts);
}

bool tunnel_on_tick(struct tunnel_state *s, int64_t now_ms, struct tunnel_acts *acts)
{
	if (!s->cursor)
		s->cursor = s->all.next;
	while (s->cursor != &s->all) {
		struct tunnel_game *g = CONTAINER(s->cursor, struct tunnel_game, in);

		if (acts->count + ACTS_PER_GAME_MAX > TUNNEL_ACTS_MAX)
			return true;
		s->cursor = s->cursor->next;
		check_game(s, g, now_ms, acts);
	}
	s->cursor = NULL;
	return false;
}

/* After a start */

enum err tunnel_load_game(struct tunnel_state *s, const struct tunnel_kept_game *kept, int64_t now_ms)
{
	struct code_entry *entry = kept->version == 2 ? code_find(&s->codes, kept->id) : NULL;

	if (kept->version == 2 && (!entry || entry->code != kept->code))
		return ERR_NOT_FOUND;
	if (tunnel_find_game(s, kept->code))
		return ERR_EXISTS;

	struct tunnel_game *g = tunnel_game_add(s, kept->code, kept->version, kept->addr, now_ms);

	if (!g)
		return ERR_NO_ROOM;
	g->entry       = entry;
	g->made_ms     = kept->made_ms;
	g->lost_ms     = now_ms;
	g->next_number = kept->next_number ? kept->next_number : 1;
	if (kept->version == 2)
		g->state = TUNNEL_HOST_LOST;
	else
		memcpy(g->secret, kept->secret, sizeof(g->secret));
	return ERR_OK;
}

enum err tunnel_load_friend(struct tunnel_state *s, const struct tunnel_kept_friend *kept, int64_t now_ms)
{
	struct tunnel_game *g = tunnel_find_game(s, kept->code);

	if (!g)
		return ERR_NOT_FOUND;
	if (kept->number == 0 || tunnel_game_friend(g, kept->number))
		return ERR_EXISTS;
	if (g->friend_count >= TUNNEL_FRIENDS_MAX)
		return ERR_GAME_FULL;

	struct tunnel_friend *f = tunnel_game_add_friend(s, g, kept->number, now_ms);

	if (!f)
		return ERR_NOMEM;
	f->has_token = true;
	f->lost_ms   = now_ms;
	f->joined_ms = kept->joined_ms;
	memcpy(f->token, kept->token, sizeof(f->token));
	memcpy(f->id, kept->id, sizeof(f->id));
	memcpy(f->addr, kept->addr, sizeof(f->addr));
	return ERR_OK;
}

void tunnel_count(const struct tunnel_state *s, size_t *hosts, size_t *friends)
{
	*hosts = *friends = 0;
	for (struct list *l = s->all.next; l != &s->all; l = l->next) {
		const struct tunnel_game *g = CONTAINER(l, struct tunnel_game, in);

		*hosts += g->host != NULL;
		for (size_t i = 0; i < g->friend_count; i++)
			*friends += g->friends[i]->conn != NULL;
	}
}
