/*
 * Who may come in, and who goes for him.
 */
#include "lobby/lobby_inside_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

#define WIDE_FACTOR     8 /* what an IPv6 /48 may have more than an address */
#define DIRECT_PORT_MIN 1024
#define DIRECT_PORT_MAX 65535

static bool is_address_full(const struct lobby_state *s, const struct lobby_newcomer *n)
{
	int64_t max = s->limits->lobby_per_address;

	if (n->is_exempt)
		return false;
	return lobby_share(&s->by_addr, n->addr) >= max ||
	       (n->has_wide && lobby_share(&s->by_wide, n->addr_wide) >= max * WIDE_FACTOR);
}

/* All that can be said before anybody has to make room. */
static enum lobby_refusal judge(const struct lobby_state *s, const struct lobby_newcomer *n)
{
	const struct lobby_announce *a = n->announce;

	if (is_address_full(s, n))
		return LOBBY_ADDRESS_FULL;
	if (!lobby_game_is_good(a->game))
		return LOBBY_BAD_GAME;
	if (!a->has_identity)
		return LOBBY_NO_IDENTITY;
	if (a->is_direct && (a->direct_port < DIRECT_PORT_MIN || a->direct_port > DIRECT_PORT_MAX))
		return LOBBY_BAD_PORT;
	return LOBBY_WELCOME;
}

/* How much a silent lobby is missed: less is pushed out first. */
static int worth(const struct lobby *l)
{
	return !l->listed ? 0 : l->players == 0 ? 1 : 2;
}

/* The one to make room: NULL when all beat. Of those that are worth the same the oldest beat comes first. */
static struct lobby *find_silent(struct lobby_state *s, int64_t now_ms)
{
	struct lobby *found = NULL;

	for (struct list *at = s->by_beat.next; at != &s->by_beat; at = at->next) {
		struct lobby *l = lobby_of_beat(at);

		if (now_ms - l->beat_ms <= s->limits->lobby_evict_ms)
			break;
		/* Whoever announced a pending one holds on to it. */
		if (!l->is_pending && (!found || worth(l) < worth(found)))
			found = l;
	}
	return found;
}

static void tell_address(struct lobby *l, const struct lobby_newcomer *n)
{
	text_format(l->direct_addr, sizeof(l->direct_addr), n->is_ipv6 ? "[%s]:%d" : "%s:%d", n->ip,
	            (int)n->announce->direct_port);
}

static struct lobby *make(const struct lobby_newcomer *n, int64_t now_ms)
{
	const struct lobby_announce *a = n->announce;
	struct lobby                *l = mem_new(sizeof(*l));

	if (!l)
		return NULL;
	memcpy(l->session, n->session, sizeof(l->session));
	memcpy(l->id, n->id, sizeof(l->id));
	memcpy(l->token, n->token, sizeof(l->token));
	memcpy(l->key, a->key, sizeof(l->key));
	memcpy(l->addr, n->addr, sizeof(l->addr));
	memcpy(l->addr_wide, n->addr_wide, sizeof(l->addr_wide));
	memcpy(l->name, a->name, sizeof(l->name));
	memcpy(l->world, a->world, sizeof(l->world));
	memcpy(l->version, a->version, sizeof(l->version));
	memcpy(l->game, a->game, sizeof(l->game));
	l->has_wide    = n->has_wide;
	l->client      = n->client;
	l->proto       = a->proto;
	l->players     = 1;
	l->players_max = a->players_max;
	l->locked      = a->locked;
	l->listed      = a->listed;
	l->is_direct   = a->is_direct;
	l->is_proved   = n->is_proved;
	l->is_pending  = true;
	l->claim       = a->claim;
	l->beat_ms     = now_ms;
	l->made_ms     = n->made_ms;
	if (l->is_direct)
		tell_address(l, n);
	return l;
}

enum lobby_refusal lobby_announce(struct lobby **out, struct lobby **pushed, struct lobby_state *s,
                                  const struct lobby_newcomer *n, int64_t now_ms)
{
	enum lobby_refusal r       = judge(s, n);
	bool               is_full = (int64_t)s->count >= s->limits->lobby_entries;
	struct lobby      *silent  = NULL, *l;

	*out = *pushed = NULL;
	if (r != LOBBY_WELCOME)
		return r;
	if (s->is_draining)
		return LOBBY_DRAINING;
	if (is_full && !(silent = find_silent(s, now_ms)))
		return LOBBY_TABLE_FULL;
	l = make(n, now_ms);
	/* An id that is there already is the random source's fault; trying again is all that can be done about it. */
	if (!l || lobby_add(s, l) != ERR_OK) {
		lobby_free(l);
		return LOBBY_NO_MEMORY;
	}
	if (silent)
		lobby_remove(s, silent);
	*pushed = silent;
	*out    = l;
	return LOBBY_WELCOME;
}

static const struct refusal {
	int         status;
	const char *text;
} refusals[] = {
	[LOBBY_WELCOME]      = { 200, "" },
	[LOBBY_BAD_GAME]     = { 400, "bad game version" },
	[LOBBY_NO_IDENTITY]  = { 400, "this build is too old to host -- update Multivoid" },
	[LOBBY_BAD_PORT]     = { 400, "direct_port out of range (1024-65535)" },
	[LOBBY_ADDRESS_FULL] = { 429, "too many lobbies for this address" },
	[LOBBY_TABLE_FULL]   = { 429, "too many lobbies" },
	[LOBBY_NO_MEMORY]    = { 503, "out of memory" },
	[LOBBY_DRAINING]     = { 503, "the server is about to stop; try again in a minute" },
};

int lobby_refusal_status(enum lobby_refusal r)
{
	return refusals[r].status;
}

void lobby_refusal_text(char out[LOBBY_REFUSAL_BYTES], enum lobby_refusal r, const char *game)
{
	if (r == LOBBY_BAD_GAME)
		text_format(out, LOBBY_REFUSAL_BYTES, "bad game version '%s'", game);
	else
		text_copy(out, LOBBY_REFUSAL_BYTES, refusals[r].text);
}
