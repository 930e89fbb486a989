/*
 * The server's events, live, over WebSocket by libwebsockets' client, which runs on a thread of its own. It comes back by
 * itself when the connection ends, and asks for what it missed.
 *
 *	stream_open --> poll stream_fd --> stream_next, as often as it gives something --> stream_close
 */
#ifndef COOPCTL_STREAM_H
#define COOPCTL_STREAM_H

#include "coopctl/ctl.h"

#include <jansson.h>
#include <stdint.h>

#define STREAM_TEXT_BYTES 512
#define STREAM_WAITING    1000 /* items; then nothing more is read, and the server says what it could not send */

struct stream;

/* What is wanted of the server. */
struct stream_wish {
	const char *const *kinds; /* "game.*"; none: all */
	size_t             kind_count;
	bool               figures;
	bool               has_since; /* begins with what came behind this number */
	int64_t            since;
	int64_t            recent; /* without since: begins so many events back */
};

enum stream_what {
	STREAM_UP,      /* the message is the server's hello */
	STREAM_MESSAGE, /* an event, figures, lost, or error */
	STREAM_DOWN,    /* the connection ended, as the text says; it is tried again */
	STREAM_OVER     /* for good: exit, code and text say why. Nothing follows */
};

struct stream_item {
	enum stream_what what;
	json_t          *message; /* for json_decref */
	enum ctl_exit    exit;
	const char      *code;
	char             text[STREAM_TEXT_BYTES];
};

/* Where the events are. socket: the path of a unix socket; "": TCP. */
struct stream_place {
	char socket[512], host[256];
	int  port;
	bool is_tls;
};

/* Finds the place; failures have been said. events_socket NULL: the one beside the API's socket. */
enum ctl_exit stream_find(struct stream_place *out, struct ctl *c, const char *events_socket);

/*
 * The same by what is known. url as in ctl_where; listeners as in the server's status, not needed for https: there a proxy has
 * both. NULL, or why not.
 */
const char *stream_place_of(struct stream_place *out, const char *url, const json_t *listeners);

/* Begins. The texts in wish and c have to last. Ends the program without memory. */
struct stream *stream_open(const struct ctl *c, const struct stream_place *place, const struct stream_wish *wish);
void           stream_close(struct stream *s); /* NULL is fine */

/* Readable when stream_next has something. */
int  stream_fd(const struct stream *s);
bool stream_next(struct stream_item *out, struct stream *s);

#endif
