/*
 * What the operator's routes see of the live tunnel. Everything here is for the loop thread.
 */
#ifndef TUNNEL_TUNNEL_INSIDE_H
#define TUNNEL_TUNNEL_INSIDE_H

#include "tunnel/tunnel_serve.h"
#include "tunnel/tunnel_state.h"

struct tunnel_state *tunnel_state_of(struct tunnel *t);
int64_t              tunnel_now_ms(const struct tunnel *t); /* monotonic, as of this turn of the loop */

/* The client at the other end. */
const struct addr *tunnel_client_of(const struct tunnel_conn *c);

/* An empty list for one event, and then what that asks for is done. */
struct tunnel_acts *tunnel_acts_of(struct tunnel *t);
void                tunnel_do_acts(struct tunnel *t);

/* tunnel_admin_games.c, tunnel_admin_codes.c: handlers, each a row of the table in tunnel_admin.c. */
enum err tunnel_admin_games(struct api_call *c, void *part);
enum err tunnel_admin_game(struct api_call *c, void *part);
enum err tunnel_admin_close(struct api_call *c, void *part);
enum err tunnel_admin_kick(struct api_call *c, void *part);
enum err tunnel_admin_free_code(struct api_call *c, void *part);
enum err tunnel_admin_set_code(struct api_call *c, void *part);

#endif
