/*
 * Memory that runs out at a chosen moment, for what sees no heap but through base/. The test program is linked so that
 * mem_new, pool_take, map_put and json_object_new come through here.
 */
#ifndef TESTS_SCARCE_H
#define TESTS_SCARCE_H

#include <stdbool.h>

/* After so many more that are given, the next one is refused, and only that. */
void scarce_after(int pieces);

/* From now on there is enough. Whether one was refused since scarce_after. */
bool scarce_end(void);

#endif
