/*
 * Bans: players of a name, and streams, of which net/tcp knows nothing any more.
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"

#include <assert.h>
#include <string.h>

static_assert(ROOMS_TITLE_BYTES == BAN_TITLE_BYTES && ROOMS_NAME_BYTES == BAN_NAME_BYTES,
              "titles and names are the rooms'");

static bool is_named_so(const struct ban *b, const struct rooms_peer *p)
{
	if (p->role == ROOMS_ROLE_LEG)
		return ban_is_name(b, p->title, p->name);
	return p->player.has_hello && ban_is_name(b, p->player.title, p->player.name);
}

static bool is_meant(const struct ban *b, const struct rooms_peer *p)
{
	return is_named_so(b, p) || ban_is_address(b, &p->addr);
}

/* Both legs, by the one that knows the other. */
static size_t ban_stream(struct rooms_peer *p, const struct ban *b, bool end)
{
	if (!is_meant(b, p) && !is_meant(b, p->other))
		return 0;
	if (end)
		splice_end(p->rooms->splice, p);
	return 2;
}

/* Those of a banned address are ended by net/tcp. */
static size_t ban_peer(struct rooms_peer *p, const struct ban *b, bool end)
{
	if (p->is_leaving || !is_named_so(b, p))
		return 0;
	if (end)
		rooms_give_up(p, ROOMS_END_BANNED);
	return 1;
}

/* His game may be seen from another address than he is, where the operator allows that. */
static void ban_path(struct rooms_peer *p, const struct ban *b)
{
	struct addr a = { .family = ADDR_IPV4 };

	memcpy(a.ip, p->player.public_ip, sizeof(p->player.public_ip));
	if (p->player.has_probed && ban_is_address(b, &a))
		rooms_forget_probe(&p->player);
}

size_t rooms_ban(struct rooms *r, const struct ban *b, bool end)
{
	size_t count = 0;

	loop_assert_thread(r->loop);
	for (struct list *at = r->peers.next; at != &r->peers; at = at->next) {
		struct rooms_peer *p = CONTAINER(at, struct rooms_peer, in_peers);

		if (p->other)
			count += ban_stream(p, b, end);
		else if (p->tcp)
			count += ban_peer(p, b, end);
		if (end && p->role == ROOMS_ROLE_PLAYER)
			ban_path(p, b);
	}
	if (end)
		rooms_settle(r, loop_now_ms(r->loop));
	return count;
}
