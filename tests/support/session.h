/*
 * A session that touches every surface of a server once, and remembers what the server promised to keep. Whatever is
 * refused on the way is left out; the server may fail, answer errors or die.
 *
 *	struct session *x = session_new(s);
 *
 *	session_run(x);
 *	server_restart(s);
 *	session_check(x);
 *
 * The server needs SESSION_SETS.
 */
#ifndef TESTS_SESSION_H
#define TESTS_SESSION_H

#include "support/lobby_client.h"
#include "support/server.h"

#include <stdbool.h>
#include <stdint.h>

#define SESSION_SETS \
	"limits.cloud_interval_ms=0", "limits.lobby_list_ms=0", "rooms.relay=yes", "limits.store_free_floor=0"

/* What was promised. What is not durable when it is answered counts only for a server that ended well. */
struct session_promises {
	uint32_t           code;           /* of the host */
	bool               by_ws, by_rest; /* a checkpoint */
	int64_t            token;          /* of an operator */
	int64_t            ban;
	bool               backup;
	bool               new_code_asked; /* the host's code may be another one: it was asked for, and not answered */
	uint32_t           new_code;
	struct master_host lobby;
	bool               has_lobby; /* written behind */
	bool               has_score; /* the same */
};

struct session {
	struct server           *s;
	struct session_promises *p;          /* shared with the acts */
	int                      refused;    /* acts that were */
	int                      late;       /* acts that got no answer */
	char                     said[1200]; /* which and why, for people */
};

struct session *session_new(struct server *s);
void            session_free(struct session *x);

/* Every act in turn, until the server is gone. */
void session_run(struct session *x);

/* Whether it answers /healthz, and says that its store is well. */
bool session_is_healthy(struct session *x, bool *store_is_ok);

/* All that was promised is there, or the test ends. ended_well: what is written behind has to be there too. */
void session_check(struct session *x, bool ended_well);

#endif
