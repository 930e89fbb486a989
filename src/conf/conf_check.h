/* What one value alone cannot show: settings that do not go together. For conf/ only. */
#ifndef CONF_CONF_CHECK_H
#define CONF_CONF_CHECK_H

#include "conf/conf_table.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a line to report for each combination that could not work, with where its value came from, and gives their
 * number. Rows marked bad had a problem of their own already and are not judged.
 */
size_t conf_check(const struct conf *c, const bool bad[CONF_ROWS], FILE *report);

#endif
