/*
 * getrandom(2), which needs no file and waits only before the kernel has its first randomness.
 */
#include "os/random.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

void random_bytes(void *out, size_t len)
{
	uint8_t *at = out;

	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			perror("getrandom");
			abort();
		}
		at += n;
		len -= (size_t)n;
	}
}

uint64_t random_u64(void)
{
	uint64_t v;

	random_bytes(&v, sizeof(v));
	return v;
}

uint32_t random_below(uint32_t bound)
{
	assert(bound > 0);

	/* The last, incomplete run of remainders is thrown away: it would favour the small ones. */
	uint32_t uneven = (uint32_t)(UINT64_C(0x100000000) % bound);
	uint32_t v;
	do
		random_bytes(&v, sizeof(v));
	while (v > UINT32_MAX - uneven);
	return v % bound;
}
