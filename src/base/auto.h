/*
 * Ownership helpers.
 *
 *	AUTO(thing_freep) struct thing *t = thing_new();   freed when t goes out of scope
 *	*out = TAKE(t);                                    ownership moves out; t is NULL now
 */
#ifndef BASE_AUTO_H
#define BASE_AUTO_H

#include <stddef.h>
#include <stdlib.h>

#define AUTO(cleanup_fn) __attribute__((cleanup(cleanup_fn)))

#define TAKE(p)                              \
	__extension__({                      \
		__typeof__(p) taken_ = (p);  \
		(p)                  = NULL; \
		taken_;                      \
	})

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The struct that holds this member. */
#define CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* The same for a member that is only looked at. */
#define CONST_CONTAINER(ptr, type, member) ((const type *)(const void *)((const char *)(ptr)-offsetof(type, member)))

/* For AUTO on memory from malloc. */
static inline void auto_free(void *p)
{
	free(*(void **)p);
}

#endif
