#include "support/dice.h"

static uint64_t state = 1;

void dice_seed(uint32_t seed)
{
	state = UINT64_C(0x9e3779b97f4a7c15) * (seed + UINT64_C(1));
}

/* xorshift64*: its upper half is good enough for games. */
uint32_t dice_below(uint32_t bound)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % bound;
}
