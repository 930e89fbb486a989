/*
 * The body of GET /v1/lobbies: made at most once a second (limits.lobby_list_ms) when something in it changed, and at least
 * every 5 s while somebody asks; served from memory, also compressed, with an ETag of its bytes. Who comes while it is made
 * gets the one before, if there is one, and waits otherwise.
 */
#ifndef LOBBY_LOBBY_LIST_H
#define LOBBY_LOBBY_LIST_H

#include "base/err.h"
#include "lobby/lobby_state.h"
#include "net/http.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOBBY_ETAG_BYTES 24 /* quotes, 16 hex digits, "-gz", NUL */

struct lobby_list;

/* lock guards state; it is held only while the rows are copied. NULL when out of memory. */
struct lobby_list *lobby_list_new(struct lobby_state *state, pthread_mutex_t *lock);
void               lobby_list_free(struct lobby_list *l);

/*
 * The body now (one use of it, the caller's), gzip or not, and its ETag. filter "": all; otherwise the rows of this version,
 * made for this caller alone. ERR_NOMEM.
 */
enum err lobby_list_get(struct http_shared **out, char etag[LOBBY_ETAG_BYTES], struct lobby_list *l, const char *filter,
                        bool gzip, int64_t now_ms);

/* Something went that nobody may see from now on: whoever asks next gets a list without it. */
void lobby_list_expire(struct lobby_list *l);

#endif
