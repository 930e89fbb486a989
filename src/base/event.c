/*
 * The ring of lines. What is formatted is formatted before the lock; under it a number is drawn and a pointer stored.
 */
#include "base/event.h"

#include "base/auto.h"
#include "base/clean.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORD_BYTES_MAX 256

static const struct {
	const char *name, *fields, *help;
	int64_t     per_s;
} rows[EVENT_KINDS] = {
#define EVENT(id, kind, per_s, fields, help) [E_##id] = { kind, fields, help, per_s },
#include "base/event.def"
#undef EVENT
};

struct slot {
	enum event_kind kind;
	size_t          len;
	char           *text; /* without its head; NULL: there was no memory */
};

/* How many of a kind in this second. */
struct pace {
	int64_t second, count, skipped;
};

static struct {
	pthread_mutex_t lock;
	atomic_bool     is_on;
	int64_t (*wall_ms)(void);
	struct slot *slots; /* event n lies at n % kept */
	size_t       kept;
	uint64_t     newest;
	struct pace  paces[EVENT_KINDS];
	void (*wake)(void *arg);
	void *wake_arg;
} ring = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- Fields --- */

struct event_field event_null(const char *name)
{
	return (struct event_field){ .name = name, .type = EVENT_NULL };
}

struct event_field event_int(const char *name, int64_t n)
{
	return (struct event_field){ .name = name, .type = EVENT_INT, .number = n };
}

struct event_field event_bool(const char *name, bool on)
{
	return (struct event_field){ .name = name, .type = EVENT_BOOL, .number = on };
}

struct event_field event_hex(const char *name, const void *bytes, size_t len)
{
	assert(len <= EVENT_BYTES_MAX);
	return (struct event_field){ .name = name, .type = bytes ? EVENT_HEX : EVENT_NULL, .bytes = bytes, .len = len };
}

struct event_field event_id(const char *name, const uint8_t id[8])
{
	return event_hex(name, id, 8);
}

struct event_field event_word(const char *name, const char *word)
{
	return (struct event_field){
		.name = name, .type = word ? EVENT_TEXT : EVENT_NULL, .bytes = word, .len = word ? strlen(word) : 0
	};
}

struct event_field event_copy(const char *name, const char *word)
{
	struct event_field f = { .name = name, .type = EVENT_OWN };

	text_copy(f.own, sizeof(f.own), word);
	return f;
}

struct event_field event_text(const char *name, const void *bytes, size_t len)
{
	return (struct event_field){ .name = name, .type = EVENT_PEER, .bytes = bytes, .len = len };
}

/* --- A line --- */

struct line {
	char   text[EVENT_LINE_BYTES];
	size_t len;
};

static void put_char(struct line *l, char c)
{
	assert(l->len < sizeof(l->text));
	l->text[l->len++] = c;
}

static void put_plain(struct line *l, const char *text)
{
	size_t len = strlen(text);

	assert(l->len + len < sizeof(l->text));
	memcpy(l->text + l->len, text, len);
	l->len += len;
}

/* Valid UTF-8 as a string of JSON; there is nothing to gain from control characters. */
static void put_string(struct line *l, const char *text)
{
	put_char(l, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			put_char(l, '\\');
		put_char(l, (unsigned char)*text < ' ' ? ' ' : *text);
	}
	put_char(l, '"');
}

static void put_int(struct line *l, int64_t n)
{
	char text[24];

	text_format(text, sizeof(text), "%" PRId64, n);
	put_plain(l, text);
}

static void put_hex(struct line *l, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	put_char(l, '"');
	for (size_t i = 0; i < len; i++) {
		put_char(l, digits[bytes[i] >> 4]);
		put_char(l, digits[bytes[i] & 15]);
	}
	put_char(l, '"');
}

static void put_text(struct line *l, const struct event_field *f)
{
	char text[CLEAN_BYTES(EVENT_TEXT_CHARS)];

	clean_text(text, EVENT_TEXT_CHARS, f->bytes, f->len, CLEAN_BAD_IS_SHOWN);
	put_string(l, text);
}

/* Ours, but it may hold what a peer has said: a path of a request, for one. */
static void put_word(struct line *l, const struct event_field *f)
{
	char text[WORD_BYTES_MAX];

	text_copy(text, sizeof(text), f->bytes);
	text_make_utf8(text);
	put_string(l, text);
}

