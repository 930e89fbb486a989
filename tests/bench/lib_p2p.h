/*
 * As much of peer to peer as generator and reference of `make bench ARGS=p2p` need; see src/p2p/PROTOCOL.md.
 *
 * A member is a session at /p2p. Its connection blocks: these calls bring about what has to be so before the measurement. The
 * server's pings are not answered. Whatever is refused ends the program: figures of a run in which something failed mean nothing.
 */
#ifndef BENCH_LIB_P2P_H
#define BENCH_LIB_P2P_H

#include <stddef.h>
#include <stdint.h>

enum {
	P2P_PACKET       = 64,
	P2P_FIRST_BYTE   = 0xc0,
	P2P_STUN_REQUEST = 20,
	P2P_STUN_ANSWER  = 68,

	P2P_T_HELLO      = 1,
	P2P_T_HELLO_ACK  = 2,
	P2P_T_PING_TRY   = 3,
	P2P_T_PING_REPLY = 4,

	P2P_FRAME_HEAD = 12,
	P2P_KIND_LINK  = 2,
	P2P_PASS_ON    = 2,
	P2P_OWN        = 4
};

struct member {
	uint32_t ip; /* 127.1.x.y, each another: what counts by address is in nobody's way */
	int      fd;
	char     uid[17], room[9];
	uint8_t  sid[8], key[32]; /* zeros without a session */
	uint32_t time;            /* of the last HELLO */
};

/* Has an address, and no session yet. */
void member_init(struct member *m, uint32_t number);

/* Connected, with p2p.hello answered. */
void member_open(struct member *m, uint16_t port);

/* Its mapped address is known, and a NAT check has found it to be open. */
void member_be_open(struct member *m, uint16_t udp_port);

/* A request with these further members, as in ",\"max\":8"; ask waits for the answer. A room in it is noted. */
__attribute__((format(printf, 3, 4))) void member_say(struct member *m, const char *op, const char *format, ...);
__attribute__((format(printf, 3, 4))) void member_ask(struct member *m, const char *op, const char *format, ...);

/* A HELLO, later than the one before. nonce: 8 bytes. */
void member_hello(struct member *m, uint8_t out[P2P_PACKET], uint8_t step, const uint8_t *nonce);

#endif
