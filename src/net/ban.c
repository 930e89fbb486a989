#include "net/ban.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/metric.h"
#include "base/text.h"
#include "net/addr_event.h"
#include "os/clock.h"
#include "os/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_KEY_BYTES (2 + sizeof(((struct addr *)0)->ip)) /* family, prefix, the network */
#define NAME_KEY_BYTES    (1 + BAN_TITLE_BYTES + BAN_NAME_BYTES)
#define IDENTITY_BEGIN    "gen:"
#define PREFIX_MAX        128

/* --- Text --- */

static const char *const kind_names[BAN_KINDS] = { "address", "player", "identity", "name" };

const char *ban_kind_name(enum ban_kind kind)
{
	return kind_names[kind];
}

bool ban_kind_of(enum ban_kind *out, const char *name)
{
	for (int i = 0; i < BAN_KINDS; i++) {
		if (strcmp(kind_names[i], name) == 0) {
			*out = (enum ban_kind)i;
			return true;
		}
	}
	return false;
}

static enum err read_hex(uint8_t *out, char text[BAN_VALUE_BYTES], size_t bytes, const char *value)
{
	if (hex_decode(out, bytes, value, strlen(value)) != ERR_OK)
		return ERR_MALFORMED;
	hex_encode(text, out, bytes);
	return ERR_OK;
}

static bool has_controls(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < ' ' || bytes[i] == 0x7f)
			return true;
	}
	return false;
}

/* A title or an online id: as it is, or ~ and hex. Zeros behind; a zero inside would be another name's end. */
static enum err read_word(uint8_t *out, size_t cap, const char *word, size_t len)
{
	memset(out, 0, cap);
	if (len > 0 && word[0] == '~') {
		size_t bytes = (len - 1) / 2;

		if (bytes == 0 || bytes > cap || hex_decode(out, bytes, word + 1, len - 1) != ERR_OK ||
		    memchr(out, '\0', bytes))
			return ERR_MALFORMED;
		return ERR_OK;
	}
	if (len == 0 || len > cap || has_controls((const uint8_t *)word, len))
		return ERR_MALFORMED;
	memcpy(out, word, len);
	return ERR_OK;
}

/* Its one form: whatever a person could not read, or that could be read in two ways, is hex. Returns its length. */
static size_t write_word(char *out, const uint8_t *bytes, size_t cap)
{
	const uint8_t *end   = memchr(bytes, '\0', cap);
	size_t         len   = end ? (size_t)(end - bytes) : cap;
	bool           plain = text_is_utf8(bytes, len) && !has_controls(bytes, len) && !memchr(bytes, '/', len);

	if (plain && bytes[0] != '~') {
		memcpy(out, bytes, len);
		out[len] = '\0';
		return len;
	}
	out[0] = '~';
	hex_encode(out + 1, bytes, len);
	return 1 + 2 * len;
}

/* Up to the first NUL: a client can put what it likes behind that, and nobody sees it. */
static void trim(uint8_t *out, const uint8_t *bytes, size_t cap)
{
	const uint8_t *end = memchr(bytes, '\0', cap);
	size_t         len = end ? (size_t)(end - bytes) : cap;

	memcpy(out, bytes, len);
	memset(out + len, 0, cap - len);
}

/* As the rooms fold online ids. */
static void fold(uint8_t out[BAN_NAME_BYTES], const uint8_t name[BAN_NAME_BYTES])
{
	trim(out, name, BAN_NAME_BYTES);
	for (size_t i = 0; i < BAN_NAME_BYTES; i++)
		out[i] = out[i] >= 'A' && out[i] <= 'Z' ? (uint8_t)(out[i] - 'A' + 'a') : out[i];
}

static enum err read_name(struct ban *b, const char *value)
{
	const char *slash = strchr(value, '/');
	const char *name  = slash ? slash + 1 : value;
	uint8_t     bytes[BAN_NAME_BYTES];
	size_t      used = 0;

	b->has_title = slash != NULL;
	if (slash && read_word(b->title, sizeof(b->title), value, (size_t)(slash - value)) != ERR_OK)
		return ERR_MALFORMED;
	if (strchr(name, '/') || read_word(bytes, sizeof(bytes), name, strlen(name)) != ERR_OK)
		return ERR_MALFORMED;
	fold(b->name, bytes);
	if (slash) {
		used             = write_word(b->value, b->title, sizeof(b->title));
		b->value[used++] = '/';
	}
	write_word(b->value + used, b->name, sizeof(b->name));
	return ERR_OK;
}

