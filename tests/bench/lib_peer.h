/*
 * The players of the load generator: hosts and friends, each one WebSocket connection to the server under test.
 *
 *	peers_open:  connect --> PEER_UPGRADING --101--> PEER_ASKING --HOST_OPENED or JOINED--> PEER_READY
 *
 * What arrives once a peer is ready goes to the program's own handler.  Whatever a working server would
 * not do to these peers (a fault, a close, a broken frame) ends the program with a sentence that says so,
 * because figures of a run in which that happened mean nothing.
 */
#ifndef BENCH_LIB_PEER_H
#define BENCH_LIB_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib_sock.h"

enum peer_phase { PEER_UPGRADING, PEER_ASKING, PEER_READY };

struct peer {
	struct sock     sock; /* first: epoll gives this back, and it is the peer */
	enum peer_phase phase;
	bool            is_host;
	uint32_t        game;
};

/*
 * Games are numbered: first the active ones, with the same number of friends each, then those that only
 * idle.  Every game has a client address of its own, in X-Forwarded-For, as if the server stood behind a
 * proxy; so no limit per address is in the way.
 */
struct peers {
	struct sock_loop   loop;
	struct sockaddr_in server;
	uint32_t           game_count; /* idle ones included */
	uint32_t          *codes;      /* by game */
	struct peer       *all;        /* the host of game g at g, then the friends */
	uint32_t           count;
	uint32_t           ready;    /* how many have come to PEER_READY */
	uint64_t           key_base; /* random: keys of another run are other players */
	uint32_t           mask;     /* state of the generator of frame masks */
	void (*on_message)(struct peer *p, const uint8_t *m, size_t len);
};

/*
 * Makes and connects all peers: hosts first, then friends, a few handshakes at a time.  game_of says to
 * which game each friend belongs, counted from 0 behind the hosts.  Takes a minute at most.
 */
void peers_open(struct peers *ps, uint32_t friend_count, uint32_t (*game_of)(uint32_t friend_index));

/* Waits at most timeout_ns and hands out what came.  What handlers put is sent by the next peers_flush. */
void peers_turn(struct peers *ps, int64_t timeout_ns);
void peers_flush(struct peers *ps);

/* A message of len bytes: fill what is returned, and pass it to peer_end before the next peer_begin. */
uint8_t *peer_begin(struct peers *ps, struct peer *p, size_t len);
void     peer_end(struct peers *ps, uint8_t *m, size_t len);

#endif
