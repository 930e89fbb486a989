/*
 * Update files: what the launcher of a mod asks for at every start.
 *
 *	GET /update/update.txt		the manifest, byte for byte; with update.key only while it verifies, otherwise 404
 *	GET /update/{package}		a package: ETag, Range
 *
 * Served are regular files directly in update.dir whose name does not begin with a dot, opened below a folder that is held
 * open. The manifest is looked at again whenever its inode, size or times changed, before it is served, and every 30 s, so
 * that the log tells the operator before his players do.
 */
#ifndef UPDATE_UPDATE_SERVE_H
#define UPDATE_UPDATE_SERVE_H

#include "conf/conf.h"
#include "net/http.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stdio.h>

struct update;

/* The part is a struct update. */
extern const struct http_route update_routes[];

/* update.enable, and a folder is set: otherwise there is nothing to serve, and nothing to look at. */
bool update_is_wanted(const struct conf *conf);

/* What update_new would refuse, all of it, with a sentence each in report; nothing is kept. ERR_OK when it is not wanted. */
enum err update_check(const struct conf *conf, FILE *report);

/*
 * Opens update.dir, reads update.key (a PEM file), looks at the manifest, and says in the log how it is. ERR_MALFORMED,
 * ERR_IO with a sentence in report: the folder cannot be opened or the key is none. A bad or missing manifest is no error.
 */
enum err update_new(struct update **out, struct loop *loop, const struct conf *conf, FILE *report);
void     update_start(struct update *u); /* loop thread: looks every 30 s */
void     update_stop(struct update *u);  /* loop thread */
void     update_free(struct update *u);  /* after HTTP has stopped and the loop was drained */

#endif
