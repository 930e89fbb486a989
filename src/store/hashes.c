#include "store/hashes.h"

#include <stdlib.h>
#include <string.h>

enum err hashes_add(struct hashes *h, const uint8_t hash[BLOB_HASH_BYTES])
{
	if (h->count == h->cap) {
		size_t cap                      = h->cap ? 2 * h->cap : 64;
		uint8_t(*more)[BLOB_HASH_BYTES] = realloc(h->list, cap * BLOB_HASH_BYTES);

		if (!more)
			return ERR_NOMEM;
		h->list = more;
		h->cap  = cap;
	}
	memcpy(h->list[h->count++], hash, BLOB_HASH_BYTES);
	return ERR_OK;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, BLOB_HASH_BYTES);
}

void hashes_sort(struct hashes *h)
{
	size_t kept = 0;

	if (h->count > 0)
		qsort(h->list, h->count, BLOB_HASH_BYTES, compare);
	for (size_t i = 0; i < h->count; i++) {
		if (kept == 0 || compare(h->list[kept - 1], h->list[i]) != 0)
			memmove(h->list[kept++], h->list[i], BLOB_HASH_BYTES);
	}
	h->count = kept;
}

void hashes_fini(struct hashes *h)
{
	free(h->list);
	*h = (struct hashes){ 0 };
}
