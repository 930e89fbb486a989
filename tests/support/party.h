/*
 * Games that play by themselves: each friend sends numbered datagrams at a pace, the host sends each back, and all that
 * they are told is checked on the way. What a player must find again after a disconnect (a host his code, a friend his
 * number) is remembered from the moment on at which the server said it.
 *
 *	struct party *p = party_new("a", 50, 4);
 *
 *	party_gather(p, port, PARTY_HOSTS_FIRST, 5000);
 *	party_play(p, 300, 20);
 *	party_drop(p, true);
 *	party_gather(p, port, PARTY_FRIENDS_FIRST, 5000);	same codes, same numbers, or the test ends
 *	party_free(p);
 *
 * Each player has a client address of his own, as a proxy would name it; with crowd_use_tls, one from which he comes to a proxy.
 */
#ifndef TESTS_PARTY_H
#define TESTS_PARTY_H

#include "support/crowd.h"
#include "support/tunnel_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct party;

struct party_member {
	struct crowd_peer peer; /* first */
	struct party     *party;
	int               game, seat; /* seat 0: the host */
	bool              in;         /* HOST_OPENED or JOINED has come on this connection */
	bool              told;       /* the host, as he is connected now, knows this friend */
	uint32_t          code;       /* of the host; 0: not told yet */
	unsigned          number;     /* of a friend; 0: his host was not told yet */
	unsigned          state;      /* of the game, as the friend was told last */
	uint32_t          sent, answered;
	int64_t           next_ms; /* when he sends his next datagram */
	uint8_t           id[ID_BYTES];
};

struct party {
	struct crowd         crowd;
	const char          *name; /* part of all keys and tokens */
	int                  net;  /* part of all addresses */
	int                  games, friends;
	int                  port;
	struct party_member *members;     /* per game: the host, then his friends */
	char                 broken[200]; /* the first thing that was not as it should be; empty: nothing */
	unsigned             refused;     /* upgrades since the last gathering began */
	unsigned             ended;       /* connections, by the other side, so far */
	uint32_t            *trips_us;    /* round trips since party_forget_trips */
	size_t               trip_count, trip_cap;
	struct party        *next; /* all that are not yet freed */
};

enum party_order { PARTY_HOSTS_FIRST, PARTY_FRIENDS_FIRST, PARTY_ALL_AT_ONCE };

/* friends per game. Different parties on one server need different names. NULL is fine for party_free. */
struct party *party_new(const char *name, int games, int friends);
void          party_free(struct party *p);
size_t        party_size(const struct party *p); /* members */

/*
 * Connects everybody who is not, in that order, and waits until all have their role and each host knows his friends.
 * How long it took, in ms. Anything else within patience_ms, and anything wrong, ends the test.
 */
int party_gather(struct party *p, int port, enum party_order order, int patience_ms);

/* Starts to connect the hosts, or the friends (of hosts whose code is known). Nothing is waited for. */
void party_dial(struct party *p, int port, bool hosts);

/* Whether all have their role, and hosts know their friends. */
bool party_is_gathered(const struct party *p);

/*
 * Plays for so long: per_s datagrams a second from each friend. Everybody sends ECHO now and then. Ends the test when
 * something is not as it should be; datagrams that got no answer are no such thing.
 */
void party_play(struct party *p, int ms, int per_s);

/* The same without time passing by itself: one datagram from each friend now, and what is ready is dealt with. */
void party_send(struct party *p);
void party_look(struct party *p, int ms);

/* Ends the test when anything was not as it should be. */
void party_check(const struct party *p);

/* Everybody's TCP ends, without a word. */
void party_drop(struct party *p, bool reset);

/* Datagrams sent and not answered, of all connections so far; those under way are waited for, two seconds at most. */
uint32_t party_unanswered(struct party *p);

/* Of the round trips, that many thousandths were faster: 500 is the median. */
void     party_forget_trips(struct party *p);
uint32_t party_trip_us(struct party *p, int thousandths);

struct party_member *party_host(const struct party *p, int game);
struct party_member *party_friend(const struct party *p, int game, int friend); /* counted from 1 */

#endif
