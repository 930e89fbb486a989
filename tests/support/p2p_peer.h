/*
 * A session at /p2p, for tests of rooms, groups and relays over real sockets. It answers pings when the test says so, for that
 * is how the server measures it.
 *
 *	struct p2p_peer ann;
 *
 *	p2p_peer_open(&ann, server, 1);
 *	p2p_peer_ask(&ann, "p2p.create", "");
 *	p2p_peer_frame(&ann, P2P_LINK, P2P_FLAG_RELIABLE, P2P_SEAT_ALL, "hi", 2);
 *	p2p_peer_await(&ann, "\"op\":\"link.sent\"");
 *	p2p_peer_free(&ann);
 *
 * What does not come within DIAL_PATIENCE_MS ends the test.
 */
#ifndef TESTS_P2P_PEER_H
#define TESTS_P2P_PEER_H

#include "p2p/p2p_wire.h"
#include "support/server.h"
#include "support/ws_client.h"

#define P2P_PEER_TEXT_BYTES 16384

struct p2p_peer {
	struct ws_client *ws;
	char              uid[17];
	uint8_t           sid[P2P_SID_BYTES], key[P2P_KEY_BYTES];
	int               port; /* AP, on 127.0.0.1 */
	int               next_id;
	uint32_t          time;
	bool              holds_pong; /* pings are kept, for p2p_peer_pong */
	bool              has_ping;
	uint8_t           ping[8];
	bool              has_frame; /* the last message was one */
	struct p2p_frame  frame;     /* into ws, until the next message */
	char              text[P2P_PEER_TEXT_BYTES];
};

/* Says p2p.hello; number makes its player key. The first ping is held back. */
void p2p_peer_open(struct p2p_peer *p, struct server *s, int number);
/* The same with a small receive buffer, so that the server soon feels that it does not read. */
void p2p_peer_open_small(struct p2p_peer *p, struct server *s, int number);
/* The same through a proxy, for a player at this address: neither free of limits nor on a private network. */
void p2p_peer_open_from(struct p2p_peer *p, struct server *s, int number, const char *address);
void p2p_peer_free(struct p2p_peer *p);

/* Answers the ping that is held, and those that come from now on at once. */
void p2p_peer_pong(struct p2p_peer *p);

/* A message, and no more. */
void p2p_peer_say(struct p2p_peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One request, members as in ,"room":"QK7M2PXD"; the answer is then in text. Frames must not come before it. */
void p2p_peer_ask(struct p2p_peer *p, const char *op, const char *members);

/* The next text with this in it; others before it are skipped, a frame ends the test. */
void p2p_peer_await(struct p2p_peer *p, const char *part);

/* The next frame; texts before it are skipped. */
void p2p_peer_await_frame(struct p2p_peer *p);

/* No frame is on its way to it: the server answers a question, and none comes before that. */
void p2p_peer_expect_no_frame(struct p2p_peer *p);

/* A frame of ver 1 and cmd 300, with the number 9. */
void p2p_peer_frame(struct p2p_peer *p, uint8_t kind, uint8_t flags, uint16_t seat, const void *content, size_t len);
void p2p_peer_ack(struct p2p_peer *p, uint32_t number);

/* Its outside address becomes known, by HELLO and its cookie. */
void p2p_peer_be_mapped(struct p2p_peer *p);
/* nat.update, with a socket that everything gets through to. */
void p2p_peer_be_open(struct p2p_peer *p);

/* UDP: its packet to 127.0.0.1 or .2 (is_b), with sid and tag; the next packet from there, which has to be of this type. */
void p2p_peer_packet(uint8_t out[P2P_PACKET_BYTES], const struct p2p_peer *p, struct p2p_packet *k);
void p2p_peer_send(const struct p2p_peer *p, int fd, bool is_b, int port, struct p2p_packet *k);
void p2p_peer_receive(struct p2p_packet *out, int fd, enum p2p_packet_type type);
/* HELLO to AP on this socket: the cookie of its answer. */
uint32_t p2p_peer_hello(struct p2p_peer *p, int fd, uint8_t step, const uint8_t nonce[P2P_NONCE_BYTES]);

/* A member of the last text: its integer, or a copy of its string in out. */
int64_t p2p_peer_int(const struct p2p_peer *p, const char *key);
void    p2p_peer_string(char *out, size_t cap, const struct p2p_peer *p, const char *key);

#endif
