/*
 * Bytes that many answers share.
 */
#include "net/http_shared.h"

#include <assert.h>
#include <stdlib.h>

struct http_shared *http_shared_new(char *bytes, size_t len)
{
	struct http_shared *s = malloc(sizeof(*s));

	if (!s) {
		free(bytes);
		return NULL;
	}
	s->bytes = bytes;
	s->len   = len;
	atomic_init(&s->users, 1);
	return s;
}

struct http_shared *http_shared_use(struct http_shared *s)
{
	size_t before = atomic_fetch_add_explicit(&s->users, 1, memory_order_relaxed);

	assert(before > 0);
	(void)before;
	return s;
}

void http_shared_drop(struct http_shared *s)
{
	/* The last one must see what all others did with it as done. */
	if (!s || atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) != 1)
		return;
	free(s->bytes);
	free(s);
}
