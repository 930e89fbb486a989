/*
 * A client of peer to peer, as src/p2p/PROTOCOL.md describes a well-behaved one: the control channel, the outside address, NAT
 * checks, rooms, punching by plan, link messages and their confirmations. Any number of them run in one thread, each in the
 * network namespace in which it was made; nothing is waited for without a deadline.
 *
 *	struct p2p_clients set   = { 0 };
 *	struct p2p_client *alice = p2p_client_new(&set, "alice", &(struct p2p_client_options){ .port = s->tunnel_port });
 *
 *	p2p_client_await_mapped(alice, 5000);
 *	p2p_client_create(alice, 8);
 *	p2p_client_join(bob, alice->room);
 *	p2p_client_start(alice);
 *	p2p_clients_run(&set, all_are_decided, &set, 8000);
 *	p2p_clients_free(&set);
 *
 * What was said is kept in the struct, for who looks.
 *
 *	p2p_client.c		coming, going, the loop
 *	p2p_client_channel.c	requests, answers, news
 *	p2p_client_nat.c	the outside address, and NAT checks
 *	p2p_client_punch.c	starts, peers, paths
 *	p2p_client_link.c	link messages and relayed ones
 */
#ifndef TESTS_P2P_CLIENT_H
#define TESTS_P2P_CLIENT_H

#include "support/p2p_client_wire.h"
#include "support/ws_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define P2P_CLIENT_DONE_MAX   64
#define P2P_CLIENT_LOCALS_MAX 8
#define P2P_CLIENT_NUMBERS    1024 /* of messages that are remembered */

struct p2p_client;

/* A message as it is handed to the game, once. */
enum p2p_client_way { P2P_CLIENT_BY_SERVER, P2P_CLIENT_BY_SERVER_AGAIN, P2P_CLIENT_BY_LEADER, P2P_CLIENT_RELAYED };
struct p2p_client_message {
	enum p2p_client_way way;
	uint16_t            seat; /* who said it */
	bool                is_reliable;
	uint8_t             ver;
	uint16_t            cmd;
	uint32_t            number; /* 0 when relayed */
	const uint8_t      *bytes;  /* for as long as the call lasts */
	size_t              len;
};

/* Those who run together. Zeros make an empty one. */
struct p2p_clients {
	struct p2p_client *first;
	/* Of datagrams between players so many in a thousand are lost, by chance; the seed makes it the same chance each time. */
	unsigned lost_per_mille;
	uint64_t seed;
	size_t   sent, lost, links_lost; /* such datagrams, so far; of the lost ones, LINK packets */
	void (*on_message)(void *arg, struct p2p_client *c, const struct p2p_client_message *m);
	void *on_message_arg;
};

struct p2p_client_options {
	const char *to;         /* the server's control channel; NULL: 127.0.0.1 */
	int         port;       /* of it */
	const char *at;         /* where the UDP sockets are bound; NULL: anywhere */
	const char *local;      /* its own address, to tell the others; NULL: none */
	bool        relay_only; /* nobody is to see an address */
	bool        skips[6];   /* steps of a check that it does nothing in */
	bool        is_tacit;   /* confirms no message */
};

enum p2p_client_plan { P2P_CLIENT_PLAN_RELAY, P2P_CLIENT_PLAN_PUNCH, P2P_CLIENT_PLAN_DIRECT };
enum p2p_client_role { P2P_CLIENT_ROLE_NONE, P2P_CLIENT_ROLE_CONNECT, P2P_CLIENT_ROLE_ACCEPT, P2P_CLIENT_ROLE_BOTH };
enum p2p_client_path {
	P2P_CLIENT_PATH_NONE, /* nothing is tried */
	P2P_CLIENT_PATH_TRIED,
	P2P_CLIENT_PATH_UP,
	P2P_CLIENT_PATH_FAILED,
	P2P_CLIENT_PATH_DOWN
};

/* Another member, as of the last start. */
struct p2p_client_peer {
	char                      uid[P2P_CLIENT_UID_BYTES];
	uint16_t                  seat;
	enum p2p_client_plan      plan;
	enum p2p_client_role      role;
	bool                      lan, is_gone;
	size_t                    address_count;
	struct p2p_client_address addresses[P2P_CLIENT_ADDRESSES_MAX];
	enum p2p_client_path      state;
	struct p2p_client_address path; /* once it was up */
	int64_t                   rtt_ms;
	uint32_t                  nonce;
	int64_t                   next_ms, fails_ms, heard_ms, sent_ms;
	size_t                    punched, answered; /* PUNCH sent, PUNCH_ACK that came */
};

struct p2p_client_group {
	char     leader[P2P_CLIENT_UID_BYTES]; /* "": none */
	size_t   count;
	uint16_t seats[P2P_CLIENT_PEERS_MAX];
};

/* link.done */
struct p2p_client_done {
	uint32_t number;
	size_t   missing_count;
	char     missing[P2P_CLIENT_PEERS_MAX][P2P_CLIENT_UID_BYTES];
};

/* An answer that was waited for. */
struct p2p_client_answer {
	bool is_there, ok;
	char error[32];
	char text[4096]; /* all of it, as it came; cut off when longer */
};

/* The end of a NAT check. */
struct p2p_client_nat {
	bool is_there, ok;
	char error[32], name[32], reason[32], mapping[16];
	int  type;
	bool conflict, partial;
	char mapped[P2P_CLIENT_ADDRESS_TEXT], mapped_b[P2P_CLIENT_ADDRESS_TEXT];
	int  ms;
};

