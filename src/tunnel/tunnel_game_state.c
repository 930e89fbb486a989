/*
 * Actions, games and their friends: the parts that every event is made of.
 */
#include "tunnel/tunnel_game_state.h"

#include <assert.h>
#include <string.h>

/* Actions */

struct tunnel_act *tunnel_act(struct tunnel_acts *acts, enum tunnel_act_kind what)
{
	assert(acts->count < TUNNEL_ACTS_MAX);
	struct tunnel_act *a = &acts->list[acts->count++];

	*a = (struct tunnel_act){ .what = what };
	return a;
}

void tunnel_act_send(struct tunnel_acts *acts, struct tunnel_conn *to, struct tunnel_msg msg)
{
	struct tunnel_act *a = tunnel_act(acts, TUNNEL_ACT_SEND);

	a->conn = to;
	a->msg  = msg;
}

/* The connection is through: it is closed, and what it still sends means nothing. */
void tunnel_act_close(struct tunnel_acts *acts, struct tunnel_conn *c, enum metric why)
{
	struct tunnel_act *a = tunnel_act(acts, TUNNEL_ACT_CLOSE);

	a->conn   = c;
	a->why    = why;
	c->role   = TUNNEL_GONE;
	c->game   = NULL;
	c->friend = NULL;
	c->entry  = NULL;
}

void tunnel_act_fault(struct tunnel_acts *acts, struct tunnel_conn *c, enum err e)
{
	uint8_t     fault   = (uint8_t)err_tunnel(e);
	enum metric counter = M_TUNNEL_CLOSED_STORE;

	switch (e) {
	case ERR_NO_ROOM:
		counter = M_TUNNEL_FAULT_NO_ROOM;
		break;
	case ERR_VERSION:
		counter = M_TUNNEL_FAULT_VERSION;
		break;
	case ERR_NO_GAME:
		counter = M_TUNNEL_FAULT_NO_GAME;
		break;
	case ERR_GAME_FULL:
		counter = M_TUNNEL_FAULT_FULL;
		break;
	case ERR_BANNED:
		counter = M_TUNNEL_FAULT_BANNED;
		break;
	default:
		/*
		 * An error without a fault code that games know is ours: the client comes back by itself when it is just
		 * closed. Other codes are the vault's.
		 */
		fault = 0;
		break;
	}
	if (fault != 0)
		tunnel_act_send(acts, c, (struct tunnel_msg){ .op = TUNNEL_FAULT, .fault = fault });
	tunnel_act_close(acts, c, counter);
}

void tunnel_act_player(struct tunnel_acts *acts, enum tunnel_act_kind what, struct code_entry *entry)
{
	tunnel_act(acts, what)->entry = entry;
}

/* Games */

struct tunnel_game *tunnel_find_game(const struct tunnel_state *s, uint32_t code)
{
	return map_get(&s->by_code, &code);
}

enum tunnel_place tunnel_place_of(const struct tunnel_state *s, uint32_t code, const uint8_t digest[CODE_DIGEST_BYTES])
{
	const struct tunnel_game *g = tunnel_find_game(s, code);

	if (!g || g->version != 2)
		return TUNNEL_PLACE_NO_GAME;
	if (g->entry && code_is_whose(g->entry, digest))
		return TUNNEL_PLACE_HAS;
	for (size_t i = 0; i < g->friend_count; i++) {
		if (memcmp(g->friends[i]->id, digest, TUNNEL_ID_BYTES) == 0)
			return TUNNEL_PLACE_HAS;
	}
	return TUNNEL_PLACE_NONE;
}

int64_t tunnel_games_of_addr(const struct tunnel_state *s, const uint8_t *addr)
{
	const struct tunnel_addr_games *a = map_get(&s->by_addr, addr);

	return a ? a->count : 0;
}

static enum err charge_addr(struct tunnel_state *s, const uint8_t *addr)
{
	struct tunnel_addr_games *a = map_get(&s->by_addr, addr);

	if (!a) {
		a = pool_take(&s->addrs);
		if (!a)
			return ERR_NOMEM;
		memcpy(a->addr, addr, TUNNEL_ADDR_BYTES);
		if (map_put(&s->by_addr, addr, a) != ERR_OK) {
			pool_give(&s->addrs, a);
			return ERR_NOMEM;
		}
	}
	a->count++;
	return ERR_OK;
}

static void return_addr(struct tunnel_state *s, const uint8_t *addr)
{
	struct tunnel_addr_games *a = map_get(&s->by_addr, addr);

	if (a && --a->count == 0) {
		map_remove(&s->by_addr, addr);
		pool_give(&s->addrs, a);
	}
}

