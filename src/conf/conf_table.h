/*
 * The rows of conf.def and limits.def as data: what every other file of conf/ walks over. For conf/ and its tests only;
 * everybody else reads struct conf.
 */
#ifndef CONF_CONF_TABLE_H
#define CONF_CONF_TABLE_H

#include "conf/conf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One for each type word of conf.def, and one for all rows of limits.def. */
enum conf_type {
	CONF_TYPE_TEXT,
	CONF_TYPE_WORD,
	CONF_TYPE_HOST,
	CONF_TYPE_HEADER,
	CONF_TYPE_PATH,
	CONF_TYPE_FLAG,
	CONF_TYPE_COUNT,
	CONF_TYPE_NUMBER,
	CONF_TYPE_LEVEL,
	CONF_TYPE_FORMAT,
	CONF_TYPE_SCALE,
	CONF_TYPE_DURATION,
	CONF_TYPE_LISTEN,
	CONF_TYPE_NETWORKS,
	CONF_TYPE_ORIGINS,
	CONF_TYPE_LIST,
	CONF_TYPE_LIMIT,
	CONF_TYPES
};

/* The flags column of conf.def. */
enum { RELOAD = 1, SECRET = 2, CHANGE = 4 };

enum conf_row_id {
#define SETTING(section, name, ...) CONF_ROW_##section##_##name,
#include "conf/conf.def"
#undef SETTING
#define LIMIT(name, ...) CONF_ROW_limits_##name,
#include "conf/limits.def"
#undef LIMIT
	CONF_ROWS
};

struct conf_row {
	const char    *section;
	const char    *name;
	enum conf_type type;
	const char    *development; /* the default, as one would write it in the file */
	const char    *production;  /* the same when server.production is yes; NULL: no other */
	unsigned       flags;
	size_t         offset;   /* of the value in struct conf */
	int64_t        min, max; /* of a limit */
	const char    *unit;     /* of a limit, otherwise "" */
	const char    *help;
};

/* Whether a reload takes a new value of this row; one of CHANGE only in place of another, and not an empty one. */
bool conf_can_reload(const struct conf_row *row);

extern const struct conf_row conf_rows[CONF_ROWS];

/* Where a row's value came from, for people: "default", "coopd.conf:12", "environment COOP_LOG_LEVEL". */
struct conf_origin {
	char *text;
};

#define CONF_ORIGIN_DEFAULT    "default"
#define CONF_ORIGIN_PRODUCTION "production default"

/* Longest COOP_SECTION_NAME and section.name. */
#define CONF_NAME_BYTES 96

/* The text of the default. */
const char *conf_row_default(const struct conf_row *row, bool production);

/* The row known under this section and name, server.log_level included; NULL when there is none. */
const struct conf_row *conf_row_find(const char *section, const char *name);

/* The same by the name of an environment variable of len bytes, "COOP_LOG_LEVEL". */
const struct conf_row *conf_row_find_env(const char *variable, size_t len);

bool conf_section_is_known(const char *section);

/* What the writer may have meant: always some name, the one with the fewest changes. */
const char *conf_section_nearest(const char *section);
void        conf_key_nearest(char out[CONF_NAME_BYTES], const char *section, const char *name);
void        conf_env_nearest(char out[CONF_NAME_BYTES], const char *variable);

static inline void *conf_field(struct conf *c, const struct conf_row *row)
{
	return (char *)c + row->offset;
}

static inline const void *conf_field_const(const struct conf *c, const struct conf_row *row)
{
	return (const char *)c + row->offset;
}

#endif
