/*
 * A player of the rooms, as a game's runtime is one to the server: requests are counted, replies are matched by their
 * number while everything else waits in order, and nothing is waited for without a deadline.
 *
 *	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
 *	uint64_t      room  = gamer_create(alice, 4, NOTHING)->room_id;
 *
 *	gamer_join(bob, room, TEXT("hat=red"));
 *	gamer_expect_joined(alice, room, bob);
 *	gamer_expect_error(bob, gamer_ask_kick(bob, room, 1), SAYS_NOT_OWNER);
 *	gamer_expect_silence(alice);
 *
 * For every request there is gamer_ask_X, which only sends it and tells its number, and gamer_X, which waits for its
 * success as well; anything else ends the test.  Messages belong to their gamer, and live as long as he.
 *
 * UDP and streams: support/rooms_path.h.  A game that acts on its own: support/rooms_game.h.
 */
#ifndef TESTS_ROOMS_CLIENT_H
#define TESTS_ROOMS_CLIENT_H

#include "support/dial.h"
#include "support/rooms_message.h"
#include "support/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gamer_leg;

struct gamer {
	char     to[GAMER_ADDRESS_BYTES];   /* the server's address */
	char     from[GAMER_ADDRESS_BYTES]; /* his own, of all his sockets; "" when it is not for us to say */
	int      port;
	int      fd;    /* -1 once it has ended */
	int      netns; /* the network namespace of all his sockets; -1: the one that is current */
	uint32_t next_req;
	int      lengthen;

	uint8_t *in; /* not yet a whole frame */
	size_t   in_at, in_len, in_cap;
	size_t   frames; /* that came */

	struct gamer_message *waiting, **waiting_end; /* came, and not yet asked for */
	struct gamer_message *kept;

	/* Of the last HELLO that succeeded. */
	char     name[GAMER_NAME_BYTES + 1];
	uint32_t user_id, token;
	uint16_t p2p_port;
	bool     relays;

	int               udp; /* the game's socket, -1: none */
	uint16_t          udp_port;
	char              public_ip[GAMER_ADDRESS_BYTES]; /* of the last answer to a probe */
	uint16_t          public_port;
	struct gamer_leg *legs;

	struct gamer *next; /* of all that are not freed */
};

/* --- Coming and going --- */

struct gamer_way {
	const char *to;   /* NULL: 127.0.0.1 */
	int         port; /* of the server */
	const char *from; /* another address of this machine, or NULL */
	int         rcvbuf_bytes;
};

/* Connected; nothing was said. The second: on loopback, from "127.0.0.2" say, or NULL. */
struct gamer *gamer_dial(const struct server *s);
struct gamer *gamer_dial_from(const struct server *s, const char *from);
struct gamer *gamer_dial_way(const struct gamer_way *way);

/* With HELLO, p2p_port 3658. */
struct gamer *gamer_new(const struct server *s, const char *title, const char *name);
struct gamer *gamer_new_from(const struct server *s, const char *from, const char *title, const char *name);

/* alice and bob in a room of hers for four, with all that this caused taken. The room. */
uint64_t gamer_meet(const struct server *s, const char *title, struct gamer **alice, struct gamer **bob);

void gamer_free(struct gamer *c);   /* hangs up; NULL is fine */
void gamer_hangup(struct gamer *c); /* the control connection only */
void gamer_abort(struct gamer *c);  /* the same so that the server sees a reset */

/* His own address, as the end of his control connection has it. */
void gamer_local_ip(struct gamer *c, uint8_t out[4]);

/* --- Bytes --- */

/* As they are. False: the server takes no more. */
bool gamer_send(struct gamer *c, const void *bytes, size_t len);
bool gamer_send_frame(struct gamer *c, uint8_t type, const void *payload, size_t len);

/* A request with this after its number, which is returned. It goes out in two writes, as the runtime's do. */
uint32_t gamer_ask(struct gamer *c, uint8_t type, const void *body, size_t len);

/* His next request is sent so many bytes longer than it should be, or, below 0, shorter. */
void gamer_lengthen(struct gamer *c, int by);

/* --- Requests --- */

struct gamer_plan {
	uint8_t           max;
	uint32_t          flags;
	struct gamer_blob external, internal, data;
};

uint32_t gamer_ask_hello(struct gamer *c, const char *title, const char *name, uint16_t p2p_port);
uint32_t gamer_ask_plan(struct gamer *c, const struct gamer_plan *p);
uint32_t gamer_ask_create(struct gamer *c, uint8_t max, struct gamer_blob external);
uint32_t gamer_ask_search(struct gamer *c, uint16_t start, uint16_t max);
uint32_t gamer_ask_join(struct gamer *c, uint64_t room, struct gamer_blob data);
uint32_t gamer_ask_leave(struct gamer *c, uint64_t room);
uint32_t gamer_ask_set(struct gamer *c, uint64_t room, uint8_t which, struct gamer_blob data);
uint32_t gamer_ask_say(struct gamer *c, uint64_t room, uint16_t to, struct gamer_blob data);
uint32_t gamer_ask_kick(struct gamer *c, uint64_t room, uint16_t member);
uint32_t gamer_ask_score(struct gamer *c, uint32_t board, uint8_t order, int64_t score, struct gamer_blob comment);
uint32_t gamer_ask_ranking(struct gamer *c, uint32_t board, uint32_t start, uint16_t count);
uint32_t gamer_ask_ranks_of(struct gamer *c, uint32_t board, const char *const *names, uint16_t count);
uint32_t gamer_ask_connect(struct gamer *c, uint32_t user_id, uint32_t token, uint32_t to_user, uint16_t vport);
uint32_t gamer_ask_accept(struct gamer *c, uint32_t user_id, uint32_t token, uint32_t stream_id);
void     gamer_heartbeat(struct gamer *c);

