/*
 * The process that takes over from this one: the program as it lies on the disk now, with the same arguments and environment, our
 * listening sockets (as the service manager hands them out: os/service.h) and a pipe on which it says how it is.
 *
 *	this one                                   the successor
 *	successor_start ------------------------>  successor_begin, reads its settings
 *	successor_await <-----------------------  successor_stand_by; or a text, and its end
 *	lets go of all it has                      waits for the data folder
 *	ends                                       serves
 */
#ifndef OS_SUCCESSOR_H
#define OS_SUCCESSOR_H

#include "base/err.h"
#include "os/service.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Once, at the start of main, after service_begin: notes how this process was started, and by whom. argv must stay. */
void successor_begin(char **argv);

/* --- The one that is there --- */

#define SUCCESSOR_TEXT_BYTES 2048

struct successor {
	pid_t                 pid;  /* 0: there is none */
	int                   pipe; /* -1: closed */
	struct service_socket sockets[SERVICE_SOCKETS_MAX];
	size_t                count; /* of descriptors of our own, which keep them open until the end */
};

/* Starts it with these sockets, which stay the caller's. ERR_IO, ERR_NOMEM: text says why, and *s holds nothing. */
enum err successor_start(struct successor *s, const struct service_socket *sockets, size_t count,
                         char text[SUCCESSOR_TEXT_BYTES]);

/*
 * Waits until it stands by. ERR_INVALID: it refused, ended or took too long, or is_over became true; text says what it said or what
 * happened. It is to be given up then.
 */
enum err successor_await(struct successor *s, int64_t patience_ms, const atomic_bool *is_over,
                         char text[SUCCESSOR_TEXT_BYTES]);

bool successor_is_alive(struct successor *s);

/* It goes, and what is held for it. Nothing to do for one that holds nothing. */
void successor_give_up(struct successor *s);

/* What is held for it; it itself goes on. */
void successor_let_go(struct successor *s);

/* This process becomes what it was to be. Returns only when that cannot be. */
void successor_become(struct successor *s);

/* --- The new one --- */

/* Whether this process was started to take over. */
bool successor_is_this(void);

/* The process that it takes over from; 0: there is none. */
pid_t successor_of(void);

/* What the settings are like was found out. Says so to the other, and nothing more after it. */
void successor_stand_by(void);
void successor_refuse(const char *text);

#endif
