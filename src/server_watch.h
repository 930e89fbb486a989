/*
 * What the service manager (systemd) hears of this process: that it is ready, that it still lives, that it stops.
 *
 * It is told that all is well from the loop's thread, so not when that hangs, and not when the store's does. A store that fails but
 * answers is alive: a restart would not mend its disk, and would end all games.
 */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include "conf/conf.h"
#include "net/loop.h"
#include "store/store.h"

struct watch { /* loop thread */
	struct loop         *loop;
	struct store        *store;
	const struct limits *limits;
	struct timer         timer;
	bool                 is_hung; /* the store; it was said */
};

void watch_init(struct watch *w, struct loop *loop, struct store *store, const struct limits *limits);

/* All listeners serve. */
void watch_ready(struct watch *w);

/* It stops, for good. */
void watch_stopping(struct watch *w);

#endif
