/*
 * SIGHUP: the configuration is read again, on a thread of its own since the loop touches no file, and what can change
 * without a restart does. What cannot is named in the log.
 */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include "conf/conf.h"
#include "lobby/lobby_serve.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tcp.h"
#include "net/tls_watch.h"
#include "net/ws.h"
#include "server_files.h"
#include "signal/signal_serve.h"

struct reload;

/* Those that something of it concerns. All must outlive the reload. */
struct reload_parts {
	struct ws                 *ws;
	struct tls_watch          *tls_watch;
	struct tcp                *tcp;          /* NULL: there is none */
	struct http_server *const *http;         /* *http may be started later, or not at all */
	struct lobby_master       *lobby;        /* NULL: there is none */
	struct signal_relay       *signal;       /* the same */
	const char                *signal_token; /* of data/secrets */
	void (*taken)(void *arg); /* settings have changed, for whoever else made something of them; loop thread */
	void               *arg;
	struct server_files asked; /* limits as they were set, where there was no room for so much */
};

/* All must outlive it, but parts, which is copied. NULL when out of memory. */
struct reload *reload_new(struct loop *loop, const struct reload_parts *parts, struct conf *running,
                          const struct conf_args *args);

/* Waits for a reload that is under way. After the loop has returned. */
void reload_free(struct reload *r);

/*
 * Any thread but the loop's: the same, and waits for how it ended. Each text is lines, for free(). ERR_INVALID: nothing
 * changed, problems says why; ERR_BUSY: not over within 10 s; ERR_DRAINING: the server ends; ERR_NOMEM.
 */
struct reload_result {
	char *changed;  /* settings that are others now */
	char *restart;  /* what differs and needs a restart */
	char *problems; /* of a configuration that was not taken */
};
enum err reload_ask(struct reload_result *out, struct reload *r);

/* The same as far as it can be said without doing it. */
enum err reload_try(struct reload_result *out, struct reload *r);
void     reload_result_fini(struct reload_result *result);

/* Those who wait for one hear ERR_DRAINING. Any thread. */
void reload_end_asks(struct reload *r);

/* Loop thread. One that is under way already reads what is there now all the same: then this does nothing. */
void reload_begin(struct reload *r);

#endif