enum err ban_parse(struct ban *out, enum ban_kind kind, const char *value)
{
	struct ban b = { .kind = kind };
	enum err   e = ERR_MALFORMED;

	_Static_assert(ADDR_NET_TEXT_BYTES <= BAN_VALUE_BYTES && 2 * BAN_IDENTITY_BYTES < BAN_VALUE_BYTES &&
	                       3 + 2 * BAN_TITLE_BYTES + 2 * BAN_NAME_BYTES < BAN_VALUE_BYTES,
	               "every value fits");
	switch (kind) {
	case BAN_ADDRESS:
		e = addr_net_parse(&b.net, value);
		if (e == ERR_OK)
			addr_net_text(b.value, &b.net);
		break;
	case BAN_PLAYER:
		e = read_hex(b.player, b.value, sizeof(b.player), value);
		break;
	case BAN_IDENTITY:
		if (strncmp(value, IDENTITY_BEGIN, strlen(IDENTITY_BEGIN)) == 0)
			value += strlen(IDENTITY_BEGIN);
		e = read_hex(b.identity, b.value, sizeof(b.identity), value);
		break;
	case BAN_NAME:
		e = read_name(&b, value);
		break;
	case BAN_KINDS:
		break;
	}
	if (e == ERR_OK)
		*out = b;
	return e;
}

/* --- Whom it is meant for --- */

bool ban_is_address(const struct ban *b, const struct addr *a)
{
	return b->kind == BAN_ADDRESS && addr_net_contains(&b->net, a);
}

bool ban_is_player(const struct ban *b, const uint8_t id[BAN_PLAYER_BYTES])
{
	return b->kind == BAN_PLAYER && memcmp(b->player, id, BAN_PLAYER_BYTES) == 0;
}

bool ban_is_identity(const struct ban *b, const uint8_t key[BAN_IDENTITY_BYTES])
{
	return b->kind == BAN_IDENTITY && memcmp(b->identity, key, BAN_IDENTITY_BYTES) == 0;
}

bool ban_is_name(const struct ban *b, const uint8_t title[BAN_TITLE_BYTES], const uint8_t name[BAN_NAME_BYTES])
{
	uint8_t folded[BAN_NAME_BYTES], trimmed[BAN_TITLE_BYTES];

	if (b->kind != BAN_NAME)
		return false;
	fold(folded, name);
	trim(trimmed, title, sizeof(trimmed));
	return memcmp(b->name, folded, sizeof(folded)) == 0 &&
	       (!b->has_title || memcmp(b->title, trimmed, sizeof(trimmed)) == 0);
}

/* --- The table --- */

struct entry {
	struct ban      ban;
	_Atomic int64_t hits;
};

/* Lengths of prefix that are in use, of one family. */
struct prefixes {
	size_t  used[PREFIX_MAX + 1];
	uint8_t list[PREFIX_MAX + 1];
	size_t  count;
};

static struct {
	pthread_rwlock_t lock;
	bool             is_made;
	struct map       by_id, by_key[BAN_KINDS];
	struct prefixes  ipv4, ipv6;
} table = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* How many there are of each kind: what those who ask look at first, without the lock. */
static _Atomic size_t counts[BAN_KINDS];

static bool is_any(enum ban_kind kind)
{
	return atomic_load_explicit(&counts[kind], memory_order_acquire) > 0;
}

/* With the lock held for writing. */
static void make(void)
{
	static const size_t key_bytes[BAN_KINDS] = { ADDRESS_KEY_BYTES, BAN_PLAYER_BYTES, BAN_IDENTITY_BYTES,
		                                     NAME_KEY_BYTES };

	if (table.is_made)
		return;
	map_init(&table.by_id, sizeof(int64_t), random_u64());
	for (int i = 0; i < BAN_KINDS; i++)
		map_init(&table.by_key[i], key_bytes[i], random_u64());
	table.is_made = true;
}

static struct prefixes *prefixes_of(enum addr_family family)
{
	return family == ADDR_IPV4 ? &table.ipv4 : family == ADDR_IPV6 ? &table.ipv6 : NULL;
}

static void count_prefix(const struct addr_net *net, bool more)
{
	struct prefixes *p = prefixes_of(net->base.family);

	if (more)
		p->used[net->prefix]++;
	else
		p->used[net->prefix]--;
	p->count = 0;
	for (size_t i = 0; i <= PREFIX_MAX; i++) {
		if (p->used[i] > 0)
			p->list[p->count++] = (uint8_t)i;
	}
}

