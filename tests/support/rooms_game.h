/*
 * A game that plays as its runtime makes it: it probes, punches whom it meets in a room, relays what does not get through,
 * and accepts streams, each by its own decision and timers (real time; the protocol document, sections 11 and 16).
 *
 *	struct game *a = game_start(&way, TITLE, "alice", 3658), *b = game_start(&way, TITLE, "bob", 3658);
 *
 *	uint64_t room = game_create(a);
 *	game_join(b, room);
 *	game_await_decision(a, b);
 *	game_send(a, b, TEXT("ball at 3,4"));
 *	cr_expect_eq(game_expect(b, a, TEXT("ball at 3,4")), GAME_DIRECT);
 *
 * While one game waits, all games of the process play. Their sockets are in the network namespace that is entered when
 * they start (support/netns.h).
 */
#ifndef TESTS_ROOMS_GAME_H
#define TESTS_ROOMS_GAME_H

#include "support/rooms_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GAME_PEERS_MAX   15 /* besides himself */
#define GAME_PACKETS_MAX 64
#define GAME_PACKET_MAX  1400

enum game_way { GAME_DIRECT, GAME_RELAYED };

/* Another member, as MEMBER_JOINED or ROOM_JOINED told. */
struct game_peer {
	uint32_t user_id;
	char     ip[GAMER_ADDRESS_BYTES]; /* the endpoint it was given */
	uint16_t port;
	int      punches; /* sent */
	int64_t  first_punch_ms, next_punch_ms;
	bool     is_heard;   /* something came from that endpoint */
	bool     is_relayed; /* what is sent to him goes through the server */
	bool     is_routed;  /* ROUTE: streams to him do */
};

struct game_packet {
	uint32_t      from;
	enum game_way way;
	size_t        len;
	uint8_t       bytes[GAME_PACKET_MAX];
};

struct game {
	struct gamer      *gamer;
	int                listener; /* TCP, at the port of the game */
	bool               is_probed;
	int64_t            next_probe_ms;
	struct game_peer   peers[GAME_PEERS_MAX];
	size_t             peer_count;
	struct game_packet packets[GAME_PACKETS_MAX]; /* handed to the game, and not yet taken */
	size_t             packet_count;
	struct gamer_leg  *accepted; /* a stream that came */
	enum game_way      accepted_way;
	struct game       *next;
};

/* Says HELLO and begins to probe. The game's port is its own at its address, UDP and TCP. */
struct game *game_start(const struct gamer_way *way, const char *title, const char *name, uint16_t port);
void         game_stop(struct game *g); /* frees its gamer, too; NULL is fine */

/* All games play for so long, or until one of these. */
void game_play(int ms);
void game_await_probed(struct game *g);
/* Until both know of each other, which game_join alone leaves to the next turn of who was there before. */
void game_await_met(struct game *a, struct game *b);
/* Until both know how they reach each other: heard, or relayed after three seconds; what is neither is never known. */
void game_await_decision(struct game *a, struct game *b);

uint64_t game_create(struct game *g);
void     game_join(struct game *g, uint64_t room);

struct game_peer *game_peer(struct game *g, const struct game *of); /* ends the test when they have not met */

/* Once, by the way that is decided on: until that is the server's, straight to the endpoint. */
void game_send(struct game *g, const struct game *to, struct gamer_blob bytes);

/* The next thing that the game was handed is this; by which way it came. */
#define game_expect(g, from, bytes) game_expect_at(GAMER_HERE, g, from, bytes)
enum game_way game_expect_at(struct gamer_place at, struct game *g, const struct game *from, struct gamer_blob bytes);

/* A stream, through the server if ROUTE said so, and the other end of it. */
enum game_way game_stream(struct game *g, struct game *to, struct gamer_leg **mine, struct gamer_leg **theirs);

#endif
