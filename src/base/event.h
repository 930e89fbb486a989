/*
 * What happens, for operators who watch: kept as ready lines of JSON, the last so many of them, for whoever reads them later.
 *
 *	event_emit(E_GAME_OPENED, event_int("code", code), event_id("host", id));
 *
 *	emit (any thread) --> ring of lines --> wake --> a reader takes them one by one, by their number
 *
 * Emitting costs an atomic load until event_start was called, and a line and a short lock from then on; it never waits for
 * anything else. Kinds and the fields that each has: event.def. No secret is ever passed here, and no player's key.
 */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_LINE_BYTES 2048
#define EVENT_HEAD_BYTES 64
#define EVENT_FIELDS_MAX 8
#define EVENT_TEXT_BYTES 72 /* of a text the field has itself */
#define EVENT_TEXT_CHARS 64 /* of a peer's text that are shown */
#define EVENT_BYTES_MAX  48 /* of bytes that are shown in hex */

enum event_kind {
#define EVENT(id, kind, per_s, fields, help) E_##id,
#include "base/event.def"
#undef EVENT
	EVENT_KINDS
};

/* Made by the functions below, and used up at once: what it points to is not copied. */
struct event_field {
	const char *name;
	enum { EVENT_NULL, EVENT_INT, EVENT_BOOL, EVENT_HEX, EVENT_TEXT, EVENT_OWN, EVENT_PEER } type;
	int64_t     number;
	const void *bytes;
	size_t      len;
	char        own[EVENT_TEXT_BYTES];
};

struct event_field event_int(const char *name, int64_t n);
struct event_field event_bool(const char *name, bool on);
struct event_field event_id(const char *name, const uint8_t id[8]);             /* NULL: null */
struct event_field event_hex(const char *name, const void *bytes, size_t len);  /* at most EVENT_BYTES_MAX */
struct event_field event_word(const char *name, const char *word);              /* a text of ours; NULL: null */
struct event_field event_copy(const char *name, const char *word);              /* the same, kept in the field */
struct event_field event_text(const char *name, const void *bytes, size_t len); /* a peer's: cleaned and clipped */
struct event_field event_null(const char *name);

/* An address: event_addr of net/addr_event.h. */

#define event_emit(kind, ...)                                        \
	event_put(kind, (const struct event_field[]){ __VA_ARGS__ }, \
	          sizeof((const struct event_field[]){ __VA_ARGS__ }) / sizeof(struct event_field))
void event_put(enum event_kind kind, const struct event_field *fields, size_t count);

/* From here on events are kept, the last `kept`; wall_ms tells when they were. Once in a process. ERR_NOMEM. */
enum err event_start(size_t kept, int64_t (*wall_ms)(void));
void     event_stop(void); /* when nobody emits or reads any more */

/*
 * wake is called after an event came, on the thread that emitted it, under the lock: it must be short and must not come back
 * here. NULL: nobody.
 */
void event_on_new(void (*wake)(void *arg), void *arg);

/* The number of the newest; 0: none yet. */
uint64_t event_newest(void);

/*
 * The event of this number as one line of JSON without a line break, {"op":"event",...}. ERR_NOT_FOUND: it has not come yet.
 * ERR_GONE: it is not kept any more; *oldest is the number of the oldest that is. ERR_NOMEM: there was none to keep it.
 */
enum err event_read(char line[EVENT_LINE_BYTES + EVENT_HEAD_BYTES], size_t *len, enum event_kind *kind,
                    uint64_t *oldest, uint64_t seq);

/* In all that is kept, the first text becomes the second, which is as long: of somebody who is to be forgotten. */
void event_replace(const char *text, const char *by);

const char *event_name(enum event_kind kind);   /* "game.opened" */
const char *event_fields(enum event_kind kind); /* "code version host from" */
const char *event_help(enum event_kind kind);

/* Whether a filter's word means this kind: "game.opened", "game.*" or "*". */
bool event_matches(enum event_kind kind, const char *pattern);
bool event_is_pattern(const char *pattern); /* it means at least one kind */

/* "2026-12-01T09:30:00.123Z" */
#define EVENT_TIME_BYTES 32
void event_time(char out[EVENT_TIME_BYTES], int64_t wall_ms);

#endif
