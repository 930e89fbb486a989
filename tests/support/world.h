/*
 * A world of games without a server: connections by name, and what the state says as one line of text.
 *
 *	struct world *w = world_new();
 *	world_open(w, "host", 1);
 *	cr_expect_str_eq(said(w), "keep player 1; host: ");
 *
 * Players are small numbers; player n has the digest that begins with n. Addresses are small numbers too.
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include "tunnel/tunnel_state.h"

#define WORLD_CONNS_MAX 64
#define WORLD_SAID_MAX  8192

struct world {
	struct limits       limits;
	struct tunnel_state state;
	struct tunnel_acts  acts;
	struct tunnel_conn  conns[WORLD_CONNS_MAX];
	const char         *names[WORLD_CONNS_MAX];
	uint8_t             addrs[WORLD_CONNS_MAX];
	size_t              conn_count;
	int64_t             now_ms;
	uint8_t             addr;     /* of connections made from now on */
	bool                new_full; /* the address may not make new players */
	bool                sick;     /* the store answers nothing by itself */
	char                said[WORLD_SAID_MAX];
};

struct world *world_new(void);
void          world_free(struct world *w);

/* A connection with this name; a name used before is a new connection. */
struct tunnel_conn *world_conn(struct world *w, const char *name);
struct tunnel_conn *world_find(struct world *w, const char *name);

/* Events. The store answers keeps at once, unless sick. Codes are drawn with random 0: 100000, 100001, ... */
void world_open(struct world *w, const char *name, uint8_t player);
void world_open_v1(struct world *w, const char *name, uint32_t old_code, bool matches);
void world_join(struct world *w, const char *name, uint32_t code, uint8_t player, uint8_t token);
void world_join_v1(struct world *w, const char *name, uint32_t code, uint8_t token); /* token 0: none */
void world_state(struct world *w, const char *name, uint8_t state);
void world_close(struct world *w, const char *name);
void world_kept_player(struct world *w, uint8_t player, enum err result);
/* A new code is asked for, with random 0; and the store's answer to that: the code, 0 when there is none. */
uint32_t world_new_code(struct world *w, uint8_t player);
enum err world_kept_new_code(struct world *w, uint8_t player, uint32_t to, enum err result);
void     world_kept_friend(struct world *w, uint32_t code, uint16_t number);

/* After a call of the state with w->acts: they are done. */
void world_do(struct world *w);

/* Time passes; every connected one gives a sign of life just before, unless it is in the list (NULL-ended). */
void world_pass(struct world *w, int64_t ms, const char *const *silent);

/* What was said since the last call: "a: MESSAGE; close b; keep friend 100000/1; ..." */
const char *said(struct world *w);

#endif
