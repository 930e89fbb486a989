/*
 * Errors: one enum for the whole program, made from err.def, where each is described.
 *
 * What can fail returns enum err and gives results through its first parameter.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

enum err {
	ERR_OK = 0,
#define ERR(name, fault, http, rest, tunnel, people) ERR_##name,
#include "base/err.def"
#undef ERR
	ERR_COUNT
};

enum err_fault { ERR_FAULT_NONE, ERR_FAULT_PEER, ERR_FAULT_US };

/* The columns of err.def; for ERR_OK: "OK", ERR_FAULT_NONE, 200, "ok", 0, "fine". Strings are static. */
const char    *err_name(enum err e);
enum err_fault err_fault(enum err e);
int            err_http(enum err e);
const char    *err_rest(enum err e);
int            err_tunnel(enum err e);
const char    *err_people(enum err e);

/*
 * Ours, but only that there is too much to do (ERR_BUSY, ERR_TRANSFERS): everybody hears it then, so that it is counted,
 * and no line of the log for each.
 */
bool err_is_load(enum err e);

#endif
