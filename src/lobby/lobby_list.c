/*
 * The list's body.
 *
 * A body is made by one thread, from rows copied under the lobbies' lock, and then never changed; it is counted, and goes
 * with its last user. It remembers where its rows are and of which version, so that a filtered list is cut from it and
 * nobody who asks, however often, takes the lobbies' lock more than once a second.
 */
#include "lobby/lobby_list.h"

#include "base/auto.h"
#include "base/gzip.h"
#include "base/hex.h"
#include "base/metric.h"
#include "crypt/hash_stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STALE_MS      5000 /* ages are in it */
#define HEAD          "{\"lobbies\":["
#define TAIL          "]}"
#define ROW_END_BYTES 24 /* digits of an age, a brace, a comma */
#define ETAG_HASH     8  /* bytes of the digest that are shown */

/* Of one row: where its text begins and ends in the body, and its version. */
struct place {
	size_t at, len;
	char   version[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];
};

struct body {
	atomic_uint         users;
	struct http_shared *plain, *packed; /* packed: NULL until somebody wants it */
	pthread_mutex_t     packing;
	const char         *bytes; /* plain's */
	size_t              len;
	char                tag[2 * ETAG_HASH + 1];
	struct place       *places;
	size_t              count;
};

struct lobby_list {
	struct lobby_state *state;
	pthread_mutex_t    *state_lock;

	pthread_mutex_t lock; /* of what follows; the other lock is taken inside of it */
	pthread_cond_t  made;
	struct body    *body; /* NULL: there was none yet */
	bool            is_making;
	bool            is_expired; /* the body must not be shown any more, nor one that was begun before */
	int64_t         made_ms;
	uint64_t        changes; /* of the state, when it was made */
};

/* --- Bodies --- */

static void drop_body(struct body *b)
{
	if (!b || atomic_fetch_sub(&b->users, 1) > 1)
		return;
	http_shared_drop(b->plain);
	http_shared_drop(b->packed);
	pthread_mutex_destroy(&b->packing);
	free(b->places);
	free(b);
}

static void drop_bodyp(struct body **b)
{
	drop_body(*b);
}

static struct body *use_body(struct body *b)
{
	atomic_fetch_add(&b->users, 1);
	return b;
}

static bool set_tag(struct body *b)
{
	struct hash_stream *h = hash_stream_new();
	uint8_t             digest[HASH_SHA256_BYTES];

	if (!h)
		return false;
	hash_stream_add(h, b->bytes, b->len);
	hash_stream_end(digest, h);
	hash_stream_free(h);
	hex_encode(b->tag, digest, ETAG_HASH);
	return true;
}

/* Takes bytes and places over, for free(). NULL when out of memory: they are freed then. */
static struct body *new_body(char *bytes, size_t len, struct place *places, size_t count)
{
	struct body *b = calloc(1, sizeof(*b));

	if (!b) {
		free(bytes);
		free(places);
		return NULL;
	}
	atomic_init(&b->users, 1);
	pthread_mutex_init(&b->packing, NULL);
	b->bytes  = bytes;
	b->len    = len;
	b->places = places;
	b->count  = count;
	b->plain  = http_shared_new(bytes, len);
	if (!b->plain || !set_tag(b)) {
		drop_body(b);
		return NULL;
	}
	return b;
}

/* One use of the bytes as they are wanted, and their ETag. */
static enum err give(struct http_shared **out, char etag[LOBBY_ETAG_BYTES], struct body *b, bool gzip)
{
	char    *packed;
	size_t   len;
	enum err e = ERR_OK;

	snprintf(etag, LOBBY_ETAG_BYTES, "\"%s%s\"", b->tag, gzip ? "-gz" : "");
	if (!gzip) {
		*out = http_shared_use(b->plain);
		return ERR_OK;
	}
	pthread_mutex_lock(&b->packing);
	if (!b->packed) {
		e = gzip_bytes(&packed, &len, b->bytes, b->len);
		if (e == ERR_OK)
			b->packed = http_shared_new(packed, len);
	}
	if (b->packed)
		*out = http_shared_use(b->packed);
	else
		e = ERR_NOMEM;
	pthread_mutex_unlock(&b->packing);
	return e;
}

/* --- Making it --- */

struct writer {
	char         *bytes;
	size_t        len;
	struct place *places;
	size_t        count;
};

static struct lobby *lobby_at(struct list *l)
{
	return CONTAINER(l, struct lobby, by_beat);
}

static bool is_shown(const struct lobby *l)
{
	return l->listed && !l->is_pending;
}

static bool make_row(struct lobby *l)
{
	struct lobby_row row = {
		.name        = l->name,
		.world       = l->world,
		.version     = l->version,
		.game        = l->game,
		.proto       = l->proto,
		.players     = l->players,
		.players_max = l->players_max,
		.locked      = l->locked,
		.is_direct   = l->is_direct,
		.is_proved   = l->is_proved,
		.links       = l->links,
		.claim       = l->claim,
	};

	memcpy(row.id, l->id, sizeof(row.id));
	if (!l->row)
		l->row = lobby_row_text(&l->row_len, &row);
	return l->row != NULL;
}

static void write_row(struct writer *w, const struct lobby *l, int64_t now_ms)
{
	struct place *p      = &w->places[w->count];
	int64_t       age_ms = now_ms > l->beat_ms ? now_ms - l->beat_ms : 0;

	if (w->count++ > 0)
		w->bytes[w->len++] = ',';
	p->at = w->len;
	memcpy(w->bytes + w->len, l->row, l->row_len);
	w->len += l->row_len;
	w->len += (size_t)sprintf(w->bytes + w->len, "%" PRId64 "}", age_ms / 1000);
	p->len = w->len - p->at;
	memcpy(p->version, l->version, sizeof(p->version));
}

