/*
 * Inside the events: one viewer, and what all share.
 */
#ifndef ADMIN_ADMIN_VIEWER_H
#define ADMIN_ADMIN_VIEWER_H

#include "admin/admin_events.h"
#include "admin/admin_figures.h"
#include "base/event.h"
#include "base/list.h"
#include "base/metric.h"

#include <stdatomic.h>

/* How a connection is closed (RFC 6455: 4000 to 4999 are ours; 1013 is "try again later"). */
enum admin_close {
	ADMIN_CLOSE_FULL    = 1013,
	ADMIN_CLOSE_TOKEN   = 4401,
	ADMIN_CLOSE_FOREIGN = 4403,
	ADMIN_CLOSE_LATE    = 4408
};

struct admin_events {
	struct loop               *loop;
	struct admin_events_config cfg;
	struct ws_handler          handler;
	struct list                waiting, watching; /* viewers, the oldest first */
	size_t                     watching_count;
	size_t               watching_max, waiting_max; /* limits as they were at the start: queues are made for them */
	struct timer         tick;
	struct loop_post     news;         /* events came */
	atomic_bool          has_news;     /* it is posted and has not run */
	atomic_bool          lost_revoked; /* a revoked token could not be told of */
	struct loop_work     measuring;
	bool                 is_measuring, is_stopped;
	struct admin_figures figures;
	char                 set[ADMIN_FIGURES_BYTES]; /* the newest */
	size_t               set_len;                  /* 0: there is none yet */
	enum store_health    health;
	bool                 has_space;
};

struct viewer {
	struct admin_events *all;
	struct ws_conn      *ws;
	struct list          in;
	struct timer         timer; /* WAITING: until the token must be there; WATCHING: until events begin */
	bool                 is_watching, is_closing, is_pushed;
	struct api_caller    who;
	bool                 kinds[EVENT_KINDS], wants_figures;
	uint64_t             next;       /* the event that is looked at next */
	bool                 has_begun;  /* events flow */
	bool                 catches_up; /* it reads what is kept, as fast as it can; nothing of that is lost for it */
	bool                 set_waits;  /* the newest set is to be sent when there is room */
	int64_t              lost_events, lost_sets; /* not told yet */
};

/* The handler's calls. */
void *admin_viewer_opened(void *part, struct ws_conn *ws, int64_t now_ms);
void  admin_viewer_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms);
void  admin_viewer_closed(void *data, int64_t now_ms);

/* For ws_door: the one that has waited longest for its token goes. */
bool admin_viewer_make_room(void *part);

/* Sends what came for it, as far as it has room. */
void admin_viewer_pump(struct viewer *v);

/* There is a new set of figures. */
void admin_viewer_on_set(struct viewer *v);

void admin_viewer_close(struct viewer *v, enum admin_close status, enum metric why);

#endif
