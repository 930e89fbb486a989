/*
 * Three players at the table of rooms (rooms_table.h), for tests of what they ask of rooms: alice, bob and carol, who are users 1,
 * 2 and 3. alice and carol share an address.
 */
#ifndef TESTS_ROOMS_THREE_H
#define TESTS_ROOMS_THREE_H

#include "support/rooms_table.h"

#define HERE  "198.51.100.7"
#define THERE "203.0.113.9"

extern struct table_seat *alice, *bob, *carol;

/* For a suite's init and fini. */
void three_open(void);
void three_close(void);

/* Requests; the first two are only made, the others are said. */
struct rooms_request three_create(uint8_t max);
struct rooms_request three_on_room(uint8_t type, uint64_t room);
void                 three_search(struct table_seat *seat, uint16_t from, uint16_t want);
void                 three_join(struct table_seat *seat, uint64_t room, struct rooms_blob data);
void                 three_leave(struct table_seat *seat, uint64_t room);
void                 three_set(struct table_seat *seat, uint64_t room, uint8_t which, struct rooms_blob data);
void                 three_message(struct table_seat *seat, uint64_t room, uint16_t to, struct rooms_blob data);
void                 three_kick(struct table_seat *seat, uint64_t room, uint16_t member);
/* A room of alice's with bob as member 2 and carol as member 3. */
uint64_t three_in_a_room(void);
/* By alice, for four, with so many bytes of each. */
void three_create_with(size_t external, size_t internal, size_t data);
/* The ids of what a search finds, as one text: "total: 1 2 3". */
const char *three_found(struct table_seat *seat, uint16_t from, uint16_t want);

#endif
