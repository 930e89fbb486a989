/*
 * Characters that are no good where a peer's text is shown to people: controls, white space but the plain blank, what turns the
 * direction of writing, what nobody sees. They make one name look like another, or a line like two.
 */
#ifndef BASE_TEXT_HIDDEN_H
#define BASE_TEXT_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_is_hidden(uint32_t code);

/* White space, the plain blank included. */
bool text_is_space(uint32_t code);

/*
 * A peer's bytes as they are shown: each byte that is no part of a whole, shortest-form character of UTF-8 becomes U+FFFD, and
 * hidden characters are left out. Stops before the first character that does not fit; 3 * len + 1 bytes are always enough.
 * out is always ended by NUL (cap at least 1).
 */
void text_show(char *out, size_t cap, const void *data, size_t len);

#endif
