/*
 * One NAT check from its beginning to its end, without sockets and in no time: the server's state, a client that does what the
 * document says, and a router of any kind between them.
 *
 *	struct nat_run r = { .router = { .filter = NAT_FILTER_PORT }, .has_second = true, .way_ms = 10 };
 *
 *	nat_run(&r);
 *	cr_expect_eq(r.result.type, P2P_NAT_PORT);
 */
#ifndef TESTS_NAT_RUN_H
#define TESTS_NAT_RUN_H

#include "p2p/p2p_nat_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAT_RUN_EVENTS 128
#define NAT_RUN_ROWS   8

/* Which packets from outside come in: those from anywhere, from an address that was sent to, from its very port. */
enum nat_filter { NAT_FILTER_NONE, NAT_FILTER_ADDRESS, NAT_FILTER_PORT };

struct nat_router {
	enum nat_filter filter;
	bool            varies;    /* each destination sees another port */
	bool            is_taken;  /* a packet that was not let in takes the place that one to its sender would get */
	bool            is_silent; /* UDP does not get out */
	bool            hides_b;   /* and neither to B's main port */
	/* what it knows */
	size_t   row_count;
	uint16_t row_ports[NAT_RUN_ROWS]; /* as seen from outside */
	bool     was_sent[P2P_SOCKETS];   /* something went there */
	bool     has_row[P2P_SOCKETS];    /* and got this one of the ports above */
	size_t   rows[P2P_SOCKETS];
	bool     takes[P2P_SOCKETS]; /* somebody there took the place */
};

struct nat_event {
	int64_t at_ms;
	enum { NAT_LEAVES_CLIENT, NAT_AT_SERVER, NAT_AT_CLIENT, NAT_TOLD, NAT_SAID } what;
	struct p2p_packet       packet;
	enum p2p_socket         socket; /* the server's end of it */
	struct p2p_endpoint     from;   /* NAT_AT_SERVER */
	struct p2p_check_action step;   /* NAT_TOLD */
	int64_t                 cookie; /* NAT_SAID */
};

struct nat_run {
	/* what is so */
	struct nat_router router;
	bool              has_second;
	int64_t           way_ms;     /* from one end to the other, for everything */
	size_t            loses;      /* the datagram of this number is lost, from 1; 0: none */
	bool              is_lossy;   /* all but the last try of each are lost */
	bool              says_pings; /* it confirms a PING_TRY on the control channel, and not over UDP */
	/* how it goes */
	struct p2p_check *check;
	int64_t           now_ms;
	struct nat_event  events[NAT_RUN_EVENTS];
	size_t            event_count;
	uint32_t          next_cookie;
	bool              is_acked;
	uint8_t           step; /* what the client is at */
	/* what came of it */
	size_t                datagrams; /* that left anywhere */
	size_t                pings;     /* of them PING_TRY */
	struct p2p_nat_result result;
};

/* Ends the test when the check does not end by itself. */
void nat_run(struct nat_run *r);

#endif
