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

/* A whole number of at least 0. False: it is none. */
bool value_number(int64_t *out, const char *text);

/* A moment as RFC 3339: what already is one (or a date alone), or so long ago: "2h". False: it is none. */
bool value_moment(char out[VALUE_TIME_BYTES], const char *text);

/* RFC 3339 into milliseconds since 1970; false: it is none. And back, in UTC. */
bool value_time_ms(int64_t *out, const char *rfc3339);
void value_time_text(char out[VALUE_TIME_BYTES], int64_t wall_ms);

/* Whether it is so many hex digits. */
bool value_is_hex(const char *text, size_t digits);

/*
 * The option as a number (of seconds, of bytes, or just one); *given is false, and *out untouched, when it is not there. A
 * mistake is said.
 */
enum value_kind { VALUE_NUMBER, VALUE_SECONDS, VALUE_BYTES };
enum ctl_exit value_option(int64_t *out, bool *given, const struct ctl *c, const char *option, enum value_kind kind);

#endif
