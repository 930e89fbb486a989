/*
 * The limits, made from limits.def: one int64_t per row; those of reload.def may change at any time.
 */
#ifndef CONF_LIMITS_H
#define CONF_LIMITS_H

#include <stdint.h>

struct limits {
#define LIMIT(name, def, min, max, unit, help) int64_t name;
#include "conf/limits.def"
#undef LIMIT
};

/* Every limit at its default. */
void limits_default(struct limits *l);

#endif
