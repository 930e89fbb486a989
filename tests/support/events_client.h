/*
 * A viewer of the operators' events, as src/admin/PROTOCOL.md describes one: it reads JSON, and checks that each event has exactly
 * the members that its kind has by base/event.def.
 *
 *	struct events_client *v = events_open(s);	over the unix socket, without a token
 *
 *	events_say(v, "{\"op\":\"filter\",\"kinds\":[\"game.*\"],\"figures\":false}");
 *	events_await(v, "game.opened");
 *	cr_expect_eq(events_int(v, "code"), code);
 *	events_free(v);
 */
#ifndef TESTS_EVENTS_CLIENT_H
#define TESTS_EVENTS_CLIENT_H

#include "base/json.h"
#include "support/server.h"
#include "support/ws_client.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_PATIENCE_MS 20000
#define EVENTS_OPERATOR    "operator"
#define EVENTS_VIEWER      "viewer"

struct events_client {
	struct ws_client *ws;
	struct json      *last;   /* of events_next; NULL: none */
	int               status; /* of the close frame that came instead */
	bool              has_ended;
	int64_t           seq;                    /* of the last event */
	int64_t           lost_events, lost_sets; /* as it was told, in all */
	size_t            sets;                   /* of figures that came */
};

/* Over the unix socket, and hello has come. */
struct events_client *events_open(const struct server *s);

/* Over TCP; hello has come for this token. */
struct events_client *events_open_with(const struct server *s, const char *token);

/* Upgraded, and nothing was said. options NULL: TCP; their path is set here. */
struct events_client *events_dial(const struct server *s, const struct ws_client_options *options);
void                  events_free(struct events_client *v); /* NULL is fine */

/* A token of this role, by the operator's API; id (may be NULL) is its number. */
#define EVENTS_TOKEN_BYTES 65
void events_token(char out[EVENTS_TOKEN_BYTES], int64_t *id, const struct server *s, const char *role);

void events_say(struct events_client *v, const char *text);
void events_auth(struct events_client *v, const char *token);
void events_since(struct events_client *v, int64_t seq);

/* The next message into v->last; false: silence, or the end. */
bool events_next(struct events_client *v, int patience_ms);

/* Reads on to one of this op, or event of this kind; the test ends when it does not come. */
#define events_await_op(v, op) events_await_op_at(__FILE__, __LINE__, v, op)
#define events_await(v, kind)  events_await_at(__FILE__, __LINE__, v, kind)
void events_await_op_at(const char *file, int line, struct events_client *v, const char *op);
void events_await_at(const char *file, int line, struct events_client *v, const char *kind);

/* Whatever comes before it: a close frame with this status. */
#define events_expect_closed(v, status) events_expect_closed_at(__FILE__, __LINE__, v, status)
void events_expect_closed_at(const char *file, int line, struct events_client *v, int status);

/* Members of v->last; the test ends when they are none of these. */
int64_t     events_int(const struct events_client *v, const char *name);
const char *events_text(const struct events_client *v, const char *name); /* NULL: null */
bool        events_is(const struct events_client *v, const char *name, const char *text);

#endif
