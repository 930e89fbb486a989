/*
 * Rooms, leaderboards, peer addresses, relay and streams, live, on one TCP and UDP port.  What it says, byte by byte:
 * src/rooms/PROTOCOL.md.  Everything here is for the loop thread, except what serves the status page and operators.
 *
 *	net/tcp --> rooms_frame (cut) --> rooms_serve --> rooms_state (decide) --> rooms_out (queue) --> net/tcp
 *	   \_ first frame is a stream's --> rooms_leg --> rooms_stream_state --> net/splice
 *	net/udp --> rooms_udp --> rooms_state --> net/udp
 */
#ifndef ROOMS_ROOMS_SERVE_H
#define ROOMS_ROOMS_SERVE_H

#include "api/api.h"
#include "conf/conf.h"
#include "net/ban.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tcp.h"
#include "net/udp.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct rooms;

/* Loads the boards. conf must outlive the rooms. ERR_NOMEM, ERR_STORE, ERR_IO with a sentence in report. */
enum err rooms_new(struct rooms **out, struct loop *loop, struct store *store, const struct conf *conf, FILE *report);
void     rooms_free(struct rooms *r); /* after tcp, udp and the store are gone; NULL is fine */

const struct tcp_listen  *rooms_listen(const struct rooms *r);      /* for tcp_listen */
const struct udp_handler *rooms_udp_handler(const struct rooms *r); /* for udp_listen */

/* While on, no new room is made (ERROR 6); those that are there go on, and players still come in. */
void rooms_drain(struct rooms *r, bool on);

/* Everybody is closed and nobody is let in any more; scores are handed to the store. Before tcp_stop. */
void rooms_stop(struct rooms *r);

/*
 * How many connections this ban of a name is meant for, streams of that player's included; of a ban of an address those alone
 * that net/tcp does not know, which are both legs of each stream in which one leg is from there. With end, they are reset.
 */
size_t rooms_ban(struct rooms *r, const struct ban *b, bool end);

/*
 * On an HTTP thread, for an operator: takes this player's name (16 bytes, NULs behind it; in any case) off all boards, and adds to
 * *rows how many scores that were, or with dry_run would be. Errors as those of the route that removes one score.
 */
enum err rooms_forget_name(struct api_call *c, struct rooms *r, const uint8_t name[16], int64_t *rows);

/* After the loop has returned, before store_stop: the scores that are still there. */
void rooms_finish(struct rooms *r);

/* After store_stop and loop_drain: whether scores that were answered are lost. */
bool rooms_has_lost(const struct rooms *r);

/* The status page: routes for a listener of its own, their part is the rooms. Any thread. */
extern const struct http_route rooms_status_routes[];

/* What operators may ask; their part is the same as above. */
extern const struct api_route rooms_admin_routes[];

#endif
