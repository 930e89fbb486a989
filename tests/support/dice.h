/*
 * Numbers that look like chance and are the same in every run: for tests that let everything happen in any order.
 *
 *	dice_seed(7);
 *	if (dice_below(3) == 0)
 *		somebody leaves
 */
#ifndef TESTS_DICE_H
#define TESTS_DICE_H

#include <stdint.h>

void dice_seed(uint32_t seed);

/* 0 .. bound - 1; bound is at least 1. */
uint32_t dice_below(uint32_t bound);

#endif
