/*
 * One game: made and ended, its friends and its state; and the actions that every event answers with. What the files of
 * the tunnel's state share; everybody else uses tunnel_state.h.
 */
#ifndef TUNNEL_TUNNEL_GAME_STATE_H
#define TUNNEL_TUNNEL_GAME_STATE_H

#include "tunnel/tunnel_state.h"

/* Adds an action; there is always room, since TUNNEL_ACTS_MAX is more than any event asks for. */
struct tunnel_act *tunnel_act(struct tunnel_acts *acts, enum tunnel_act_kind what);
void               tunnel_act_send(struct tunnel_acts *acts, struct tunnel_conn *to, struct tunnel_msg msg);
void               tunnel_act_player(struct tunnel_acts *acts, enum tunnel_act_kind what, struct code_entry *entry);

/* The connection is through: it is closed, and what it still sends means nothing. */
void tunnel_act_close(struct tunnel_acts *acts, struct tunnel_conn *c, enum metric why);

/* FAULT as err.def says, then the close; an error without a fault code is closed without a word. */
void tunnel_act_fault(struct tunnel_acts *acts, struct tunnel_conn *c, enum err e);

/* How many live games this address has opened. */
int64_t tunnel_games_of_addr(const struct tunnel_state *s, const uint8_t *addr);

/* A game without host, friends and owner yet; its address is charged. NULL: no room. */
struct tunnel_game *tunnel_game_add(struct tunnel_state *s, uint32_t code, uint8_t version, const uint8_t *addr,
                                    int64_t now_ms);

/* With its friends; connections are the caller's to close before. */
void tunnel_game_remove(struct tunnel_state *s, struct tunnel_game *g);

/* The game is over: its friends are told, everybody is closed (why counts them), it is forgotten. */
void tunnel_game_end(struct tunnel_state *s, struct tunnel_game *g, enum metric why, struct tunnel_acts *acts);

/* The friend at this index loses his place, and the connection, if there is one; the host hears of it. */
void tunnel_game_drop_friend(struct tunnel_state *s, struct tunnel_game *g, size_t index, enum metric why,
                             struct tunnel_acts *acts);

/* A friend who goes: what went through him stays counted. */
void tunnel_game_keep_counts(struct tunnel_game *g, const struct tunnel_friend *f);

/* What has gone through it so far is noted, for the rates. */
void tunnel_game_sample(struct tunnel_game *g, int64_t now_ms);

/* A host whose code is his, or is his still: his game, which is made if need be. */
void tunnel_open_known(struct tunnel_state *s, struct tunnel_conn *c, struct code_entry *entry, int64_t now_ms,
                       int64_t wall_ms, struct tunnel_acts *acts);

/* The friend of this number, or NULL. */
struct tunnel_friend *tunnel_game_friend(const struct tunnel_game *g, uint16_t number);

/* The game must have room for him. NULL: out of memory. */
struct tunnel_friend *tunnel_game_add_friend(struct tunnel_state *s, struct tunnel_game *g, uint16_t number,
                                             int64_t now_ms);

/* Tells connected friends when it is another state than now. */
void tunnel_game_set_state(struct tunnel_game *g, uint8_t state, struct tunnel_acts *acts);

/* Protocol 1 friends are told nothing: their clients have no idea of waiting. */
void tunnel_game_lose_host(struct tunnel_game *g, int64_t now_ms, struct tunnel_acts *acts);

/* To the host, if there is one and the protocol has the message. */
void tunnel_tell_friend_is(const struct tunnel_game *g, const struct tunnel_friend *f, struct tunnel_acts *acts);

/* The friend's last candidates to the host, if there are any and both are connected. */
void tunnel_tell_paths(const struct tunnel_game *g, const struct tunnel_friend *f, struct tunnel_acts *acts);

#endif