struct gamer_message *gamer_hello(struct gamer *c, const char *title, const char *name, uint16_t p2p_port);
struct gamer_message *gamer_plan(struct gamer *c, const struct gamer_plan *p);
struct gamer_message *gamer_create(struct gamer *c, uint8_t max, struct gamer_blob external);
struct gamer_message *gamer_search(struct gamer *c, uint16_t start, uint16_t max);
struct gamer_message *gamer_join(struct gamer *c, uint64_t room, struct gamer_blob data);
struct gamer_message *gamer_ranking(struct gamer *c, uint32_t board, uint32_t start, uint16_t count);
struct gamer_message *gamer_ranks_of(struct gamer *c, uint32_t board, const char *const *names, uint16_t count);
void                  gamer_leave(struct gamer *c, uint64_t room);
void                  gamer_set(struct gamer *c, uint64_t room, uint8_t which, struct gamer_blob data);
void                  gamer_say(struct gamer *c, uint64_t room, uint16_t to, struct gamer_blob data);
void                  gamer_kick(struct gamer *c, uint64_t room, uint16_t member);
uint32_t gamer_score(struct gamer *c, uint32_t board, uint8_t order, int64_t score, struct gamer_blob comment);

/* --- What comes --- */

/* The next frame of all that came, within so long. NULL: silence; or the end, and c->fd is -1 then. */
struct gamer_message *gamer_next(struct gamer *c, int patience_ms);

/* The next push; what else came before it keeps waiting. NULL as above. */
struct gamer_message *gamer_next_push(struct gamer *c, int patience_ms);

/* The reply of this number; ends the test when there is none. What else came keeps waiting. */
struct gamer_message *gamer_answer(struct gamer *c, uint32_t req);

/* For what reads messages elsewhere: m is freed with him. */
void gamer_keep(struct gamer *c, struct gamer_message *m);

/* --- Expectations; they end the test --- */

struct gamer_place {
	const char *file;
	int         line;
};
#define GAMER_HERE ((struct gamer_place){ __FILE__, __LINE__ })

#define gamer_expect_error(c, req, code)           gamer_expect_error_at(GAMER_HERE, c, req, code)
#define gamer_expect_success(c, req, type)         gamer_expect_success_at(GAMER_HERE, c, req, type)
#define gamer_expect_push(c, type)                 gamer_expect_push_at(GAMER_HERE, c, type)
#define gamer_expect_joined(c, room, who)          gamer_expect_joined_at(GAMER_HERE, c, room, who)
#define gamer_expect_left(c, room, member, owner)  gamer_expect_left_at(GAMER_HERE, c, room, member, owner)
#define gamer_expect_data(c, room, which, data)    gamer_expect_data_at(GAMER_HERE, c, room, which, data)
#define gamer_expect_said(c, room, from, to, data) gamer_expect_said_at(GAMER_HERE, c, room, from, to, data)
#define gamer_expect_kicked(c, room)               gamer_expect_kicked_at(GAMER_HERE, c, room)
#define gamer_expect_route(c, room, user, flags)   gamer_expect_route_at(GAMER_HERE, c, room, user, flags)
#define gamer_expect_offer(c, from_user, vport)    gamer_expect_offer_at(GAMER_HERE, c, from_user, vport)
#define gamer_expect_silence(c)                    gamer_expect_silence_at(GAMER_HERE, c)
#define gamer_expect_end(c)                        gamer_expect_end_at(GAMER_HERE, c)

void                  gamer_expect_error_at(struct gamer_place at, struct gamer *c, uint32_t req, uint32_t code);
struct gamer_message *gamer_expect_success_at(struct gamer_place at, struct gamer *c, uint32_t req, uint8_t type);

/* The next push is of this type, and says this. joined: who is the gamer that joined. */
struct gamer_message *gamer_expect_push_at(struct gamer_place at, struct gamer *c, uint8_t type);
struct gamer_message *gamer_expect_joined_at(struct gamer_place at, struct gamer *c, uint64_t room,
                                             const struct gamer *who);
void gamer_expect_left_at(struct gamer_place at, struct gamer *c, uint64_t room, uint16_t member, uint16_t owner);
void gamer_expect_data_at(struct gamer_place at, struct gamer *c, uint64_t room, uint8_t which, struct gamer_blob data);
void gamer_expect_said_at(struct gamer_place at, struct gamer *c, uint64_t room, uint16_t from, uint16_t to,
                          struct gamer_blob data);
void gamer_expect_kicked_at(struct gamer_place at, struct gamer *c, uint64_t room);
void gamer_expect_route_at(struct gamer_place at, struct gamer *c, uint64_t room, uint32_t user, uint8_t flags);
uint32_t gamer_expect_offer_at(struct gamer_place at, struct gamer *c, uint32_t from_user, uint16_t vport); /* its id */

/*
 * Nothing has come that was not asked for. No time is waited: a request is sent, and nothing may come before its reply.
 * Whatever others caused before, and have had the reply to, would have.
 */
void gamer_expect_silence_at(struct gamer_place at, struct gamer *c);

/* Not a frame more, then the end. */
void gamer_expect_end_at(struct gamer_place at, struct gamer *c);

#endif
