/*
 * Where leaks are looked for: in the processes that tests run in, not in the one that starts them.
 */
#ifndef TESTS_LEAKS_H
#define TESTS_LEAKS_H

#include <stdbool.h>

/* Whether this process runs a test. */
bool leaks_is_test(void);

#endif
