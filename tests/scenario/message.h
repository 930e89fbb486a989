/*
 * The messages of a script's words: "sends ..." to bytes, "gets ..." to a pattern and a check of what came.
 */
#ifndef TESTS_MESSAGE_H
#define TESTS_MESSAGE_H

#include "scenario/stage.h"

/* Of the stage's step, from its third word on. What the words do not say clearly fails. */
void message_sent(struct stage *s, const struct actor *a, struct pattern *out);
void message_expected(struct stage *s, const struct actor *a, struct pattern *out);

/* Whatever a pattern cannot say of a message that fits it: the values of CODE. */
void message_check(struct stage *s, const struct actor *a, const uint8_t *came);

/* HOST_OPEN and JOIN, from the step's options; key and token become the actor's. */
void message_open(struct stage *s, struct actor *a, struct pattern *out);
void message_join(struct stage *s, struct actor *a, struct pattern *out);

#endif
