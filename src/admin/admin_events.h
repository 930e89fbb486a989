/*
 * Events and figures for operators who watch, over WebSocket: src/admin/PROTOCOL.md, chapter Events.
 *
 *	the head of the upgrade --> WAITING --a right token--> WATCHING --slow: loses figures, then events--> WATCHING
 *	                \___ by the socket's peer ____________/        \__ token revoked, expired --> closed 4401
 *	                 \__ foreign page or name --> closed 4403;   nothing came in time --> closed 4408
 *
 * Events are kept by base/event; a viewer has a place in them, and no copy. All of it is for the loop thread.
 */
#ifndef ADMIN_ADMIN_EVENTS_H
#define ADMIN_ADMIN_EVENTS_H

#include "api/api.h"
#include "base/err.h"
#include "conf/conf.h"
#include "net/loop.h"
#include "net/ws.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

#define ADMIN_EVENTS_PATH      "/admin/v1/events"
#define ADMIN_EVENTS_PAGES_MAX 16

struct admin_events;

/*
 * pages: ports on which the operators' page is served; a page that was opened under the name by which it asks for events, on one
 * of them, is our own. Becomes ws's door. api, ws and conf must outlive it. ERR_NOMEM.
 */
struct admin_events_config {
	struct api        *api;
	struct ws         *ws;
	struct store      *store;
	const struct conf *conf;
	uint16_t           pages[ADMIN_EVENTS_PAGES_MAX];
	size_t             page_count;
};
enum err admin_events_new(struct admin_events **out, struct loop *loop, const struct admin_events_config *cfg);

/* Figures from here on, once a second. */
void admin_events_start(struct admin_events *a);

/* What happened up to now is sent; before ws_stop, which closes the viewers. */
void admin_events_stop(struct admin_events *a);

/* After ws_free and loop_drain, once nobody revokes tokens any more. NULL is fine. */
void admin_events_free(struct admin_events *a);

#endif
