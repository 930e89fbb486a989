/*
 * coopctl, the operator's command line: what it can do is tables, and the parser, the help, the man page and the shells'
 * completions are all made from these.
 *
 *	argv -> parse (parse.c) -> struct ctl -> command->run -> client.h (asks the server) -> print.h, act.h (says it)
 *
 * To add a command: a file cmd_NAME.c that defines a struct ctl_group, declared below, and a line in ctl_groups (commands.c).
 */
#ifndef COOPCTL_CTL_H
#define COOPCTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct ctl;

/* The program's exit status: what kind of failure it was. Documented in help and man page (ctl_exits). */
enum ctl_exit {
	CTL_OK            = 0,
	CTL_REFUSED       = 1, /* the server said no, or could not; also a file here that cannot be read or written */
	CTL_USAGE         = 2,
	CTL_UNREACHABLE   = 3,
	CTL_NOT_FOUND     = 4,
	CTL_FORBIDDEN     = 5, /* no token, a wrong one, one whose role does not do; no permission to open the socket */
	CTL_NOT_CONFIRMED = 6,
	CTL_CONFLICT      = 7
};
#define CTL_EXITS 8
extern const char *const ctl_exits[CTL_EXITS]; /* one line each, for people */

/* What the value of an option is; the parser refuses others. value.h turns it into numbers. */
enum ctl_kind {
	CTL_TEXT,
	CTL_NUMBER,  /* 12 */
	CTL_BYTES,   /* 64M */
	CTL_SECONDS, /* 90s, 30m, 2h, 7d, 2w */
	CTL_DAYS,    /* the same in whole days; a number alone is days */
	CTL_MOMENT   /* 2026-12-01, 2026-12-01T09:30:00Z, or so long ago: 2h */
};

/* Written with designators: { .name = "to", .value = "PATH", .help = "..." }. */
struct ctl_option {
	const char   *name;   /* without its dashes */
	char          letter; /* of its short form, 'o' for -o; 0: none */
	const char   *value;  /* what stands for its value in help, "PATH"; NULL: it takes none */
	const char   *help;   /* one line */
	enum ctl_kind kind;
	const char   *words; /* the values that it can have, with blanks between; NULL: any */
	const char   *query; /* the request parameter that takes its value in a list (list.h); NULL: none */
	bool          many;  /* may be given more than once */
};

struct ctl_command {
	const char *name;    /* its second word; "" of a group that has just one command */
	const char *args;    /* "CODE NUMBER", "[DEST]", "FILE..."; what stands in brackets may be left out; "" */
	const char *summary; /* one line that begins with a verb, without a full stop */
	const char *details; /* further paragraphs, an empty line between; NULL: none */
	const struct ctl_option *options;  /* besides ctl_globals; ends with a NULL name; NULL: none */
	const char              *examples; /* lines "coopctl ...", each with "  # why" behind it if it helps */
	enum ctl_exit (*run)(struct ctl *c);
};

struct ctl_group {
	const char               *name;     /* the first word */
	const char               *summary;  /* one line, for the list of commands */
	const struct ctl_command *commands; /* ends with a NULL name; without a second word the first one is meant */
};

extern const struct ctl_group *const ctl_groups[];  /* ends with NULL */
extern const struct ctl_option       ctl_globals[]; /* of every command; ends with a NULL name */

/* Where the server is, and as whom we ask. Exactly one of socket and url is set. */
struct ctl_where {
	const char *socket;    /* path of the unix socket of the API */
	const char *url;       /* "http://127.0.0.1:10002", without a slash at its end */
	char        token[65]; /* "": none */
};

#define CTL_ARGS_MAX   64
#define CTL_VALUES_MAX 32

struct ctl_value {
	const struct ctl_option *option;
	const char              *text; /* "" of an option that takes no value */
};

/* One call of the program. Texts are argv's or the environment's, unless said otherwise. */
struct ctl {
	const struct ctl_group   *group;
	const struct ctl_command *command;
	const char               *args[CTL_ARGS_MAX];
	size_t                    arg_count;
	struct ctl_value          values[CTL_VALUES_MAX];
	size_t                    value_count;
	bool                      json, yes, dry_run;
	bool                      color;       /* standard output may be coloured */
	size_t                    columns;     /* width of the terminal; 0: as wide as need be */
	struct ctl_where          where;       /* looked up before run */
	char                      url[512];    /* what where.url points to */
	char                      socket[512]; /* what where.socket points to */
	void                     *curl;        /* client.c's; NULL: not used yet */
};

/* The at-th argument; NULL when it was left out. */
const char *ctl_arg(const struct ctl *c, size_t at);

/*
 * The value of an option ("" of one that takes none); NULL: it was not given. The name must be in the command's options or
 * in ctl_globals: an assertion says so.
 */
const char *ctl_value(const struct ctl *c, const char *option);
bool        ctl_given(const struct ctl *c, const char *option);

/* The values of an option that may be given more than once, at most cap; returns how many. */
size_t ctl_values(const char **out, size_t cap, const struct ctl *c, const char *option);

/*
 * Says on standard error what went wrong, for people or, with --json, as {"error":{"code","message"}}, and returns e. The
 * message is a sentence that also says what to do; texts of peers in it are escaped here.
 */
enum ctl_exit ctl_fail(const struct ctl *c, enum ctl_exit e, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* --- parse.c --- */

/* What the first words of the command line chose to have printed instead of anything being done. */
enum ctl_instead { CTL_RUN, CTL_HELP, CTL_VERSION, CTL_MAN };

/* Reads argv, which has to last, into *c, which is zeroed. A mistake has been said when it is not CTL_OK. */
enum ctl_exit ctl_parse(struct ctl *c, enum ctl_instead *instead, int argc, const char *const *argv);

/* The group of this name, the command of it; NULL: there is none. */
const struct ctl_group   *ctl_group_find(const char *name);
const struct ctl_command *ctl_command_find(const struct ctl_group *g, const char *name);

/* Fills c->where from the options, the environment and the usual places. */
enum ctl_exit ctl_look_up_where(struct ctl *c);

/* --- What the tables are printed as: help.c, man.c, complete.c --- */

void ctl_print_help(FILE *out, const struct ctl_group *g, const struct ctl_command *cmd); /* NULLs: of all there is */
void ctl_print_man(FILE *out);
void ctl_print_bash(FILE *out);
void ctl_print_zsh(FILE *out);

/* Walks over the words of an args text: the next one without brackets and dots in name; false at its end. */
struct ctl_arg_word {
	char name[24];
	bool optional, repeated;
};
bool ctl_args_next(const char **at, struct ctl_arg_word *word);

/* --- The groups, each in cmd_NAME.c --- */

/* clang-format off */
extern const struct ctl_group
	ctl_audit, ctl_backup, ctl_bans, ctl_blobs, ctl_boards, ctl_campaigns, ctl_completions, ctl_doctor, ctl_drain, ctl_events, ctl_games, ctl_help,
	ctl_lobbies, ctl_p2p, ctl_players, ctl_publish, ctl_quota, ctl_reload, ctl_rooms, ctl_settings, ctl_signal, ctl_status, ctl_tokens,
	ctl_top,
	ctl_web;
/* clang-format on */

#endif
