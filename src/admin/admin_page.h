/*
 * The operator's page: the files of web/, which the binary carries. Anybody may have them; what they show needs a token.
 */
#ifndef ADMIN_ADMIN_PAGE_H
#define ADMIN_ADMIN_PAGE_H

#include "api/api.h"

#include <stddef.h>

/* Their part is the api. */
extern const struct api_route admin_page_routes[];

/*
 * Which ports of the events' listeners the page may connect to, as the end of the connect-src of its policy, with a blank before
 * each: " ws://localhost:64191". host: the field of the request; only for a loopback name or address there is something, since
 * by any other name the page came through a proxy, and its events do too.
 */
void admin_page_events(char *out, size_t cap, const char *host);

#endif
