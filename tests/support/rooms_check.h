/*
 * Whether the rooms' state hangs together: every list, count and order in it, walked through. For tests and fuzz targets.
 */
#ifndef TESTS_ROOMS_CHECK_H
#define TESTS_ROOMS_CHECK_H

#include "rooms/rooms_state.h"

/* NULL, or the first thing that is wrong. */
const char *rooms_check(const struct rooms_state *s);

#endif
