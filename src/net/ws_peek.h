/*
 * A look at a request's head before the library reads it, because two things about it the library cannot tell: all
 * lines of a field that it does not know, and a line that it loses. In 4.1.6 a field whose name is the beginning of one
 * it knows ("X-Forwarded: a") swallows the line behind it, and that may be the one in which a proxy names the client.
 *
 * The two functions are pure.
 */
#ifndef NET_WS_PEEK_H
#define NET_WS_PEEK_H

#include "base/err.h"
#include "net/http_head.h"

#include <stddef.h>

/* Bytes of the head that these bytes begin with, its empty line included; 0 while its end is not there. */
size_t ws_peek_end(const char *bytes, size_t len);

/*
 * Collects the fields of the head of exactly len bytes, which is cut into pieces by that. ERR_MALFORMED: a line is no
 * field, there is a NUL, or http_head_check refuses it for a GET.
 */
enum err ws_peek_fields(struct http_head *out, char *head, size_t len, const char *forwarded_name);

#endif
