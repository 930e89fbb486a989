/*
 * What operators type: times, sizes, names, turned into what the server takes.
 */
#ifndef COOPCTL_VALUE_H
#define COOPCTL_VALUE_H

#include "coopctl/ctl.h"

#include <stdint.h>

#define VALUE_TIME_BYTES 32

/* "90s", "30m", "2h", "7d", "2w", or seconds. False: it is none. */
bool value_seconds(int64_t *out, const char *text);

/* "64M", "1G", "512K", or bytes; a B or iB behind the letter is fine. False: it is none. */
bool value_bytes(int64_t *out, const char *text);

/* "7d" or 7: whole days. A whole number of at least 0. False: it is none. */
bool value_days(int64_t *out, const char *text);
bool value_number(int64_t *out, const char *text);

/* A moment as RFC 3339: what already is one (or a date alone), or so long ago: "2h". False: it is none. */
bool value_moment(char out[VALUE_TIME_BYTES], const char *text);

/* RFC 3339 into milliseconds since 1970; false: it is none. And back, in UTC. */
bool value_time_ms(int64_t *out, const char *rfc3339);
void value_time_text(char out[VALUE_TIME_BYTES], int64_t wall_ms);

/* Whether it is so many hex digits. */
bool value_is_hex(const char *text, size_t digits);

/* Whether text is a value of this kind, and if not, what would be one. */
bool        value_is(enum ctl_kind kind, const char *text);
const char *value_wants(enum ctl_kind kind);

/* The option as a number, by its kind; false, and *out untouched, when it was not given. */
bool value_of(int64_t *out, const struct ctl *c, const char *option);

#endif