static void put_value(struct line *l, const struct event_field *f)
{
	switch (f->type) {
	case EVENT_NULL:
		put_plain(l, "null");
		break;
	case EVENT_INT:
		put_int(l, f->number);
		break;
	case EVENT_BOOL:
		put_plain(l, f->number ? "true" : "false");
		break;
	case EVENT_HEX:
		put_hex(l, f->bytes, f->len);
		break;
	case EVENT_TEXT:
		put_word(l, f);
		break;
	case EVENT_OWN:
		put_string(l, f->own);
		break;
	case EVENT_PEER:
		put_text(l, f);
		break;
	}
}

static void put_member(struct line *l, const struct event_field *f)
{
	put_plain(l, ",\"");
	put_plain(l, f->name);
	put_plain(l, "\":");
	put_value(l, f);
}

void event_time(char out[EVENT_TIME_BYTES], int64_t wall_ms)
{
	time_t    at = (time_t)(wall_ms / 1000);
	struct tm utc;
	char      seconds[EVENT_TIME_BYTES - 8];

	if (!gmtime_r(&at, &utc) || strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc) == 0)
		seconds[0] = '\0';
	text_format(out, EVENT_TIME_BYTES, "%s.%03dZ", seconds, (int)(wall_ms % 1000));
}

/* All behind the number. */
static void build(struct line *l, enum event_kind kind, const struct event_field *fields, size_t count, int64_t wall_ms)
{
	char at[EVENT_TIME_BYTES];

	event_time(at, wall_ms);
	put_plain(l, ",\"at\":\"");
	put_plain(l, at);
	put_plain(l, "\",\"kind\":\"");
	put_plain(l, rows[kind].name);
	put_char(l, '"');
	for (size_t i = 0; i < count; i++)
		put_member(l, &fields[i]);
}

/* --- The ring --- */

/* Under the lock. Whether one more of it may come; *skipped: how many before it might not. */
static bool keep_pace(enum event_kind kind, int64_t wall_ms, int64_t *skipped)
{
	struct pace *p = &ring.paces[kind];

	if (p->second != wall_ms / 1000) {
		p->second = wall_ms / 1000;
		p->count  = 0;
	}
	if (p->count >= rows[kind].per_s) {
		p->skipped++;
		return false;
	}
	p->count++;
	*skipped   = p->skipped;
	p->skipped = 0;
	return true;
}

static bool may_come(struct line *l, enum event_kind kind, int64_t wall_ms)
{
	struct event_field skipped = event_int("skipped", 0);
	bool               may;

	if (rows[kind].per_s == 0)
		return true;
	pthread_mutex_lock(&ring.lock);
	may = keep_pace(kind, wall_ms, &skipped.number);
	pthread_mutex_unlock(&ring.lock);
	if (may)
		put_member(l, &skipped);
	return may;
}

static void store(enum event_kind kind, char *text, size_t len)
{
	struct slot *s;
	char        *old;

	pthread_mutex_lock(&ring.lock);
	if (!ring.slots) {
		pthread_mutex_unlock(&ring.lock);
		free(text);
		return;
	}
	s   = &ring.slots[++ring.newest % ring.kept];
	old = s->text;
	*s  = (struct slot){ .kind = kind, .len = len, .text = text };
	if (ring.wake)
		ring.wake(ring.wake_arg);
	pthread_mutex_unlock(&ring.lock);
	free(old);
}

void event_put(enum event_kind kind, const struct event_field *fields, size_t count)
{
	struct line l = { .len = 0 };
	int64_t     wall_ms;
	char       *text;

	assert(count <= EVENT_FIELDS_MAX);
	if (!atomic_load_explicit(&ring.is_on, memory_order_acquire))
		return;
	wall_ms = ring.wall_ms();
	build(&l, kind, fields, count, wall_ms);
	if (!may_come(&l, kind, wall_ms))
		return;
	put_char(&l, '}');
	text = malloc(l.len);
	if (text)
		memcpy(text, l.text, l.len);
	store(kind, text, l.len);
}

