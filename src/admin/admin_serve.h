/*
 * The operator's surface on a unix socket.
 *
 *	GET /metrics	all figures in Prometheus text format 0.0.4
 *
 * Who may open the socket may use it: its mode decides. A request with Origin, Forwarded, Via or an X-Forwarded-* field
 * came through a web page or a proxy, so the socket's mode says nothing about who sent it: 401, as there are no tokens.
 */
#ifndef ADMIN_ADMIN_SERVE_H
#define ADMIN_ADMIN_SERVE_H

#include "base/err.h"
#include "conf/conf.h"
#include "net/http.h"

#include <stddef.h>

struct admin;

/*
 * Serves on this listening socket, which it owns from here on, the routes of other parts too (below /admin, by custom).
 * conf and what more points to must outlive it. Errors as of http_start.
 */
enum err admin_start(struct admin **out, const struct conf *conf, int fd, const struct http_part *more,
                     size_t more_count);

/* As http_stop. The socket's file stays; it is the caller's. */
void admin_stop(struct admin *a);

/* Looks at every deadline now: after the test clock was moved. Any thread. */
void admin_poke(struct admin *a);

#endif