static void address_key(uint8_t out[MAP_KEY_BYTES_MAX], const struct addr *a, size_t prefix)
{
	size_t whole = prefix / 8, rest = prefix % 8;

	memset(out, 0, ADDRESS_KEY_BYTES);
	out[0] = (uint8_t)a->family;
	out[1] = (uint8_t)prefix;
	memcpy(out + 2, a->ip, whole);
	if (rest > 0)
		out[2 + whole] = a->ip[whole] & (uint8_t)(0xff00 >> rest);
}

static void name_key(uint8_t out[MAP_KEY_BYTES_MAX], const uint8_t *title, const uint8_t folded[BAN_NAME_BYTES])
{
	memset(out, 0, NAME_KEY_BYTES);
	out[0] = title != NULL;
	if (title)
		memcpy(out + 1, title, BAN_TITLE_BYTES);
	memcpy(out + 1 + BAN_TITLE_BYTES, folded, BAN_NAME_BYTES);
}

static void key_of(uint8_t out[MAP_KEY_BYTES_MAX], const struct ban *b)
{
	switch (b->kind) {
	case BAN_ADDRESS:
		address_key(out, &b->net.base, b->net.prefix);
		break;
	case BAN_PLAYER:
		memcpy(out, b->player, sizeof(b->player));
		break;
	case BAN_IDENTITY:
		memcpy(out, b->identity, sizeof(b->identity));
		break;
	case BAN_NAME:
		name_key(out, b->has_title ? b->title : NULL, b->name);
		break;
	case BAN_KINDS:
		break;
	}
}

static bool is_over(const struct ban *b, int64_t now_ms)
{
	return b->until_ms != 0 && now_ms >= b->until_ms;
}

/* --- Asking --- */

/* With the lock held. from: NULL when it is not known. */
static bool strikes(enum ban_kind kind, const void *key, const struct addr *from)
{
	struct entry *e = map_get(&table.by_key[kind], key);

	if (!e || (e->ban.until_ms != 0 && is_over(&e->ban, clock_wall_ms())))
		return false;
	atomic_fetch_add_explicit(&e->hits, 1, memory_order_relaxed);
	event_emit(E_BAN_HIT, event_int("ban", e->ban.id), event_word("ban_kind", ban_kind_name(kind)),
	           from ? event_addr("from", from) : event_null("from"));
	return true;
}

static bool has(enum ban_kind kind, const void *key)
{
	bool found;

	pthread_rwlock_rdlock(&table.lock);
	found = table.is_made && strikes(kind, key, NULL);
	pthread_rwlock_unlock(&table.lock);
	return found;
}

static bool has_net_of(const struct addr *a)
{
	const struct prefixes *p = prefixes_of(a->family);
	uint8_t                key[MAP_KEY_BYTES_MAX];

	/* From the narrowest: that is the one that was most likely meant. */
	for (size_t i = p ? p->count : 0; i > 0; i--) {
		address_key(key, a, p->list[i - 1]);
		if (strikes(BAN_ADDRESS, key, a))
			return true;
	}
	return false;
}

bool ban_has_address(const struct addr *a)
{
	bool found;

	if (!is_any(BAN_ADDRESS))
		return false;
	pthread_rwlock_rdlock(&table.lock);
	found = has_net_of(a);
	pthread_rwlock_unlock(&table.lock);
	return found;
}

bool ban_has_player(const uint8_t id[BAN_PLAYER_BYTES])
{
	return is_any(BAN_PLAYER) && has(BAN_PLAYER, id);
}

bool ban_holds_player(const uint8_t id[BAN_PLAYER_BYTES])
{
	const struct entry *e;
	bool                holds;

	if (!is_any(BAN_PLAYER))
		return false;
	pthread_rwlock_rdlock(&table.lock);
	e     = map_get(&table.by_key[BAN_PLAYER], id);
	holds = e && !is_over(&e->ban, clock_wall_ms());
	pthread_rwlock_unlock(&table.lock);
	return holds;
}

bool ban_has_identity(const uint8_t key[BAN_IDENTITY_BYTES])
{
	return is_any(BAN_IDENTITY) && has(BAN_IDENTITY, key);
}

