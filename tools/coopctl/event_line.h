/* An event in one line, for people: "2026-12-01 09:30:00.123  game.opened  code 123456". */
#ifndef COOPCTL_EVENT_LINE_H
#define COOPCTL_EVENT_LINE_H

#include "coopctl/print.h"

/* Any message of the events: figures and what was lost are named by their op. With the newline. */
void event_print(const struct ctl *c, FILE *out, const json_t *message);

#endif
