/*
 * Jobs of a test itself in a running store: questions to its database, and a gate behind which everybody's jobs wait.
 */
#ifndef TESTS_STORE_GATE_H
#define TESTS_STORE_GATE_H

#include "store/store.h"

#include <stdint.h>

/* One number from the database; 0 for a statement that is no SELECT. Comes with a commit of its own. */
int64_t gate_ask(struct store *s, const char *sql);

/* The same where the whole batch may be lost: ERR_STORE. */
enum err gate_try(struct store *s, const char *sql);

/* Waits until a SELECT answers so, ten seconds at most; a failed expectation then. */
void gate_await(struct store *s, const char *sql, int64_t answer);

/* From here on the store thread does nothing, until the gate is opened. One that is open may be opened again. */
void gate_close(struct store *s);
void gate_open(void);

/* Any statement, as a job of this surface that nobody waits for. ERR_BUSY when its share of the queue is full. */
enum err gate_submit(struct store *s, enum store_surface surface, const char *sql);

#endif
