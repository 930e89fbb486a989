/*
 * Where leaks are looked for: in the processes that tests run in, not in the one that starts them. And how much is held.
 */
#ifndef TESTS_LEAKS_H
#define TESTS_LEAKS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this process runs a test. */
bool leaks_is_test(void);

/* What this process has from malloc and did not give back yet. */
size_t leaks_held_bytes(void);

#endif
