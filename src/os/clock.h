/*
 * Time, in milliseconds. Read once per event and passed down as now_ms.
 *
 * In a test build (COOP_TEST_CLOCK) the file named by the environment variable COOP_TEST_CLOCK is mapped: its first
 * 8 bytes (int64, host order) are added to both clocks, the next 8, if there, to the wall clock only.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stdint.h>

/* Maps the test clock's file in a test build; does nothing otherwise. Call once, before any thread starts. */
void clock_init(void);

/* Milliseconds since an arbitrary moment, never backwards, not moved by whoever sets the machine's date. */
int64_t clock_mono_ms(void);

/* Milliseconds since 1970-01-01 UTC. */
int64_t clock_wall_ms(void);

/* Microseconds since an arbitrary moment, which no test moves: for how long something took. */
int64_t clock_lap_us(void);

#endif