struct p2p_client {
	struct p2p_clients       *set;
	struct p2p_client        *next;
	struct p2p_client_options options;
	char                      to[16], at[16], local[16];
	struct ws_client         *ws; /* NULL: it has ended */
	int                       netns;
	bool                      is_paused; /* it hangs: nothing is read, nothing done */
	int                       udp;       /* -1: none */
	uint16_t                  udp_port;
	int64_t                   due_ms; /* when it next has something to do of its own */

	int64_t                  next_id, awaited; /* requests */
	struct p2p_client_answer answer;

	/* hello */
	char                      uid[P2P_CLIENT_UID_BYTES];
	uint8_t                   player[16];
	struct p2p_client_session session;
	bool                      has_hello, has_udp, has_second;
	struct p2p_client_address server; /* AP */
	int64_t                   keepalive_ms;

	/* the outside address */
	uint8_t                   hello_nonce[8];
	uint32_t                  hello_time;
	unsigned                  hello_tries;
	int64_t                   hello_next_ms; /* 0: none is to be sent */
	bool                      hello_waits;
	struct p2p_client_address seen, mapped;
	int64_t                   mapped_id;

	/* the check under way */
	int64_t                   check_id; /* of the request; 0: none */
	int                       check_udp;
	int64_t                   check;
	uint8_t                   step, try;
	bool                      step_is_open, step_waits; /* for HELLO_ACK */
	uint8_t                   step_nonce[8];
	struct p2p_client_address step_to;
	int64_t                   step_began_ms, step_next_ms; /* step_next_ms 0: nothing more to send */
	struct p2p_client_nat     nat;

	/* the room */
	char                    room[16]; /* "": in none */
	uint16_t                seat;
	uint32_t                epoch; /* 0: no start yet */
	bool                    is_started, is_settled, has_said_settled;
	struct p2p_client_sync  sync;
	size_t                  peer_count;
	struct p2p_client_peer  peers[P2P_CLIENT_PEERS_MAX];
	int64_t                 groups_gen; /* 0: none */
	size_t                  group_count;
	struct p2p_client_group groups[P2P_CLIENT_PEERS_MAX];

	/* link messages */
	uint32_t highest;
	uint64_t numbers[P2P_CLIENT_NUMBERS / 64]; /* a bit for each number, by its remainder */
	uint8_t  acks[4 * 256];
	size_t   ack_len;
	int64_t  acks_due_ms;
	/* link.sent of the last message, link.done of the last ones */
	int64_t                sent_ref, sent_number, sent_leaders, sent_straight, sent_receivers;
	bool                   sent_ok;
	size_t                 done_count; /* so many so far; the last P2P_CLIENT_DONE_MAX are there, by remainder */
	struct p2p_client_done done[P2P_CLIENT_DONE_MAX];
	/* what came and went */
	size_t link_frames, again_frames, passed_on, link_packets, link_twice, dropped_packets;
};

/*
 * Connected, with p2p.hello answered; the player's key is made of the name. A server that is not as it should be ends the
 * test. NULL: it closed, refused, or did not answer.
 */
struct p2p_client *p2p_client_new(struct p2p_clients *set, const char *name, const struct p2p_client_options *options);
/* Its connection and its sockets end, without a word: as when its machine dies. It stays in the set, for who looks. */
void p2p_client_kill(struct p2p_client *c);
void p2p_clients_free(struct p2p_clients *set);

/* Everybody runs until that holds (true), or for so long (false). until NULL: for so long. */
bool p2p_clients_run(struct p2p_clients *set, bool (*until)(void *arg), void *arg, int patience_ms);

/*
 * The answer to a request of these members ("" for none, or "\"max\":8"), while everybody runs; until the next request. Its
 * is_there is false when none came.
 */
#define P2P_CLIENT_ANSWER_MS 10000
const struct p2p_client_answer *p2p_client_ask(struct p2p_client *c, const char *op, const char *members);

/* Until the outside address is confirmed. */
bool p2p_client_await_mapped(struct p2p_client *c, int patience_ms);

bool p2p_client_create(struct p2p_client *c, int max);
bool p2p_client_join(struct p2p_client *c, const char *room);
bool p2p_client_start(struct p2p_client *c);

/* Begins a check, with a socket of its own; the result is in c->nat some seconds later. op: "nat.check", "nat.update". */
void p2p_client_begin_check(struct p2p_client *c, const char *op);
/* The same, and waits for the end. */
const struct p2p_client_nat *p2p_client_check(struct p2p_client *c, const char *op);

/* Whether each of its peers is decided: up, failed, or nothing to try. */
bool                    p2p_client_is_decided(const struct p2p_client *c);
struct p2p_client_peer *p2p_client_peer_of(struct p2p_client *c, const struct p2p_client *other); /* NULL: not there */

/* A link message to everybody; the answer, link.sent, comes with the same ref. */
void p2p_client_say(struct p2p_client *c, int64_t ref, bool is_reliable, const void *bytes, size_t len);
/* A RELAY frame. */
void p2p_client_relay(struct p2p_client *c, uint16_t seat, bool is_reliable, const void *bytes, size_t len);

/* NULL: link.done of that message has not come. */
const struct p2p_client_done *p2p_client_done_of(const struct p2p_client *c, uint32_t number);

#endif
