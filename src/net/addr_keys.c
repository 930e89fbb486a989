#include "net/addr_keys.h"

#include <assert.h>

static_assert(ADDR_KEY_BYTES == KEYED_KEY_BYTES, "addresses are keys");

struct both_keys addr_keys(const struct addr *a)
{
	struct both_keys k;

	addr_key(k.address, a);
	k.has_wide = addr_key_wide(k.wide, a);
	return k;
}