/* A game without host, friends and owner yet; its address is charged. NULL: no room. */
struct tunnel_game *tunnel_game_add(struct tunnel_state *s, uint32_t code, uint8_t version, const uint8_t *addr,
                                    int64_t now_ms)
{
	struct tunnel_game *g = pool_take(&s->games);

	if (!g)
		return NULL;
	if (map_put(&s->by_code, &code, g) != ERR_OK) {
		pool_give(&s->games, g);
		return NULL;
	}
	if (charge_addr(s, addr) != ERR_OK) {
		map_remove(&s->by_code, &code);
		pool_give(&s->games, g);
		return NULL;
	}
	g->code        = code;
	g->version     = version;
	g->state       = TUNNEL_READY;
	g->next_number = 1;
	memcpy(g->addr, addr, TUNNEL_ADDR_BYTES);
	for (int way = 0; way < TUNNEL_WAYS; way++)
		g->budget[way] = (struct tunnel_budget){ s->limits->tunnel_burst, now_ms };
	g->samples[0].at_ms = g->samples[1].at_ms = now_ms;
	list_append(&s->all, &g->in);
	s->game_count++;
	return g;
}

void tunnel_game_remove(struct tunnel_state *s, struct tunnel_game *g)
{
	if (s->cursor == &g->in)
		s->cursor = g->in.next;
	list_remove(&g->in);
	map_remove(&s->by_code, &g->code);
	return_addr(s, g->addr);
	for (size_t i = 0; i < g->friend_count; i++)
		pool_give(&s->friends, g->friends[i]);
	pool_give(&s->games, g);
	s->game_count--;
}

struct tunnel_friend *tunnel_game_friend(const struct tunnel_game *g, uint16_t number)
{
	for (size_t i = 0; i < g->friend_count; i++)
		if (g->friends[i]->number == number)
			return g->friends[i];
	return NULL;
}

/* Tells every friend who has been let in and is connected. */
static void tell_friends_state(struct tunnel_game *g, uint8_t state, struct tunnel_acts *acts)
{
	for (size_t i = 0; i < g->friend_count; i++)
		if (g->friends[i]->conn && !g->friends[i]->pending)
			tunnel_act_send(acts, g->friends[i]->conn,
			                (struct tunnel_msg){ .op = TUNNEL_GAME_STATE, .state = state });
}

void tunnel_game_set_state(struct tunnel_game *g, uint8_t state, struct tunnel_acts *acts)
{
	if (g->state == state)
		return;
	g->state = state;
	tell_friends_state(g, state, acts);
}

/* Protocol 1 friends are told nothing: their clients have no idea of waiting. */
void tunnel_game_lose_host(struct tunnel_game *g, int64_t now_ms, struct tunnel_acts *acts)
{
	g->host    = NULL;
	g->lost_ms = now_ms;
	if (g->version == 2)
		tunnel_game_set_state(g, TUNNEL_HOST_LOST, acts);
}

void tunnel_tell_friend_is(const struct tunnel_game *g, const struct tunnel_friend *f, struct tunnel_acts *acts)
{
	struct tunnel_msg msg = { .op = TUNNEL_FRIEND_IS, .number = f->number };

	if (g->version != 2 || !g->host)
		return;
	memcpy(msg.id, f->id, sizeof(msg.id));
	tunnel_act_send(acts, g->host, msg);
}

void tunnel_tell_paths(const struct tunnel_game *g, const struct tunnel_friend *f, struct tunnel_acts *acts)
{
	if (g->host && f->conn && !f->pending && f->paths_len > 0)
		tunnel_act_send(acts, g->host,
		                (struct tunnel_msg){ .op       = TUNNEL_PATHS_TO_HOST,
		                                     .number   = f->number,
		                                     .rest     = f->paths,
		                                     .rest_len = f->paths_len });
}

struct tunnel_friend *tunnel_game_add_friend(struct tunnel_state *s, struct tunnel_game *g, uint16_t number,
                                             int64_t now_ms)
{
	struct tunnel_friend *f = pool_take(&s->friends);

	if (!f)
		return NULL;
	g->friends[g->friend_count++] = f;
	f->game                       = g;
	f->number                     = number;
	for (int way = 0; way < TUNNEL_WAYS; way++)
		f->share[way] = (struct tunnel_budget){ s->limits->tunnel_burst / 2 / g->friend_count, now_ms };
	return f;
}
