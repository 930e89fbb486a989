/*
 * The heap, for pure files, which see nothing of the C library but mem*. What comes from here and what comes from malloc
 * may be given back either way.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* Zeroed; NULL when out of memory. */
void *mem_new(size_t bytes);

/* Harmless for NULL. */
void mem_free(void *p);

#endif
