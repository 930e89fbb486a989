/*
 * One connection of an actor: TCP or a unix socket, blocking with deadlines, and on it bytes, lines, WebSocket messages or one
 * HTTP request. Nothing here ends the program: what fails returns false, and the actor decides whether that is a fault.
 */
#ifndef SOAK_WIRE_H
#define SOAK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOAK_PATIENCE_MS 15000 /* for what has to come; long, for the machine may be busy */

struct soak_wire {
	int      fd;   /* -1: not connected */
	bool     late; /* the last that failed did so because its time was over; the connection is still there */
	uint8_t *in;   /* from in_at to in_len not yet taken */
	size_t   in_at, in_len, in_cap;
};
#define SOAK_WIRE_NONE ((struct soak_wire){ .fd = -1 })

/* From an address of this machine, or NULL. rcvbuf_bytes 0: the system's. */
bool soak_dial(struct soak_wire *w, const char *from, uint16_t port, int rcvbuf_bytes);
bool soak_dial_unix(struct soak_wire *w, const char *path);
void soak_hang_up(struct soak_wire *w); /* also when it is not connected */
void soak_abort(struct soak_wire *w);   /* so that the other side sees a reset */

bool soak_send(struct soak_wire *w, const void *data, size_t len);

/* The next len bytes, until the next call; NULL when they do not come in time. */
const uint8_t *soak_take(struct soak_wire *w, size_t len, int ms);

/* The next line without its end, ended by NUL; NULL as above. */
char *soak_line(struct soak_wire *w, int ms);

/* Waits until the other side has closed, and throws away what comes before that. */
bool soak_await_end(struct soak_wire *w, int ms);

/* --- WebSocket --- */

enum {
	SOAK_WS_NONE   = -1,
	SOAK_WS_TEXT   = 1,
	SOAK_WS_BINARY = 2,
	SOAK_WS_CLOSE  = 8,
	SOAK_WS_PING   = 9,
	SOAK_WS_PONG   = 10
};

/* Asks for it at this path, as the client of that address (NULL: none is named). The status; 0 when none comes. */
int soak_upgrade(struct soak_wire *w, const char *path, const char *address);

bool soak_ws_say(struct soak_wire *w, int op, const void *data, size_t len);

struct soak_message {
	int            op; /* TEXT, BINARY or CLOSE; NONE: nothing in time (w->late), or the end */
	const uint8_t *data;
	size_t         len;
};
/* Pings are answered by themselves. */
struct soak_message soak_ws_hear(struct soak_wire *w, int ms);

/* --- HTTP --- */

struct soak_ask {
	const char *unix_path; /* NULL: TCP */
	uint16_t    port;
	const char *method, *path;
	const char *address; /* of the client, as a proxy names it; NULL: none */
	const char *fields;  /* further header lines, each with its CR LF; NULL: none */
	const void *body;
	size_t      len;
	int         patience_ms; /* 0: SOAK_PATIENCE_MS */
};

struct soak_answer {
	int    status; /* 0: none came */
	char  *text;   /* head and body, with a NUL behind; soak_answer_fini */
	char  *body;   /* in text */
	size_t body_len;
};

/* One request on a connection of its own. */
void soak_http(struct soak_answer *out, const struct soak_ask *q);
void soak_answer_fini(struct soak_answer *a);

/* The text or number behind "key": in compact JSON; false when it is not there, or does not fit. */
bool soak_json(char *out, size_t cap, const char *json, const char *key);

#endif
