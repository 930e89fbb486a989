#include "base/mem.h"

#include <stdlib.h>

void *mem_new(size_t bytes)
{
	return calloc(1, bytes);
}

void mem_free(void *p)
{
	free(p);
}
