/*
 * SIGHUP: the configuration is read again, on a thread of its own since the loop touches no file, and what can change
 * without a restart does. What cannot is named in the log.
 */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include "conf/conf.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/ws.h"

struct reload;

/* All must outlive it; *http may be started later, or not at all. NULL when out of memory. */
struct reload *reload_new(struct loop *loop, struct ws *ws, struct http_server *const *http, struct conf *running,
                          const struct conf_args *args);

/* Waits for a reload that is under way. After the loop has returned. */
void reload_free(struct reload *r);

/* Loop thread. One that is under way already reads what is there now all the same: then this does nothing. */
void reload_begin(struct reload *r);

#endif
