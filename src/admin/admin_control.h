/*
 * What an operator does to the server as a whole: reload, drain, hand-over, backup.
 */
#ifndef ADMIN_ADMIN_CONTROL_H
#define ADMIN_ADMIN_CONTROL_H

#include "api/api.h"
#include "os/successor.h"
#include "store/backup.h"

#include <stdbool.h>
#include <stdint.h>

struct admin_drain {
	bool    is_on;
	bool    hands_over;            /* and stops not, at the end */
	int64_t since_ms, deadline_ms; /* wall; 0: none */
};

/* Texts of lines, for free(). */
struct admin_reload {
	char *changed, *restart, *problems;
};

/* The part of its routes; filled by the server. */
struct admin_control {
	struct backup *backup;
	void          *server;
	/* HTTP thread. As reload_ask; what is filled is for free(), also after an error. */
	enum err (*reload)(struct admin_reload *out, void *server, bool only_try);
	/*
	 * HTTP thread. Starts a new process and waits until it stands by; then this one soon ends. ERR_INVALID: text says why not;
	 * ERR_EXISTS: one is under way.
	 */
	enum err (*hand_over)(pid_t *pid, char text[SUCCESSOR_TEXT_BYTES], void *server, bool only_try);
	/* Loop thread. deadline_s 0: none. */
	void (*drain)(void *server, int64_t deadline_s, bool hands_over);
	void (*undrain)(void *server);
	void (*look)(struct admin_drain *out, void *server);
};

extern const struct api_route admin_control_routes[];

/* {"draining":...} as GET drain answers it, for status too; NULL when out of memory. Asks the loop. */
enum err admin_drain_json(struct json **out, const struct api_call *c, struct admin_control *control);

#endif
