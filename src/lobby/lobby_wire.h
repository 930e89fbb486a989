/*
 * What hosts and players write to the lobby master in JSON: fields read leniently, cleaned and clamped; and the rows of
 * its list.
 *
 * Every field has a kind (see src/lobby/PROTOCOL.md): a string field takes whatever can be text, an integer field whatever
 * can be a number, a boolean field whatever is true or not, an exact string only a string. No wrong type is an error by
 * itself.
 */
#ifndef LOBBY_LOBBY_WIRE_H
#define LOBBY_LOBBY_WIRE_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters of a cleaned field, and the bytes its text takes with a NUL. */
#define LOBBY_NAME_CHARS    63
#define LOBBY_WORLD_CHARS   39
#define LOBBY_VERSION_CHARS 23
#define LOBBY_TEXT_BYTES(c) (4 * (c) + 1)

#define LOBBY_NAME_EMPTY "VOTV Coop" /* what a name is that is empty after cleaning */

#define LOBBY_SESSION_BYTES   16 /* sessionId: 32 hex digits */
#define LOBBY_ID_BYTES        8  /* lobbyId: 16 hex digits */
#define LOBBY_TOKEN_BYTES     24 /* token: 32 characters of unpadded base64url */
#define LOBBY_TOKEN_CHARS     32
#define LOBBY_KEY_BYTES       32 /* of an identity, "gen:" and 64 lower-case hex digits */
#define LOBBY_IDENTITY_CHARS  68
#define LOBBY_CLAIM_SHA_CHARS 64
#define LOBBY_CLAIM_SIG_CHARS 128
#define LOBBY_NONCE_BYTES     32
#define LOBBY_PROOF_BYTES     64

struct lobby_links {
	int relayed, direct, lan;
};

/* The build claim; all empty when there is none, or it was malformed. Nothing of it is verified. */
struct lobby_claim {
	char sha[LOBBY_CLAIM_SHA_CHARS + 1];
	int  key;
	char sig[LOBBY_CLAIM_SIG_CHARS + 1];
};

/* POST /v1/host. */
struct lobby_announce {
	char               name[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)];
	char               world[LOBBY_TEXT_BYTES(LOBBY_WORLD_CHARS)];
	char               version[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];
	char               game[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];
	bool               has_identity;
	uint8_t            key[LOBBY_KEY_BYTES];
	int                proto;       /* 0..65535 */
	int                players_max; /* 1..4 */
	bool               locked, listed, is_direct;
	int64_t            direct_port; /* as it came; -1: none */
	struct lobby_claim claim;
	/* The proof that the host holds the key of its identity; has_proof: both members are well-formed. */
	bool    has_proof;
	uint8_t nonce[LOBBY_NONCE_BYTES];
	uint8_t proof[LOBBY_PROOF_BYTES];
};

/* POST /v1/heartbeat. */
struct lobby_beat {
	bool        has_credentials; /* both are well-formed; otherwise nobody is meant */
	uint8_t     session[LOBBY_SESSION_BYTES];
	char        token[LOBBY_TOKEN_CHARS + 1];
	bool        has_players;
	int64_t     players;    /* not clamped yet: the lobby's players_max decides */
	bool        has_listed; /* the member is there and not null */
	bool        listed;
	bool        has_links;
	int64_t     relayed, direct, lan; /* as players */
	const char *turn_user;            /* in the request's JSON; NULL or "" : none */
	size_t      turn_user_len;
};

/* Reads; body is the request's, an object. Never fails: what is wrong is as if it were not there. */
void lobby_read_announce(struct lobby_announce *out, const struct json *body);
void lobby_read_beat(struct lobby_beat *out, const struct json *body);

/*
 * Exact strings. False when missing, of another type or malformed (wrong length, upper case, another alphabet). Where a
 * missing one is told apart from one that nobody has, json_kind does it.
 */
bool lobby_read_session(uint8_t out[LOBBY_SESSION_BYTES], const struct json *body, const char *key);
bool lobby_read_id(uint8_t out[LOBBY_ID_BYTES], const struct json *body, const char *key);
bool lobby_read_token(char out[LOBBY_TOKEN_CHARS + 1], const struct json *body, const char *key);

/* The three lenient kinds. A string field cleaned, at most chars_max characters; out has LOBBY_TEXT_BYTES(chars_max). */
void    lobby_read_string(char *out, size_t chars_max, const struct json *body, const char *key);
int64_t lobby_read_int(const struct json *body, const char *key, int64_t otherwise);
bool    lobby_read_bool(const struct json *body, const char *key, bool otherwise);

/*
 * Removes what may not be shown, then cuts at chars_max characters. Bytes that are no UTF-8 (a query may have some) are
 * removed too. out as above.
 */
void lobby_clean(char *out, size_t chars_max, const char *text, size_t len);

/* Empty, or N.N.Nx: two numbers of 1-2 digits, a third with 0-2 letters a-z behind it. */
bool lobby_game_is_good(const char *game);

/* The value of the last "version=" piece of a query ("a=1&version=x"), cleaned, not decoded; "" : all. */
void lobby_read_filter(char out[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)], const char *query);

/* A row of the list, from what is known of a lobby. */
struct lobby_row {
	uint8_t            id[LOBBY_ID_BYTES];
	const char        *name, *world, *version, *game;
	int                proto, players, players_max;
	bool               locked, is_direct, is_proved;
	struct lobby_links links;
	struct lobby_claim claim;
};

/*
 * The row's JSON but for its last member and brace, so that only the age has to be made anew: `{"lobbyId":"..",...,"age":`.
 * For free(); NULL when out of memory. *len without the NUL.
 */
char *lobby_row_text(size_t *len, const struct lobby_row *row);

#endif
