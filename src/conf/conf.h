/*
 * The configuration: every setting of conf.def and limits.def, from the file, the environment and the command line.
 *
 * Order: defaults, credentials (files), file, environment, --set; later wins. Every problem is reported with where it
 * stands, and a bad value never takes effect in part: either the whole configuration is good or conf_load fails.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include "base/err.h"
#include "conf/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum conf_level { CONF_LEVEL_error, CONF_LEVEL_warn, CONF_LEVEL_info, CONF_LEVEL_debug };
enum conf_format { CONF_FORMAT_text, CONF_FORMAT_json };
enum conf_scale { CONF_SCALE_cut, CONF_SCALE_full };

/*
 * One word of a LISTEN, NETWORKS, ORIGINS or LIST setting is one string; all but LIST words were checked for their
 * form. NETWORKS "none" is a list without words.
 */
struct conf_list {
	char **words;
	size_t count;
};

/* C type of each type word in conf.def. The char pointers are never NULL. */
#define CONF_C_TEXT     char *
#define CONF_C_WORD     char *
#define CONF_C_HOST     char *
#define CONF_C_HEADER   char *
#define CONF_C_PATH     char *
#define CONF_C_FLAG     bool
#define CONF_C_COUNT    int64_t
#define CONF_C_NUMBER   int64_t
#define CONF_C_LEVEL    enum conf_level
#define CONF_C_FORMAT   enum conf_format
#define CONF_C_SCALE    enum conf_scale
#define CONF_C_DURATION int64_t
#define CONF_C_LISTEN   struct conf_list
#define CONF_C_NETWORKS struct conf_list
#define CONF_C_ORIGINS  struct conf_list
#define CONF_C_LIST     struct conf_list

#define CONF_COUNT_MAX    10000                     /* of a COUNT; they begin at 1 */
#define CONF_NUMBER_MAX   65535                     /* of a NUMBER; they begin at 0 */
#define CONF_DURATION_MAX (INT64_C(365) * 86400000) /* of a DURATION, in ms */
#define CONF_WORD_MAX     127                       /* bytes of a WORD: players' programs cut them there */

struct conf_origin; /* where each value came from; for --print-config */

struct conf {
#define SETTING(section, name, type, development, production, flags, help) CONF_C_##type section##_##name;
#include "conf/conf.def"
#undef SETTING
	struct limits       limits;
	struct conf_origin *origins;
};

/* What the command line said about the configuration. */
struct conf_args {
	const char  *file; /* --config, or NULL: ./coopd.conf if there is one; /etc/coopd/coopd.conf in production */
	const char **sets; /* each "section.key=value": --set and --data */
	size_t       set_count;
	char       **env; /* environ */
};

/*
 * Loads everything. Problems are written to report, one line each ("coopd.conf:12: ..."), all, not only the first.
 * ERR_MALFORMED when there was any, ERR_NOMEM; *out is empty then and needs no conf_fini. A COOP_ variable that no
 * setting knows is a line in report, too, but no problem, and so is one from the protocol documents
 * (COOP_SIGNALING_TOKEN, COOP_MASTER_PORT, ...) that another source of its setting wins over.
 */
enum err conf_load(struct conf *out, const struct conf_args *args, FILE *report);
void     conf_fini(struct conf *c);

/* The same from the content of one file alone, which is called "text" in the report: for tests and the fuzzer. */
enum err conf_load_text(struct conf *out, const char *text, size_t len, FILE *report);

/*
 * Takes the settings marked RELOAD from fresh over into running, and names each in changed, "section.name", a line each
 * (NULL: nobody wants to know); names in report each other one that differs ("needs a restart").
 */
void conf_reload(struct conf *running, const struct conf *fresh, FILE *report, FILE *changed);

/* Says the same, and takes nothing over. */
void conf_compare(const struct conf *running, const struct conf *fresh, FILE *report, FILE *changed);

/* --print-config: key = value  # from where; secrets masked. */
void conf_print(const struct conf *c, FILE *out);

/* One setting in force, as people see it. */
struct conf_shown {
	const char *section, *name, *help, *unit; /* unit: "" when it has none */
	char       *value;                        /* as it would be written in the file; NULL for a secret */
	char       *source;                       /* where it came from */
	bool        is_secret, is_default, can_reload;
};

/* The at-th, from 0; for conf_shown_fini. ERR_NOT_FOUND: there are no more; ERR_NOMEM. *out is untouched on errors. */
enum err conf_show(struct conf_shown *out, const struct conf *c, size_t at);
void     conf_shown_fini(struct conf_shown *s);

/* A commented sample file; the manual page coopd.conf.5; the settings table and the limits table of the README in Markdown. */
void conf_print_sample(FILE *out);
void conf_print_man(FILE *out);
void conf_print_settings_reference(FILE *out);
void conf_print_limits_reference(FILE *out);

#endif
