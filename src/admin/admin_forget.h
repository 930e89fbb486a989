/*
 * A player is forgotten: what that needs of the rest of the server, which is the part of its route.
 */
#ifndef ADMIN_ADMIN_FORGET_H
#define ADMIN_ADMIN_FORGET_H

#include "api/api.h"
#include "net/ban.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin_forget {
	/* Loop thread: how many connections this player has, of games he hosts his friends' included; with do_end they end. */
	size_t (*end)(void *arg, const struct ban *player, bool do_end);
	/* HTTP thread: the same of requests over REST. */
	size_t (*end_http)(void *arg, const struct ban *player, bool do_end);
	/* Loop thread: as tunnel_forget_begin and tunnel_forget_end. */
	enum err (*begin)(void *arg, const uint8_t id[8]);
	void (*finish)(void *arg, const uint8_t id[8], enum err result);
	/* HTTP thread: takes a name off all boards, or with dry_run only counts. */
	enum err (*name)(void *arg, struct api_call *c, const uint8_t name[16], int64_t *rows);
	void *arg;
};

extern const struct api_route admin_forget_routes[];

#endif
