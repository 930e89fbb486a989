/*
 * What the operators' routes of the rooms share: src/admin/PROTOCOL.md.
 */
#ifndef ROOMS_ROOMS_ADMIN_H
#define ROOMS_ROOMS_ADMIN_H

#include "api/api.h"
#include "rooms/rooms_wire.h"

#include <stdbool.h>
#include <stdint.h>

/* ?title=, as lists have it in title_key, or as it is. ERR_INVALID. */
struct rooms_title_filter {
	bool    has;
	uint8_t title[ROOMS_TITLE_BYTES];
};
enum err rooms_title_filter_read(struct rooms_title_filter *f, struct api_call *c);
bool     rooms_title_filter_takes(const struct rooms_title_filter *f, const uint8_t title[ROOMS_TITLE_BYTES]);

/* Two members: for people, and as a path has it. */
void rooms_put_title(struct json *j, const uint8_t title[ROOMS_TITLE_BYTES]);
void rooms_put_name(struct json *j, const char *member, const uint8_t name[ROOMS_NAME_BYTES]); /* for people only */

/* rooms_admin_boards.c */
enum err rooms_admin_boards(struct api_call *c, void *part);
enum err rooms_admin_board(struct api_call *c, void *part);
enum err rooms_admin_remove_score(struct api_call *c, void *part);
enum err rooms_admin_reset(struct api_call *c, void *part);
enum err rooms_admin_export(struct api_call *c, void *part);
enum err rooms_admin_import(struct api_call *c, void *part);

/* rooms_admin_players.c */
enum err rooms_admin_players(struct api_call *c, void *part);
enum err rooms_admin_disconnect(struct api_call *c, void *part);

#endif
