/*
 * Tokens while they are good, and one-time links. They are in memory, so that a check waits for nothing, and tokens are in
 * the database too (store/token.h); links end with the process.
 */
#ifndef API_API_TOKEN_H
#define API_API_TOKEN_H

#include "api/api.h"
#include "store/token.h"

#include <stdbool.h>
#include <stdint.h>

#define API_TOKEN_BYTES  32
#define API_TOKEN_DIGITS (2 * API_TOKEN_BYTES)

/* Reads those that are good, between store_open and store_start. ERR_NOMEM, or the database's. */
enum err api_tokens_load(struct api *a, struct db *db);

/*
 * Makes one and keeps it. Of row, the caller has set name, role, made_by and expires_ms; the rest is set here. token gets its
 * digits and a NUL: wipe it. ERR_NO_ROOM: as many are good as may be, and api_problem said so; the store's. With c->dry_run it
 * only says whether there is room.
 */
enum err api_token_make(char token[API_TOKEN_DIGITS + 1], struct token_row *row, struct api_call *c);

/* At once, whatever the store does then; ERR_NOT_FOUND: there never was such a one. Not for dry runs. */
enum err api_token_revoke(struct api_call *c, int64_t id);

/* --- One-time links --- */

#define API_LINKS_MAX 16 /* that wait to be used; a further one takes the place of the oldest */

struct api_link {
	enum api_role role;
	char          made_by[AUDIT_WHO_BYTES];
};

void api_link_make(char secret[API_TOKEN_DIGITS + 1], struct api *a, const struct api_link *link);
/* Whose secret it is. use: it is no good from now on. ERR_TOKEN: nobody's, or too late. */
enum err api_link_find(struct api_link *out, struct api *a, const char *secret, bool use);

#endif