static bool begin(struct writer *w, size_t bytes, size_t count)
{
	*w        = (struct writer){ .len = sizeof(HEAD) - 1 };
	w->bytes  = malloc(bytes + sizeof(HEAD) + sizeof(TAIL));
	w->places = malloc((count ? count : 1) * sizeof(*w->places));
	if (!w->bytes || !w->places) {
		free(w->bytes);
		free(w->places);
		return false;
	}
	memcpy(w->bytes, HEAD, sizeof(HEAD) - 1);
	return true;
}

static struct body *end(struct writer *w)
{
	memcpy(w->bytes + w->len, TAIL, sizeof(TAIL));
	w->len += sizeof(TAIL) - 1;
	return new_body(w->bytes, w->len, w->places, w->count);
}

/* With the lobbies' lock. Rows that are new, or changed, are made now; most are there. */
static bool copy_rows(struct writer *w, struct lobby_state *s, int64_t now_ms)
{
	size_t bytes = 0, count = 0;

	for (struct list *at = s->by_beat.next; at != &s->by_beat; at = at->next) {
		struct lobby *l = lobby_at(at);

		if (!is_shown(l))
			continue;
		if (!make_row(l))
			return false;
		bytes += l->row_len + ROW_END_BYTES;
		count++;
	}
	if (!begin(w, bytes, count))
		return false;
	for (struct list *at = s->by_beat.next; at != &s->by_beat; at = at->next) {
		if (is_shown(lobby_at(at)))
			write_row(w, lobby_at(at), now_ms);
	}
	assert(w->count == count);
	return true;
}

/* NULL when out of memory. *changes: of the state it shows. */
static struct body *make_body(struct lobby_list *l, uint64_t *changes, int64_t now_ms)
{
	struct writer w;
	bool          copied;

	pthread_mutex_lock(l->state_lock);
	*changes = l->state->changes;
	copied   = copy_rows(&w, l->state, now_ms);
	pthread_mutex_unlock(l->state_lock);
	metric_inc(M_LOBBY_LISTS_MADE);
	return copied ? end(&w) : NULL;
}

/* --- Which one counts --- */

static bool has_changed(const struct lobby_list *l)
{
	bool changed;

	pthread_mutex_lock(l->state_lock);
	changed = l->state->changes != l->changes;
	pthread_mutex_unlock(l->state_lock);
	return changed;
}

/* With the list's lock. */
static bool is_due(const struct lobby_list *l, int64_t now_ms)
{
	int64_t age_ms = now_ms - l->made_ms;

	if (!l->body || l->is_expired || age_ms >= STALE_MS)
		return true;
	return age_ms >= l->state->limits->lobby_list_ms && has_changed(l);
}

/* With the list's lock, which is let go meanwhile. When there is no memory, the one before stays. */
static void renew(struct lobby_list *l, int64_t now_ms)
{
	bool         was_expired = l->is_expired;
	struct body *fresh;
	uint64_t     changes;

	l->is_making  = true;
	l->is_expired = false;
	pthread_mutex_unlock(&l->lock);
	fresh = make_body(l, &changes, now_ms);
	pthread_mutex_lock(&l->lock);
	l->is_making = false;
	l->is_expired |= was_expired && !fresh;
	if (fresh) {
		drop_body(l->body);
		l->body    = fresh;
		l->made_ms = now_ms;
		l->changes = changes;
	}
	pthread_cond_broadcast(&l->made);
}

/* The body of now, for drop_body. NULL when out of memory. */
static struct body *current(struct lobby_list *l, int64_t now_ms)
{
	struct body *b;

	pthread_mutex_lock(&l->lock);
	while ((!l->body || l->is_expired) && l->is_making)
		pthread_cond_wait(&l->made, &l->lock);
	if (!l->is_making && is_due(l, now_ms))
		renew(l, now_ms);
	b = l->body ? use_body(l->body) : NULL;
	pthread_mutex_unlock(&l->lock);
	return b;
}

/* Its rows of one version. */
static struct body *pick(const struct body *all, const char *version)
{
	struct writer w;

	if (!begin(&w, all->len, 0))
		return NULL;
	for (size_t i = 0; i < all->count; i++) {
		const struct place *p = &all->places[i];

		if (strcmp(p->version, version) != 0)
			continue;
		if (w.len > sizeof(HEAD) - 1)
			w.bytes[w.len++] = ',';
		memcpy(w.bytes + w.len, all->bytes + p->at, p->len);
		w.len += p->len;
	}
	return end(&w);
}

/* --- For the others --- */

struct lobby_list *lobby_list_new(struct lobby_state *state, pthread_mutex_t *lock)
{
	struct lobby_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->state      = state;
	l->state_lock = lock;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->made, NULL);
	return l;
}

void lobby_list_free(struct lobby_list *l)
{
	if (!l)
		return;
	drop_body(l->body);
	pthread_cond_destroy(&l->made);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void lobby_list_expire(struct lobby_list *l)
{
	pthread_mutex_lock(&l->lock);
	l->is_expired = true;
	pthread_mutex_unlock(&l->lock);
}

enum err lobby_list_get(struct http_shared **out, char etag[LOBBY_ETAG_BYTES], struct lobby_list *l, const char *filter,
                        bool gzip, int64_t now_ms)
{
	AUTO(drop_bodyp) struct body *all = current(l, now_ms), *some = NULL;

	if (!all)
		return ERR_NOMEM;
	if (!*filter)
		return give(out, etag, all, gzip);
	some = pick(all, filter);
	return some ? give(out, etag, some, gzip) : ERR_NOMEM;
}
