/*
 * An actor of a script: a connection, and an inbox of what the server said and the script has not yet looked at.
 */
#ifndef TESTS_ACTOR_H
#define TESTS_ACTOR_H

#include "scenario/script.h"
#include "support/pattern.h"
#include "support/ws_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage;

enum actor_role { ACTOR_NONE, ACTOR_HOST, ACTOR_FRIEND };

struct letter {
	enum ws_client_what what;
	size_t              len;
	uint8_t            *data;
	struct letter      *next;
};

struct actor {
	char              name[SCRIPT_WORD_BYTES];
	char              key[SCRIPT_WORD_BYTES];
	char              token[SCRIPT_WORD_BYTES];
	enum actor_role   role;
	bool              proto_1;
	bool              silent; /* sends nothing by itself, not even pongs */
	bool              ended;  /* by the server; there may still be letters */
	struct ws_client *ws;     /* NULL: not connected */
	struct letter    *first, *last;
};

/* Upgrades a new connection, with the options from= and proto= of the step. One that is still in use fails. */
void actor_connect(struct stage *s, struct actor *a, enum actor_role role);
bool actor_is_connected(const struct actor *a);

/* Forgets the connection and all letters. */
void actor_disconnect(struct actor *a);

void actor_send(struct stage *s, struct actor *a, const struct pattern *message);

/* Takes one event off the wire into the inbox. False when none came in time, or none can come any more. */
bool actor_receive(struct stage *s, struct actor *a, int patience_ms);

/* The oldest letter, which stays in the inbox, waited for when there is none; NULL when none came in time. */
struct letter *actor_letter(struct stage *s, struct actor *a, int patience_ms);
void           actor_drop_letter(struct actor *a);

/* Sends ECHO and waits for the answer, which the script does not see; what came before it does stay in the inbox. */
void actor_echo(struct stage *s, struct actor *a);

const char *letter_show(char *out, size_t cap, const struct letter *l);

#endif
