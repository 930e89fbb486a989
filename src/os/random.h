/*
 * Random bytes from the kernel. Never fails: without randomness the process aborts, since every secret hangs on it.
 */
#ifndef OS_RANDOM_H
#define OS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *out, size_t len);

uint64_t random_u64(void);

/* Evenly spread over 0 .. bound - 1; bound at least 1. */
uint32_t random_below(uint32_t bound);

#endif
