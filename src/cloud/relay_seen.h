/*
 * Codes of the Python relay against each other: a player or a code that stands there twice.
 */
#ifndef CLOUD_RELAY_SEEN_H
#define CLOUD_RELAY_SEEN_H

#include "base/err.h"
#include "store/import.h"

#include <stddef.h>

/* What a check would have brought in, which a real import finds in the database. */
struct relay_seen;

/* NULL when out of memory. For relay_seen_free, for which NULL is fine. */
struct relay_seen *relay_seen_new(void);
void               relay_seen_free(struct relay_seen *s);

/* A code that would come in is remembered, or c->verdict says what an earlier one of the same run makes of it. ERR_NOMEM. */
enum err relay_seen_code(struct relay_seen *s, struct import_code *c);

/*
 * Calls each for every member of the one object of JSON in the text that has the same name as another one before it; the name as it
 * is written there. ERR_NOMEM.
 */
enum err relay_twice(const char *text, size_t len, void (*each)(void *arg, const char *name, size_t len), void *arg);

#endif
