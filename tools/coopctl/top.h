/*
 * What coopctl top shows: figures, games and events as they came, and the lines that a screen of some size has of them.
 *
 *	top_hello, top_message, top_games, top_note, top_key --> struct top --> top_render --> struct top_view
 *
 * Nothing here knows of terminals or connections.
 */
#ifndef COOPCTL_TOP_H
#define COOPCTL_TOP_H

#include "coopctl/ctl.h"

#include <jansson.h>

#define TOP_EVENTS    200 /* kept */
#define TOP_LINES_MAX 400

/* Keys besides characters. */
enum { TOP_KEY_UP = 0x100, TOP_KEY_DOWN, TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN, TOP_KEY_HOME };

struct top {
	json_t *hello, *figures, *games; /* NULL: not yet. games: an array, sorted */
	json_t *events;                  /* an array, oldest first */
	size_t  hidden;                  /* of the newest, while paused */
	bool    paused, helps;
	size_t  sort; /* at of the column */
	bool    is_turned;
	size_t  scroll;    /* games above the first that is shown */
	char    note[200]; /* what is wrong with the connection; "": nothing */
};

void top_init(struct top *t);
void top_fini(struct top *t);

/* What came; nothing is taken over. */
void top_hello(struct top *t, const json_t *hello);
void top_message(struct top *t, const json_t *message);
void top_games(struct top *t, const json_t *items);
void top_note(struct top *t, const char *note);

/* False: it is the one that ends it. */
bool top_key(struct top *t, int key);

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_BAR };
struct top_line {
	char          *text; /* escaped, no wider than the screen */
	enum top_style style;
};
struct top_view {
	struct top_line lines[TOP_LINES_MAX];
	size_t          count;
};

/* rows 0: as many as there is something to show. scroll is brought into its bounds. */
void top_render(struct top_view *out, struct top *t, size_t width, size_t rows);
void top_view_fini(struct top_view *v);

/* All of it as one object for programs, for json_decref. */
json_t *top_json(const struct top *t);

#endif
