/*
 * Asking the store and waiting for the answer, on a thread that may wait (HTTP), with a bound.
 */
#ifndef STORE_ASK_H
#define STORE_ASK_H

#include "store/store.h"

#define STORE_ASK_MS 5000

/*
 * Submits job (port and done are set here) and waits. The result of the job; or, at once, ERR_BUSY or ERR_STORE when it
 * was refused (the job is the caller's then, *gone false).
 *
 * ERR_BUSY with *gone true: no answer within STORE_ASK_MS. The job, which must be on the heap, is the store's from then
 * on; let_go(job, result) is called on the store thread when it has ended, owns it, and must undo what nobody will use.
 */
enum err store_ask(struct store *s, struct job *job, bool *gone, void (*let_go)(struct job *job, enum err result));

/* The same with another bound; -1: none, for threads of the store itself. */
enum err store_ask_within(struct store *s, struct job *job, bool *gone,
                          void (*let_go)(struct job *job, enum err result), int64_t patience_ms);

#endif
