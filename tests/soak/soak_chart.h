/*
 * The run as a picture (SVG), readable on light and on dark: the server's memory, descriptors, files and processors over time, and
 * each surface's latency; its restarts are vertical lines.
 */
#ifndef SOAK_CHART_H
#define SOAK_CHART_H

#include <stdbool.h>

/* False when it cannot be written. */
bool soak_chart(const char *path, const char *title, bool holds);

#endif
