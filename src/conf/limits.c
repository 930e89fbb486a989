/* The limits at their defaults; conf_table.c has their ranges. */
#include "conf/limits.h"

void limits_default(struct limits *l)
{
#define LIMIT(name, def, ...) l->name = (def);
#include "conf/limits.def"
#undef LIMIT
}
