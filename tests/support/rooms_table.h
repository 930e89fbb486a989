/*
 * The rooms' state without a server: players sit down at a table, say things, and what each is sent waits until the test asks
 * for it. There is one table, and time stands still unless the test moves it.
 *
 *	struct table_seat *alice = table_sit("198.51.100.7");
 *
 *	table_hello(alice, "NPWR00001_00", "alice");
 *	table_say(alice, (struct rooms_request){ .type = ROOMS_CREATE_ROOM, .req = 2, .max = 4 });
 *	table_expect(alice, "90 0039 00000002 *");
 *	table_expect_silence();
 *
 * What is expected is a pattern (support/pattern.h) of a whole frame; anything else ends the test.
 */
#ifndef TESTS_ROOMS_TABLE_H
#define TESTS_ROOMS_TABLE_H

#include "rooms/rooms_state.h"
#include "rooms/rooms_stream_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_TITLE "NPWR00001_00"
#define TABLE_ASKS  5 /* kinds of rooms_ask */

struct table_seat {
	struct rooms_player player; /* first */
	bool                is_in, is_closed;
	size_t              closed_at; /* its place in the order of all that was done; see table_order */
	struct list         frames;    /* that wait */
	size_t              order;     /* of the frame that was taken last */
	struct list         in_seats;
};

struct table {
	struct limits        limits;
	struct rooms_boards *boards;
	struct rooms_host    host;
	struct rooms_state   state;
	struct rooms_streams streams;
	struct rooms_now     now;
	struct list          seats;
	size_t               order;

	uint32_t token;               /* the next that is drawn; each is one more */
	int      zeros;               /* drawn before it */
	bool     refuses[TABLE_ASKS]; /* what may says */
	size_t   asked[TABLE_ASKS];
	uint8_t  asked_name[ROOMS_NAME_BYTES];
	uint8_t  asked_addr[ROOMS_ADDR_BYTES];
	bool     refuses_packets;
	size_t   packets;    /* asked about */
	size_t   gone, came; /* rooms given back, and passed on */
	uint8_t  gone_addr[ROOMS_ADDR_BYTES], came_addr[ROOMS_ADDR_BYTES];
	bool     cannot_keep;
	size_t   recorded;
	uint32_t recorded_board;
	uint8_t  recorded_name[ROOMS_NAME_BYTES];

	struct rooms_recorded recorded_as;
};

extern struct table table;

/* For TestSuite's init and fini. Closing takes everybody away, and ends the test when anything of them is left. */
void table_open(void);
void table_close(void);

/* A connection from this address; "!" before it: exempt. "::1" and the like: IPv6. */
struct table_seat *table_sit(const char *ip);
void               table_rise(struct table_seat *seat); /* the connection ends */

/* Says HELLO with game port 3658 and takes the HELLO_ACK. */
void table_hello(struct table_seat *seat, const char *title, const char *name);
/* A seat of its own, with TABLE_TITLE. */
struct table_seat *table_player(const char *ip, const char *name);

struct rooms_request table_request_hello(const char *title, const char *name);
struct rooms_blob    table_blob(const char *text);
struct rooms_blob    table_zeros(size_t len); /* any length that a blob can have; the bytes are 0 */

void table_say(struct table_seat *seat, struct rooms_request request);
void table_say_bytes(struct table_seat *seat, uint8_t type, const void *payload, size_t len);
/* Every payload of the request that is too short, down to its req; each answer must be this ERROR. */
void table_say_short(struct table_seat *seat, struct rooms_request request, enum rooms_code code);

/* The frame that has waited longest. */
void table_expect(struct table_seat *seat, const char *pattern);
void table_expect_ok(struct table_seat *seat, uint32_t req);
void table_expect_error(struct table_seat *seat, uint32_t req, enum rooms_code code);
void table_expect_none(const struct table_seat *seat);
void table_expect_silence(void); /* nothing waits for anybody */

/* The same as bytes; NULL: none waits. Valid until the next call. */
const uint8_t *table_take(struct table_seat *seat, size_t *len);
void           table_ignore(struct table_seat *seat); /* all that waits */
void           table_ignore_all(void);

/* Makes a room of so many and takes ROOM_JOINED; joins it and takes all that anybody is sent. */
uint64_t table_create(struct table_seat *seat, uint8_t max);
void     table_join(struct table_seat *seat, uint64_t room);

/* A datagram from this seat's address (its IPv4) and port. */
struct rooms_udp_step table_probe(struct table_seat *seat, uint16_t port, const char *local_ip);
void                  table_ip(uint8_t out[4], const char *ip);

/* Walks through everything and ends the test when it does not hang together. */
void table_check(void);

#endif
