/*
 * The rows of err.def as a table, one column per question.
 */
#include "base/err.h"

#include <stddef.h>

struct row {
	const char    *name;
	enum err_fault fault;
	int            http;
	const char    *rest;
	int            tunnel;
	const char    *people;
};

static const struct row rows[ERR_COUNT] = {
	[ERR_OK] = { "OK", ERR_FAULT_NONE, 200, "ok", 0, "fine" },
#define ERR(name, fault, http, rest, tunnel, people) \
	[ERR_##name] = { #name, ERR_FAULT_##fault, http, rest, tunnel, people },
#include "base/err.def"
#undef ERR
};

/* A number that is no error can only come from a bug of ours, and still gets an answer. */
static const struct row *row_of(enum err e)
{
	return (size_t)e < ERR_COUNT ? &rows[e] : &rows[ERR_INTERNAL];
}

const char *err_name(enum err e)
{
	return row_of(e)->name;
}

enum err_fault err_fault(enum err e)
{
	return row_of(e)->fault;
}

int err_http(enum err e)
{
	return row_of(e)->http;
}

const char *err_rest(enum err e)
{
	return row_of(e)->rest;
}

int err_tunnel(enum err e)
{
	return row_of(e)->tunnel;
}

const char *err_people(enum err e)
{
	return row_of(e)->people;
}

bool err_is_load(enum err e)
{
	return e == ERR_BUSY || e == ERR_TRANSFERS;
}
