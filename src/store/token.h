/*
 * Tokens of operators, as they are kept: a digest each, never the token itself. Which of them are good is decided in
 * src/api, from memory; what is here outlives the process.
 */
#ifndef STORE_TOKEN_H
#define STORE_TOKEN_H

#include "base/err.h"
#include "store/audit.h"

#include <stdint.h>

struct db;

#define TOKEN_DIGEST_BYTES 32
#define TOKEN_NAME_BYTES   65 /* with a NUL: it stands in AUDIT_WHO_BYTES beside the id */

struct token_row {
	int64_t id;
	uint8_t digest[TOKEN_DIGEST_BYTES]; /* SHA-256 of the token's 32 bytes */
	char    name[TOKEN_NAME_BYTES];
	int64_t role; /* 1: viewer, 2: operator */
	int64_t made_ms;
	char    made_by[AUDIT_WHO_BYTES];
	int64_t expires_ms, used_ms, revoked_ms; /* wall; 0: never, or it was not */
};

/* On the store thread. add: sets row->id; used_ms and revoked_ms are not looked at. */
enum err token_add(struct db *db, struct token_row *row);
enum err token_revoke(struct db *db, int64_t id,
                      int64_t now_ms); /* ERR_NOT_FOUND; ERR_OK also when it was revoked before */
enum err token_used(struct db *db, int64_t id, int64_t used_ms);
/* Those that were revoked, or expired, before this time go. */
enum err token_thin(struct db *db, int64_t before_ms);

/* By id, those behind `after`, at most `rows`. A reader's connection will do. Stops at each's first error. */
enum err token_each(struct db *db, int64_t after, int64_t rows,
                    enum err (*each)(const struct token_row *row, void *arg), void *arg);

#endif