void event_replace(const char *text, const char *by)
{
	size_t len = strlen(text);

	assert(strlen(by) == len);
	pthread_mutex_lock(&ring.lock);
	for (size_t i = 0; ring.slots && i < ring.kept; i++) {
		struct slot *s = &ring.slots[i];
		char        *at;

		while (s->text && (at = memmem(s->text, s->len, text, len)))
			memcpy(at, by, len);
	}
	pthread_mutex_unlock(&ring.lock);
}

enum err event_start(size_t kept, int64_t (*wall_ms)(void))
{
	struct slot *slots = calloc(kept, sizeof(*slots));

	if (!slots)
		return ERR_NOMEM;
	pthread_mutex_lock(&ring.lock);
	ring.slots   = slots;
	ring.kept    = kept;
	ring.newest  = 0;
	ring.wall_ms = wall_ms;
	pthread_mutex_unlock(&ring.lock);
	atomic_store_explicit(&ring.is_on, true, memory_order_release);
	return ERR_OK;
}

void event_stop(void)
{
	atomic_store(&ring.is_on, false);
	pthread_mutex_lock(&ring.lock);
	for (size_t i = 0; i < ring.kept; i++)
		free(ring.slots[i].text);
	free(TAKE(ring.slots));
	ring.kept   = 0;
	ring.newest = 0;
	ring.wake   = NULL;
	memset(ring.paces, 0, sizeof(ring.paces));
	pthread_mutex_unlock(&ring.lock);
}

void event_on_new(void (*wake)(void *arg), void *arg)
{
	pthread_mutex_lock(&ring.lock);
	ring.wake     = wake;
	ring.wake_arg = arg;
	pthread_mutex_unlock(&ring.lock);
}

uint64_t event_newest(void)
{
	uint64_t newest;

	pthread_mutex_lock(&ring.lock);
	newest = ring.newest;
	pthread_mutex_unlock(&ring.lock);
	return newest;
}

/* Under the lock. */
static uint64_t oldest_kept(void)
{
	return ring.newest >= ring.kept ? ring.newest - ring.kept + 1 : 1;
}

static enum err copy(char *line, size_t *len, enum event_kind *kind, uint64_t seq)
{
	const struct slot *s = &ring.slots[seq % ring.kept];
	char               head[EVENT_HEAD_BYTES]; /* {"op":"event","seq":... */
	size_t             head_len;

	if (!s->text)
		return ERR_NOMEM;
	text_format(head, sizeof(head), "{\"op\":\"event\",\"seq\":%" PRIu64, seq);
	head_len = strlen(head);
	memcpy(line, head, head_len);
	memcpy(line + head_len, s->text, s->len);
	line[head_len + s->len] = '\0';
	*len                    = head_len + s->len;
	*kind                   = s->kind;
	return ERR_OK;
}

enum err event_read(char line[EVENT_LINE_BYTES + EVENT_HEAD_BYTES], size_t *len, enum event_kind *kind,
                    uint64_t *oldest, uint64_t seq)
{
	enum err e = ERR_OK;

	pthread_mutex_lock(&ring.lock);
	if (!ring.slots || seq > ring.newest)
		e = ERR_NOT_FOUND;
	else if (seq < oldest_kept())
		e = ERR_GONE;
	if (e == ERR_GONE)
		*oldest = oldest_kept();
	if (e == ERR_OK)
		e = copy(line, len, kind, seq);
	pthread_mutex_unlock(&ring.lock);
	return e;
}

/* --- Kinds --- */

const char *event_name(enum event_kind kind)
{
	return rows[kind].name;
}

const char *event_fields(enum event_kind kind)
{
	return rows[kind].fields;
}

const char *event_help(enum event_kind kind)
{
	return rows[kind].help;
}

bool event_matches(enum event_kind kind, const char *pattern)
{
	size_t len = strlen(pattern);

	if (strcmp(pattern, "*") == 0)
		return true;
	if (len >= 2 && strcmp(pattern + len - 2, ".*") == 0)
		return strncmp(rows[kind].name, pattern, len - 1) == 0;
	return strcmp(rows[kind].name, pattern) == 0;
}

bool event_is_pattern(const char *pattern)
{
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		if (event_matches((enum event_kind)kind, pattern))
			return true;
	}
	return false;
}
