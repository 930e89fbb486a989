/*
 * TURN credentials: time-limited, from a secret shared with the TURN server (coturn's use-auth-secret).
 *
 *	user = Unix second at which it ends, ":", label of the caller (his address bucket)
 *	pass = base64 of HMAC-SHA1 under the secret over user
 *
 * What goes into an answer: {"user","pass","ttl","uris":[uri?transport=udp, uri?transport=tcp]}.
 */
#ifndef LOBBY_LOBBY_TURN_H
#define LOBBY_LOBBY_TURN_H

#include "base/err.h"
#include "base/json.h"
#include "lobby/lobby_state.h"
#include "net/addr.h"

#include <stdint.h>

#define LOBBY_TURN_PASS_BYTES 29 /* base64 of 20 bytes, with a NUL */

/* The bucket as text: "203.0.113.7", "2001:db8:1:2::/64"; "unix" for a local socket. */
void lobby_label(char out[LOBBY_LABEL_BYTES], const struct addr *a);

/* until_s: Unix seconds. ERR_INTERNAL as hmac_sha1. */
void     lobby_turn_user(char out[LOBBY_TURN_USER_BYTES], int64_t until_s, const char *label);
enum err lobby_turn_pass(char out[LOBBY_TURN_PASS_BYTES], const char *secret, const char *user);

/* The object for "turn"; ERR_NOMEM, ERR_INTERNAL. */
enum err lobby_turn_json(struct json **out, const char *secret, const char *user, int64_t ttl_s, const char *uri);

#endif
