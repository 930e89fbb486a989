/*
 * What people read: tables, lists of fields, times, sizes; and JSON for programs. Texts of peers may hold anything: what
 * would do something to a terminal, or cannot be seen, is printed escaped, \x1b, \u{202e}.
 */
#ifndef COOPCTL_PRINT_H
#define COOPCTL_PRINT_H

#include "coopctl/ctl.h"

#include <jansson.h>
#include <stdint.h>

enum print_format {
	PRINT_TEXT,
	PRINT_NUMBER,
	PRINT_BYTES,   /* 1.4 MiB */
	PRINT_RATE,    /* 1.4 KiB/s */
	PRINT_AGO,     /* of an RFC 3339 time: 5m ago, in 3d, or the date */
	PRINT_TIME,    /* the same, whole: 2026-12-01 09:30:00 UTC (5m ago) */
	PRINT_SECONDS, /* 3d 4h */
	PRINT_MS,      /* 34 ms */
	PRINT_YES,     /* yes, or nothing */
	PRINT_STATE    /* a word that is green, yellow or red by what it says */
};

/* A column of a table, or a line of a list of fields. The table ends with a NULL title. */
struct print_column {
	const char       *title;
	const char       *member; /* with dots for members of members: "up.bytes" */
	enum print_format format;
};

enum print_color { PRINT_PLAIN, PRINT_BOLD, PRINT_DIM, PRINT_RED, PRINT_GREEN, PRINT_YELLOW };

/* items is an array of objects. The table is cut to the terminal's width. */
void print_table(const struct ctl *c, FILE *out, const json_t *items, const struct print_column *columns);

/* "Title   value", one line each. Members that are not there are left out. */
void print_fields(const struct ctl *c, FILE *out, const json_t *object, const struct print_column *fields);

/* A line before a table that follows others. */
void print_heading(const struct ctl *c, FILE *out, const char *text);

/* One object or array, indented, in the server's order of members. */
void print_json(FILE *out, const json_t *j);

/* A list: as JSON, or as a table, or, when it has no items, the sentence `none`. */
void print_list(const struct ctl *c, const json_t *list, const struct print_column *columns, const char *none);

/* --- Pieces --- */

/* Member by its path with dots; NULL: not there. */
const json_t *print_member(const json_t *object, const char *path);

/*
 * Its text as the format has it, escaped; for free(). "-" for null and what is not there; what lies in an array or object in
 * one line, "rate 12, queue 3".
 */
char *print_value(const struct ctl *c, const json_t *value, enum print_format format);

/* A peer's text, escaped; for free(). */
char *print_escape(const char *text);

/* How many columns of a terminal an escaped text takes. */
size_t print_width(const char *escaped);

/* The escaped text in at most so many columns, ended with an ellipsis when it was cut; for free(). */
char *print_cut(const char *escaped, size_t columns);

/* "\033[1m", or "" where there are no colours. print_color(c, PRINT_PLAIN) ends it. */
const char *print_color(const struct ctl *c, enum print_color color);

void print_bytes(char *out, size_t cap, int64_t bytes);
void print_duration(char *out, size_t cap, int64_t seconds); /* the two largest units: 3d 4h */

/* Wall clock; in a test build COOPCTL_NOW (RFC 3339) stands still for it. */
int64_t print_now_ms(void);

#endif