bool ban_has_name(const uint8_t title[BAN_TITLE_BYTES], const uint8_t name[BAN_NAME_BYTES])
{
	uint8_t folded[BAN_NAME_BYTES], trimmed[BAN_TITLE_BYTES], key[MAP_KEY_BYTES_MAX];

	if (!is_any(BAN_NAME))
		return false;
	fold(folded, name);
	trim(trimmed, title, sizeof(trimmed));
	name_key(key, trimmed, folded);
	if (has(BAN_NAME, key))
		return true;
	name_key(key, NULL, folded);
	return has(BAN_NAME, key);
}

int64_t ban_hits(int64_t id)
{
	const struct entry *e;
	int64_t             hits;

	pthread_rwlock_rdlock(&table.lock);
	e    = table.is_made ? map_get(&table.by_id, &id) : NULL;
	hits = e ? atomic_load_explicit(&e->hits, memory_order_relaxed) : 0;
	pthread_rwlock_unlock(&table.lock);
	return hits;
}

/* --- Changing --- */

static void publish(void)
{
	metric_set(M_BANS, (int64_t)map_count(&table.by_id));
}

/* With the lock held for writing. */
static void take_out(struct entry *e)
{
	uint8_t key[MAP_KEY_BYTES_MAX];

	key_of(key, &e->ban);
	map_remove(&table.by_key[e->ban.kind], key);
	map_remove(&table.by_id, &e->ban.id);
	atomic_fetch_sub_explicit(&counts[e->ban.kind], 1, memory_order_release);
	if (e->ban.kind == BAN_ADDRESS)
		count_prefix(&e->ban.net, false);
	free(e);
	publish();
}

/* The same, after what is over of its value has made room. */
static enum err put_in(struct entry *e)
{
	uint8_t       key[MAP_KEY_BYTES_MAX];
	struct entry *old;
	enum err      put;

	key_of(key, &e->ban);
	old = map_get(&table.by_key[e->ban.kind], key);
	if (old && !is_over(&old->ban, clock_wall_ms()))
		return ERR_EXISTS;
	if (old)
		take_out(old);
	put = map_put(&table.by_id, &e->ban.id, e);
	if (put != ERR_OK)
		return put;
	put = map_put(&table.by_key[e->ban.kind], key, e);
	if (put != ERR_OK) {
		map_remove(&table.by_id, &e->ban.id);
		return put;
	}
	if (e->ban.kind == BAN_ADDRESS)
		count_prefix(&e->ban.net, true);
	atomic_fetch_add_explicit(&counts[e->ban.kind], 1, memory_order_release);
	publish();
	return ERR_OK;
}

enum err ban_add(const struct ban *b)
{
	struct entry *e = calloc(1, sizeof(*e));
	enum err      put;

	if (!e)
		return ERR_NOMEM;
	e->ban = *b;
	pthread_rwlock_wrlock(&table.lock);
	make();
	put = put_in(e);
	pthread_rwlock_unlock(&table.lock);
	if (put != ERR_OK)
		free(e);
	return put;
}

void ban_remove(int64_t id)
{
	struct entry *e;

	pthread_rwlock_wrlock(&table.lock);
	e = table.is_made ? map_get(&table.by_id, &id) : NULL;
	if (e)
		take_out(e);
	pthread_rwlock_unlock(&table.lock);
}

struct census {
	int64_t now_ms;
	size_t  count;
};

static void count_one(void *value, void *arg)
{
	const struct entry *e = value;
	struct census      *c = arg;

	c->count += !is_over(&e->ban, c->now_ms);
}

size_t ban_count(void)
{
	struct census c = { .now_ms = clock_wall_ms() };

	pthread_rwlock_rdlock(&table.lock);
	if (table.is_made)
		map_each(&table.by_id, count_one, &c);
	pthread_rwlock_unlock(&table.lock);
	return c.count;
}

static void drop_if_over(void *value, void *arg)
{
	struct entry        *e = value;
	const struct census *c = arg;

	if (is_over(&e->ban, c->now_ms))
		take_out(e);
}

void ban_sweep(void)
{
	struct census c = { .now_ms = clock_wall_ms() };

	pthread_rwlock_wrlock(&table.lock);
	if (table.is_made)
		map_each(&table.by_id, drop_if_over, &c);
	pthread_rwlock_unlock(&table.lock);
}

static void drop(void *value, void *arg)
{
	(void)arg;
	take_out(value);
}

void ban_clear(void)
{
	pthread_rwlock_wrlock(&table.lock);
	if (table.is_made)
		map_each(&table.by_id, drop, NULL);
	pthread_rwlock_unlock(&table.lock);
}
